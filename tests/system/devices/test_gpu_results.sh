#!/bin/bash
# sfperf --memory device on the stand-in for the driver, and that no figure of the stand-in's gets into the documents.
# Some tests by the calls with which make check-gpu runs them on a real driver (make check-gpu-dry runs all).
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
export BUILD
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
for file in sfd sfrun sfctl sfperf libsf_cuda.so tests/cuda/libcuda.so.1 tests/cuda/libsftest_cuda.so; do
  [ -e "$BUILD/$file" ] || { echo "skipped: $BUILD/$file is not built"; exit 77; }
done
[ "${SFTEST_CUDA-}" != real ] || { echo "skipped: on a real driver make check-gpu measures"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../../.."

fail() {
  echo "FAILED: $*"
  cat "$work/out"
  exit 1
}

unset SF_CUDA_PLUGIN
export RESULTS=$work/results.md
echo before >"$RESULTS"
status=0
SF_CUDA_PLUGIN=/nowhere/libsf_cuda.so tests/gpu/results >"$work/out" 2>&1 || status=$?
[ $status = 77 ] || fail "exit status $status without a device, expected 77"
export LD_LIBRARY_PATH=$BUILD/tests/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
status=0
tests/gpu/results >"$work/out" 2>&1 || status=$?
[ $status = 1 ] || fail "exit status $status on the stand-in, expected 1"
grep -q 'stand-in' "$work/out" || fail "it does not say why"
[ "$(cat "$RESULTS")" = before ] || fail "the file was written"
SFTEST_CUDA_MOST=1 DRY=yes tests/gpu/results >"$work/out" 2>&1 || fail "going through all of it on the stand-in"
[ "$(grep -c '^| .* | \(met\|missed\) |$' "$RESULTS")" = 4 ] || fail "not all limits are judged"
grep -q 'not measured |' "$RESULTS" && fail "a figure that is judged was not found"
grep -q 'they mean nothing' "$RESULTS" || fail "it does not say what the figures are"

grep -q 'sf_device .*sf_stream .*host_copy .*device_copy' "$RESULTS" || fail "columns of pingpong are missing"
grep -q 'random-1000  *reduce' "$RESULTS" || fail "exchange prints no result"
for name in device_registered streams_gather; do
  SFTEST_CUDA=real "$BUILD/tests/system/devices/test_$name" >"$work/out" 2>&1 || fail "$name by the calls for a real driver"
  grep -q skipped "$work/out" && fail "$name was skipped"
done
exit 0

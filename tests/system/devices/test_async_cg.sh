#!/bin/bash
# The example of conjugate gradients on devices, on the stand-in for the driver: both ways must agree bit by bit, with
# memory operations of streams and without, and the one on streams must not let the host wait. Times mean nothing here.
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
for program in sfd sfrun examples/async_cg tests/cuda/libcuda.so.1; do
  [ -x "$BUILD/$program" ] || { echo "skipped: $BUILD/$program is not built"; exit 77; }
done
export LD_LIBRARY_PATH=$BUILD/tests/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SF_CUDA_PLUGIN=$BUILD/libsf_cuda.so

# run RANKS ARGUMENT...
run() {
  out=$("$BUILD/sfrun" -n "$1" -- "$BUILD/examples/async_cg" "${@:2}" 2>&1) || { echo "FAILED: $*: $out"; exit 1; }
  grep -q '^  ok: the solutions agree bit by bit' <<<"$out" || { echo "FAILED: $*: $out"; exit 1; }
  grep -q 'on the device .* 0\.0 host synchronisations' <<<"$out" || { echo "FAILED: $*: $out"; exit 1; }
}

run 1 50 5 10
run 3 200 8 15
SF_STREAM_MEMOPS=off run 3 97 40 10

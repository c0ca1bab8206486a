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

MOST=22 # kernels and memory operations that an iteration on 2 ranks gives a stream, of which 7 are the example's

# run RANKS ARGUMENT...
run() {
  out=$("$BUILD/sfrun" -n "$1" -- "$BUILD/examples/async_cg" "${@:2}" 2>&1) || { echo "FAILED: $*: $out"; exit 1; }
  grep -q '^  ok: the solutions agree bit by bit' <<<"$out" || { echo "FAILED: $*: $out"; exit 1; }
  grep -q 'on the device .* 0\.0 host synchronisations' <<<"$out" || { echo "FAILED: $*: $out"; exit 1; }
}

# What a rank gives its stream in so many iterations, none of which it waits for.
pieces() {
  out=$(SFTEST_CUDA_REPORT=1 "$BUILD/sfrun" -n 2 -- "$BUILD/examples/async_cg" 200 8 "$1" 2>&1) ||
    { echo "FAILED: $out"; exit 1; }
  sed -n 's/^\([0-9]*\) pieces of work without waiting$/\1/p' <<<"$out" | sort -n | tail -1
}

few=$(pieces 10) many=$(pieces 20)
[ $((many - few)) -gt 0 ] && [ $((many - few)) -le $((10 * MOST)) ] ||
  { echo "FAILED: $few pieces of work in 10 iterations, $many in 20; $MOST in one at most"; exit 1; }

run 1 50 5 10
run 3 200 8 15
SF_STREAM_MEMOPS=off run 3 97 40 10

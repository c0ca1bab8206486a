#!/bin/bash
# The examples in small, over two nodes and on fewer rows than ranks: they check themselves against serial computations.
# Needs BUILD, the build directory. (hello and cg have a test of their own: test_mtx.sh.)
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
for program in sfd sfrun examples/product examples/migrate; do
  [ -x "$BUILD/$program" ] || { echo "skipped: $BUILD/$program is not built"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/examples-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  cat "$work/out"
  exit 1
}

# run STATUS SFRUN-OPTIONS -- PROGRAM [ARGS]
run() {
  local expected=$1 status=0 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  "$BUILD/sfrun" "${options[@]}" -- "$BUILD/examples/$2" "${@:3}" >"$work/out" 2>&1 || status=$?
  [ $status = "$expected" ] || fail "${options[*]} $*: exit status $status, expected $expected"
  if [ "$expected" = 0 ] && { grep -q FAILED "$work/out" || ! grep -q '^  ok ' "$work/out"; }; then
    fail "${options[*]} $*: no check passed"
  fi
}

run 0 --nodes 2 --distribution cyclic -n 3 -- product 1000
run 0 --nodes 2 --distribution cyclic -n 3 -- axpy 100
run 0 --nodes 2 --distribution cyclic -n 3 -- dense_product 150
run 0 -n 3 -- dense_product 1
run 0 --nodes 2 --distribution cyclic -n 3 -- fock 150
run 0 -n 3 -- fock 1
run 0 --nodes 2 -n 4 -- assembly 20
run 0 --nodes 2 --distribution cyclic -n 3 -- submatrix 500
run 0 --nodes 2 -n 3 -- galerkin 500
run 0 --nodes 2 --distribution cyclic -n 4 -- migrate 6
run 0 --nodes 2 --distribution cyclic -n 5 -- stencil "$work/slice.ppm"
[ "$(head -c 13 "$work/slice.ppm")" = "P6 48 40 255" ] || fail "no picture of stencil"
run 0 -n 4 -- galerkin 3
run 1 -n 1 -- product none
grep -q '^usage: ' "$work/out" || fail "no usage of product"

run 1 --launcher local -n 2 -- product 10
grep -q "of 2 for sf: is the program started by sfrun --launcher local" "$work/out" || fail "the launcher is not named"

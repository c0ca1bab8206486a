#!/bin/bash
# The examples from outside: hello, and cg on grids and Matrix Market files, with their exit statuses: 0 all is well, 1
# bad input, 2 no convergence. Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
for program in sfd sfrun examples/cg examples/hello; do
  [ -x "$BUILD/$program" ] || { echo "skipped: $BUILD/$program is not built"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/mtx-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  cat "$work/out"
  exit 1
}

# expect STATUS RANKS PATTERN PROGRAM [ARGS]: runs it; its output must match the pattern. One rank, and what needs no MPI,
# is started without mpirun, which takes longer than the examples themselves.
expect() {
  local expected=$1 ranks=$2 pattern=$3 status=0 launcher=mpirun
  shift 3
  [ "$ranks" != 1 ] && [ "$1" != hello ] || launcher=local
  "$BUILD/sfrun" --launcher $launcher -n "$ranks" -- "$BUILD/examples/$1" "${@:2}" >"$work/out" 2>&1 || status=$?
  [ $status = "$expected" ] || fail "$* on $ranks ranks: exit status $status, expected $expected"
  grep -q -- "$pattern" "$work/out" || fail "$* on $ranks ranks: no '$pattern' in its output"
}

# A symmetric matrix of five rows as line 1 says, with $2 on its diagonal and $3 beside it. It is positive definite if
# $2 > 2 * $3.
matrix() {
  echo "%%MatrixMarket matrix coordinate $1"
  echo "5 5 9"
  for i in 1 2 3 4 5; do echo "$i $i $2"; done
  for i in 2 3 4 5; do echo "$i $((i - 1)) $3"; done
}

expect 0 3 'rank 2: saw 0 at rank 0; my own root is now 4' hello

expect 0 1 'All checks passed' cg --grid 6,5,4
expect 0 3 'All checks passed' cg --grid 6,5,4
expect 0 4 'All checks passed' cg --grid 1,1,2 # two ranks own nothing
expect 2 2 'did NOT converge after 3 iterations' cg --grid 10,10,10 --max-iterations 3

matrix 'real symmetric' 2.5 -1 >"$work/good.mtx"
expect 0 2 'All checks passed' cg --matrix "$work/good.mtx"
matrix 'integer symmetric' 3 -1 >"$work/integer.mtx"
expect 0 3 'All checks passed' cg --matrix "$work/integer.mtx"
matrix 'real symmetric' 1 3 >"$work/indefinite.mtx"
expect 2 2 'the matrix is NOT positive definite' cg --matrix "$work/indefinite.mtx"

matrix 'pattern symmetric' '' '' >"$work/pattern.mtx"
expect 1 2 "pattern.mtx:1: field 'pattern' is not supported" cg --matrix "$work/pattern.mtx"
matrix 'real symmetric' 2.5 -1 | sed '6s/.*/6 4 1/' >"$work/range.mtx"
expect 1 1 'range.mtx:6: entry (6, 4) is outside the matrix' cg --matrix "$work/range.mtx"
matrix 'real general' 2.5 -1 >"$work/general.mtx"
expect 1 1 'general.mtx:8: entry (2, 1) but none at (1, 2)' cg --matrix "$work/general.mtx"

expect 1 1 "'3,4' is not understood" cg --grid 3,4
expect 0 1 'usage:' cg --help

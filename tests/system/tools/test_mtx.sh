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
awk 'BEGIN { # rows and columns of the one above, but 30 of them, in units from 1 to 1e12
  print "%%MatrixMarket matrix coordinate real symmetric\n30 30 59"
  for (i = 1; i <= 30; i++) printf "%d %d %.17g\n", i, i, 2.5 * 10 ^ (2 * (i * 7 % 13))
  for (i = 2; i <= 30; i++) printf "%d %d %.17g\n", i, i - 1, -10 ^ (i * 7 % 13 + (i - 1) * 7 % 13)
}' >"$work/units.mtx"
expect 0 1 'All checks passed' cg --matrix "$work/units.mtx" --max-iterations 40
matrix 'integer symmetric' 3 -1 >"$work/integer.mtx"
expect 0 3 'All checks passed' cg --matrix "$work/integer.mtx"
matrix 'real symmetric' 1 0.9 >"$work/indefinite.mtx"
expect 2 2 'the matrix is NOT positive definite' cg --matrix "$work/indefinite.mtx"

matrix 'pattern symmetric' '' '' >"$work/pattern.mtx"
expect 1 2 "pattern.mtx:1: field 'pattern' is not supported" cg --matrix "$work/pattern.mtx"
matrix 'real symmetric' 2.5 -1 | sed '6s/.*/6 4 1/' >"$work/range.mtx"
expect 1 1 'range.mtx:6: entry (6, 4) is outside the matrix' cg --matrix "$work/range.mtx"
matrix 'real general' 2.5 -1 >"$work/general.mtx"
expect 1 1 'general.mtx:8: entry (2, 1) but none at (1, 2)' cg --matrix "$work/general.mtx"
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 3' '1 1 1' '2 1 5' '2 2 1' >"$work/hyperbolic.mtx"
expect 1 1 'hyperbolic.mtx:4: entry (2, 1) is 5, with 1 and 1 on the diagonal' cg --matrix "$work/hyperbolic.mtx"

expect 1 1 "'3,4' is not understood" cg --grid 3,4
expect 0 1 'usage:' cg --help
for program in cg product; do # needs neither sfrun nor sfd
  SF_SOCKET=$work/nobody "$BUILD/examples/$program" --help >"$work/out" 2>&1 || fail "$program --help without sfrun"
  grep -q '^usage: sfrun' "$work/out" || fail "$program --help without sfrun: no 'usage:'"
done

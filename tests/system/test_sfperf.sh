#!/bin/bash
# What sfperf says of itself, which takes no other ranks. Needs BUILD.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -x "$BUILD/sfperf" ] || { echo "skipped: no sfperf: there is no MPI in this build"; exit 77; }

fail() {
  echo "FAILED: $*"
  exit 1
}

help=$("$BUILD/sfperf" --help) || fail "sfperf --help"
for bench in pingpong exchange setup overlap incast collective watched judge; do
  [[ $help == *"  $bench "* ]] || fail "sfperf --help does not tell of $bench"
  [ "$("$BUILD/sfperf" "$bench" --help)" = "$help" ] || fail "sfperf $bench --help is not the help"
done
[ "$("$BUILD/sfperf" exchange --random 10 --help)" = "$help" ] || fail "behind other options"

expect_usage() { # WORD...
  local status=0
  "$BUILD/sfperf" "$@" >/dev/null 2>&1 || status=$?
  [ $status -eq 2 ] || fail "sfperf $*: exit status $status, expected 2"
}
expect_usage
expect_usage judge
[[ $("$BUILD/sfperf" --version) == "sfperf "[0-9]* ]] || fail "sfperf --version"

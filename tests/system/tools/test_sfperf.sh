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
for bench in pingpong bandwidth exchange setup overlap incast collective watched stencil onesided fock product; do
  [[ $help == *"  $bench "* ]] || fail "sfperf --help does not tell of $bench"
  own=$("$BUILD/sfperf" "$bench" --help) || fail "sfperf $bench --help"
  [[ $own == *"sfperf $bench [options]"*--reps* && $own != *THRESHOLDS* ]] || fail "sfperf $bench --help: $own"
  ! grep -E '.{81}' <<<"$own$help" || fail "sfperf $bench --help is wider than 80 columns"
  [[ $own == *--edges* ]] && [ $bench != setup ] && fail "sfperf $bench --help tells of an option of setup"
done
[[ $help == *"  judge "* ]] || fail "sfperf --help does not tell of judge"
[[ $("$BUILD/sfperf" exchange --random 10 --help) == *"sfperf exchange [options]"* ]] || fail "behind other options"

table=$("$BUILD/sfrun" --quiet -n 2 -- "$BUILD/sfperf" bandwidth --sizes 8,64K --reps 2 --sample-ms 1 --spread) ||
  fail "bandwidth: $table"
for row in total min max MB/s kmsg/s; do
  [ "$(grep -cE "(oneway|bothways) +$row " <<<"$table")" -eq 4 ] || fail "bandwidth: rows of $row: $table"
done

table=$("$BUILD/sfrun" --quiet -n 3 -- "$BUILD/sfperf" stencil --grid 18,16,17 --fields 1,3 --radius 2 --reps 2 --sample-ms 1) ||
  fail "stencil: $table"
[ "$(grep -cE "18x16x17-r2-f[13] +exchange +total " <<<"$table")" -eq 2 ] || fail "stencil: rows: $table"

# Contiguous patches and those of two dimensions; a counter. Values are checked by the benchmark itself.
for nodes in 1 2; do
  table=$("$BUILD/sfrun" --quiet --nodes $nodes -n 2 -- "$BUILD/sfperf" onesided --sizes 8,4160,600K --reps 2 --sample-ms 1) ||
    fail "onesided on $nodes nodes: $table"
  for operation in put get acc; do
    [ "$(grep -cE "^(8|4160|4160-2d|614400|614400-2d) +$operation +total " <<<"$table")" -eq 5 ] ||
      fail "onesided on $nodes nodes: rows of $operation: $table"
  done
  grep -qE "^8 +read_inc +total " <<<"$table" || fail "onesided on $nodes nodes: no counter: $table"
  grep -qE "Global Arrays is left out|^case .* ga( |$)" <<<"$table" ||
    fail "onesided on $nodes nodes does not tell of Global Arrays"
done

# Over two nodes a task makes one request and one answer to the other node, and so does each number that is drawn there:
# 16 tasks and 4 numbers more, twice.
for nodes in 1 2; do
  table=$("$BUILD/sfrun" --quiet --nodes $nodes -n 4 -- "$BUILD/sfperf" fock --tasks 4,16 --extent 64 --reps 2 --sample-ms 1) ||
    fail "fock on $nodes nodes: $table"
  [ "$(grep -cE "^(4|16) +tasks +total " <<<"$table")" -eq 2 ] || fail "fock on $nodes nodes: rows: $table"
done
messages=$(sed -n 's/^# tasks between nodes, sf_array: \([0-9]*\) messages.*/\1/p' <<<"$table" | tail -1)
((messages >= 64 && messages <= 64 + 80)) || fail "fock on 2 nodes: $messages messages: $table"

table=$("$BUILD/sfrun" --quiet -n 2 -- "$BUILD/sfperf" onesided --sizes 4K --busy 20 --reps 2) || fail "onesided --busy: $table"
[ "$(grep -cE "^4096(-2d)? +get-busy-p(50|99) +total +[0-9]" <<<"$table")" -eq 4 ] || fail "onesided --busy: rows: $table"

# The benchmark compares with a serial product.
table=$("$BUILD/sfrun" --quiet -n 2 -- "$BUILD/sfperf" product --tasks 16 --extent 64 --reps 2 --sample-ms 1) ||
  fail "product: $table"
[ "$(grep -cE "^64-[NT][NT] +product +total " <<<"$table")" -eq 4 ] || fail "product: rows: $table"

refused=$("$BUILD/sfperf" pingpnog 2>&1) && fail "unknown benchmark: $refused"
[[ $refused == *"unknown benchmark pingpnog (did you mean pingpong?): "* ]] || fail "unknown benchmark: $refused"
printed=$("$BUILD/sfperf" judge "$BUILD/none" </dev/null 2>/dev/null) && fail "judge without thresholds"
[ -z "$printed" ] || fail "judge without thresholds prints: $printed"

expect_usage() { # WORD...
  local status=0
  "$BUILD/sfperf" "$@" >/dev/null 2>&1 || status=$?
  [ $status -eq 2 ] || fail "sfperf $*: exit status $status, expected 2"
}
expect_usage
expect_usage judge
[[ $("$BUILD/sfperf" --version) == "sfperf "[0-9]* ]] || fail "sfperf --version"

# Without its own MPI's mpirun each process is a world of its own.
refused=$("$BUILD/sfrun" --quiet --launcher local -n 2 -- "$BUILD/sfperf" exchange 2>&1) && fail "local launcher: $refused"
[[ $refused == *"exchange: MPI_COMM_WORLD is this process alone, but its launcher has started 2 (SF_SIZE)"* ]] ||
  fail "local launcher: $refused"

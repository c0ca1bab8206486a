#!/bin/bash
# Checks one model with Spin: run.sh FILE.pml. First all its states for deadlocks and failing assertions, then each of
# its ltl properties, over runs in which every process that can go on does so at last. A line of the model that says
# "run.sh: also with -DNAME" names a variant whose states are checked as well, "run.sh: must fail with -DNAME" one in
# which this must find an error.
set -eu
model=$(realpath "$1")
name=$(basename "$model" .pml)

if ! command -v spin >/dev/null; then
  echo "skipped: spin is not installed"
  exit 77
fi

export GLIBC_TUNABLES=glibc.malloc.hugetlb=1 # searches mostly touch fresh memory: a quarter less time
work=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$model" model.pml
spin -a model.pml

# verify WHAT PAN-OPTION...: pan must have seen the whole state space and found nothing.
verify() {
  echo "== $name: $1"
  shift
  ./pan "$@" >output 2>&1 || true
  cat output
  if ! grep -q 'errors: 0' output || grep -qE 'max search depth too small|out of memory' output; then
    [ ! -e model.pml.trail ] || spin -t -p -g -l model.pml | tail -n 100
    exit 1
  fi
}

read -ra compiler <<<"${CC:-cc}" # may be several words

# Compiling takes longer than most searches: what goes through few states is not optimised.
compile() { "${compiler[@]}" -w -o pan pan.c "$@"; }

compile -O1 -DSAFETY -DNOCLAIM
verify "deadlocks and assertions" -m1000000

properties=$(sed -n 's/^[[:space:]]*ltl[[:space:]]\{1,\}\([A-Za-z_0-9]*\).*/\1/p' model.pml)
[ -z "$properties" ] || compile -O1 -DNFAIR=4
for property in $properties; do
  verify "$property" -a -f -m1000000 -N "$property"
done

for variant in $(sed -n 's/.*run\.sh: also with \(-D[A-Z_]*\).*/\1/p' model.pml); do
  spin -a "$variant" model.pml
  compile -O1 -DSAFETY -DNOCLAIM
  verify "deadlocks and assertions with $variant" -m1000000
done

for variant in $(sed -n 's/.*run\.sh: must fail with \(-D[A-Z_]*\).*/\1/p' model.pml); do
  echo "== $name: must fail with $variant"
  spin -a "$variant" model.pml
  compile -O0 -DSAFETY -DNOCLAIM
  ./pan -m100000 -w20 >output 2>&1 || true # errors lie near: clearing tables of the usual size would take longest
  if ! grep -qE 'errors: [1-9]' output; then
    cat output
    exit 1
  fi
done

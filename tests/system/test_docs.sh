#!/bin/bash
# The API reference is complete: every public name is documented, and one that is not would be found. Needs BUILD.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: one build is enough"; exit 77; }
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/docs-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  cat "$work/out"
  exit 1
}

BUILD=$work doxygen docs/Doxyfile >"$work/out" 2>&1 || fail "the reference is not complete"
grep -q 'sf_bcast_begin' "$work"/docs/html/*.html || fail "no sf_bcast_begin in it"

# Headers with one name more each, which nobody has documented.
broken() {
  rm -rf "$work/tree"
  mkdir "$work/tree"
  cp -r --parents client/include shm/include docs/Doxyfile docs/doxygen_filter.awk "$work/tree"
  sed -i "$2" "$work/tree/$1"
  if (cd "$work/tree" && BUILD=$work doxygen docs/Doxyfile) >"$work/out" 2>&1; then
    fail "$1 is complete after: $2"
  fi
}

broken client/include/sf/sf.h '/^const char \*sf_version/a\\nvoid sf_unknown(void);'
broken client/include/sf/sf_algebra.h 's/^  SF_ROOTS_LOCAL = 0,/  SF_ROOTS_UNKNOWN = 9,\n&/'

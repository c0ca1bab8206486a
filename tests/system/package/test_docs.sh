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

# A header in which a name is not documented: it must be told.
broken() { # NAME HEADER SED-COMMAND
  rm -rf "$work/tree"
  mkdir "$work/tree"
  cp -r --parents client/include shm/include docs/Doxyfile docs/doxygen_filter.awk "$work/tree"
  sed -i "$3" "$work/tree/$2"
  if (cd "$work/tree" && BUILD=$work doxygen docs/Doxyfile) >"$work/out" 2>&1; then
    fail "$2 is complete after: $3"
  fi
  grep -q "$1" "$work/out" || fail "$2: nothing is said of $1"
}

broken sf_unknown client/include/sf/sf.h '/^const char \*sf_version/a\\nvoid sf_unknown(void);'
broken SF_UNKNOWN client/include/sf/sf.h '/^const char \*sf_version/a\\n#define SF_UNKNOWN 1'
broken this_is_not_documented client/include/sf/sf_algebra.h 's/^  SF_ROOTS_LOCAL = 0,/  SF_ROOTS_UNKNOWN = 9,\n&/'
broken npoints client/include/sf/sf_section.h 's/^\(  int64_t npoints;\).*/\1/'
broken sf_mpi_unknown client/include/sf/sf_mpi.h '/^sf_status_t sf_mpi_op_destroy/a\\nvoid sf_mpi_unknown(MPI_Comm comm);'

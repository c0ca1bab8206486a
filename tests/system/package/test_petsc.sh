#!/bin/bash
# A PETSc program gives the same output with its own star forests and with those of sfd, whichever of them does the
# work: on one node and over several, in ordinary memory and in memory that the ranks of a node share. What users see
# without a daemon. Needs BUILD, the build directory. Starting PETSc is what takes time: for each change jobs that differ
# in one option only are left out.
set -euo pipefail
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: PETSc and MPI have reports of their own"; exit 77; }
adapter=$BUILD/libsfclient_petsc.so
cases=$BUILD/tests/petsc/cases
for file in "$BUILD/sfd" "$BUILD/sfrun" "$adapter" "$cases"; do
  [ -e "$file" ] || { echo "skipped: $file is not built: petsc-dev with its private headers, and its MPI, are needed"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/petsc-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
thorough=false
[ "${SFTEST_LEVEL-all}" = check ] || thorough=true

fail() {
  echo "FAILED: $*"
  grep -v 'Configure options' "$work/err" | head -n 40
  exit 1
}

# run OUTPUT SFRUN-OPTION... -- PETSC-OPTION...
run() {
  local output=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  "$BUILD/sfrun" --quiet "${options[@]}" -- "$cases" "$@" 2>"$work/err" | grep -v ' us an iteration' \
    >"$output" || fail "${options[*]} -- $*: exit status $?"
}

# same_with NAME SFRUN-OPTION... -- PETSC-OPTION...
same_with() {
  local name=$1
  shift
  run "$work/found" "$@" -dll_append "$adapter" -sf_type sfd
  diff "$work/expected" "$work/found" || fail "$name: the output differs from that of -sf_type basic"
  echo "$name: the same $(wc -l <"$work/found") lines"
}

# The library must have done most of it, or the comparison says nothing.
expect_used() {
  local by_sfd by_mpi
  read -r by_sfd by_mpi < <(sed -n 's/.*graph of sfd: yes; operations: \([0-9]*\) by sfd, \([0-9]*\) by MPI/\1 \2/p' \
    "$work/err")
  [ "${by_sfd:-0}" -gt 50 ] || fail "${by_sfd:-no} operations by sfd, ${by_mpi:-all} by MPI"
}

# expect_regions COUNT: what sfctl said of the ranks' memory. Their inboxes are not PETSc's.
expect_regions() {
  local count
  grep -q '"kind":"inbox"' "$work/ranks" || fail "sfctl told of no ranks"
  count=$(grep -c '"kind":"alloc"' "$work/ranks" || true)
  [ "$count" -eq "$1" ] || fail "PETSc's memory is shared on $count ranks, expected $1"
}
ask="$BUILD/sfctl ranks --json >$work/ranks"

run "$work/expected" -n 4 -- -sf_type basic
[ "$(wc -l <"$work/expected")" -gt 80 ] || fail "the program said too little"
same_with "one node" -n 4 -- -show -info "$work/info:sf" -sfd_trial no
expect_used
# The program makes some five hundred star forests, most of them for a moment.
made=$(grep -c 'sfd: graph made' "$work/info.0")
((made > 20 && made < 60)) || fail "$made graphs were made"
if $thorough; then
  same_with "from the first operation on" -n 4 -- -sfd_setup_after 0 -ask "$ask"
  expect_regions 0
fi
# Open MPI's senders have to help with large messages then: they must while they wait for sfd.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
same_with "shared memory" -n 4 -- -sfd_setup_after 1 -sfd_malloc 1024 -ask "$ask"
expect_regions 4
unset OMPI_MCA_btl_vader_single_copy_mechanism
same_with "two nodes" --nodes 2 -n 4 -- -sfd_setup_after 0 -show
expect_used
if $thorough; then
  same_with "two nodes, sums in the trial" --nodes 2 -n 4 -- -sfd_trial all
  same_with "three nodes, dealt out" --nodes 3 --distribution cyclic -n 4 -- -sfd_setup_after 2
fi
# Of sfd and MPI, what is faster for a star forest goes on with it: one of them is made slow.
cat >"$work/slow.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
static void delay(const char *whom)
{
  if (strcmp(SLOW, whom) == 0)
    usleep(5000);
}
int sf_start(void *request)
{
  delay("sfd");
  return ((int (*)(void *))dlsym(RTLD_NEXT, "sf_start"))(request);
}
int MPI_Startall(int count, void *requests)
{
  delay("MPI");
  return ((int (*)(int, void *))dlsym(RTLD_NEXT, "MPI_Startall"))(count, requests);
}
EOF
run "$work/expected" -n 2 -- -only types -sf_type basic
cases_alone=$cases
for slow in sfd MPI; do
  ${CC:-gcc} -shared -fPIC -DSLOW="\"$slow\"" -o "$work/slow-$slow.so" "$work/slow.c"
  printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$work/slow-$slow.so" "$cases_alone" >"$work/cases"
  chmod +x "$work/cases"
  cases=$work/cases
  same_with "slow $slow" -n 2 -- -only types -info "$work/trials:sf"
  said=$(sed -n 's/.*sfd: an operation takes .*: continues by //p' "$work/trials.0")
  [ "$said $slow" = "MPI sfd" ] || [ "$said $slow" = "sfd MPI" ] || fail "slow $slow: continues by ${said:-none}"
done
cases=$cases_alone
run "$work/expected" -n 5 -- -sf_type basic
same_with "three nodes, unevenly" --nodes 3 -n 5 -- -sfd_setup_after 0
if $thorough; then
  run "$work/expected" -n 4 -- -half_first -sf_type basic
  same_with "on half of the processes first, then on all" -n 4 -- -half_first
  cases=$BUILD/examples/petsc_cg
  run "$work/expected" -n 4 -- -points 8 -sf_type basic
  same_with "an example" --nodes 2 -n 4 -- -points 8
  cases=$BUILD/tests/petsc/cases
fi
run "$work/expected" -n 1 -- -sf_type basic
same_with "alone" -n 1 --

# expect_messages OP CONTENDER COUNT: between nodes, for one operation. Counted, so the same on every run.
expect_messages() {
  local found
  found=$(sed -n "s/.*\"op\":\"$1-messages\",\"contender\":\"$2\".*\"samples_messages\":\[\(.*\)\].*/\1/p" "$work/out")
  [ "$found" = "$3" ] || fail "$1: ${found:-no} messages of $2, expected $3"
}

# The benchmark that make bench runs, in short.
if [ -x "$BUILD/sfbench-petsc" ]; then
  if $thorough; then
    "$BUILD/sfrun" --quiet -n 2 -- "$BUILD/sfbench-petsc" -dll_append "$adapter" -bench_reps 1 -bench_sample_ms 1 \
      -bench_case random-10,matrix-4,gmres-10,gamg-4 >"$work/out" 2>"$work/err" || fail "sfbench-petsc"
    [ "$(grep -c '"contender":"petsc_sfd"' "$work/out")" -eq 6 ] || fail "sfbench-petsc: figures of sfd"
  fi
  "$BUILD/sfrun" --quiet --nodes 2 -n 4 -- "$BUILD/sfbench-petsc" -dll_append "$adapter" -bench_reps 1 \
    -bench_sample_ms 1 -bench_case overlapping-1000 -sfd_trial no >"$work/out" 2>"$work/err" || fail "sfbench-petsc over two nodes"
  for op in forward reverse; do
    expect_messages $op petsc_sfd 2
    expect_messages $op rank_pairs 8
  done
fi

# Without a daemon: an error that says what to do, not a hang; a program that does not use it is not disturbed.
expect_error() { # TEXT COMMAND...
  local text=$1
  shift
  ! "$@" >"$work/out" 2>"$work/err" || fail "$*: an error was expected"
  grep -q -- "$text" "$work/err" || fail "$*: expected '$text'"
}
export SF_SOCKET=$work/nobody.sock OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
expect_error "no sfd answers at $work/nobody.sock" "$cases" -dll_append "$adapter" -sf_type sfd
expect_error "sfrun -n 4" "$cases" -dll_append "$adapter" -sf_type sfd
expect_error "-sfd_setup_after -1: a number of operations expected" "$cases" -dll_append "$adapter" -sfd_setup_after -1
expect_error "Unknown option maybe for -sfd_trial" "$cases" -dll_append "$adapter" -sfd_trial maybe
expect_error "-sfd_malloc 0: the smallest number" "$cases" -dll_append "$adapter" -sfd_malloc 0
expect_error "-malloc_debug excludes it" "$cases" -dll_append "$adapter" -malloc_debug -sfd_malloc
# Another PETSc than it was built for. Only the minor number is changed: PetscInt may be longer than int.
cat >"$work/other.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#ifdef VERSION
int PetscGetVersionNumber(int *major, int *minor, int *patch, int *release)
{
  int (*real)(int *, int *, int *, int *) = dlsym(RTLD_NEXT, "PetscGetVersionNumber");
  int error = real(major, minor, patch, release);
  *minor = 99;
  return error;
}
#elif defined INTEGERS
int PetscDataTypeGetSize(int type, size_t *size)
{
  *size = 2;
  return 0;
}
#else
int PetscDataTypeFromString(const char *name, int *type, int *found)
{
  *type = 2; /* complex */
  return 0;
}
#endif
EOF
expect_other() { # WHAT TEXT
  ${CC:-gcc} -shared -fPIC -D"$1" -o "$work/other-$1.so" "$work/other.c"
  expect_error "$2" env LD_PRELOAD="$work/other-$1.so" "$cases" -dll_append "$adapter" -sf_type basic
}
expect_other VERSION "is built for PETSc 3[.][0-9]*, but this is PETSc 3.99"
expect_other INTEGERS "is built for a PETSc whose integers have [48] bytes, but those of this one have 2"
expect_other SCALARS "is built for a PETSc whose scalars are DOUBLE, but those of this one are COMPLEX"
"$cases" -dll_append "$adapter" -sf_type basic >"$work/found" 2>"$work/err" || fail "not used, no daemon"
diff "$work/expected" "$work/found" || fail "not used, no daemon: the output differs"
echo "all is the same"

#!/bin/bash
# The mpi fabric under each MPI that is there: tests/mpi/fabric_mpi*.c on three nodes, and that the death of one node ends
# the others. Needs BUILD, the build directory. mpirun is started here and not by sfrun, since what it starts are the
# daemons: one process each of an MPI job, which sfrun, that starts the ranks of applications, has no part in.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
cd "$(dirname "$0")/../../.."
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
programs=$BUILD/tests/mpi
[ -x "$programs/fabric_mpi" ] || { echo "skipped: $programs/fabric_mpi is not built"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/fabric-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PMIX_MCA_gds=hash # with locks in shared memory PMIx hangs if a killed process held one

fail() {
  echo "FAILED: $*"
  cat "$work/out"
  exit 1
}

# The directory with a plugin for this MPI: the build's own, or one made here, since the programs don't depend on MPI.
plugin_for() { # NAME PATTERN-OF-LIBRARY
  if ldd "$BUILD/libsfd_mpi.so" | grep -q "$2"; then
    echo "$BUILD"
  elif command -v "mpicc.$1" >/dev/null; then
    make -s BUILD="$BUILD/plugin-$1" MPICC="mpicc.$1" "$BUILD/plugin-$1/libsfd_mpi.so" >&2 && echo "$BUILD/plugin-$1"
  fi
}

is_gone() {
  ! kill -0 "$1" 2>/dev/null
}

eventually() {
  local deadline=$((SECONDS + 400))
  until "$@"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.05
  done
}

all_wait() {
  [ "$(grep -c 'waits, process' "$work/out")" -eq 3 ]
}

# One node is killed: MPI ends the others.
kill_one() { # MPIRUN...
  local mpirun processes process status=0
  "$@" "$programs/fabric_mpi_ends" wait >"$work/out" 2>&1 &
  mpirun=$!
  eventually all_wait || { kill $mpirun; fail "$1: three nodes don't come to wait"; }
  processes=$(sed -n 's/.*waits, process //p' "$work/out")
  kill -9 "$(sed -n 's/.*node 1 waits, process //p' "$work/out")"
  wait $mpirun || status=$?
  [ $status -ne 0 ] || fail "$1: succeeds though a node was killed"
  for process in $processes; do
    eventually is_gone "$process" || fail "$1: process $process outlives the killed node"
  done
}

with_mpi() { # MPIRUN...
  local program
  for program in fabric_mpi fabric_mpi_ends; do
    rm -f "$work/held"
    "$@" "$programs/$program" "$work/held" >"$work/out" 2>&1 || fail "$program with $1: exit status $?"
    sed "s|^|$program with $1: |" "$work/out"
  done
  kill_one "$@"
}

nmpis=0
for name in openmpi mpich; do
  if ! command -v mpirun.$name >/dev/null; then
    echo "part skipped: no mpirun.$name"
    continue
  fi
  case $name in
  openmpi) library='libmpi\.so' arguments=(--oversubscribe --bind-to none) ;;
  *) library='libmpich\.so' arguments=() ;;
  esac
  SFTEST_PLUGIN_DIR=$(plugin_for $name "$library")
  export SFTEST_PLUGIN_DIR
  if [ -z "$SFTEST_PLUGIN_DIR" ]; then
    echo "part skipped: no mpicc.$name"
    continue
  fi
  nmpis=$((nmpis + 1))
  with_mpi mpirun.$name "${arguments[@]}" -n 3
done
[ $nmpis -gt 0 ] || { echo "skipped: neither mpirun.openmpi nor mpirun.mpich"; exit 77; }

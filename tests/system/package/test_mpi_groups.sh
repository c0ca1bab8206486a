#!/bin/bash
# Contexts and groups of MPI communicators of which one process has wrong arguments: tests/mpi/groups_mpi.c; and without
# MPI's launcher. Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
[ -x "$BUILD/tests/mpi/groups_mpi" ] || { echo "skipped: $BUILD/tests/mpi/groups_mpi is not built"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
program=$BUILD/tests/mpi/groups_mpi

# Without its own MPI's mpirun each process is rank 0 of a world of its own, which must not pass for success.
if out=$("$BUILD/sfrun" --launcher local -n 2 -- "$program" 2>&1) ||
  [[ $out != *"MPI_COMM_WORLD is this process alone, but its launcher has started 2 (SF_SIZE)"* ]]; then
  echo "FAILED: the local launcher with an MPI program: $out"
  exit 1
fi

exec "$BUILD/sfrun" -n 3 -- "$program"

#!/bin/bash
# The adapter's units and ops: tests/mpi/types_mpi.c. Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
[ -x "$BUILD/tests/mpi/types_mpi" ] || { echo "skipped: $BUILD/tests/mpi/types_mpi is not built"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec "${SFRUN_MPIRUN:-mpirun}" -n 1 "$BUILD/tests/mpi/types_mpi"

#!/bin/bash
# Contexts and groups of MPI communicators of which one process has wrong arguments: tests/mpi/groups_mpi.c. Needs BUILD,
# the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
[ -z "${SANITIZE-}" ] || { echo "skipped: the sanitizers' reports about MPI itself would drown ours"; exit 77; }
[ -x "$BUILD/tests/mpi/groups_mpi" ] || { echo "skipped: $BUILD/tests/mpi/groups_mpi is not built"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec timeout 60 "$BUILD/sfrun" -n 3 -- "$BUILD/tests/mpi/groups_mpi"

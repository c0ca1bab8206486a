/* Library to preload into MPI programs, so that sfd carries their neighborhood collectives. */
#ifndef SFRUN_MPI_NEIGHBORS_H
#define SFRUN_MPI_NEIGHBORS_H

#include <limits.h>
#include <stdbool.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/mpi.h"

/* Finds a library of this installation: beside this program, else in ../lib or ../lib64, else in a folder of ../lib,
 * such as ../lib/x86_64-linux-gnu. */
bool sfrun_library_find(const char *name, char path_p[PATH_MAX]);

#define SFRUN_PRELOAD_BYTES (2 * PATH_MAX)

/* Finds the library for this MPI. Writes "LD_PRELOAD=PATH", followed by libraries that are preloaded anyway: functions
 * of MPI come to ours first, and from it to those. SF_ERR_UNSUPPORTED: of this MPI there is none. SF_ERR_NOT_FOUND
 * names the file. */
sf_status_t sfrun_neighbors_preload(sfrun_mpi_t mpi, char variable_p[SFRUN_PRELOAD_BYTES]);

#endif

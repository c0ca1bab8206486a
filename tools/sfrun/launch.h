/* Starting the program: under mpirun, or its ranks directly. */
#ifndef SFRUN_LAUNCH_H
#define SFRUN_LAUNCH_H

#include <limits.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi.h"
#include "tools/sfrun/options.h"
#include "tools/sfrun/supervise.h"

/* What has been found out before anything is started. */
typedef struct sfrun_launch {
  const sfrun_options_t *options;
  char program_path[PATH_MAX]; /* local launcher only */
  char mpirun_path[PATH_MAX];  /* this and the following: mpirun launcher only */
  sfrun_mpi_t mpi;
  sfrun_mpi_additions_t additions;
} sfrun_launch_t;

/* Finds program, mpirun and what that needs, and says on standard error what is added unless quiet. */
sf_status_t sfrun_launch_prepare(const sfrun_options_t *options, sfrun_launch_t *launch);

/* Starts mpirun, or all ranks. The children's memory is freed with sfrun_children_free, also after an error, which
 * leaves nothing running. */
sf_status_t sfrun_launch_start(const sfrun_launch_t *launch, sfrun_children_t *children);
void sfrun_children_free(sfrun_children_t *children);

#endif

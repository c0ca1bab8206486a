/* Starting the program by mpirun, or its ranks directly. */
#ifndef SFRUN_LAUNCH_H
#define SFRUN_LAUNCH_H

#include <limits.h>

#include <sf/sf_status.h>

#include "tools/sfrun/as_rank.h"
#include "tools/sfrun/daemon.h"
#include "tools/sfrun/hosts/hosts.h"
#include "tools/sfrun/mpi/mpi.h"
#include "tools/sfrun/mpi/neighbors.h"
#include "tools/sfrun/options.h"
#include "tools/sfrun/process/supervise.h"

/* Decisions before anything is started. */
typedef struct sfrun_launch {
  const sfrun_options_t *options;
  char program_path[PATH_MAX]; /* local launcher only */
  sfrun_hosts_t hosts;         /* none: this host */
  char mpirun_path[PATH_MAX];  /* this and the following: if mpirun is used */
  sfrun_mpi_t mpi;
  sfrun_mpi_additions_t additions;
  char preload[SFRUN_PRELOAD_BYTES]; /* variable for the program only; empty: none */
} sfrun_launch_t;

/* List of hosts in the private directory. */
#define SFRUN_HOSTFILE "hosts"

/* Finds program, hosts, mpirun and what it needs; prints additions unless quiet. Call sfrun_launch_free also after an
 * error. */
sf_status_t sfrun_launch_prepare(const sfrun_options_t *options, sfrun_launch_t *launch);
void sfrun_launch_free(sfrun_launch_t *launch);

/* Whether mpirun starts the daemons: on other hosts, or because they use MPI. */
bool sfrun_launch_has_remote_daemons(const sfrun_launch_t *launch);

/* Starts mpirun, or all ranks, each with its daemon. Free children with sfrun_children_free, also after an error, which
 * leaves nothing running. */
sf_status_t sfrun_launch_start(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons,
                               sfrun_children_t *children);
void sfrun_children_free(sfrun_children_t *children);

#endif

/* Daemons started by mpirun: on other hosts, or as an MPI job. */
#ifndef SFRUN_HOSTS_REMOTE_H
#define SFRUN_HOSTS_REMOTE_H

#include <sf/sf_status.h>

#include "tools/sfrun/daemon.h"
#include "tools/sfrun/launch.h"

/* Starts a daemon on each host, or --nodes of them here, and waits until all are ready. Otherwise as
 * sfrun_daemons_start. */
sf_status_t sfrun_remote_start(const sfrun_launch_t *launch, int signal_fd, sfrun_daemons_t *daemons,
                               int *interrupted_p);

#endif

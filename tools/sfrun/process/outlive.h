/* For a process that mpirun may kill before it has cleaned up. */
#ifndef SFRUN_PROCESS_OUTLIVE_H
#define SFRUN_PROCESS_OUTLIVE_H

#include <sf/sf_status.h>

/* Goes on in a child with a process group of its own: where a job fails, mpirun kills what it started soon after
 * SIGTERM (Open MPI after a second, Hydra at once), and stopping a daemon and removing its files may take longer.
 * Returns there with *signal_fd_p, see sfrun_signals_open. The first process stays, passes each signal that asks to
 * end, and exits as the child does; if it is killed, the child gets SIGTERM. */
sf_status_t sfrun_outlive(int *signal_fd_p);

#endif

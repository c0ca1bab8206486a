/* For a process that mpirun may kill before it has cleaned up. */
#ifndef SFRUN_PROCESS_OUTLIVE_H
#define SFRUN_PROCESS_OUTLIVE_H

#include <sf/sf_status.h>

/* Continues in a child with its own process group: when a job fails, mpirun kills its processes soon after SIGTERM
 * (Open MPI after a second, Hydra at once), and ending a daemon may take longer. Returns there with *signal_fd_p, see
 * sfrun_signals_open. The first process forwards signals that ask to end, and exits like the child; if it is killed,
 * the child gets SIGTERM. */
sf_status_t sfrun_outlive(int *signal_fd_p);

#endif

/* sfrun as mpirun starts it for each daemon: starts the daemon on its host and waits for its end. */
#ifndef SFRUN_AS_DAEMON_H
#define SFRUN_AS_DAEMON_H

#include <sf/sf_status.h>

#define SFRUN_AS_DAEMON "--as-daemon" /* hidden option */
#define SFRUN_AS_DAEMON_WORDS 5       /* of the command before sfd: sfrun --as-daemon DIRECTORY NLOCAL -- */

/* Lines on standard output, followed by the host's name: its daemon is ready, or has failed. */
#define SFRUN_READY_LINE "sfrun-daemon-ready "
#define SFRUN_FAILED_LINE "sfrun-daemon-failed "

/* Signal that ends the daemon. mpirun forwards it, and does not kill soon after, as with SIGTERM. */
#define SFRUN_END_SIGNAL SIGUSR1

/* argv[2] and following: the private directory, which is created if NLOCAL, the number of daemons that share it, is 1,
 * and receives the key that lies beside it; "--"; sfd and its arguments, to which socket and ready-fd are added.
 * Returns when told to end, even if the daemon ends earlier. */
sf_status_t sfrun_as_daemon(int argc, char *argv[]);

#endif

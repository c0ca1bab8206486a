/* sfrun as mpirun runs it, once for each daemon: starts the daemon on its host and stays beside it. */
#ifndef SFRUN_AS_DAEMON_H
#define SFRUN_AS_DAEMON_H

#include <sf/sf_status.h>

#define SFRUN_AS_DAEMON "--as-daemon" /* hidden option */
#define SFRUN_AS_DAEMON_WORDS 5       /* of the command before sfd: sfrun --as-daemon DIRECTORY NLOCAL -- */

/* The lines on standard output that say that the daemon of a host, whose name follows, is ready, or has not come up. */
#define SFRUN_READY_LINE "sfrun-daemon-ready "
#define SFRUN_FAILED_LINE "sfrun-daemon-failed "

/* What makes it end its daemon. mpirun passes this signal on, and does not, as with SIGTERM, kill soon after. */
#define SFRUN_END_SIGNAL SIGUSR1

/* What argv[2] and the following are: the private directory, which is made here if NLOCAL, the number of daemons that
 * share it, is 1, and gets the key that lies beside it; "--", the sfd to start and its arguments, to which socket and
 * ready-fd are added. Stays
 * until it is told to end, also when the daemon ends before. */
sf_status_t sfrun_as_daemon(int argc, char *argv[]);

#endif

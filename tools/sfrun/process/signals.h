/* Signals that sfrun waits for: blocked, and read from one descriptor. */
#ifndef SFRUN_PROCESS_SIGNALS_H
#define SFRUN_PROCESS_SIGNALS_H

#include <stdbool.h>
#include <sys/signalfd.h>

#include <sf/sf_status.h>

/* Blocks SIGCHLD and forwarded signals (INT, TERM, HUP, USR1, USR2), and opens a descriptor for them, until sfrun ends;
 * SIGPIPE is blocked, too. */
sf_status_t sfrun_signals_open(int *fd_p);

/* False: none. Never blocks. */
bool sfrun_signals_take(int fd, struct signalfd_siginfo *info_p);

/* Whether the signal asks sfrun to end. */
bool sfrun_signals_ends(int signal);

/* In a child before execve: the original mask. */
void sfrun_signals_restore(void);

#endif

/* The private daemon of one sfrun: its directory, socket and process. */
#ifndef SFRUN_DAEMON_H
#define SFRUN_DAEMON_H

#include <sys/types.h>
#include <sys/un.h>

#include <sf/sf_status.h>

#include "tools/sfrun/options.h"

#define SFRUN_SOCKET_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

/* All zero: not started. */
typedef struct sfrun_daemon {
  char directory[SFRUN_SOCKET_BYTES]; /* "": none */
  char socket[SFRUN_SOCKET_BYTES];
  pid_t pid; /* 0: not running, or already reaped */
} sfrun_daemon_t;

/* Makes a private directory, starts sfd on a socket in it and waits until it is ready. A signal read from signal_fd
 * that asks sfrun to end ends the waiting: SF_ERR_STATE with the signal in *interrupted_p. Also after an error
 * sfrun_daemon_stop must be called. */
sf_status_t sfrun_daemon_start(const sfrun_options_t *options, int signal_fd, sfrun_daemon_t *daemon,
                               int *interrupted_p);

/* Ends the daemon (SIGTERM, after 5 s SIGKILL, which is reported on standard error) and removes its directory. */
void sfrun_daemon_stop(sfrun_daemon_t *daemon);

#endif

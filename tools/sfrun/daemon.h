/* The private daemons of one sfrun: their directory, sockets and processes. */
#ifndef SFRUN_DAEMON_H
#define SFRUN_DAEMON_H

#include <stdint.h>
#include <sys/types.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"
#include "tools/sfrun/options.h"

/* All zero: none started. */
typedef struct sfrun_daemons {
  char directory[SFRUN_SOCKET_BYTES];        /* "": none */
  char socket_directory[SFRUN_SOCKET_BYTES]; /* of the sockets: sfrun_socket_path; the same name on all hosts */
  int32_t nlocal;                            /* daemons to a host, which share the directory */
  int32_t nprocesses;
  pid_t *pids;      /* of the daemons, or of the one mpirun that runs them; 0: not running, or already reaped */
  const char *what; /* what the processes are */
  int stop_signal;  /* that makes them end */
  int output_fd;    /* where mpirun's output comes from, which must stay open; 0: none */
} sfrun_daemons_t;

/* Makes a private directory, starts on sockets in it one sfd for each node of --nodes, and waits until all are ready.
 * A signal read from signal_fd that asks sfrun to end ends the waiting: SF_ERR_STATE with the signal in
 * *interrupted_p. Also after an error sfrun_daemons_stop must be called. */
sf_status_t sfrun_daemons_start(const sfrun_options_t *options, int signal_fd, sfrun_daemons_t *daemons,
                                int *interrupted_p);

/* Waits until fd gives a byte: *got_p; false at its end. Signals as above. */
sf_status_t sfrun_daemons_wait(int fd, int signal_fd, int64_t deadline_ms, bool *got_p, char *byte_p,
                               int *interrupted_p);

/* Where the daemons' messages go: a new descriptor. SF_ERR_SYS. */
sf_status_t sfrun_daemons_open_log(const sfrun_options_t *options, int *fd_p);

/* Notes that a process has ended, and tells of it if it was one of the daemons. */
void sfrun_daemons_note_end(sfrun_daemons_t *daemons, pid_t pid, int wait_status);

/* Ends the daemons (SIGTERM, after 5 s SIGKILL, which is reported on standard error) and removes the directory. */
void sfrun_daemons_stop(sfrun_daemons_t *daemons);

#endif

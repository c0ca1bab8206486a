/* Private daemons of sfrun: directory, sockets, processes. */
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
  pid_t *pids;      /* of daemons, or of the one mpirun; 0: not running, or reaped */
  const char *what; /* what the processes are */
  int stop_signal;  /* ends them */
  int output_fd;    /* mpirun's output, which must stay open; 0: none */
} sfrun_daemons_t;

/* Creates a private directory, starts one sfd per node of --nodes, and waits until all are ready. A signal in signal_fd
 * that asks to end ends the waiting: SF_ERR_STATE, *interrupted_p. Call sfrun_daemons_stop also after an error. */
sf_status_t sfrun_daemons_start(const sfrun_options_t *options, int signal_fd, sfrun_daemons_t *daemons,
                                int *interrupted_p);

/* Waits for a byte of fd: *got_p; false at its end. Signals as above. */
sf_status_t sfrun_daemons_wait(int fd, int signal_fd, int64_t deadline_ms, bool *got_p, char *byte_p,
                               int *interrupted_p);

/* A new descriptor for the daemons' messages. SF_ERR_SYS. */
sf_status_t sfrun_daemons_open_log(const sfrun_options_t *options, int *fd_p);

/* Records the end of a process, and reports it if it was a daemon. */
void sfrun_daemons_note_end(sfrun_daemons_t *daemons, pid_t pid, int wait_status);

/* Ends the daemons (SIGTERM; after 5 s SIGKILL, with a message) and removes the directory. */
void sfrun_daemons_stop(sfrun_daemons_t *daemons);

#endif

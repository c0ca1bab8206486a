/* Supervision of started processes until all have ended. */
#ifndef SFRUN_PROCESS_SUPERVISE_H
#define SFRUN_PROCESS_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/sfrun/daemon.h"

typedef struct sfrun_children {
  pid_t *pids; /* by rank; 0: ended */
  int32_t nchildren;
  bool are_ranks;    /* ranks of the local launcher, not one mpirun */
  bool own_groups;   /* each has its own process group: only sfrun forwards signals */
  int64_t grace_ms;  /* ranks only: time for the others after a failure */
  int32_t first_bad; /* the first that ended with another code than 0; -1: none */
  int code;          /* of that one; else 0 */
} sfrun_children_t;

/* Whether children need their own process groups: not in the foreground of a terminal, which signals all itself, and
 * from which another group could not read. */
bool sfrun_want_own_groups(void);

/* Forwards signals and waits until all children have ended; kills ranks grace_ms after the failure of another one.
 * Reports the end of a daemon. Returns the exit code of sfrun: that of the first child that failed, else 0. */
int sfrun_supervise(sfrun_children_t *children, sfrun_daemons_t *daemons, int signal_fd);

/* Kills and reaps all children that are left. */
void sfrun_kill_children(sfrun_children_t *children);

#endif

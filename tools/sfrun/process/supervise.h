/* Watching over the started processes until all have ended. */
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
  bool own_groups;   /* each leads a process group of its own: nobody but sfrun passes it signals */
  int64_t grace_ms;  /* ranks only: how long the others go on when one failed */
  int32_t first_bad; /* who first ended with a code other than 0; -1: nobody */
  int code;          /* of that one; 0 */
} sfrun_children_t;

/* Whether children should have process groups of their own: not in the foreground of a terminal, where the terminal
 * itself signals all, and where a group of their own could not read from it. */
bool sfrun_want_own_groups(void);

/* Forwards signals and waits until all children have ended; kills ranks that outlive the failure of another by
 * grace_ms. Tells if the daemon ends meanwhile. Returns the exit code for sfrun: that of the first child that ended
 * with another code than 0, else 0. */
int sfrun_supervise(sfrun_children_t *children, sfrun_daemons_t *daemons, int signal_fd);

/* Kills and reaps all children that are left. */
void sfrun_kill_children(sfrun_children_t *children);

#endif

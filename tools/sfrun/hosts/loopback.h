/* Sockets, list of peers and key of several daemons on one host. */
#ifndef SFRUN_HOSTS_LOOPBACK_H
#define SFRUN_HOSTS_LOOPBACK_H

#include <limits.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

/* All zero: nothing is open. */
typedef struct sfrun_loopback {
  int32_t nnodes;
  int *fds;             /* by node: a listening socket for its daemon, close-on-exec */
  char peers[PATH_MAX]; /* file with the sockets' addresses */
  char key[PATH_MAX];   /* file with a random key */
} sfrun_loopback_t;

/* Opens a socket per node, and writes list and key into the private directory. Call sfrun_loopback_close also after an
 * error. SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_loopback_open(const char *directory, int32_t nnodes, sfrun_loopback_t *loopback);
void sfrun_loopback_close(sfrun_loopback_t *loopback);

#endif

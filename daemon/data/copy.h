/* Copies of the daemon's workers: from one rank's memory to another's along the edges of a graph, in pieces that
 * workers and the reader claim. See match_offers.h. */
#ifndef SFD_DATA_COPY_H
#define SFD_DATA_COPY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/base.h"
#include "shm/edges/edges.h"
#include "shm/kernels/paths.h"
#include "shm/lane/claim.h"
#include "shm/lane/message.h"
#include "shm/region/wait.h"

/* Edges between two ranks, for copying in one direction. Opened at first use by a worker, as long lists take long. */
typedef struct sfd_route {
  int64_t uses; /* counted by the daemon's thread */
  sfd_shared_mapping_t *list;
  uint64_t offset; /* of the block */
  int64_t nedges;
  int64_t nvalues;
  sfshm_operation_t operation;

  pthread_mutex_t lock; /* for opening */
  bool tried;
  sf_status_t status;
  sfshm_edges_t edges;
  sfshm_paths_t paths;
  int64_t from_max; /* highest indices */
  int64_t to_max;
} sfd_route_t;

/* Takes over the list. NULL without memory; then the list stays the caller's. */
sfd_route_t *sfd_route_create(sfd_shared_mapping_t *list, uint64_t offset, int64_t nedges, int64_t nvalues,
                              sfshm_operation_t operation);
void sfd_route_release(sfd_route_t *route); /* NULL is accepted */

/* A claim of a rank, and the rank's wake word. */
typedef struct sfd_claimant {
  sfshm_claim_t *claim;
  uint32_t ticket;
  sfshm_wake_t *wake;
} sfd_claimant_t;

/* A buffer: vertex 0 is at base, bytes is its length. */
typedef struct sfd_extent {
  char *base;
  uint64_t bytes;
} sfd_extent_t;

/* A copy; everything in it is held until it is done. */
typedef struct sfd_copy {
  sfd_route_t *route;
  sfshm_unit_t unit;
  sfshm_op_t op;
  sfd_extent_t source;
  sfd_extent_t target;
  sfd_claimant_t writer;
  sfd_claimant_t reader;
} sfd_copy_t;

/* Copies pieces until none is left. Returns the bytes copied. Any thread. */
uint64_t sfd_copy_run(const sfd_copy_t *copy);

#endif

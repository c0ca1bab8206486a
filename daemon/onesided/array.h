/* Arrays in the daemon: shape and distribution, from the ranks of this node; and, of arrays over several nodes, the
 * parts of these ranks, mapped for the operations of other nodes. An array belongs to a graph (docs/onesided.md) and
 * ends with it. The daemon's thread; workers use parts of arrays that are held for them. */
#ifndef SFD_ONESIDED_ARRAY_H
#define SFD_ONESIDED_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "shm/array/distribution.h"

/* The part of one rank of this node. */
typedef struct sfd_array_part {
  int32_t rank;                  /* of the group */
  sfd_shared_mapping_t *mapping; /* NULL: ArrayOpen of the rank has not arrived, or the array is on this node only */
  char *data;                    /* element 0, in it */
  int64_t count;                 /* elements */
} sfd_array_part_t;

struct sfd_array_queue;

typedef struct sfd_array {
  int64_t uses;       /* the graph's, and one of each operation in progress */
  sfd_graph_t *graph; /* NULL: destroyed */
  sfshm_array_t shape;
  int64_t *bounds;                /* of all dimensions, or NULL */
  struct sfd_array_queue *queues; /* operations of other nodes, by group rank; NULL: there were none yet */
  int32_t nparts;
  int32_t nmapped;          /* if all are: operations of other nodes can be carried out */
  sfd_array_part_t parts[]; /* in ascending order of ranks */
} sfd_array_t;

/* ArrayOpen. */
void sfd_array_handle_open(sfd_session_t *session, const Sfproto__Message *message);

/* The graph is destroyed. */
void sfd_array_graph_freed(sfd_graph_t *graph);

void sfd_array_hold(sfd_array_t *array);
void sfd_array_release(sfd_array_t *array); /* NULL is accepted */

#endif

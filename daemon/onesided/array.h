/* One-sided arrays in the daemon: shape and distribution, which the ranks of this node send. If an array is distributed
 * over several nodes, the daemon maps the parts of its ranks for the operations of other nodes. An array belongs to a
 * graph (docs/onesided.md) and ends with the graph. The daemon's thread; workers use the parts of arrays on which a
 * task holds a reference. */
#ifndef SFD_ONESIDED_ARRAY_H
#define SFD_ONESIDED_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "shm/array/distribution.h"

/* Elements of one rank of this node. */
typedef struct sfd_array_part {
  int32_t rank;                  /* group rank: first, the key of bsearch */
  sfd_shared_mapping_t *mapping; /* NULL: ArrayOpen of the rank has not arrived, or the array is on this node only */
  char *data;                    /* element 0, in the mapping */
  int64_t count;                 /* elements */
} sfd_array_part_t;

struct sfd_array_queue;

typedef struct sfd_array {
  int64_t uses;       /* references: one of the graph, and one of each operation in flight */
  sfd_graph_t *graph; /* NULL: destroyed */
  sfshm_array_t shape;
  int64_t *bounds;                /* bounds of all dimensions, or NULL */
  struct sfd_array_queue *queues; /* operations of other nodes, by group rank; NULL before the first operation */
  int32_t nparts;
  int32_t nmapped;          /* operations of other nodes are refused until nmapped is nparts */
  sfd_array_part_t parts[]; /* in ascending order of ranks */
} sfd_array_t;

/* Handles ArrayOpen: creates the array, or checks its shape, and maps the rank's part. */
void sfd_array_handle_open(sfd_session_t *session, const Sfproto__Message *message);

/* Ends the array of a graph that is being destroyed. */
void sfd_array_graph_freed(sfd_graph_t *graph);

void sfd_array_hold(sfd_array_t *array);
void sfd_array_release(sfd_array_t *array); /* NULL is accepted */

#endif

/* What call_compare.c and call_neighbours.c share: what is known of the calls of one graph's ranks. */
#ifndef SFD_SETUP_CALL_COMPARE_INTERNAL_H
#define SFD_SETUP_CALL_COMPARE_INTERNAL_H

#include "daemon/jobs.h"
#include "daemon/setup/call_compare.h"
#include "shm/observe/calls.h"

/* What one rank called. */
typedef struct sfd_rank_calls {
  int32_t rank; /* of the group */
  sfshm_calls_t calls;
} sfd_rank_calls_t;

#define NEIGHBOURS (SFD_TREE_CHILDREN + 1) /* in the tree: the children, and then the parent */

/* What is known of a graph. */
struct sfd_calls {
  uint64_t look;                     /* when it was last looked at */
  uint64_t seen;                     /* sum of what identifies the last calls of all ranks here, then */
  uint64_t summed;                   /* the same, while looking */
  sfd_rank_calls_t here;             /* the member of this node that has called the most */
  bool known;                        /* there is one */
  uint64_t reported;                 /* last call that neighbours have been told of */
  sfd_rank_calls_t *far[NEIGHBOURS]; /* what neighbours have told; NULL: nothing yet */
  bool ends;                         /* a member here calls nothing more: */
  sfd_ended_rank_t ended;            /* the one that called the fewest */
};

/* Whether the calls of the graph's ranks are compared. */
bool sfd_calls_are_compared(const sfd_graph_t *graph);

/* What is known of its calls; NULL without memory: it is tried again. */
sfd_calls_t *sfd_calls_of(sfd_graph_t *graph);

/* Compares what neighbours have told with what is known here. */
void sfd_calls_compare_far(sfd_graph_t *graph);

/* Fails the graph: a rank on node by called the operation, and the rank, on that node, does not. */
void sfd_calls_fail_named(sfd_graph_t *graph, int32_t by, uint64_t desc, const sfd_ended_rank_t *rank, int32_t node);

/* Tells those neighbours in the tree that may not know it what the rank that has called the most called. */
void sfd_calls_send_to_neighbours(const sfd_graph_t *graph);

#endif

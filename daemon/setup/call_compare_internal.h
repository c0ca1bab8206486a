/* State of call comparison for one graph, shared by call_compare.c and call_neighbours.c. */
#ifndef SFD_SETUP_CALL_COMPARE_INTERNAL_H
#define SFD_SETUP_CALL_COMPARE_INTERNAL_H

#include "daemon/jobs.h"
#include "daemon/setup/call_compare.h"
#include "shm/observe/calls.h"

/* Calls of one rank. */
typedef struct sfd_rank_calls {
  int32_t rank; /* group rank */
  sfshm_calls_t calls;
} sfd_rank_calls_t;

#define NEIGHBOURS (SFD_TREE_CHILDREN + 1) /* in the tree: the children, then the parent */

struct sfd_calls {
  uint64_t look;                     /* number of the last comparison */
  uint64_t seen;                     /* checksum of all local ranks' last calls, then */
  uint64_t summed;                   /* the same, while comparing */
  sfd_rank_calls_t here;             /* the local member that has called the most */
  bool known;                        /* here is set */
  uint64_t reported;                 /* last call sent to the neighbours */
  sfd_rank_calls_t *far[NEIGHBOURS]; /* calls received from neighbours; NULL: none */
  bool ends;                         /* ended is set: a member here calls nothing more */
  sfd_ended_rank_t ended;            /* the member that called the fewest operations */
};

bool sfd_calls_are_compared(const sfd_graph_t *graph);

/* State of the graph, created at first use; NULL without memory. */
sfd_calls_t *sfd_calls_of(sfd_graph_t *graph);

/* Compares the calls received from neighbours with those here. */
void sfd_calls_compare_far(sfd_graph_t *graph);

/* Fails the graph: a rank on node by called the operation, and the rank on the other node does not call it any more. */
void sfd_calls_fail_named(sfd_graph_t *graph, int32_t by, uint64_t desc, const sfd_ended_rank_t *rank, int32_t node);

/* Sends the calls of the rank that has called the most to neighbours that may not have them. */
void sfd_calls_send_to_neighbours(const sfd_graph_t *graph);

#endif

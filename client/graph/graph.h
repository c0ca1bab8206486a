/* Graph: the plan of this rank, its lanes to other ranks, and its operations in flight. Used by one thread at a time,
 * except failure, which the listener may set. */
#ifndef SFC_GRAPH_GRAPH_H
#define SFC_GRAPH_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"
#include "client/graph/attachment.h"
#include "client/graph/lane.h"
#include "client/plan.h"
#include "shm/observe/counters.h"

typedef struct sfc_thread sfc_thread_t; /* see engine/thread.h */

#define SFC_SELF_TURN (-1)

/* A step of the combine order of reduces. Contributions of ranks of another node to one root are combined there, and
 * are one contribution in the turn of the lowest of these ranks. With replace the highest rank wins: the contribution
 * is applied again in its turn. */
typedef struct sfc_turn {
  int32_t rank;   /* in the group; turns are ordered by rank */
  int32_t lane;   /* or SFC_SELF_TURN */
  int32_t number; /* turn of the trunk, if the lane has one */
  bool again;     /* only in reduces with replace */
} sfc_turn_t;

/* Whether the turn belongs to reduces that replace, or do not. */
static inline bool sfc_turn_is_of(const sfc_turn_t *turn, bool replaces)
{
  return !turn->again || replaces;
}

#define SFC_HISTORY 64 /* operations */
_Static_assert(SFC_HISTORY > SFSHM_EAGER_SLOTS, "what was called in the place of a message on its way is known");

/* The plan: what set-up derives from the edges. Immutable. */
typedef struct sfc_graph_plan {
  int64_t root_max; /* highest root with a leaf on any rank; -1: none */
  int64_t leaf_max;
  bool roots_shared; /* a root here has leaves on several ranks, so the combine order matters */
  sfc_link_t self;   /* edges within this rank */
  sfc_turn_t *turns; /* combine order */
  int32_t nturns;
  sfshm_region_t *lists; /* mapped edge lists of leaf ranks; readback has the own list */
  int32_t nlists;
  struct sfc_edge_readback *readback;
} sfc_graph_plan_t;

/* Lanes that send, and that receive, by operation. */
typedef struct sfc_routes {
  sfc_lane_t **senders[2];
  sfc_lane_t **receivers[2];
  int32_t nsenders[2];
  int32_t nreceivers[2];
} sfc_routes_t;

/* Operations by sequence number on the graph, from 1. */
typedef struct sfc_in_flight {
  uint64_t last_sequence;        /* of operations begun */
  uint64_t first_sequence;       /* of the oldest operation in the table */
  uint64_t history[SFC_HISTORY]; /* descriptors of the last operations, for error texts */
  uint64_t digest;               /* of all descriptors: shm/observe/calls.h */
  uint64_t next_sample;          /* operation that will be timed next: trace.h */
  sf_request_t **table;          /* operations in flight by sequence number: a ring */
  uint64_t table_mask;
} sfc_in_flight_t;

/* State of progress over all lanes. */
typedef struct sfc_graph_progress {
  int32_t nstalled;       /* lanes with tx_stalled */
  uint32_t nunread;       /* messages that a peer has yet to read in place */
  sfc_lane_t **expecting; /* lanes with rx_request */
  int32_t nexpecting;
  sfc_lane_t *last_lane; /* lane that last ended its part in an operation */
  int32_t nawaited;      /* lane entries with awaiting != 0 in the counters */
} sfc_graph_progress_t;

/* Requests for reuse, and persistent ones. */
typedef struct sfc_requests {
  sf_request_t *unused;
  sf_request_t *recent[2]; /* by operation, in flight or ended: kept because the next call is often the same */
  sf_request_t *persistent;
} sfc_requests_t;

/* The thread with operations in flight on the graph, and its list of such graphs. */
typedef struct sfc_graph_user {
  sfc_thread_t *thread; /* NULL: none */
  sf_graph_t *previous;
  sf_graph_t *next;
} sfc_graph_user_t;

typedef struct sfc_graph_failure {
  _Atomic int status; /* sf_status_t */
  char detail[512];   /* written before status */
} sfc_graph_failure_t;

/* The graph's memory in the inbox. */
typedef struct sfc_graph_memory {
  sfc_block_t shared;                /* slots and control lines of all lanes */
  struct sfc_retired_record *record; /* record that outlives the graph; made with it, so that destroying cannot fail */
  struct sfc_retired_block *retired_blocks; /* other blocks that are unused here, but perhaps accessed by peers */
} sfc_graph_memory_t;

struct sf_graph {
  sf_context_t *context;
  sf_group_t *group;
  uint64_t number; /* the daemon's */
  uint32_t flags;
  int32_t rank; /* in the group, which has size ranks */
  int32_t size;
  int64_t nroots;
  int64_t nleaves;
  uint32_t generation;

  sfc_graph_plan_t plan;
  bool shares_plan;  /* plan, links and trunk patterns belong to the plan cache */
  sfc_lane_t *lanes; /* by rank of the other end */
  int32_t nlanes;
  sfc_routes_t routes;
  struct sfc_trunks *trunks; /* NULL: no edges between nodes */

  int32_t in_flight; /* operations */
  sfc_in_flight_t flight;
  sfc_graph_progress_t progress;
  sfc_graph_user_t user;
  sfc_requests_t requests;
  sfshm_graph_counters_t *counts; /* in the counters region, or own_counts if it is full */
  sfshm_graph_counters_t *own_counts;
  const char *call_site; /* during set-up only; NULL: unknown */
  sfc_graph_failure_t failure;
  sfc_graph_memory_t memory;

  bool in_barrier;    /* this rank waits in the graph's barrier; under the context's lock */
  int8_t edges_given; /* edge list given to the daemon's workers (offload.h): 1: yes, 0: not yet, -1: impossible */
  sf_graph_t *multi;  /* NULL: none yet */
  sf_graph_t
      *parent; /* the graph of which this is the multi-graph, or carries streams; written under the context's lock */
  sfc_attachment_t *attachments; /* most recent first */
  sfc_attachment_t operations;   /* of the engine: see graph_end.c */
  sf_graph_t *next;              /* in the context's list */
  sf_graph_t **link;             /* pointer to this graph in that list; NULL: not in the list */
};

/* Writes "graph 7 (ocean.c:32)", with the call site if it is known. */
#define SFC_GRAPH_TEXT_BYTES 128
void sfc_graph_text(const sf_graph_t *graph, char text[SFC_GRAPH_TEXT_BYTES]);

/* Adds the graph to the context's list, with the context's lock held. */
void sfc_graph_link(sf_graph_t *graph);

/* Whether it is on that list. Threads that link graphs beside it write its link: so this takes the context's lock. */
bool sfc_graph_is_linked(sf_graph_t *graph);

/* Removes the graph from the context's list, and so from the listener's view, if it is there. */
void sfc_graph_unlink(sf_graph_t *graph);

/* Frees a graph without messages: at the end of the context. */
void sfc_graph_free(sf_graph_t *graph);

/* Frees a plan's contents; for a graph that owns its plan, those of its lanes' links too. */
void sfc_graph_plan_free(sfc_graph_plan_t *plan);
void sfc_graph_free_own_plan(sf_graph_t *graph);

#endif

/* A graph instance: the plan of this rank, its lanes to the other ranks, and its operations in flight. Used by one
 * thread at a time, except for failed and failure_detail, which the listener sets. */
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

typedef struct sfc_thread sfc_thread_t; /* what one thread has begun and not ended: see progress.h */

#define SFC_SELF_TURN (-1)

/* One step of the order in which a reduce combines contributions. Ranks of another node that contribute to one root
 * are one contribution, in the turn of the lowest of them. With replace the highest of them wins: so the contribution
 * is applied again in the turn of that rank. */
typedef struct sfc_turn {
  int32_t rank;   /* in the group: turns are by rank */
  int32_t lane;   /* or SFC_SELF_TURN */
  int32_t number; /* of the trunk's turn, if the lane has a trunk */
  bool again;     /* in reduces with replace only */
} sfc_turn_t;

/* Whether the step belongs to reduces with that op. */
static inline bool sfc_turn_is_of(const sfc_turn_t *turn, sfshm_op_t op)
{
  return !turn->again || op == SFSHM_OP_REPLACE;
}

#define SFC_HISTORY 64 /* operations */
_Static_assert(SFC_HISTORY > SFSHM_EAGER_SLOTS, "what was called in the place of a message on its way is known");

/* What set-up makes of the edges. Does not change any more. */
typedef struct sfc_graph_plan {
  int64_t root_max; /* highest root that has a leaf, on any rank; -1: none */
  int64_t leaf_max;
  bool roots_shared; /* some root here has leaves on more than one rank, so that the order of combining matters */
  sfc_link_t self;   /* edges that never leave the process */
  sfc_turn_t *turns; /* of receivers of a reduce and this rank itself: the order of combining */
  int32_t nturns;
  sfshm_region_t *lists; /* edge lists of leaf ranks that are mapped; the own list belongs to readback */
  int32_t nlists;
  struct sfc_edge_readback *readback; /* the edges as given */
} sfc_graph_plan_t;

/* By operation: lanes on which it is sent from here, and received here. */
typedef struct sfc_routes {
  sfc_lane_t **senders[2];
  sfc_lane_t **receivers[2];
  int32_t nsenders[2];
  int32_t nreceivers[2];
} sfc_routes_t;

/* Operations by their number on the graph, from 1. */
typedef struct sfc_in_flight {
  uint64_t last_sequence;        /* of operations begun */
  uint64_t first_sequence;       /* of the oldest operation in the table */
  uint64_t history[SFC_HISTORY]; /* descriptors of the last operations begun, for texts about mismatches */
  uint64_t digest;               /* of all operations begun: shm/observe/calls.h */
  uint64_t next_sample;          /* operation of which the time will be taken next: trace.h */
  sf_request_t **table;          /* operations in flight by sequence, a ring of table_mask + 1 */
  uint64_t table_mask;
} sfc_in_flight_t;

/* What lanes have to do yet. */
typedef struct sfc_graph_progress {
  int32_t nstalled;       /* lanes with tx_stalled */
  uint32_t nunread;       /* messages that wait for a reader, over all lanes */
  sfc_lane_t **expecting; /* lanes with rx_request */
  int32_t nexpecting;
  sfc_lane_t *last_lane; /* that ended its part in an operation */
  int32_t nawaited;      /* entries of lanes whose awaiting is not 0, as the rank last said for whom it waits */
} sfc_graph_progress_t;

/* Requests that are not in flight, or persistent. */
typedef struct sfc_requests {
  sf_request_t *unused;
  sf_request_t *recent[2]; /* by operation: in flight or ended, kept filled in, as the next one is often the same */
  sf_request_t *persistent;
} sfc_requests_t;

/* The thread that has operations in flight on the graph, and its list of such graphs. */
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
  sfc_block_t shared;                       /* slots and control lines of all lanes */
  struct sfc_retired_record *record;        /* outlives the graph; made with it, so that destroying cannot fail */
  struct sfc_retired_block *retired_blocks; /* other blocks that are not in use here any more, but may be elsewhere */
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
  bool shares_plan;  /* plan, and the patterns of links and trunks, belong to a plan of the cache */
  sfc_lane_t *lanes; /* by rank of the other end */
  int32_t nlanes;
  sfc_routes_t routes;
  struct sfc_trunks *trunks; /* NULL: no edges between nodes */

  int32_t in_flight; /* operations */
  sfc_in_flight_t flight;
  sfc_graph_progress_t progress;
  sfc_graph_user_t user;
  sfc_requests_t requests;
  sfshm_graph_counters_t *counts; /* in the counters region, or own_counts if all entries there are taken */
  sfshm_graph_counters_t *own_counts;
  const char *call_site; /* where the application made it; only during set-up, NULL: not known */
  sfc_graph_failure_t failure;
  sfc_graph_memory_t memory;

  bool in_barrier;    /* the rank waits for others, see barrier.h; under the context's lock */
  int8_t edges_given; /* to the daemon's workers: see offload.h; 0: not yet, 1: yes, -1: it is not possible */
  sf_graph_t *multi;  /* its multi-graph; NULL: none yet */
  sf_graph_t *parent; /* of which this is the multi-graph, or carries streams; written under the context's lock */
  sfc_attachment_t *attachments; /* the latest first */
  sfc_attachment_t operations;   /* the engine's: see graph_end.c */
  sf_graph_t *next;              /* in the context's list */
  sf_graph_t **link;             /* what leads here in it; NULL: it is not in the list */
};

/* Writes "graph 7 (ocean.c:32)": with the place where the application made it, if that is known. */
#define SFC_GRAPH_TEXT_BYTES 128
void sfc_graph_text(const sf_graph_t *graph, char text[SFC_GRAPH_TEXT_BYTES]);

/* Adds the graph to the context's list, under the context's lock. */
void sfc_graph_link(sf_graph_t *graph);

/* Takes the graph out of the context's list, if it is there: from then on the listener does not know it. */
void sfc_graph_unlink(sf_graph_t *graph);

/* Frees a graph without telling anybody: at the end of the context. */
void sfc_graph_free(sf_graph_t *graph);

/* Frees what is in a plan; and with it what the links of the graph's lanes have. */
void sfc_graph_plan_free(sfc_graph_plan_t *plan);
void sfc_graph_free_own_plan(sf_graph_t *graph);

#endif

/* One process as one rank of a job. */
#ifndef SFC_CORE_CONTEXT_H
#define SFC_CORE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <sf/sf.h>

#include "client/core/claim_pool.h"
#include "client/core/counters_region.h"
#include "client/core/daemon_conn.h"
#include "client/core/listener.h"
#include "client/core/memory.h"
#include "client/core/peer.h"
#include "client/core/shared_heap.h"
#include "client/core/submit_ring.h"
#include "client/core/trunk_regions.h"
#include "shm/region/board.h"
#include "shm/region/inbox.h"

typedef struct sfc_early_failure sfc_early_failure_t;
struct sfc_loan;
struct sfc_plan;
struct sfc_window;
struct sfc_retired;

struct sf_group {
  sf_context_t *context;
  uint64_t number; /* the daemon's */
  int32_t rank;
  int32_t size;
  int32_t *ranks;   /* job ranks; NULL for the group of all ranks */
  int spread;       /* number of nodes with ranks of the group: 1, 2, or 3 for more */
  int32_t nholders; /* references: the application and the group's graphs; unused in the group of all ranks */
  sf_group_t *next; /* in the context's list */
  void (*on_end)(sf_group_t *group); /* called when the group ends; set by plan_cache.h; NULL: nothing to do */
};

struct sf_context {
  int32_t rank;
  int32_t size;
  uint32_t generation; /* sfc_process_generation at sf_init: use in a forked child is refused */
  bool readable;       /* whether other ranks can read this process's private memory, tested at sf_init */
  uint64_t job;
  char *name;
  int32_t node;
  int32_t nnodes;      /* nodes are numbered 0 .. nnodes-1; some may have no rank of the job */
  int32_t *rank_nodes; /* by rank of the job; NULL: all are here */
  bool sends_by_number;

  sfc_daemon_conn_t control;
  sfc_submit_ring_t submit_ring;
  sfc_claim_pool_t claims;
  sfc_listener_t listener;
  sfshm_region_t board_region;
  const sfshm_board_t *board;
  sfc_counters_t counters;

  _Atomic uint64_t last_segment;
  sfc_heap_t inbox; /* slots and cells */
  sfc_heap_t alloc; /* memory of sf_alloc */
  sfc_heap_t on_devices;
  sfshm_wake_t *wake;
  sfc_peers_t peers;
  sfc_memory_t memory;
  sfc_trunk_regions_t trunk_regions;
  uint64_t probe_value; /* word that peers read to test process_vm_readv */

  pthread_mutex_t lock; /* protects the fields below */
  sf_group_t *groups;   /* without the world */
  sf_graph_t *graphs;
  struct sfc_plan *plans;              /* plan cache, most recent first */
  int32_t nexpected;                   /* graphs being created whose numbers are not known yet */
  sfc_early_failure_t *early_failures; /* failures of unknown graphs, perhaps of those */
  struct sfc_window *window;           /* window of arrays over several nodes; NULL: not created yet */
  struct sfc_loan *loans;              /* edge loans: see edge_loans.h */
  struct sfc_retired *retired_graphs;  /* memory of destroyed graphs that peers may still access */
  _Atomic bool daemon_gone;            /* set also if the job failed for another reason first */
  _Atomic int failed;                  /* sf_status_t: failure of the job */
  char failure_detail[512];            /* written before failed */
  sf_group_t world;
};

/* Incremented in every forked child. */
extern uint32_t sfc_process_generation;

/* The node of a rank of the job. */
static inline int32_t sfc_context_node_of(const sf_context_t *context, int32_t job_rank)
{
  return context->rank_nodes == NULL ? context->node : context->rank_nodes[job_rank];
}

/* Returns SF_ERR_ARG for NULL, SF_ERR_STATE in a child of the process that called sf_init. */
sf_status_t sfc_context_check(const sf_context_t *context, const char *function);

/* Returns SF_OK, or the job's failure with its detail. */
sf_status_t sfc_context_failure(const sf_context_t *context);

/* Marks the job and its graphs failed and wakes waiting threads. The first failure counts. */
void sfc_context_fail(sf_context_t *context, sf_status_t status, const char *detail);

#endif

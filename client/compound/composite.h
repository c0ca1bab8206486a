/* Composite operations: one or two operations of the engine with something to do between or behind them here.
 *
 *              first                            here                             second
 *   fetch_op   gather of contributions          each root meets its contri-      scatter of what was there before
 *                                               butions in order
 *   reduce*    gather of contributions          the same                         -
 *   bcast*     bcast into scratch memory        each leaf meets its value        -
 *
 *   * with an op of the application
 *
 * The first is the request that the application gets. Both are begun at once, so that all ranks begin everything in the
 * same order; the sends of the second are held until what comes between has been done. The composite is a continuation
 * of the thread, so that it goes on with all progress, whatever the thread waits for. It counts as one more lane from
 * which the first request receives: so the first request is done when everything is.
 *
 *   GATHERING --first: all contributions here--> COMBINED --second: everything here, nothing to send--> done
 *
 * The thread that uses the graph. */
#ifndef SFC_COMPOUND_COMPOSITE_H
#define SFC_COMPOUND_COMPOSITE_H

#include "client/core.h"
#include "client/engine.h"

struct sfc_slot_round;

typedef struct sfc_composite {
  sfc_continuation_t continuation;
  sf_graph_t *graph;             /* the application's */
  struct sfc_composite *next;    /* of the graph's that are not in use */
  struct sfc_composite *sibling; /* of all of the graph */
  sfshm_call_t call;
  sfc_thread_t *thread; /* of whose continuations it is one; NULL: none */
  bool combined;
  bool persistent;
  sf_request_t *first;
  sf_request_t *second; /* NULL: none */

  sf_op_t op;
  sfc_combine_t combine; /* kernels: NULL for an op of the application */
  const sfshm_kernels_t *move;
  const sfshm_device_ops_t *devices;   /* if the target is on one; NULL: it is not */
  char *target;                        /* roots, or leaves */
  uint64_t memory_epoch;               /* when that was looked up */
  const sfshm_pattern_t *slot_root;    /* of a fetch_op that goes through all slots at once; else NULL, and */
  const struct sfc_slot_round *rounds; /* which contributions meet which vertices of the target, one after the other */
  int64_t nrounds;
  struct sfc_slot_round *own_round; /* of a bcast */

  char *scratch; /* contributions; then room for two chunks */
  size_t scratch_bytes;
  char *chunks;
  int64_t chunk; /* units */
} sfc_composite_t;

/* What a composite operation is called with. leafupdate: of a fetch_op. */
typedef struct sfc_composite_call {
  sfshm_call_t call; /* SFSHM_CALL_FETCH, _REDUCE, _BCAST */
  sf_graph_t *graph;
  const sf_type_t *unit;
  const void *root;
  const void *leaf;
  void *leafupdate;
  const sf_op_t *op;
  bool persistent;
} sfc_composite_call_t;

/* Makes the request. Collective and blocking if the graph needs its multi-graph and has none yet. */
sf_status_t sfc_composite_make(const sfc_composite_call_t *call, sf_request_t **request_p);

/* In combine.c: chooses how the target meets what comes, when it is known where the target is; and lets it. */
sf_status_t sfc_composite_choose(sfc_composite_t *composite);
void sfc_composite_combine(const sfc_composite_t *composite);

#define SFC_COMPOSITE_ALIGN ((size_t)64)
static inline size_t sfc_composite_aligned(size_t bytes)
{
  return (bytes + SFC_COMPOSITE_ALIGN - 1) / SFC_COMPOSITE_ALIGN * SFC_COMPOSITE_ALIGN;
}

#endif

/* Composite operations: one or two operations of the engine, with a local step between or after them.
 *
 *              first                            local step                        second
 *   fetch_op   gather of contributions          combines the contributions        scatter of the previous values
 *                                               of each root in order
 *   reduce*    gather of contributions          the same                          -
 *   bcast*     bcast into scratch memory        combines each value at its leaf   -
 *
 *   * with an op of the application, perhaps among other fields
 *
 * The first is the application's request. Both begin at once, so that all ranks begin everything in the same order; the
 * sends of the second are held until the local step. The composite is a continuation of the thread and advances with
 * all progress. It counts as one more lane of the first request's receives, so the first request is done when
 * everything is.
 *
 *   GATHERING --first: all contributions here--> COMBINED --second: everything here, nothing to send--> done
 *
 * The thread that uses the graph. */
#ifndef SFC_COMPOUND_COMPOSITE_H
#define SFC_COMPOUND_COMPOSITE_H

#include "client/core.h"
#include "client/engine.h"

struct sfc_slot_round;

/* One field: where contributions meet, and how they are combined. */
typedef struct sfc_composite_field {
  sf_op_t op;
  sfc_combine_t combine; /* kernels NULL: op of the application */
  const sfshm_kernels_t *move;
  const sfshm_device_ops_t *devices; /* if the target is on one; else NULL */
  char *target;
  bool direct;                      /* lanes combine into the target: a bcast with a predefined op */
  const sfshm_pattern_t *slot_root; /* fetch_op in one pass over all slots; else NULL: by rounds */
  char *scratch;                    /* contributions */
  int64_t chunk;                    /* units */
} sfc_composite_field_t;

typedef struct sfc_composite {
  sfc_continuation_t continuation;
  sf_graph_t *graph;
  struct sfc_composite *next;    /* in the list of unused composites */
  struct sfc_composite *sibling; /* in the list of all composites of the graph */
  sfshm_call_t call;
  sfc_thread_t *thread; /* whose continuation it is; NULL: not waiting */
  bool combined;
  bool persistent;
  uint64_t signature; /* of the call */
  sf_request_t *first;
  sf_request_t *second; /* NULL: none */

  sfc_composite_field_t *fields; /* with room for nroom */
  int32_t nfields;
  int32_t nroom;
  uint64_t memory_epoch;               /* epoch of the targets' lookup */
  const struct sfc_slot_round *rounds; /* contributions to combine, round by round */
  int64_t nrounds;
  struct sfc_slot_round *own_round; /* of a bcast */

  char *scratch; /* contributions of all fields, then two chunks */
  size_t scratch_bytes;
  char *chunks;
} sfc_composite_t;

/* Arguments of a composite operation. A fetch_op has one field, and leafupdate. */
typedef struct sfc_composite_call {
  sfshm_call_t call; /* SFSHM_CALL_FETCH, _REDUCE, _BCAST */
  sf_graph_t *graph;
  const sf_field_t *fields;
  int32_t nfields;
  void *leafupdate;
  bool persistent;
} sfc_composite_call_t;

/* Makes the request. Collective and blocking if the graph needs its multi-graph and has none. */
sf_status_t sfc_composite_make(const sfc_composite_call_t *call, sf_request_t **request_p);

/* In composite_check.c: checks the arguments, and finds the signature, and the multi-graph of all calls but a bcast
 * (NULL). Collective if the multi-graph is made. */
sf_status_t sfc_composite_check(const sfc_composite_call_t *call, sf_request_t **request_p, uint64_t *signature_p,
                                sf_graph_t **multi_p);

/* In combine.c: chooses kernels and order for the field's target; runs the local step. */
sf_status_t sfc_composite_choose(sfc_composite_t *composite, sfc_composite_field_t *field);
void sfc_composite_combine(const sfc_composite_t *composite);

#define SFC_COMPOSITE_ALIGN ((size_t)64)
static inline size_t sfc_composite_aligned(size_t bytes)
{
  return (bytes + SFC_COMPOSITE_ALIGN - 1) / SFC_COMPOSITE_ALIGN * SFC_COMPOSITE_ALIGN;
}

#endif

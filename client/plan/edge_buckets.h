/* Edge buckets: the application's edges by root rank, in 32-bit indices where possible. Any thread. */
#ifndef SFC_PLAN_EDGE_BUCKETS_H
#define SFC_PLAN_EDGE_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"

/* Edges as given: 64-bit indices if wide, else 32-bit. leaf_index may be NULL. */
typedef struct sfc_edge_input {
  int64_t nroots;
  int64_t nleaves;
  const void *leaf_index;
  const int32_t *root_rank;
  const void *root_index;
  bool wide;
} sfc_edge_input_t;

/* The edges to one rank, in the given order. */
typedef struct sfc_bucket {
  int32_t rank;
  sfshm_pattern_t root;
  sfshm_pattern_t leaf;
} sfc_edge_bucket_t;

typedef struct sfc_buckets {
  sfc_edge_bucket_t *bucket; /* by rank; none is empty */
  int32_t n;
  sfshm_pattern_t leaf; /* of all edges */
  bool leaves_ascend;   /* leaves ascend in the given order */
  void *memory[2];      /* of patterns that are not the application's arrays; NULL: none */
} sfc_edge_buckets_t;

/* Makes the buckets; needs at least one edge. The application's arrays stay in use. SF_ERR_RANGE, without a text: a
 * rank is not in 0..size-1, or an index is negative. */
sf_status_t sfc_edge_buckets_make(const sfc_edge_input_t *input, int32_t size, sfc_edge_buckets_t *buckets_p);

/* NULL pointers are accepted. */
void sfc_edge_buckets_free(sfc_edge_buckets_t *buckets);

#endif

/* A pattern seen from both ends: what each rank sends to and receives from each other one. Needed to rewrite exactly
 * the values that travel, by the contenders that pack by themselves, and to check results. */
#ifndef SFPERF_PATTERNS_EDGES_H
#define SFPERF_PATTERNS_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/sfperf/patterns/pattern.h"

/* Counts and displacements are arrays over all ranks, as MPI's alltoallv takes them. */
typedef struct sfperf_edges {
  int size;             /* number of ranks */
  int *leaf_count;      /* my leaves whose root is on that rank */
  int *leaf_start;      /* where they begin in leaf_order */
  int32_t *leaf_order;  /* my leaves, by rank of the root and ascending */
  bool leaf_identity;   /* leaf_order[i] == i: leaves can be sent and received in place */
  int *root_count;      /* leaves of that rank on my roots */
  int *root_start;      /* where they begin in root_index */
  int32_t *root_index;  /* my roots, once for each leaf, in the order of that rank's leaf_order */
  int32_t *root_leaf;   /* the numbers of those leaves on their rank */
  int64_t nroot_leaves; /* length of root_index */
} sfperf_edges_t;

/* Collective. */
void sfperf_edges_init(sfperf_edges_t *edges, const sfperf_pattern_t *pattern);

void sfperf_edges_free(sfperf_edges_t *edges);

#endif

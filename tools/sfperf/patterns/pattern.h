/* Communication patterns that are measured: this rank's part of a star forest over all ranks, without self edges. */
#ifndef SFPERF_PATTERNS_PATTERN_H
#define SFPERF_PATTERNS_PATTERN_H

#include <stdint.h>

#include <sf/sf_status.h>

/* Leaf i stands at position i of the leaf vector and is connected to root root_index[i] of rank root_rank[i]. */
typedef struct sfperf_pattern {
  int64_t nroots;
  int64_t nleaves;
  int32_t *root_rank;
  int32_t *root_index;
} sfperf_pattern_t;

/* nroots roots on rank 0, each with one leaf on rank 1, in order [PetscSF, sf_pingpong]. */
void sfperf_pattern_pair(int rank, int64_t nroots, sfperf_pattern_t *pattern_p);

/* nleaves leaves on uniformly random roots of the other ranks, each of which has 100 nleaves roots. The same in every
 * run. Needs two ranks. */
void sfperf_pattern_random(int rank, int size, int64_t nleaves, sfperf_pattern_t *pattern_p);

/* nleaves leaves on the first nleaves of the next rank's 100 nleaves roots: one plane of a grid. Needs two ranks. */
void sfperf_pattern_contiguous(int rank, int size, int64_t nleaves, sfperf_pattern_t *pattern_p);

/* nroots roots on each rank, and leaves on a random half of those of every other rank: several ranks of a node then
 * need the same roots. The same in every run. Needs two ranks. */
void sfperf_pattern_overlapping(int rank, int size, int64_t nroots, sfperf_pattern_t *pattern_p);

/* nroots roots on each rank that is not on node 0; each rank of node 0 has a leaf on each of them. */
void sfperf_pattern_incast(int rank, int size, const int node_of_rank[], int64_t nroots, sfperf_pattern_t *pattern_p);

/* Memory for nleaves leaves; the edges are for the caller to fill in. */
void sfperf_pattern_init(sfperf_pattern_t *pattern, int64_t nroots, int64_t nleaves);

void sfperf_pattern_free(sfperf_pattern_t *pattern);

#endif

/* Patterns made from formulas. Runs in each rank's only thread; nothing is communicated. */
#include "tools/sfperf/patterns/pattern.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"

/* Size of a rank's root vector in units of its leaves: scattered leaves then rarely share a cache line. */
enum { ROOTS_PER_LEAF = 100 };

void sfperf_pattern_init(sfperf_pattern_t *pattern, int64_t nroots, int64_t nleaves)
{
  if (nroots > INT32_MAX)
    sfperf_fail("%lld roots on a rank: sfperf takes up to %d", (long long)nroots, INT32_MAX);
  pattern->nroots = nroots;
  pattern->nleaves = nleaves;
  pattern->root_rank = sfperf_malloc((size_t)nleaves * sizeof pattern->root_rank[0]);
  pattern->root_index = sfperf_malloc((size_t)nleaves * sizeof pattern->root_index[0]);
}

void sfperf_pattern_free(sfperf_pattern_t *pattern)
{
  free(pattern->root_rank);
  free(pattern->root_index);
}

void sfperf_pattern_pair(int rank, int64_t nroots, sfperf_pattern_t *pattern_p)
{
  sfperf_pattern_init(pattern_p, rank == 0 ? nroots : 0, rank == 1 ? nroots : 0);
  for (int64_t i = 0; i < pattern_p->nleaves; i++) {
    pattern_p->root_rank[i] = 0;
    pattern_p->root_index[i] = (int32_t)i;
  }
}

/* splitmix64: the same numbers with every C library. */
static uint64_t next_random(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void sfperf_pattern_random(int rank, int size, int64_t nleaves, sfperf_pattern_t *pattern_p)
{
  sfperf_pattern_init(pattern_p, ROOTS_PER_LEAF * nleaves, nleaves);
  uint64_t state = (uint64_t)rank + 7;
  for (int64_t i = 0; i < nleaves; i++) {
    int other = (int)(next_random(&state) % (uint64_t)(size - 1));
    pattern_p->root_rank[i] = other < rank ? other : other + 1;
    pattern_p->root_index[i] = (int32_t)(next_random(&state) % (uint64_t)pattern_p->nroots);
  }
}

void sfperf_pattern_contiguous(int rank, int size, int64_t nleaves, sfperf_pattern_t *pattern_p)
{
  sfperf_pattern_init(pattern_p, ROOTS_PER_LEAF * nleaves, nleaves);
  for (int64_t i = 0; i < nleaves; i++) {
    pattern_p->root_rank[i] = (rank + 1) % size;
    pattern_p->root_index[i] = (int32_t)i;
  }
}

void sfperf_pattern_overlapping(int rank, int size, int64_t nroots, sfperf_pattern_t *pattern_p)
{
  sfperf_pattern_init(pattern_p, nroots, (size - 1) * nroots); /* at most */
  uint64_t state = (uint64_t)rank + 7;
  int64_t nleaves = 0;
  for (int other = 0; other < size; other++)
    for (int64_t i = 0; i < nroots && other != rank; i++)
      if (next_random(&state) >> 63) {
        pattern_p->root_rank[nleaves] = other;
        pattern_p->root_index[nleaves] = (int32_t)i;
        nleaves++;
      }
  pattern_p->nleaves = nleaves;
}

void sfperf_pattern_incast(int rank, int size, const int node_of_rank[], int64_t nroots, sfperf_pattern_t *pattern_p)
{
  int outside = 0;
  for (int other = 0; other < size; other++)
    outside += node_of_rank[other] != 0;
  bool receives = node_of_rank[rank] == 0;
  sfperf_pattern_init(pattern_p, receives ? 0 : nroots, receives ? outside * nroots : 0);
  int64_t leaf = 0;
  for (int other = 0; receives && other < size; other++)
    for (int64_t i = 0; i < nroots && node_of_rank[other] != 0; i++, leaf++) {
      pattern_p->root_rank[leaf] = other;
      pattern_p->root_index[leaf] = (int32_t)i;
    }
}

/* Exchange of edge lists. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/patterns/edges.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"

static int *starts(const int count[], int size)
{
  int *start = sfperf_malloc(((size_t)size + 1) * sizeof start[0]);
  start[0] = 0;
  for (int i = 0; i < size; i++)
    start[i + 1] = start[i] + count[i];
  return start;
}

static void sort_leaves(sfperf_edges_t *edges, const sfperf_pattern_t *pattern)
{
  edges->leaf_count = sfperf_malloc((size_t)edges->size * sizeof edges->leaf_count[0]);
  memset(edges->leaf_count, 0, (size_t)edges->size * sizeof edges->leaf_count[0]);
  for (int64_t i = 0; i < pattern->nleaves; i++)
    edges->leaf_count[pattern->root_rank[i]]++;
  edges->leaf_start = starts(edges->leaf_count, edges->size);
  edges->leaf_order = sfperf_malloc((size_t)pattern->nleaves * sizeof edges->leaf_order[0]);
  edges->leaf_identity = true;
  int *next = starts(edges->leaf_count, edges->size);
  for (int64_t i = 0; i < pattern->nleaves; i++) {
    int at = next[pattern->root_rank[i]]++;
    edges->leaf_order[at] = (int32_t)i;
    edges->leaf_identity = edges->leaf_identity && at == i;
  }
  free(next);
}

/* Sends one value of each leaf to the owner of its root, in leaf order. */
static int32_t *send_to_roots(const sfperf_edges_t *edges, const int32_t values[])
{
  size_t nsent = (size_t)edges->leaf_start[edges->size];
  int32_t *ordered = sfperf_malloc(nsent * sizeof ordered[0]);
  int32_t *received = sfperf_malloc((size_t)edges->nroot_leaves * sizeof received[0]);
  for (size_t i = 0; i < nsent; i++)
    ordered[i] = values ? values[edges->leaf_order[i]] : edges->leaf_order[i];
  MPI_Alltoallv(ordered, edges->leaf_count, edges->leaf_start, MPI_INT32_T, received, edges->root_count,
                edges->root_start, MPI_INT32_T, MPI_COMM_WORLD);
  free(ordered);
  return received;
}

void sfperf_edges_init(sfperf_edges_t *edges, const sfperf_pattern_t *pattern)
{
  MPI_Comm_size(MPI_COMM_WORLD, &edges->size);
  sort_leaves(edges, pattern);
  edges->root_count = sfperf_malloc((size_t)edges->size * sizeof edges->root_count[0]);
  MPI_Alltoall(edges->leaf_count, 1, MPI_INT, edges->root_count, 1, MPI_INT, MPI_COMM_WORLD);
  edges->root_start = starts(edges->root_count, edges->size);
  edges->nroot_leaves = edges->root_start[edges->size];
  edges->root_index = send_to_roots(edges, pattern->root_index);
  edges->root_leaf = send_to_roots(edges, NULL);
}

void sfperf_edges_free(sfperf_edges_t *edges)
{
  free(edges->leaf_count);
  free(edges->leaf_start);
  free(edges->leaf_order);
  free(edges->root_count);
  free(edges->root_start);
  free(edges->root_index);
  free(edges->root_leaf);
}

/* Vectors for the contenders, and the check of their results. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/method.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"

static double *vector_alloc(sf_context_t *context, bool in_sf_alloc, int64_t length)
{
  size_t len_bytes = (size_t)(length > 0 ? length : 1) * sizeof(double);
  void *memory;
  if (in_sf_alloc)
    sfperf_check(sf_alloc(context, len_bytes, &memory), "sf_alloc");
  else
    memory = sfperf_malloc(len_bytes);
  memset(memory, 0, len_bytes);
  return memory;
}

void sfperf_vectors_init(sfperf_vectors_t *vectors, sf_context_t *context, bool in_sf_alloc, int64_t nroots,
                         int64_t nleaves)
{
  vectors->roots = vector_alloc(context, in_sf_alloc, nroots);
  vectors->leaves = vector_alloc(context, in_sf_alloc, nleaves);
}

void sfperf_vectors_free(sfperf_vectors_t *vectors, sf_context_t *context, bool in_sf_alloc)
{
  if (in_sf_alloc) {
    sfperf_check(sf_free(context, vectors->roots), "sf_free");
    sfperf_check(sf_free(context, vectors->leaves), "sf_free");
  } else {
    free(vectors->roots);
    free(vectors->leaves);
  }
}

/* Values that name their vertex. Integers so small that their sums are exact in any order. */
static double root_value(int rank, int64_t root)
{
  return (double)rank * 0x1p32 + (double)root + 1;
}

static double leaf_value(int rank, int64_t leaf)
{
  return -root_value(rank, leaf);
}

static void fill(const sfperf_task_t *task, int rank)
{
  for (int64_t i = 0; i < task->pattern->nroots; i++)
    task->vectors.roots[i] = root_value(rank, i);
  for (int64_t i = 0; i < task->pattern->nleaves; i++)
    task->vectors.leaves[i] = leaf_value(rank, i);
}

static void check_leaves(const char *name, const sfperf_task_t *task)
{
  const sfperf_pattern_t *pattern = task->pattern;
  for (int64_t i = 0; i < pattern->nleaves; i++) {
    double expected = root_value(pattern->root_rank[i], pattern->root_index[i]);
    if (task->vectors.leaves[i] != expected)
      sfperf_fail("%s: wrong result of bcast: leaf %lld is %.17g, expected %.17g", name, (long long)i,
                  task->vectors.leaves[i], expected);
  }
}

static void check_roots(const char *name, const sfperf_task_t *task, int rank)
{
  const sfperf_edges_t *edges = task->edges;
  double *expected = sfperf_malloc((size_t)task->pattern->nroots * sizeof expected[0]);
  for (int64_t i = 0; i < task->pattern->nroots; i++)
    expected[i] = root_value(rank, i);
  for (int other = 0; other < edges->size; other++)
    for (int k = edges->root_start[other]; k < edges->root_start[other + 1]; k++) {
      double value = leaf_value(other, edges->root_leaf[k]);
      double *root = &expected[edges->root_index[k]];
      *root = task->sum ? *root + value : value;
    }
  for (int64_t i = 0; i < task->pattern->nroots; i++)
    if (task->vectors.roots[i] != expected[i])
      sfperf_fail("%s: wrong result of reduce: root %lld is %.17g, expected %.17g", name, (long long)i,
                  task->vectors.roots[i], expected[i]);
  free(expected);
}

static void check_bcast(const sfperf_method_t *method, void *state, const sfperf_task_t *task, bool parts)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fill(task, rank);
  if (parts) {
    method->bcast_begin(state);
    method->bcast_end(state);
  } else {
    method->bcast(state);
  }
  check_leaves(method->name, task);
}

static void check_reduce(const sfperf_method_t *method, void *state, const sfperf_task_t *task, bool parts)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fill(task, rank);
  if (parts) {
    method->reduce_begin(state);
    method->reduce_end(state);
  } else {
    method->reduce(state);
  }
  check_roots(method->name, task, rank);
}

void sfperf_method_verify(const sfperf_method_t *method, void *state, const sfperf_task_t *task)
{
  check_bcast(method, state, task, false);
  check_reduce(method, state, task, false);
  if (!method->bcast_begin)
    return;
  check_bcast(method, state, task, true);
  check_reduce(method, state, task, true);
}

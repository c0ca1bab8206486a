/* Vectors for the contenders, and the check of their results. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/method.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/contenders/device.h"
#include "tools/sfperf/fail.h"

static size_t vector_bytes(int64_t length)
{
  return (size_t)(length > 0 ? length : 1) * sizeof(double);
}

static double *vector_alloc(sf_context_t *context, sfperf_memory_t memory, int64_t length)
{
  size_t len_bytes = vector_bytes(length);
  int rank;
  void *address;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (memory == SFPERF_DEVICE)
    return sfperf_device_alloc(context, rank, len_bytes);
  if (memory == SFPERF_SF_ALLOC)
    sfperf_call(sf_alloc, context, len_bytes, &address);
  else
    address = sfperf_malloc(len_bytes);
  memset(address, 0, len_bytes);
  return address;
}

void sfperf_vectors_init(sfperf_vectors_t *vectors, sf_context_t *context, sfperf_memory_t memory, int64_t nroots,
                         int64_t nleaves)
{
  vectors->roots = vectors->roots_seen = vector_alloc(context, memory, nroots);
  vectors->leaves = vectors->leaves_seen = vector_alloc(context, memory, nleaves);
  if (memory != SFPERF_DEVICE)
    return;
  vectors->roots_seen = vector_alloc(context, SFPERF_PLAIN, nroots);
  vectors->leaves_seen = vector_alloc(context, SFPERF_PLAIN, nleaves);
}

void sfperf_vectors_free(sfperf_vectors_t *vectors, sf_context_t *context, sfperf_memory_t memory)
{
  if (memory != SFPERF_PLAIN) {
    sfperf_call(sf_free, context, vectors->roots);
    sfperf_call(sf_free, context, vectors->leaves);
  }
  if (memory != SFPERF_SF_ALLOC) {
    free(vectors->roots_seen);
    free(vectors->leaves_seen);
  }
}

/* Between what the host sees and a device. */
static void copy_vectors(const sfperf_task_t *task, bool to_device)
{
  const sfperf_vectors_t *vectors = &task->vectors;
  size_t root_bytes = (size_t)task->pattern->nroots * sizeof(double);
  size_t leaf_bytes = (size_t)task->pattern->nleaves * sizeof(double);
  if (vectors->roots == vectors->roots_seen)
    return;
  sfperf_device_copy(to_device ? vectors->roots : vectors->roots_seen, to_device ? vectors->roots_seen : vectors->roots,
                     root_bytes);
  sfperf_device_copy(to_device ? vectors->leaves : vectors->leaves_seen,
                     to_device ? vectors->leaves_seen : vectors->leaves, leaf_bytes);
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
    task->vectors.roots_seen[i] = root_value(rank, i);
  for (int64_t i = 0; i < task->pattern->nleaves; i++)
    task->vectors.leaves_seen[i] = leaf_value(rank, i);
  copy_vectors(task, true);
}

static void check_leaves(const char *name, const sfperf_task_t *task)
{
  const sfperf_pattern_t *pattern = task->pattern;
  for (int64_t i = 0; i < pattern->nleaves; i++) {
    double expected = root_value(pattern->root_rank[i], pattern->root_index[i]);
    if (task->vectors.leaves_seen[i] != expected)
      sfperf_fail("%s: wrong result of bcast: leaf %lld is %.17g, expected %.17g", name, (long long)i,
                  task->vectors.leaves_seen[i], expected);
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
    if (task->vectors.roots_seen[i] != expected[i])
      sfperf_fail("%s: wrong result of reduce: root %lld is %.17g, expected %.17g", name, (long long)i,
                  task->vectors.roots_seen[i], expected[i]);
  free(expected);
}

/* One operation with known values. end: its second part, if it has parts. */
static void check(const sfperf_method_t *method, void *state, const sfperf_task_t *task, bool reduce,
                  void (*begin)(void *state), void (*end)(void *state))
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fill(task, rank);
  begin(state);
  if (end != NULL)
    end(state);
  copy_vectors(task, false);
  if (reduce)
    check_roots(method->name, task, rank);
  else
    check_leaves(method->name, task);
}

void *sfperf_method_start(const sfperf_method_t *method, const sfperf_task_t *task)
{
  void *state = method->create(task);
  check(method, state, task, false, method->bcast, NULL);
  check(method, state, task, true, method->reduce, NULL);
  if (method->bcast_begin != NULL) {
    check(method, state, task, false, method->bcast_begin, method->bcast_end);
    check(method, state, task, true, method->reduce_begin, method->reduce_end);
  }
  return state;
}

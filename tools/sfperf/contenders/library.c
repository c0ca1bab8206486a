/* Calls libsfclient. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/library.h"

#include <stdlib.h>

#include "tools/sfperf/contenders/device.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

typedef struct state {
  sf_context_t *context;
  sf_graph_t *graph;
  sfperf_vectors_t vectors;
  sfperf_vectors_t device; /* "host": what vectors are copies of */
  size_t root_bytes;
  size_t leaf_bytes;
  const sf_op_t *op;           /* of reduce */
  sf_request_t *bcast_request; /* persistent ones; NULL where blocking calls are measured */
  sf_request_t *reduce_request;
  sf_request_t *begun; /* by the operations in two parts */
} state_t;

static sf_graph_t *make_graph(const sfperf_task_t *task)
{
  const sfperf_pattern_t *pattern = task->pattern;
  sf_graph_t *graph;
  sfperf_call(sf_graph_create_i32, sf_group_world(task->context), pattern->nroots, pattern->nleaves, NULL,
              pattern->root_rank, pattern->root_index, SF_GRAPH_DEFAULT, &graph);
  return graph;
}

static void *create(const sfperf_task_t *task)
{
  state_t *state = sfperf_malloc(sizeof *state);
  *state = (state_t){
      .context = task->context,
      .root_bytes = (size_t)task->pattern->nroots * sizeof(double),
      .leaf_bytes = (size_t)task->pattern->nleaves * sizeof(double),
      .graph = make_graph(task),
      .vectors = task->vectors,
      .op = task->sum ? SF_SUM : SF_REPLACE,
  };
  return state;
}

static void *create_persistent(const sfperf_task_t *task)
{
  state_t *state = create(task);
  const sfperf_vectors_t *vectors = &state->vectors;
  sfperf_call(sf_bcast_init, state->graph, SF_DOUBLE, vectors->roots, vectors->leaves, SF_REPLACE,
              &state->bcast_request);
  sfperf_call(sf_reduce_init, state->graph, SF_DOUBLE, vectors->leaves, vectors->roots, state->op,
              &state->reduce_request);
  return state;
}

static void destroy(void *opaque)
{
  state_t *state = opaque;
  sfperf_call(sf_request_free, &state->bcast_request);
  sfperf_call(sf_request_free, &state->reduce_request);
  sfperf_call(sf_graph_destroy, state->graph);
  free(state);
}

static void bcast(void *opaque)
{
  const state_t *state = opaque;
  sfperf_call(sf_bcast, state->graph, SF_DOUBLE, state->vectors.roots, state->vectors.leaves, SF_REPLACE);
}

static void reduce(void *opaque)
{
  const state_t *state = opaque;
  sfperf_call(sf_reduce, state->graph, SF_DOUBLE, state->vectors.leaves, state->vectors.roots, state->op);
}

static void run_persistent(sf_request_t *request)
{
  sfperf_call(sf_start, request);
  sfperf_call(sf_wait, &request);
}

static void bcast_persistent(void *opaque)
{
  const state_t *state = opaque;
  run_persistent(state->bcast_request);
}

static void reduce_persistent(void *opaque)
{
  const state_t *state = opaque;
  run_persistent(state->reduce_request);
}

static void bcast_begin(void *opaque)
{
  state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  sfperf_call(sf_bcast_begin, state->graph, SF_DOUBLE, vectors->roots, vectors->leaves, SF_REPLACE, &state->begun);
}

static void reduce_begin(void *opaque)
{
  state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  sfperf_call(sf_reduce_begin, state->graph, SF_DOUBLE, vectors->leaves, vectors->roots, state->op, &state->begun);
}

static void end(void *opaque)
{
  state_t *state = opaque;
  sfperf_call(sf_wait, &state->begun);
}

/* ---- By way of the host ------------------------------------------------------------------------------------------ */

static void *create_by_host(const sfperf_task_t *task)
{
  state_t *state = create(task);
  state->device = task->vectors;
  sfperf_vectors_init(&state->vectors, task->context, SFPERF_SF_ALLOC, task->pattern->nroots, task->pattern->nleaves);
  return state;
}

static void destroy_by_host(void *opaque)
{
  state_t *state = opaque;
  sfperf_vectors_free(&state->vectors, state->context, SFPERF_SF_ALLOC);
  destroy(state);
}

static void bcast_by_host(void *opaque)
{
  const state_t *state = opaque;
  sfperf_device_copy(state->vectors.roots, state->device.roots, state->root_bytes);
  sfperf_device_copy(state->vectors.leaves, state->device.leaves,
                     state->leaf_bytes); /* not all of them may be reached */
  bcast(opaque);
  sfperf_device_copy(state->device.leaves, state->vectors.leaves, state->leaf_bytes);
}

static void reduce_by_host(void *opaque)
{
  const state_t *state = opaque;
  sfperf_device_copy(state->vectors.leaves, state->device.leaves, state->leaf_bytes);
  sfperf_device_copy(state->vectors.roots, state->device.roots, state->root_bytes);
  reduce(opaque);
  sfperf_device_copy(state->device.roots, state->vectors.roots, state->root_bytes);
}

static double time_create(const sfperf_task_t *task)
{
  double start = sfperf_now();
  sf_graph_t *graph = make_graph(task);
  double seconds = sfperf_now() - start;
  sfperf_call(sf_graph_destroy, graph);
  return seconds;
}

/* What all kinds of memory have in common. */
#define EACH_ANEW                                                                                                      \
  .create = create, .bcast = bcast, .reduce = reduce, .destroy = destroy, .bcast_begin = bcast_begin,                  \
  .bcast_end = end, .reduce_begin = reduce_begin, .reduce_end = end
#define PERSISTENT                                                                                                     \
  .create = create_persistent, .bcast = bcast_persistent, .reduce = reduce_persistent, .destroy = destroy
#define BY_HOST .create = create_by_host, .bcast = bcast_by_host, .reduce = reduce_by_host, .destroy = destroy_by_host

const sfperf_method_t sfperf_sf_alloc = {.name = "sf_alloc", .memory = SFPERF_SF_ALLOC, EACH_ANEW};
const sfperf_method_t sfperf_sf_plain = {.name = "sf_plain", .memory = SFPERF_PLAIN, EACH_ANEW};
const sfperf_method_t sfperf_sf_persistent = {.name = "sf_persistent", .memory = SFPERF_SF_ALLOC, PERSISTENT};
const sfperf_method_t sfperf_sf_device = {.name = "sf_device", .memory = SFPERF_DEVICE, EACH_ANEW};
const sfperf_method_t sfperf_sf_device_persistent = {.name = "sf_device_pers", .memory = SFPERF_DEVICE, PERSISTENT};
const sfperf_method_t sfperf_sf_by_host = {.name = "host", .memory = SFPERF_DEVICE, BY_HOST};
const sfperf_creator_t sfperf_sf_creator = {.name = "sf", .create = time_create};

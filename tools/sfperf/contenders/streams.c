/* Operations on a stream: see streams.h. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/streams.h"

#include <stdlib.h>

#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

#define DEFAULT_STREAM NULL

typedef struct state {
  sf_graph_t *graph;
  sfperf_vectors_t vectors;
  const sf_op_t *op; /* of reduce */
} state_t;

static void *create(const sfperf_task_t *task)
{
  const sfperf_pattern_t *pattern = task->pattern;
  state_t *state = sfperf_malloc(sizeof *state);
  *state = (state_t){.vectors = task->vectors, .op = task->sum ? SF_SUM : SF_REPLACE};
  sfperf_call(sf_graph_create_i32, sf_group_world(task->context), pattern->nroots, pattern->nleaves, NULL,
              pattern->root_rank, pattern->root_index, SF_GRAPH_DEFAULT, &state->graph);
  return state;
}

static void destroy(void *opaque)
{
  state_t *state = opaque;
  sfperf_call(sf_graph_destroy, state->graph);
  free(state);
}

static void give_bcast(const state_t *state)
{
  sfperf_call(sf_bcast_on_stream, state->graph, SF_DOUBLE, state->vectors.roots, state->vectors.leaves, SF_REPLACE,
              DEFAULT_STREAM);
}

static void give_reduce(const state_t *state)
{
  sfperf_call(sf_reduce_on_stream, state->graph, SF_DOUBLE, state->vectors.leaves, state->vectors.roots, state->op,
              DEFAULT_STREAM);
}

static void wait_for(const state_t *state)
{
  sfperf_call(sf_streams_wait, state->graph);
}

static void bcast(void *opaque)
{
  give_bcast(opaque);
  wait_for(opaque);
}

static void reduce(void *opaque)
{
  give_reduce(opaque);
  wait_for(opaque);
}

double sfperf_streams_run(void *opaque, int64_t iterations)
{
  const state_t *state = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    give_bcast(state);
    give_reduce(state);
  }
  wait_for(state);
  return sfperf_now() - start;
}

const sfperf_method_t sfperf_sf_stream = {
    .name = "sf_stream",
    .memory = SFPERF_DEVICE,
    .create = create,
    .bcast = bcast,
    .reduce = reduce,
    .destroy = destroy,
};

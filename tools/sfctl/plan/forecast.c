/* Forecasts: see forecast.h. One leaf node after the other. The one thread of sfctl. */
#include "tools/sfctl/plan/forecast.h"

#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/base/room.h"
#include "shm/trunk/merge/place.h"

/* Roots of one owner that one rank of the leaf node needs. */
typedef struct lot {
  int32_t node; /* of the owner */
  int32_t owner, rank;
  int64_t first, n;
} lot_t;

typedef struct maker {
  const sfctl_problem_t *problem;
  sfctl_forecast_t forecast;
  int32_t node; /* whose ranks' wants are: */
  sfctl_wants_t wants;
  lot_t *lots;
  size_t nlots, lots_capacity;
  sfshm_edges_t *edges; /* of lots */
  sfshm_merge_block_t *blocks;
} maker_t;

static int32_t nnodes_of(const sfctl_problem_t *problem)
{
  return (int32_t)(((int64_t)problem->nranks + problem->per_node - 1) / problem->per_node);
}

static int32_t node_of(const maker_t *maker, int32_t rank)
{
  return maker->problem->cyclic ? rank % maker->forecast.nnodes : rank / maker->problem->per_node;
}

/* ---- The wants of a node ---- */

static sf_status_t no_memory(const maker_t *maker)
{
  return sfshm_error(SF_ERR_NOMEM, "no memory for what the ranks of node %d want", maker->node);
}

static sf_status_t reserve_lots(maker_t *maker, size_t n)
{
  if (n <= maker->lots_capacity)
    return SF_OK;
  size_t capacity = 2 * n;
  void *lots = reallocarray(maker->lots, capacity, sizeof *maker->lots);
  maker->lots = lots != NULL ? lots : maker->lots;
  void *edges = reallocarray(maker->edges, capacity, sizeof *maker->edges);
  maker->edges = edges != NULL ? edges : maker->edges;
  void *blocks = reallocarray(maker->blocks, capacity, sizeof *maker->blocks);
  maker->blocks = blocks != NULL ? blocks : maker->blocks;
  if (lots == NULL || edges == NULL || blocks == NULL)
    return no_memory(maker);
  maker->lots_capacity = capacity;
  return SF_OK;
}

static sf_status_t add_rank(maker_t *maker, int32_t rank)
{
  size_t first = maker->wants.nwants;
  sfctl_wants_begin(&maker->wants);
  sf_status_t status = maker->problem->wants(maker->problem->context, rank, &maker->wants);
  if (status == SF_OK)
    status = reserve_lots(maker, maker->wants.nwants);
  for (size_t i = first; i < maker->wants.nwants && status == SF_OK; i++) {
    const sfctl_want_t *want = &maker->wants.wants[i];
    maker->lots[maker->nlots++] = (lot_t){node_of(maker, want->owner), want->owner, rank, want->first, want->n};
  }
  return status;
}

static int compare_lots(const void *a, const void *b)
{
  const lot_t *x = a, *y = b;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static sf_status_t collect(maker_t *maker)
{
  const sfctl_problem_t *problem = maker->problem;
  int32_t step = problem->cyclic ? maker->forecast.nnodes : 1;
  int32_t first = problem->cyclic ? maker->node : maker->node * problem->per_node;
  sf_status_t status = SF_OK;
  sfctl_wants_empty(&maker->wants);
  maker->nlots = 0;
  for (int64_t i = 0, rank = first; i < problem->per_node && rank < problem->nranks && status == SF_OK; i++) {
    status = add_rank(maker, (int32_t)rank);
    rank += step;
  }
  if (maker->nlots > 0)
    qsort(maker->lots, maker->nlots, sizeof *maker->lots, compare_lots);
  return status;
}

/* ---- Loads ---- */

void sfctl_load_add(sfctl_load_t *load, int64_t messages, int64_t values)
{
  load->messages += messages;
  load->values += values;
}

static sf_status_t add_pair(sfctl_forecast_t *forecast, const sfctl_node_pair_t *pair)
{
  if (!sfshm_make_room(&forecast->pairs, &forecast->pairs_capacity, forecast->npairs + 1, sizeof *forecast->pairs))
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu pairs of nodes", forecast->npairs + 1);
  forecast->pairs[forecast->npairs++] = *pair;
  return SF_OK;
}

/* Number of distinct roots in the lots, as the daemon of the leaf node merges them. */
static sf_status_t merge(maker_t *maker, size_t first, size_t n, int64_t *before_p, int64_t *merged_p)
{
  sfshm_positions_t positions;
  for (size_t i = first; i < first + n; i++) {
    const lot_t *lot = &maker->lots[i];
    sfshm_edges_t *edges = &maker->edges[i];
    *edges = (sfshm_edges_t){.value_root = sfshm_pattern_from_index64(maker->wants.root + lot->first, lot->n),
                             .leaf = sfshm_pattern_contiguous(0, lot->n)};
    edges->roots = sfshm_pattern_survey(&edges->value_root);
    maker->blocks[i] = (sfshm_merge_block_t){lot->owner, lot->rank, edges};
  }
  sf_status_t status = sfshm_positions_find(maker->blocks + first, (int32_t)n, false, &positions);
  if (status != SF_OK)
    return status;
  *before_p = positions.nvalues;
  *merged_p = positions.npositions;
  sfshm_positions_destroy(&positions);
  return SF_OK;
}

static void load_within(maker_t *maker, size_t first, size_t n)
{
  for (size_t i = first; i < first + n; i++)
    sfctl_load_add(&maker->forecast.nodes[maker->node].within, 1, maker->lots[i].n);
}

/* Lots of owners on one other node. */
static sf_status_t load_from(maker_t *maker, int32_t from, size_t first, size_t n)
{
  sfctl_node_load_t *here = &maker->forecast.nodes[maker->node], *there = &maker->forecast.nodes[from];
  int64_t before, merged;
  sf_status_t status = merge(maker, first, n, &before, &merged);
  if (status != SF_OK)
    return status;
  sfctl_load_add(&there->flat_out, (int64_t)n, before);
  sfctl_load_add(&here->flat_in, (int64_t)n, before);
  sfctl_load_add(&there->out, 1, merged);
  sfctl_load_add(&here->in, 1, merged);
  const sfctl_node_pair_t pair = {from, maker->node, {(int64_t)n, before}, {1, merged}};
  return add_pair(&maker->forecast, &pair);
}

static sf_status_t load_node(maker_t *maker)
{
  sf_status_t status = collect(maker);
  for (size_t i = 0, n; i < maker->nlots && status == SF_OK; i += n) {
    int32_t from = maker->lots[i].node;
    for (n = 1; i + n < maker->nlots && maker->lots[i + n].node == from; n++)
      ;
    if (from == maker->node)
      load_within(maker, i, n);
    else
      status = load_from(maker, from, i, n);
  }
  return status;
}

sf_status_t sfctl_forecast_make(const sfctl_problem_t *problem, sfctl_forecast_t *forecast_p)
{
  maker_t maker = {.problem = problem, .forecast = {.nnodes = nnodes_of(problem)}};
  maker.forecast.nodes = calloc((size_t)maker.forecast.nnodes, sizeof *maker.forecast.nodes);
  sf_status_t status = maker.forecast.nodes != NULL ? SF_OK : no_memory(&maker);
  for (; maker.node < maker.forecast.nnodes && status == SF_OK; maker.node++)
    status = load_node(&maker);
  sfctl_wants_free(&maker.wants);
  free(maker.lots);
  free(maker.edges);
  free(maker.blocks);
  if (status == SF_OK)
    *forecast_p = maker.forecast;
  else
    sfctl_forecast_free(&maker.forecast);
  return status;
}

void sfctl_forecast_free(sfctl_forecast_t *forecast)
{
  free(forecast->nodes);
  free(forecast->pairs);
  *forecast = (sfctl_forecast_t){0};
}

/* Bounds and combine order: see combine_order.h. */
#include "client/graph/combine_order.h"

#include <stdlib.h>

#include "client/graph/trunk_types.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

void sfc_graph_find_bounds(sf_graph_t *graph)
{
  graph->plan.root_max = graph->plan.leaf_max = -1;
  if (graph->plan.self.nedges > 0) {
    graph->plan.root_max = graph->plan.self.root_max;
    graph->plan.leaf_max = graph->plan.self.leaf_max;
  }
  for (int32_t i = 0; i < graph->nlanes; i++) {
    const sfc_lane_t *lane = &graph->lanes[i];
    if (lane->as_root.nedges > 0 && lane->as_root.root_max > graph->plan.root_max)
      graph->plan.root_max = lane->as_root.root_max;
    if (lane->as_leaf.nedges > 0 && lane->as_leaf.leaf_max > graph->plan.leaf_max)
      graph->plan.leaf_max = lane->as_leaf.leaf_max;
  }
}

/* ---- Roots with leaves on several ranks ---- */

/* Limits of the bit set of roots: beyond this size, and this size per root with an edge, roots are sorted instead. In
 * sparse arrays the set would be larger than the rest of the graph. */
#define SET_BYTES 1048576
#define SET_BYTES_EACH 64

typedef struct sfc_root_lists {
  const sfshm_pattern_t **lists; /* roots with edges to each source */
  int32_t nlists;
  int64_t n; /* roots in all lists */
} sfc_root_lists_t;

/* As add_roots, for n consecutive roots. */
static bool add_run(uint64_t *set, uint64_t first, uint64_t n)
{
  bool shared = false;
  while (n > 0) {
    uint64_t skipped = first & 63, taken = n < 64 - skipped ? n : 64 - skipped;
    uint64_t bits = UINT64_MAX >> (64 - taken) << skipped;
    shared |= (set[first >> 6] & bits) != 0;
    set[first >> 6] |= bits;
    first += taken;
    n -= taken;
  }
  return shared;
}

/* Adds roots to the set, until one is already in it. Returns whether one was. */
static bool add_roots(uint64_t *set, const sfshm_pattern_t *roots)
{
  if (roots->kind == SFSHM_PATTERN_CONTIGUOUS)
    return add_run(set, (uint64_t)roots->start, (uint64_t)roots->n);
  for (int64_t i = 0; i < roots->n; i++) {
    uint64_t root = (uint64_t)sfshm_pattern_at(roots, i), bit = UINT64_C(1) << (root & 63), word = set[root >> 6];
    if ((word & bit) != 0)
      return true;
    set[root >> 6] = word | bit;
  }
  return false;
}

static sf_status_t find_in_set(const sfc_root_lists_t *roots, int64_t max, bool *shared_p)
{
  bool shared = false;
  uint64_t *set = calloc((size_t)max / 64 + 1, sizeof *set);
  if (set == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for shared roots");
  for (int32_t i = 0; i < roots->nlists && !shared; i++)
    shared = add_roots(set, roots->lists[i]);
  free(set);
  *shared_p = shared;
  return SF_OK;
}

static sf_status_t find_by_sorting(const sfc_root_lists_t *roots, int64_t max, bool *shared_p)
{
  bool shared = false;
  int64_t n = 0;
  sfshm_keyed_t *pairs = malloc(2 * (size_t)roots->n * sizeof *pairs);
  if (pairs == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for shared roots");
  for (int32_t i = 0; i < roots->nlists; i++)
    for (int64_t k = 0; k < roots->lists[i]->n; k++)
      pairs[n++].key = sfshm_pattern_at(roots->lists[i], k);
  sfshm_sort(pairs, pairs + n, n, max);
  for (int64_t k = 1; k < n; k++)
    shared |= pairs[k].key == pairs[k - 1].key;
  free(pairs);
  *shared_p = shared;
  return SF_OK;
}

static void add_list(sfc_root_lists_t *roots, const sfshm_pattern_t *list)
{
  roots->lists[roots->nlists++] = list;
  roots->n += list->n;
}

sf_status_t sfc_graph_find_shared_roots(sf_graph_t *graph)
{
  int32_t sources = graph->plan.self.nedges > 0;
  for (int32_t i = 0; i < graph->nlanes; i++) {
    const sfc_lane_t *lane = &graph->lanes[i];
    sources += lane->as_root.nedges > 0;
    /* Several ranks of a node may have leaves on one root: their turns are ordered, but the roots overlap. */
    if (lane->trunk != NULL && lane->trunk->uncombined && lane->trunk->nturns > 1)
      sources++;
  }
  if (sources < 2)
    return SF_OK;
  sfc_root_lists_t roots = {.lists = malloc(((size_t)graph->nlanes + 1) * sizeof *roots.lists)};
  if (roots.lists == NULL)
    return sfshm_error(SF_ERR_NOMEM, "looking for shared roots");
  if (graph->plan.self.nedges > 0)
    add_list(&roots, &graph->plan.self.value_root);
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].as_root.nedges > 0)
      add_list(&roots, &graph->lanes[i].as_root.value_root);
  bool sparse = graph->plan.root_max / 8 > SET_BYTES && graph->plan.root_max / 8 / SET_BYTES_EACH > roots.n;
  sf_status_t status =
      (sparse ? find_by_sorting : find_in_set)(&roots, graph->plan.root_max, &graph->plan.roots_shared);
  free(roots.lists);
  return status;
}

/* ---- Turns ---- */

static int by_turn(const void *a, const void *b)
{
  const sfc_turn_t *x = a, *y = b;
  return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->lane > y->lane) - (x->lane < y->lane);
}

static size_t most_turns(const sf_graph_t *graph)
{
  size_t n = (size_t)graph->nlanes + 1;
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].trunk != NULL)
      n += (size_t)(graph->lanes[i].trunk->nturns + graph->lanes[i].trunk->nwinners);
  return n;
}

static int32_t add_trunk_turns(const sfc_trunk_t *trunk, int32_t lane, sfc_turn_t turns[])
{
  int32_t n = 0;
  for (; n < trunk->nturns; n++)
    turns[n] = (sfc_turn_t){trunk->turns[n].rank, lane, n, false};
  for (; n < trunk->nturns + trunk->nwinners; n++)
    turns[n] = (sfc_turn_t){trunk->turns[n].rank, lane, n, true};
  return n;
}

sf_status_t sfc_graph_order_turns(sf_graph_t *graph)
{
  size_t most = most_turns(graph);
  sfc_turn_t *turns = malloc(most * sizeof *turns);
  if (turns == NULL)
    return sfshm_error(SF_ERR_NOMEM, "turns of %zu ranks", most);
  int32_t n = 0;
  if (graph->plan.self.nedges > 0)
    turns[n++] = (sfc_turn_t){graph->rank, SFC_SELF_TURN, 0, false};
  for (int32_t i = 0; i < graph->nlanes; i++) {
    const sfc_lane_t *lane = &graph->lanes[i];
    if (lane->trunk != NULL)
      n += add_trunk_turns(lane->trunk, i, turns + n);
    else if (lane->as_root.nedges > 0)
      turns[n++] = (sfc_turn_t){lane->rank, i, 0, false};
  }
  qsort(turns, (size_t)n, sizeof *turns, by_turn);
  graph->plan.turns = turns;
  graph->plan.nturns = n;
  return SF_OK;
}

/* Lanes of trunks: see trunk_plan.h. */

#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/trunk_plan.h"

/* Sending order: by distance on the ring of nodes, next before previous, so that not all nodes send to one node at a
 * time (K. Shafie Khorassani et al., "Designing and Optimizing GPU-aware Nonblocking MPI Neighborhood Collective
 * Communication for PETSc", algorithms 2 and 3). */
static int32_t sending_order(const sf_context_t *context, int32_t node)
{
  int32_t n = context->nnodes, after = (node - context->node + n) % n, before = n - after;
  if (context->sends_by_number)
    return node;
  return after <= before ? 2 * after : 2 * before + 1;
}

static int by_sending_order(const void *a, const void *b, void *context)
{
  int32_t x = sending_order(context, ((const sfc_trunk_t *)a)->node);
  int32_t y = sending_order(context, ((const sfc_trunk_t *)b)->node);
  return (x > y) - (x < y);
}

static int64_t count_contributions(const sfc_trunk_t *trunk)
{
  int64_t n = 0;
  for (int32_t i = 0; i < trunk->nturns; i++)
    n += trunk->turns[i].root.n;
  return n;
}

void sfc_trunks_add_lanes(sf_graph_t *graph)
{
  qsort_r(graph->trunks->trunks, (size_t)graph->trunks->ntrunks, sizeof graph->trunks->trunks[0], by_sending_order,
          graph->context);
  for (int32_t i = 0; i < graph->trunks->ntrunks; i++) {
    sfc_trunk_t *trunk = &graph->trunks->trunks[i];
    sfc_lane_t *lane = &graph->lanes[graph->nlanes++];
    *lane = (sfc_lane_t){.graph = graph, .trunk = trunk, .rank = trunk->node};
    if (trunk->as_root.in_use)
      lane->as_root = (sfc_link_t){.nvalues = trunk->root.n,
                                   .nedges = count_contributions(trunk),
                                   .value_root = trunk->root,
                                   .root_max = sfshm_pattern_max(&trunk->root)};
    if (trunk->as_leaf.in_use) {
      int64_t leaf = sfshm_pattern_max(&trunk->leaf), extra = sfshm_pattern_max(&trunk->extra_leaf);
      lane->as_leaf = (sfc_link_t){.nvalues = trunk->nvalues,
                                   .nedges = trunk->nvalues + trunk->extra_leaf.n,
                                   .leaf_max = leaf > extra ? leaf : extra};
    }
  }
}

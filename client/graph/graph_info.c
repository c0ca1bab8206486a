/* Public queries on sizes, counts and edges of a graph. The thread that uses the graph. */
#include "client/graph/failure.h"
#include "client/graph/graph.h"
#include "client/graph/trunk_types.h"
#include "client/plan.h"
#include "shm/base/error.h"

sf_status_t sf_graph_edges(const sf_graph_t *graph, int64_t leaf_index[], int32_t root_rank[], int64_t root_index[])
{
  if (graph == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_graph_edges: graph is NULL");
  if (graph->plan.readback == NULL) /* it failed during set-up */
    return sfc_graph_failure(graph);
  return sfc_edge_readback_read(graph->plan.readback, graph->plan.leaf_max + 1, leaf_index, root_rank, root_index);
}

sf_status_t sf_graph_info(const sf_graph_t *graph, sf_graph_info_t *info_p)
{
  if (graph == NULL || info_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_graph_info: %s is NULL", graph == NULL ? "graph" : "info_p");
  sf_graph_info_t info = {.nroots = graph->nroots,
                          .nleaves = graph->nleaves,
                          .leaf_space = graph->plan.leaf_max + 1,
                          .nleaves_self = graph->plan.self.nedges,
                          .operations = graph->flight.last_sequence};
  for (int32_t i = 0; i < graph->nlanes; i++) {
    const sfc_lane_t *lane = &graph->lanes[i];
    info.nroot_ranks += lane->trunk != NULL ? lane->trunk->nroot_ranks : lane->as_leaf.nedges > 0;
    info.nleaf_ranks += lane->trunk != NULL ? lane->trunk->nturns : lane->as_root.nedges > 0;
    info.nroot_values_sent += lane->as_root.nvalues;
    info.nroot_contributions += lane->as_root.nedges;
  }
  *info_p = info;
  return SF_OK;
}

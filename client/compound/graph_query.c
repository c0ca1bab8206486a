/* Public queries on edges: see sf_edges.h. The thread that uses the graph. */

#include "client/compound/multigraph.h"
#include "client/engine.h"
#include "client/graph.h"
#include "shm/base/error.h"
#include <stdlib.h>

static sf_status_t check_result(const void *result, const char *function)
{
  return result != NULL ? SF_OK : sfshm_error(SF_ERR_ARG, "%s: there is no place for the result", function);
}

static sf_status_t check(const sf_graph_t *graph, const void *result, const char *function)
{
  sf_status_t status = sfc_call_check_graph(function, graph);
  if (status == SF_OK)
    status = check_result(result, function);
  return status == SF_OK ? sfc_graph_failure(graph) : status;
}

sf_status_t sf_graph_degrees(sf_graph_t *graph, int64_t degrees[])
{
  static const int64_t nothing;
  int64_t space = 0;
  sf_status_t status = check(graph, graph != NULL && graph->nroots == 0 ? &nothing : degrees, __func__);
  if (status != SF_OK)
    return status;
  space = graph->plan.leaf_max + 1;
  int64_t *ones = malloc(((size_t)space + 1) * sizeof *ones);
  if (ones == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_graph_degrees: %lld leaves", (long long)space);
  for (int64_t leaf = 0; leaf < space; leaf++)
    ones[leaf] = 1;
  for (int64_t root = 0; root < graph->nroots; root++)
    degrees[root] = 0;
  status = sf_reduce(graph, SF_INT64, ones, degrees, SF_SUM);
  free(ones);
  return status;
}

static void show(const sfc_neighbor_edges_t *ranks, sf_graph_ranks_t *ranks_p)
{
  *ranks_p = (sf_graph_ranks_t){.nranks = ranks->nranks,
                                .ranks = ranks->ranks,
                                .offset = ranks->offset,
                                .root_index = ranks->root,
                                .leaf_index = ranks->leaf};
}

sf_status_t sf_graph_root_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p)
{
  const sfc_neighbor_edges_t *ranks;
  sf_status_t status = check(graph, ranks_p, __func__);
  if (status == SF_OK)
    status = sfc_multigraph_root_ranks(graph, &ranks);
  if (status == SF_OK)
    show(ranks, ranks_p);
  return status;
}

/* Other ranks take part also if the graph has failed, and so does this one after an argument error. */
sf_status_t sf_graph_leaf_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p)
{
  const sfc_neighbor_edges_t *ranks;
  sf_status_t status = sfc_call_check_graph(__func__, graph);
  if (status == SF_OK)
    status = sfc_multigraph_leaf_ranks(check_result(ranks_p, __func__), graph, &ranks);
  if (status == SF_OK)
    show(ranks, ranks_p);
  return status;
}

sf_status_t sf_graph_multi(sf_graph_t *graph, sf_graph_t **multi_p)
{
  sf_status_t status = sfc_call_check_graph(__func__, graph);
  return status == SF_OK ? sfc_multigraph_get(check_result(multi_p, __func__), graph, multi_p) : status;
}

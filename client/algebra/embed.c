/* Subgraphs: graphs with selected edges of others. */
#include <stdint.h>

#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* Marks selected indices of 0..n-1. Negative ones are errors; larger ones are errors if refuse, else ignored. */
static uint8_t *mark(sfc_derive_t *derive, int64_t n, int64_t nselected, const int64_t selected[], bool refuse)
{
  uint8_t *marks = sfc_derive_array(derive, n, sizeof *marks);
  if (nselected < 0 || (nselected > 0 && selected == NULL)) {
    sfc_derive_error(derive, -1, SF_ERR_ARG, "%lld selected, in list %p", (long long)nselected, (void *)selected);
    return marks;
  }
  for (int64_t i = 0; marks != NULL && i < nselected; i++) {
    if (selected[i] >= 0 && selected[i] < n)
      marks[selected[i]] = 1;
    else if (selected[i] < 0 || refuse)
      sfc_derive_error(derive, -1, SF_ERR_RANGE, "selected index %lld, in place %lld of the list; 0..%lld expected",
                       (long long)selected[i], (long long)i, (long long)n - 1);
  }
  return marks;
}

/* Creates the graph of the edges with marked leaves. */
static sf_status_t make_of_marked(sfc_derive_t *derive, const sf_graph_t *graph, const uint8_t leaf_marks[],
                                  sf_graph_t **embedded_p)
{
  sfc_derive_edges_t edges;
  sfc_derive_read_edges(derive, graph, &edges);
  sfc_derive_reserve(derive, edges.n);
  for (int64_t i = 0; leaf_marks != NULL && i < edges.n; i++)
    if (leaf_marks[edges.leaf[i]] != 0)
      sfc_derive_add(derive, edges.leaf[i], edges.root_rank[i], edges.root[i]);
  return sfc_derive_end(derive, embedded_p);
}

sf_status_t sf_graph_embed_roots(sf_graph_t *graph, int64_t n, const int64_t selected_roots[], sf_graph_t **embedded_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  uint8_t *roots = mark(&derive, graph->nroots, n, selected_roots, true);
  uint8_t *leaves = sfc_derive_array(&derive, graph->plan.leaf_max + 1, sizeof *leaves);
  sfc_derive_bcast(&derive, graph, SF_UINT8, 1, roots, leaves);
  return make_of_marked(&derive, graph, leaves, embedded_p);
}

sf_status_t sf_graph_embed_leaves(sf_graph_t *graph, int64_t n, const int64_t selected_leaves[],
                                  sf_graph_t **embedded_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  const uint8_t *leaves = mark(&derive, graph->plan.leaf_max + 1, n, selected_leaves, false);
  return make_of_marked(&derive, graph, leaves, embedded_p);
}

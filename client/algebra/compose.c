/* Composition of graphs, and their inverse. */
#include <stdint.h>

#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- Roots of a, leaves of b ------------------------------------------------------------------------------------- */

/* Roots of a graph's leaves, by leaf index, for the first n indices. */
static sfc_vertex_t *find_roots(sfc_derive_t *derive, const sf_graph_t *graph, int64_t n)
{
  sfc_derive_edges_t edges;
  sfc_vertex_t *places = sfc_derive_vertices(derive, n);
  sfc_derive_read_edges(derive, graph, &edges);
  for (int64_t i = 0; !derive->starved && i < edges.n && edges.leaf[i] < n; i++)
    places[edges.leaf[i]] = (sfc_vertex_t){edges.root_rank[i], edges.root[i]};
  return places;
}

sf_status_t sf_graph_compose(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p)
{
  sfc_derive_t derive;
  sfc_derive_edges_t edges;
  sf_status_t status = sfc_derive_from_two(&derive, __func__, a, b);
  if (status != SF_OK)
    return status;
  sfc_vertex_t *bridge = find_roots(&derive, a, b->nroots);
  sfc_vertex_t *reached = sfc_derive_vertices(&derive, b->plan.leaf_max + 1);
  sfc_derive_read_edges(&derive, b, &edges);
  sfc_derive_reserve(&derive, edges.n);
  sfc_derive_bcast(&derive, b, SF_INT64, 2, bridge, reached);
  for (int64_t i = 0; reached != NULL && i < edges.n; i++) {
    sfc_vertex_t root = reached[edges.leaf[i]];
    if (root.rank >= 0)
      sfc_derive_add(&derive, edges.leaf[i], root.rank, root.index);
  }
  return sfc_derive_end(&derive, ab_p);
}

/* ---- Roots of a, roots of b -------------------------------------------------------------------------------------- */

/* Highest and lowest rank and index that a root's leaves lead to; the lowest ones negated, so that SF_MAX computes all
 * four. */
typedef struct reach {
  int64_t rank, index;
  int64_t minus_rank, minus_index;
} reach_t;

static const reach_t nowhere = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

static reach_t *new_reaches(sfc_derive_t *derive, int64_t n)
{
  reach_t *reaches = sfc_derive_array(derive, n, sizeof *reaches);
  for (int64_t i = 0; reaches != NULL && i < n; i++)
    reaches[i] = nowhere;
  return reaches;
}

static void add_root(sfc_derive_t *derive, int64_t root, const reach_t *reach)
{
  if (reach->rank == INT64_MIN)
    return;
  if (reach->rank == -reach->minus_rank && reach->index == -reach->minus_index) {
    sfc_derive_add(derive, root, reach->rank, reach->index);
    return;
  }
  sf_status_t status = sfshm_error(
      SF_ERR_ARG,
      "this root, which is to become a leaf, has leaves that lead to different vertices (of ranks "
      "%lld to %lld, with indices %lld to %lld)",
      (long long)-reach->minus_rank, (long long)reach->rank, (long long)-reach->minus_index, (long long)reach->index);
  sfc_derive_note(derive, status, root);
}

/* Connects the roots of b with the vertices that their leaves lead to. */
static void connect_roots(sfc_derive_t *derive, sf_graph_t *b, const reach_t *leaves)
{
  reach_t *roots = new_reaches(derive, b->nroots);
  sfc_derive_reserve(derive, b->nroots);
  sfc_derive_reduce(derive, b, SF_INT64, 4, leaves, roots, SF_MAX);
  for (int64_t i = 0; roots != NULL && i < b->nroots; i++)
    add_root(derive, i, &roots[i]);
}

sf_status_t sf_graph_compose_inverse(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from_two(&derive, __func__, a, b);
  if (status != SF_OK)
    return status;
  int64_t n = b->plan.leaf_max + 1;
  sfc_vertex_t *places = find_roots(&derive, a, n);
  reach_t *leaves = new_reaches(&derive, n);
  for (int64_t i = 0; !derive.starved && i < n; i++)
    if (places[i].rank >= 0)
      leaves[i] = (reach_t){places[i].rank, places[i].index, -places[i].rank, -places[i].index};
  connect_roots(&derive, b, leaves);
  return sfc_derive_end(&derive, ab_p);
}

sf_status_t sf_graph_inverse(sf_graph_t *graph, sf_graph_t **inverse_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  derive.nroots = graph->plan.leaf_max + 1;
  reach_t *leaves = new_reaches(&derive, derive.nroots);
  for (int64_t i = 0; leaves != NULL && i < derive.nroots; i++)
    leaves[i] = (reach_t){graph->rank, i, -(int64_t)graph->rank, -i};
  connect_roots(&derive, graph, leaves);
  return sfc_derive_end(&derive, inverse_p);
}

/* Concatenation and merging of graphs. */
#include <stdint.h>

#include "client/algebra/derive.h"
#include "client/algebra/layout.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- Concatenation ----------------------------------------------------------------------------------------------- */

typedef struct sfc_joining {
  int32_t n;
  sf_graph_t *const *graphs;
  sf_root_mode_t mode;
  const int64_t *leaf_offset;
  sfc_derive_t derive;
  sfc_layout_t roots;    /* of the new graph; global mode only */
  const int64_t *nroots; /* of graph k on rank r, at r * n + k; global mode only */
} sfc_joining_t;

static int64_t count_roots(sfc_joining_t *joining)
{
  int64_t n = 0;
  for (int32_t k = 0; k < joining->n; k++)
    n = sfc_sum(n, joining->graphs[k]->nroots);
  if (joining->mode != SF_ROOTS_SHARED)
    return n;
  for (int32_t k = 1; k < joining->n; k++)
    if (joining->graphs[k]->nroots != joining->graphs[0]->nroots)
      sfc_derive_error(&joining->derive, -1, SF_ERR_ARG,
                       "graph 0 has %lld roots, graph %d has %lld; shared roots must be as many",
                       (long long)joining->graphs[0]->nroots, k, (long long)joining->graphs[k]->nroots);
  return joining->graphs[0]->nroots;
}

/* Gathers all numbers of roots, for roots in global order. */
static void gather_layout(sfc_joining_t *joining)
{
  sfc_derive_t *derive = &joining->derive;
  int64_t *mine = sfc_derive_array(derive, joining->n, sizeof *mine);
  for (int32_t k = 0; mine != NULL && k < joining->n; k++)
    mine[k] = joining->graphs[k]->nroots;
  joining->nroots = sfc_derive_allgather(derive, joining->n, mine);
  sfc_layout_make(derive, joining->nroots, joining->n, joining->n, &joining->roots);
}

/* Global number of the first root of graph k on this rank. */
static int64_t first_global(const sfc_joining_t *joining, int32_t k)
{
  int64_t first = 0;
  int32_t size = joining->derive.group->size, rank = joining->derive.group->rank;
  for (int32_t r = 0; r < size; r++)
    for (int32_t g = 0; g <= k; g++)
      if (g < k || r < rank)
        first += joining->nroots[(int64_t)r * joining->n + g];
  return first;
}

/* Finds the new vertices of the roots of graph k on this rank. local: number of its roots before them. */
static void place_roots(const sfc_joining_t *joining, int32_t k, int64_t local, sfc_vertex_t places[])
{
  int64_t n = joining->graphs[k]->nroots;
  if (places == NULL || (joining->mode == SF_ROOTS_GLOBAL && joining->nroots == NULL))
    return;
  int64_t global = joining->mode == SF_ROOTS_GLOBAL ? first_global(joining, k) : 0;
  int32_t owner = 0;
  for (int64_t i = 0; i < n; i++) {
    places[i] = (sfc_vertex_t){joining->derive.group->rank, joining->mode == SF_ROOTS_LOCAL ? local + i : i};
    if (joining->mode == SF_ROOTS_GLOBAL)
      places[i] = sfc_layout_find(&joining->roots, global + i, &owner);
  }
}

/* Adds the edges of graph k. */
static void add_graph(sfc_joining_t *joining, int32_t k, int64_t local, int64_t leaf_offset)
{
  sf_graph_t *graph = joining->graphs[k];
  sfc_derive_t part; /* for the arrays of this graph alone */
  sfc_derive_edges_t edges;
  sfc_derive_begin(&part, joining->derive.caller, joining->derive.group, SF_GRAPH_DEFAULT);
  part.starved = joining->derive.starved;
  sfc_vertex_t *roots = sfc_derive_vertices(&part, graph->nroots);
  sfc_vertex_t *leaves = sfc_derive_vertices(&part, graph->plan.leaf_max + 1);
  sfc_derive_read_edges(&part, graph, &edges);
  place_roots(joining, k, local, roots);
  sfc_derive_bcast(&part, graph, SF_INT64, 2, roots, leaves);
  for (int64_t i = 0; leaves != NULL && i < edges.n; i++) {
    int64_t leaf = (int64_t)((uint64_t)edges.leaf[i] + (uint64_t)leaf_offset); /* set-up refuses negative ones */
    sfc_derive_add(&joining->derive, leaf, leaves[edges.leaf[i]].rank, leaves[edges.leaf[i]].index);
  }
  sfc_derive_end_part(&part, &joining->derive);
}

static void add_graphs(sfc_joining_t *joining)
{
  int64_t local = 0, leaf = 0;
  for (int32_t k = 0; k < joining->n; k++) {
    add_graph(joining, k, local, joining->leaf_offset != NULL ? joining->leaf_offset[k] : leaf);
    local += joining->graphs[k]->nroots;
    leaf += joining->graphs[k]->plan.leaf_max + 1;
  }
}

static sf_status_t begin(sfc_derive_t *derive, const char *caller, int32_t n, sf_graph_t *const graphs[])
{
  if (n < 1 || graphs == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: %d graphs in list %p", caller, n, (const void *)graphs);
  sf_status_t status = SF_OK;
  for (int32_t k = 0; k < n && status == SF_OK; k++) {
    if (graphs[k] == NULL)
      return sfshm_error(SF_ERR_ARG, "%s: graph %d is NULL", caller, k);
    status = sfc_derive_from_two(derive, caller, graphs[0], graphs[k]);
  }
  return status;
}

/* The mode determines the exchanges before the set-up. Without a valid mode this rank takes part in none and fails the
 * graphs. */
static bool has_mode(sfc_joining_t *joining)
{
  sf_root_mode_t mode = joining->mode;
  if (mode == SF_ROOTS_LOCAL || mode == SF_ROOTS_SHARED || mode == SF_ROOTS_GLOBAL)
    return true;
  sf_status_t status = sfshm_error(SF_ERR_ARG, "no mode %d", (int)mode);
  sfc_derive_note(&joining->derive, status, -1);
  for (int32_t k = 0; k < joining->n; k++)
    (void)sfc_derive_give_up(joining->graphs[k], status);
  return false;
}

static void join(sfc_joining_t *joining)
{
  sfc_derive_t *derive = &joining->derive;
  int64_t nedges = 0;
  derive->nroots = count_roots(joining);
  if (joining->mode == SF_ROOTS_GLOBAL)
    gather_layout(joining);
  for (int32_t k = 0; k < joining->n; k++)
    nedges += joining->graphs[k]->nleaves;
  sfc_derive_reserve(derive, nedges);
  if (!derive->agreed)
    add_graphs(joining);
}

sf_status_t sf_graph_concatenate(int32_t n, sf_graph_t *const graphs[], sf_root_mode_t mode,
                                 const int64_t leaf_offset[], sf_graph_t **graph_p)
{
  sfc_joining_t joining = {.n = n, .graphs = graphs, .mode = mode, .leaf_offset = leaf_offset};
  sf_status_t status = begin(&joining.derive, __func__, n, graphs);
  if (status != SF_OK)
    return status;
  if (has_mode(&joining))
    join(&joining);
  return sfc_derive_end(&joining.derive, graph_p);
}

/* ---- Merging ----------------------------------------------------------------------------------------------------- */

static void merge_edges(sfc_derive_t *derive, const sfc_derive_edges_t *a, const sfc_derive_edges_t *b)
{
  int64_t i = 0, k = 0;
  while (i < a->n || k < b->n) {
    int64_t of_a = i < a->n ? a->leaf[i] : INT64_MAX, of_b = k < b->n ? b->leaf[k] : INT64_MAX;
    const sfc_derive_edges_t *from = k < b->n && of_b <= of_a ? b : a;
    int64_t at = from == b ? k : i;
    sfc_derive_add(derive, from->leaf[at], from->root_rank[at], from->root[at]);
    i += i < a->n && of_a <= of_b;
    k += from == b;
  }
}

sf_status_t sf_graph_merge(sf_graph_t *a, sf_graph_t *b, sf_graph_t **merged_p)
{
  sfc_derive_t derive;
  sfc_derive_edges_t of_a, of_b;
  sf_status_t status = sfc_derive_from_two(&derive, __func__, a, b);
  if (status != SF_OK)
    return status;
  if (a->nroots != b->nroots)
    sfc_derive_error(&derive, -1, SF_ERR_ARG, "the graphs have %lld and %lld roots; equally many expected",
                     (long long)a->nroots, (long long)b->nroots);
  sfc_derive_read_edges(&derive, a, &of_a);
  sfc_derive_read_edges(&derive, b, &of_b);
  sfc_derive_reserve(&derive, of_a.n + of_b.n);
  merge_edges(&derive, &of_a, &of_b);
  return sfc_derive_end(&derive, merged_p);
}

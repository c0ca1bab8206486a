/* Neighbor edges: see neighbor_edges.h. */
#include "client/graph/neighbor_edges.h"

#include <stdlib.h>

#include "client/plan.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

sf_status_t sfc_neighbor_edges_alloc(int32_t nranks, int64_t nedges, sfc_neighbor_edges_t *ranks_p)
{
  size_t n = (size_t)nranks + 1, m = (size_t)nedges;
  int64_t *memory = calloc(n, sizeof(int32_t) + sizeof(int64_t));
  int64_t *edges = malloc((2 * m + 1) * sizeof *edges);
  if (memory == NULL || edges == NULL) {
    free(memory);
    free(edges);
    return sfshm_error(SF_ERR_NOMEM, "%lld edges of %d ranks", (long long)nedges, nranks);
  }
  *ranks_p = (sfc_neighbor_edges_t){
      .nranks = nranks, .offset = memory, .ranks = (int32_t *)(memory + n), .root = edges, .leaf = edges + m};
  return SF_OK;
}

void sfc_neighbor_edges_free(sfc_neighbor_edges_t *ranks)
{
  free(ranks->offset);
  free(ranks->root);
  *ranks = (sfc_neighbor_edges_t){.nranks = 0};
}

/* Edges between two ranks, in the plan's order. */
typedef struct sfc_edges_view {
  int32_t rank;
  const sfshm_pattern_t *value_root;
  const sfshm_pattern_t *extra_root;
  const sfshm_pattern_t *leaf;
} sfc_edges_view_t;

static int64_t root_of(const sfc_edges_view_t *view, int64_t i)
{
  int64_t nvalues = view->value_root->n;
  return i < nvalues ? sfshm_pattern_at(view->value_root, i) : sfshm_pattern_at(view->extra_root, i - nvalues);
}

static sf_status_t write_sorted(const sfc_edges_view_t *view, int64_t root[], int64_t leaf[])
{
  int64_t n = view->leaf->n;
  sfshm_keyed_t *edges = malloc((size_t)n * sizeof *edges), *scratch = malloc((size_t)n * sizeof *scratch);
  sf_status_t status = SF_OK;
  if (edges == NULL || scratch == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)n);
  for (int64_t i = 0; i < n && status == SF_OK; i++)
    edges[i] = (sfshm_keyed_t){sfshm_pattern_at(view->leaf, i), root_of(view, i)};
  if (status == SF_OK)
    sfshm_sort(edges, scratch, n, sfshm_pattern_max(view->leaf));
  for (int64_t i = 0; i < n && status == SF_OK; i++) {
    leaf[i] = edges[i].key;
    root[i] = edges[i].item;
  }
  free(edges);
  free(scratch);
  return status;
}

/* Appends the edges of one rank, by leaf. */
static sf_status_t append(sfc_neighbor_edges_t *ranks, const sfc_edges_view_t *view)
{
  int64_t n = view->leaf->n, first = ranks->offset[ranks->nranks];
  ranks->ranks[ranks->nranks++] = view->rank;
  ranks->offset[ranks->nranks] = first + n;
  if (!sfshm_pattern_ascends(view->leaf))
    return write_sorted(view, ranks->root + first, ranks->leaf + first);
  for (int64_t i = 0; i < n; i++) {
    ranks->leaf[first + i] = sfshm_pattern_at(view->leaf, i);
    ranks->root[first + i] = root_of(view, i);
  }
  return SF_OK;
}

static sf_status_t append_part(sfc_neighbor_edges_t *ranks, const sfc_edge_readback_t *readback,
                               const sfc_edge_readback_part_t *part)
{
  sfshm_edges_t edges = {.memory = NULL};
  sf_status_t status = sfshm_edges_open_own(readback->base, &part->block, &edges);
  sfc_edges_view_t view = {part->rank, &edges.value_root, &edges.extra_root, &edges.leaf};
  if (status == SF_OK)
    status = append(ranks, &view);
  sfshm_edges_close(&edges);
  return status;
}

static sf_status_t finish(sf_status_t status, sfc_neighbor_edges_t *ranks, sfc_neighbor_edges_t *ranks_p)
{
  if (status == SF_OK)
    *ranks_p = *ranks;
  else
    sfc_neighbor_edges_free(ranks);
  return status;
}

sf_status_t sfc_neighbor_edges_by_root_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p)
{
  const sfc_edge_readback_t *readback = graph->plan.readback;
  sfc_neighbor_edges_t ranks;
  sf_status_t status = sfc_neighbor_edges_alloc(readback->nparts, graph->nleaves, &ranks);
  if (status != SF_OK)
    return status;
  ranks.nranks = 0;
  for (int32_t i = 0; i < readback->nparts && status == SF_OK; i++)
    status = append_part(&ranks, readback, &readback->parts[i]);
  return finish(status, &ranks, ranks_p);
}

static sf_status_t append_link(sfc_neighbor_edges_t *ranks, const sfc_link_t *link, int32_t rank)
{
  sfc_edges_view_t view = {rank, &link->value_root, &link->extra_root, &link->leaf};
  return link->nedges == 0 ? SF_OK : append(ranks, &view);
}

sf_status_t sfc_neighbor_edges_by_leaf_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p)
{
  int64_t nedges = graph->plan.self.nedges;
  sfc_neighbor_edges_t ranks;
  for (int32_t i = 0; i < graph->nlanes; i++)
    nedges += graph->lanes[i].as_root.nedges;
  sf_status_t status = sfc_neighbor_edges_alloc(graph->nlanes + 1, nedges, &ranks);
  if (status != SF_OK)
    return status;
  ranks.nranks = 0;
  int32_t lane = 0;
  for (; lane < graph->nlanes && graph->lanes[lane].rank < graph->rank && status == SF_OK; lane++)
    status = append_link(&ranks, &graph->lanes[lane].as_root, graph->lanes[lane].rank);
  if (status == SF_OK)
    status = append_link(&ranks, &graph->plan.self, graph->rank);
  for (; lane < graph->nlanes && status == SF_OK; lane++)
    status = append_link(&ranks, &graph->lanes[lane].as_root, graph->lanes[lane].rank);
  return finish(status, &ranks, ranks_p);
}

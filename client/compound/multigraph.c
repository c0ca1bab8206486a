/* Multi-graphs: see multigraph.h. */
#include "client/compound/multigraph.h"

#include <stdlib.h>

#include "client/algebra.h"
#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "shm/base/error.h"

#define EDGES_MAX (INT64_MAX / 64) /* arrays of more edges would overflow */

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* The multi-graph ends with its graph: see attachment.h. */
static bool is_busy(const sfc_attachment_t *attachment)
{
  return attachment->graph->multi != NULL && sfc_graph_is_busy(attachment->graph->multi);
}

static void tear_down(sfc_attachment_t *attachment)
{
  if (attachment->graph->multi != NULL)
    sfc_graph_tear_down(attachment->graph->multi);
}

static sf_status_t drop_edges(sfc_multigraph_t *multi)
{
  sf_status_t status = sf_graph_destroy(multi->edges);
  multi->edges = NULL;
  return status;
}

static void destroy(sfc_attachment_t *attachment)
{
  sf_graph_t *multi = attachment->graph->multi;
  if (multi != NULL)
    sfc_graph_set_parent(multi, NULL);
  (void)sf_graph_destroy(multi);
  attachment->graph->multi = NULL;
  (void)drop_edges((sfc_multigraph_t *)attachment);
}

/* The context's list has the graphs. */
static void free_multi(sfc_attachment_t *attachment)
{
  sfc_multigraph_t *multi = (sfc_multigraph_t *)attachment;
  sfc_neighbor_edges_free(&multi->root_ranks);
  sfc_neighbor_edges_free(&multi->leaf_ranks);
  sfc_slot_rounds_free(&multi->rounds);
  free(multi);
}

static const sfc_attachment_ops_t multi_ops = {
    .is_busy = is_busy, .tear_down = tear_down, .retire = destroy, .free = free_multi};

sfc_multigraph_t *sfc_multigraph_find(const sf_graph_t *graph)
{
  return sfc_graph_attachment(graph, &multi_ops);
}

/* Attaches an empty multi-graph to the graph. A failure to allocate it fails the rank for all, because the other ranks
 * wait for this rank in the collective steps that follow. */
static sf_status_t need_multi(sf_graph_t *graph)
{
  sfc_multigraph_t *multi = sfc_multigraph_find(graph);
  if (multi != NULL)
    return SF_OK;
  multi = calloc(1, sizeof *multi);
  if (multi == NULL)
    return sfc_derive_give_up(graph, sfshm_error(SF_ERR_NOMEM, "multi-graph"));
  sfc_graph_attach(graph, &multi->attachment, &multi_ops);
  return SF_OK;
}

/* Error before a collective use of the graph. local_error: of this call. */
static sf_status_t begin_use(sf_status_t local_error, sf_graph_t *graph)
{
  sf_status_t made = need_multi(graph), failed = sfc_graph_failure(graph);
  return failed != SF_OK ? failed : made != SF_OK ? made : local_error;
}

/* ---- Edges by rank ----------------------------------------------------------------------------------------------- */

sf_status_t sfc_multigraph_root_ranks(sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p)
{
  sf_status_t status = need_multi(graph);
  sfc_multigraph_t *multi = sfc_multigraph_find(graph);
  if (status == SF_OK && !multi->has_root_ranks) {
    status = sfc_neighbor_edges_by_root_rank(graph, &multi->root_ranks);
    multi->has_root_ranks = status == SF_OK;
  }
  if (status == SF_OK)
    *ranks_p = &multi->root_ranks;
  return status;
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

/* State of a collective creation after a barrier. Every rank takes all steps in the same order, also after an error:
 * the derivation notes it, and the next exchange or set-up fails for all ranks. */
typedef struct making {
  sfc_derive_t derive;
  sf_graph_t *graph;
  sfc_multigraph_t *multi;
  sf_graph_t *directory; /* helper graph for exchanges before the edges are known: */
  int64_t *by_root_rank; /* at its leaves, by index in root_ranks */
  int64_t *by_rank;      /* at its roots */
} making_t;

static void begin_making(making_t *making, sf_graph_t *graph)
{
  *making = (making_t){.graph = graph, .multi = sfc_multigraph_find(graph)};
  sfc_derive_begin(&making->derive, "sf_graph_multi", graph->group, graph->flags);
}

static void note(making_t *making, sf_status_t status)
{
  sfc_derive_note(&making->derive, status, -1);
  making->derive.starved |= status != SF_OK; /* this rank has no values for others */
}

static bool goes_well(const making_t *making)
{
  return making->derive.status == SF_OK;
}

/* For a creation without a set-up at its end. */
static sf_status_t end_making(making_t *making)
{
  sfc_derive_drop(&making->derive);
  return goes_well(making) ? SF_OK : sfshm_error(making->derive.status, "%s", making->derive.detail);
}

static void open_directory(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  const sfc_neighbor_edges_t *ranks = &making->multi->root_ranks;
  int32_t size = making->graph->group->size;
  sfc_derive_edges_t edges = {.n = ranks->nranks, .root_rank = ranks->ranks};
  edges.root = sfc_derive_array(derive, edges.n, sizeof *edges.root);
  making->by_root_rank = sfc_derive_array(derive, edges.n, sizeof *making->by_root_rank);
  making->by_rank = sfc_derive_array(derive, size, sizeof *making->by_rank);
  for (int32_t i = 0; i < edges.n && goes_well(making); i++)
    edges.root[i] = making->graph->rank;
  making->directory = sfc_derive_helper(derive, size, &edges);
}

/* Values belong to another graph if ranks use multi-graphs in different orders. */
static sf_status_t refuse(const sf_graph_t *graph, int32_t rank, const char *what, int64_t found, int64_t limit)
{
  return sfshm_error(SF_ERR_MISMATCH,
                     "sf_graph_multi of graph %llu on rank %d: %s rank %d must be from 0 to %lld, not %lld: do all "
                     "ranks use the graphs in the same order?",
                     (unsigned long long)graph->number, graph->rank, what, rank, (long long)limit, (long long)found);
}

static bool fits(int64_t value, int64_t limit)
{
  return value >= 0 && value <= limit;
}

/* Checks the number of edges of each leaf rank, and allocates for them. */
static sf_status_t count_leaf_ranks(const making_t *making)
{
  sfc_neighbor_edges_t *leaves = &making->multi->leaf_ranks;
  const int64_t *by_rank = making->by_rank;
  int32_t nranks = 0, size = making->graph->group->size;
  int64_t nedges = 0;
  for (int32_t rank = 0; rank < size; rank++) {
    if (!fits(by_rank[rank], EDGES_MAX - nedges))
      return refuse(making->graph, rank, "the number of edges of", by_rank[rank], EDGES_MAX - nedges);
    nranks += by_rank[rank] > 0;
    nedges += by_rank[rank];
  }
  sf_status_t status = sfc_neighbor_edges_alloc(nranks, nedges, leaves);
  for (int32_t rank = 0, i = 0; rank < size && status == SF_OK; rank++) {
    if (by_rank[rank] == 0)
      continue;
    leaves->ranks[i] = rank;
    leaves->offset[i + 1] = leaves->offset[i] + by_rank[rank];
    i++;
  }
  return status;
}

static void exchange_leaf_ranks(making_t *making)
{
  const sfc_neighbor_edges_t *roots = &making->multi->root_ranks;
  for (int32_t i = 0; i < roots->nranks && goes_well(making); i++)
    making->by_root_rank[i] = roots->offset[i + 1] - roots->offset[i];
  sfc_derive_reduce(&making->derive, making->directory, SF_INT64, 1, making->by_root_rank, making->by_rank, SF_REPLACE);
  if (goes_well(making))
    note(making, count_leaf_ranks(making));
}

/* Edges of the graph of edges: numbers of this rank's leaves at the owners of their roots. */
static void list_edges(making_t *making, sfc_derive_edges_t *edges)
{
  const sfc_neighbor_edges_t *roots = &making->multi->root_ranks;
  int64_t n = making->graph->nleaves;
  *edges = sfc_derive_new_edges(&making->derive, n, false);
  edges->n = n;
  for (int32_t i = 0; i < roots->nranks && goes_well(making); i++) {
    if (!fits(making->by_root_rank[i], EDGES_MAX))
      note(making, refuse(making->graph, roots->ranks[i], "the first edge at", making->by_root_rank[i], EDGES_MAX));
    for (int64_t k = roots->offset[i]; k < roots->offset[i + 1] && goes_well(making); k++) {
      edges->root_rank[k] = roots->ranks[i];
      edges->root[k] = making->by_root_rank[i] + k - roots->offset[i];
    }
  }
}

/* Creates the graph of edges. local: all ranks are on one node, and leaf ranks are known. */
static void make_edges(making_t *making, bool local)
{
  const sfc_neighbor_edges_t *leaves = &making->multi->leaf_ranks;
  sfc_derive_edges_t edges;
  open_directory(making);
  if (!local)
    exchange_leaf_ranks(making);
  for (int32_t i = 0; i < leaves->nranks && goes_well(making); i++)
    making->by_rank[leaves->ranks[i]] = leaves->offset[i];
  sfc_derive_bcast(&making->derive, making->directory, SF_INT64, 1, making->by_rank, making->by_root_rank);
  list_edges(making, &edges);
  int64_t nedges = goes_well(making) ? leaves->offset[leaves->nranks] : 0;
  making->multi->edges = sfc_derive_helper(&making->derive, nedges, &edges);
  note(making, sf_graph_destroy(making->directory));
}

/* Checks roots before they index arrays. */
static sf_status_t check_roots(const sf_graph_t *graph)
{
  const sfc_neighbor_edges_t *leaves = &sfc_multigraph_find(graph)->leaf_ranks;
  for (int32_t i = 0; i < leaves->nranks; i++)
    for (int64_t k = leaves->offset[i]; k < leaves->offset[i + 1]; k++)
      if (!fits(leaves->root[k], graph->nroots - 1))
        return refuse(graph, leaves->ranks[i], "the root of a leaf of", leaves->root[k], graph->nroots - 1);
  return SF_OK;
}

/* Tells owners of roots about their edges. After an error the graph itself is failed: other ranks may be done, and this
 * rank calls nothing else on the graph. */
static void exchange_edges(making_t *making)
{
  sfc_multigraph_t *multi = making->multi;
  const sfc_neighbor_edges_t *roots = &multi->root_ranks, *leaves = &multi->leaf_ranks;
  sfc_derive_reduce(&making->derive, multi->edges, SF_INT64, 1, roots->root, leaves->root, SF_REPLACE);
  sfc_derive_reduce(&making->derive, multi->edges, SF_INT64, 1, roots->leaf, leaves->leaf, SF_REPLACE);
  if (goes_well(making))
    note(making, sfc_derive_give_up(multi->edges, check_roots(making->graph)));
  if (!goes_well(making))
    (void)sfc_derive_give_up(making->graph, sfshm_error(making->derive.status, "%s", making->derive.detail));
}

/* Over nodes. Once the ranks have the graph of edges all continue with it: later failures belong to that graph. */
static sf_status_t find_leaf_ranks_together(sf_status_t local_error, sf_graph_t *graph)
{
  making_t making;
  begin_making(&making, graph);
  note(&making, local_error);
  make_edges(&making, false);
  bool made = goes_well(&making);
  if (made)
    exchange_edges(&making);
  making.multi->has_leaf_ranks = made;
  return end_making(&making);
}

static sf_status_t find_leaf_ranks(sf_status_t local_error, sf_graph_t *graph)
{
  const sfc_neighbor_edges_t *roots;
  sfc_multigraph_t *multi = sfc_multigraph_find(graph);
  bool local = sfc_group_is_local(graph->group);
  sf_status_t status = local_error == SF_OK ? sfc_multigraph_root_ranks(graph, &roots) : local_error;
  if (!local)
    status = find_leaf_ranks_together(status, graph);
  else if (status == SF_OK)
    status = sfc_neighbor_edges_by_leaf_rank(graph, &multi->leaf_ranks);
  multi->has_leaf_ranks |= status == SF_OK;
  if (multi->has_leaf_ranks)
    multi->rounds = (sfc_slot_rounds_t){.root_of = multi->leaf_ranks.root,
                                        .n = multi->leaf_ranks.offset[multi->leaf_ranks.nranks],
                                        .nroots = graph->nroots};
  else
    sfc_neighbor_edges_free(&multi->leaf_ranks);
  return status;
}

/* Local if all ranks are on one node. */
static sf_status_t have_leaf_ranks(sf_status_t local_error, sf_graph_t *graph)
{
  const sfc_multigraph_t *multi = sfc_multigraph_find(graph);
  if (multi->has_leaf_ranks)
    return local_error == SF_OK && multi->edges != NULL ? sfc_graph_failure(multi->edges) : local_error;
  if (!sfc_group_is_local(graph->group)) {
    sf_status_t entered = sfc_graph_barrier(local_error, graph, SFSHM_MAKE_LEAF_RANKS);
    if (entered != SF_OK)
      return entered;
    local_error = sfc_graph_failure(graph);
  }
  return find_leaf_ranks(local_error, graph);
}

sf_status_t sfc_multigraph_leaf_ranks(sf_status_t local_error, sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p)
{
  sf_status_t status = begin_use(local_error, graph);
  if (sfc_multigraph_find(graph) != NULL)
    status = have_leaf_ranks(status, graph);
  if (status == SF_OK)
    *ranks_p = &sfc_multigraph_find(graph)->leaf_ranks;
  return status;
}

/* ---- The multi-graph --------------------------------------------------------------------------------------------- */

/* Computes the edges' slots, sends them to leaf ranks, and connects leaves with slots. */
static sf_status_t connect_slots(making_t *making, sf_graph_t **multi_p)
{
  sfc_derive_t *derive = &making->derive;
  sfc_multigraph_t *multi = making->multi;
  const sfc_neighbor_edges_t *roots = &multi->root_ranks, *leaves = &multi->leaf_ranks;
  int64_t n = making->graph->nleaves, nslots = leaves->offset[leaves->nranks];
  int64_t *by_edge = sfc_derive_array(derive, nslots, sizeof *by_edge);
  derive->nroots = nslots;
  derive->edges = sfc_derive_new_edges(derive, n, false);
  derive->edges.n = n;
  derive->edges.leaf = roots->leaf;
  if (goes_well(making) && !sfc_slot_rounds_find_slots(&multi->rounds, by_edge, NULL))
    note(making, sfshm_error(SF_ERR_NOMEM, "slots of %lld edges", (long long)nslots));
  sfc_derive_bcast(derive, multi->edges, SF_INT64, 1, by_edge, derive->edges.root);
  for (int32_t i = 0; i < roots->nranks && goes_well(making); i++)
    for (int64_t k = roots->offset[i]; k < roots->offset[i + 1]; k++)
      derive->edges.root_rank[k] = roots->ranks[i];
  return sfc_derive_end(derive, multi_p);
}

static sf_status_t make_graph(sf_status_t local_error, sf_graph_t *graph)
{
  sfc_multigraph_t *multi = sfc_multigraph_find(graph);
  bool local = sfc_group_is_local(graph->group);
  sf_status_t status = have_leaf_ranks(local_error, graph);
  if (local || multi->edges != NULL)
    status = sfc_graph_barrier(status, graph, SFSHM_MAKE_MULTI);
  if (status != SF_OK)
    return status; /* for all */

  making_t making;
  begin_making(&making, graph);
  note(&making, sfc_graph_failure(graph)); /* since then */
  if (local && multi->edges == NULL)
    make_edges(&making, true);
  if (multi->edges == NULL)
    return end_making(&making); /* for all */
  status = connect_slots(&making, &graph->multi);
  if (status != SF_OK)
    return status;
  atomic_store_explicit(&graph->multi->counts->multi_of, graph->number, memory_order_relaxed);
  sfc_graph_set_parent(graph->multi, graph);
  return drop_edges(multi);
}

sf_status_t sfc_multigraph_get(sf_status_t local_error, sf_graph_t *graph, sf_graph_t **multi_p)
{
  sf_status_t status = begin_use(local_error, graph);
  if (sfc_multigraph_find(graph) != NULL && graph->multi == NULL)
    status = make_graph(status, graph);
  if (status == SF_OK)
    *multi_p = graph->multi;
  return status;
}

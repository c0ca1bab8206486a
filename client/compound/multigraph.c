/* Multi-graphs: see multigraph.h. */
#include "client/compound/multigraph.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/algebra/derive.h"
#include "client/core/context.h"
#include "client/core/group.h"
#include "client/engine/barrier.h"
#include "client/graph/failure.h"
#include "client/setup/create.h"
#include "shm/base/error.h"

#define EDGES_MAX (INT64_MAX / 64) /* whose arrays can be counted in bytes */

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* What becomes of the multi-graph: see attachment.h. */
static bool is_busy(const sfc_attachment_t *attachment)
{
  return attachment->graph->multi != NULL && sfc_graph_is_busy(attachment->graph->multi);
}

static void tear_down(sfc_attachment_t *attachment)
{
  if (attachment->graph->multi != NULL)
    sfc_graph_tear_down(attachment->graph->multi);
}

static sf_status_t drop_edges(sfc_multi_t *multi)
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
  (void)sf_graph_destroy(multi); /* nothing is in flight */
  attachment->graph->multi = NULL;
  (void)drop_edges((sfc_multi_t *)attachment);
}

/* The graphs are in the context's list. */
static void free_multi(sfc_attachment_t *attachment)
{
  sfc_multi_t *multi = (sfc_multi_t *)attachment;
  sfc_ranks_free(&multi->root_ranks);
  sfc_ranks_free(&multi->leaf_ranks);
  sfc_rounds_free(&multi->rounds);
  free(multi);
}

static const sfc_attachment_ops_t multi_ops = {
    .is_busy = is_busy, .tear_down = tear_down, .retire = destroy, .free = free_multi};

sfc_multi_t *sfc_multi_find(const sf_graph_t *graph)
{
  return sfc_graph_attachment(graph, &multi_ops);
}

/* Without it this rank can't take part in what others wait for. */
static sf_status_t need_multi(sf_graph_t *graph)
{
  sfc_multi_t *multi = sfc_multi_find(graph);
  if (multi != NULL)
    return SF_OK;
  multi = calloc(1, sizeof *multi);
  if (multi == NULL)
    return sfc_derive_give_up(graph, sfshm_error(SF_ERR_NOMEM, "multi-graph"));
  sfc_graph_attach(graph, &multi->attachment, &multi_ops);
  return SF_OK;
}

/* When all have met, a rank for which something has failed, also the graph itself, still has to take part in the set-up
 * for which the others wait. It makes that fail for all of them. */
static sf_status_t create(sf_status_t before, sf_graph_t *graph, int64_t nroots, int64_t nleaves, const int64_t leaf[],
                          const int32_t rank[], const int64_t root[], uint32_t flags, sf_graph_t **graph_p)
{
  char detail[256];
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  sfc_finding_t finding = {.caller = "sf_graph_multi", .status = before, .leaf = -1, .detail = detail};
  sfc_edge_input_t input = {.wide = true};
  if (before == SF_OK)
    input = (sfc_edge_input_t){nroots, nleaves, leaf, rank, root, true};
  return sfc_graph_create(graph->group, &input, flags, &finding, graph_p);
}

/* What has failed before a collective use of the graph begins. before: what is wrong with the call. */
static sf_status_t begin_use(sf_status_t before, sf_graph_t *graph)
{
  sf_status_t made = need_multi(graph), failed = sfc_graph_failure(graph);
  return failed != SF_OK ? failed : made != SF_OK ? made : before;
}

/* Nor may they wait for its values: then the operation fails for all of them, too. */
static sf_status_t move(sf_status_t before, sf_graph_t *graph, sfc_move_fn_t *operation, const int64_t *from,
                        int64_t *to)
{
  sf_status_t status = before == SF_OK ? operation(graph, SF_INT64, from, to, SF_REPLACE) : before;
  return sfc_derive_give_up(graph, status);
}

/* ---- Edges by rank ----------------------------------------------------------------------------------------------- */

sf_status_t sfc_multi_root_ranks(sf_graph_t *graph, const sfc_ranks_t **ranks_p)
{
  sf_status_t status = need_multi(graph);
  sfc_multi_t *multi = sfc_multi_find(graph);
  if (status == SF_OK && !multi->has_root_ranks) {
    status = sfc_ranks_of_roots(graph, &multi->root_ranks);
    multi->has_root_ranks = status == SF_OK;
  }
  if (status == SF_OK)
    *ranks_p = &multi->root_ranks;
  return status;
}

/* The directory: what ranks have to tell each other before they know the edges. */
typedef struct directory {
  sf_graph_t *graph;
  int64_t *by_root_rank; /* leaves of the graph: by number in root_ranks */
  int64_t *by_rank;      /* its roots */
} directory_t;

static sf_status_t open_directory(sf_status_t before, sf_graph_t *graph, directory_t *directory)
{
  const sfc_ranks_t *root_ranks = &sfc_multi_find(graph)->root_ranks;
  int32_t size = graph->group->size, n = root_ranks->nranks;
  int64_t *roots = malloc(((size_t)n + 1) * sizeof *roots);
  *directory = (directory_t){.by_root_rank = calloc((size_t)n + 1, sizeof(int64_t)),
                             .by_rank = calloc((size_t)size + 1, sizeof(int64_t))};
  if (before == SF_OK && (roots == NULL || !directory->by_root_rank || !directory->by_rank))
    before = sfshm_error(SF_ERR_NOMEM, "directory of %d ranks", size);
  for (int32_t i = 0; i < n && before == SF_OK; i++)
    roots[i] = graph->rank;
  sf_status_t status =
      create(before, graph, size, n, NULL, root_ranks->ranks, roots, SF_GRAPH_DEFAULT, &directory->graph);
  free(roots);
  return status;
}

static sf_status_t close_directory(sf_status_t before, const directory_t *directory)
{
  sf_status_t status = sf_graph_destroy(directory->graph);
  free(directory->by_root_rank);
  free(directory->by_rank);
  return before != SF_OK ? before : status;
}

/* What other ranks tell is of another graph where they don't use the multi-graphs in the same order. */
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

/* Learns how many edges each leaf rank has, and makes room for them. */
static sf_status_t count_leaf_ranks(sf_status_t before, sf_graph_t *graph, directory_t *directory)
{
  sfc_multi_t *multi = sfc_multi_find(graph);
  int32_t nranks = 0;
  int64_t nedges = 0;
  for (int32_t i = 0; i < multi->root_ranks.nranks; i++)
    directory->by_root_rank[i] = multi->root_ranks.offset[i + 1] - multi->root_ranks.offset[i];
  sf_status_t status = move(before, directory->graph, sf_reduce, directory->by_root_rank, directory->by_rank);
  if (status != SF_OK)
    return status;
  for (int32_t rank = 0; rank < graph->group->size; rank++) {
    if (!fits(directory->by_rank[rank], EDGES_MAX - nedges))
      return refuse(graph, rank, "the number of edges of", directory->by_rank[rank], EDGES_MAX - nedges);
    nranks += directory->by_rank[rank] > 0;
    nedges += directory->by_rank[rank];
  }
  status = sfc_ranks_alloc(nranks, nedges, &multi->leaf_ranks);
  for (int32_t rank = 0, i = 0; rank < graph->group->size && status == SF_OK; rank++) {
    if (directory->by_rank[rank] == 0)
      continue;
    multi->leaf_ranks.ranks[i] = rank;
    multi->leaf_ranks.offset[i + 1] = multi->leaf_ranks.offset[i] + directory->by_rank[rank];
    i++;
  }
  return status;
}

/* Tells the leaf ranks where their edges come, and makes the graph of edges. */
static sf_status_t connect_edges(sf_status_t before, sf_graph_t *graph, directory_t *directory)
{
  sfc_multi_t *multi = sfc_multi_find(graph);
  const sfc_ranks_t *roots = &multi->root_ranks, *leaves = &multi->leaf_ranks;
  size_t n = (size_t)graph->nleaves + 1;
  int32_t *rank = malloc(n * sizeof *rank);
  int64_t *root = malloc(n * sizeof *root);
  for (int32_t i = 0; i < leaves->nranks; i++)
    directory->by_rank[leaves->ranks[i]] = leaves->offset[i];
  before = move(before, directory->graph, sf_bcast, directory->by_rank, directory->by_root_rank);
  if (before == SF_OK && (rank == NULL || root == NULL))
    before = sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)graph->nleaves);
  for (int32_t i = 0; i < roots->nranks && before == SF_OK; i++)
    if (!fits(directory->by_root_rank[i], EDGES_MAX))
      before = refuse(graph, roots->ranks[i], "the first edge at", directory->by_root_rank[i], EDGES_MAX);
  for (int32_t i = 0; i < roots->nranks && before == SF_OK; i++)
    for (int64_t k = roots->offset[i]; k < roots->offset[i + 1]; k++) {
      rank[k] = roots->ranks[i];
      root[k] = directory->by_root_rank[i] + k - roots->offset[i];
    }
  int64_t nedges = before == SF_OK ? leaves->offset[leaves->nranks] : 0;
  sf_status_t status = create(before, graph, nedges, graph->nleaves, NULL, rank, root, SF_GRAPH_DEFAULT, &multi->edges);
  free(rank);
  free(root);
  return status;
}

/* Makes the graph of edges. local: all ranks are on one node, and the leaf ranks are known. */
static sf_status_t make_edges(sf_status_t before, sf_graph_t *graph, bool local)
{
  directory_t directory;
  sf_status_t status = open_directory(before, graph, &directory);
  if (status == SF_OK && !local)
    before = count_leaf_ranks(before, graph, &directory);
  if (status == SF_OK)
    status = connect_edges(before, graph, &directory);
  return close_directory(status, &directory);
}

/* Arrays are going to be indexed with them. */
static sf_status_t check_roots(const sf_graph_t *graph)
{
  const sfc_ranks_t *leaves = &sfc_multi_find(graph)->leaf_ranks;
  for (int32_t i = 0; i < leaves->nranks; i++)
    for (int64_t k = leaves->offset[i]; k < leaves->offset[i + 1]; k++)
      if (!fits(leaves->root[k], graph->nroots - 1))
        return refuse(graph, leaves->ranks[i], "the root of a leaf of", leaves->root[k], graph->nroots - 1);
  return SF_OK;
}

/* Others may be done when something fails here: they hear of it by the graph itself, since this rank may not come to
 * anything else that they call on it. */
static sf_status_t hear_of_edges(sf_graph_t *graph)
{
  sfc_multi_t *multi = sfc_multi_find(graph);
  sf_request_t *requests[2] = {NULL, NULL};
  sf_status_t status =
      sf_reduce_begin(multi->edges, SF_INT64, multi->root_ranks.root, multi->leaf_ranks.root, SF_REPLACE, &requests[0]);
  if (status == SF_OK)
    status = sf_reduce_begin(multi->edges, SF_INT64, multi->root_ranks.leaf, multi->leaf_ranks.leaf, SF_REPLACE,
                             &requests[1]);
  status = sfc_derive_give_up(multi->edges, status);
  sf_status_t ended = sf_wait_all(2, requests);
  if (status == SF_OK)
    status = ended;
  if (status == SF_OK)
    status = sfc_derive_give_up(multi->edges, check_roots(graph));
  return sfc_derive_give_up(graph, status);
}

/* What all ranks do in the same order, whatever fails here. Once they have the graph of edges all of them go on with
 * it: what fails later is an error of that graph. */
static sf_status_t find_leaf_ranks(sf_status_t before, sf_graph_t *graph)
{
  const sfc_ranks_t *roots;
  sfc_multi_t *multi = sfc_multi_find(graph);
  bool local = sfc_group_is_local(graph->group);
  sf_status_t status = before == SF_OK ? sfc_multi_root_ranks(graph, &roots) : before;
  if (!local)
    status = make_edges(status, graph, false);
  else if (status == SF_OK)
    status = sfc_ranks_of_leaves(graph, &multi->leaf_ranks);
  multi->has_leaf_ranks = status == SF_OK;
  if (status == SF_OK)
    multi->rounds = (sfc_rounds_t){.met = multi->leaf_ranks.root,
                                   .n = multi->leaf_ranks.offset[multi->leaf_ranks.nranks],
                                   .nroots = graph->nroots};
  else
    sfc_ranks_free(&multi->leaf_ranks);
  return status == SF_OK && !local ? hear_of_edges(graph) : status;
}

/* On one node that takes nobody else. */
static sf_status_t have_leaf_ranks(sf_status_t before, sf_graph_t *graph)
{
  const sfc_multi_t *multi = sfc_multi_find(graph);
  if (multi->has_leaf_ranks)
    return before == SF_OK && multi->edges != NULL ? sfc_graph_failure(multi->edges) : before;
  if (!sfc_group_is_local(graph->group)) {
    sf_status_t met = sfc_graph_meet(before, graph, SFSHM_MAKE_LEAF_RANKS);
    if (met != SF_OK)
      return met;
    before = sfc_graph_failure(graph);
  }
  return find_leaf_ranks(before, graph);
}

sf_status_t sfc_multi_leaf_ranks(sf_status_t before, sf_graph_t *graph, const sfc_ranks_t **ranks_p)
{
  sf_status_t status = begin_use(before, graph);
  if (sfc_multi_find(graph) != NULL)
    status = have_leaf_ranks(status, graph);
  if (status == SF_OK)
    *ranks_p = &sfc_multi_find(graph)->leaf_ranks;
  return status;
}

/* ---- The multi-graph --------------------------------------------------------------------------------------------- */

/* Finds the slots of the edges, and tells the leaf ranks. */
static sf_status_t tell_slots(sf_status_t before, const sf_graph_t *graph, int64_t by_edge[], int64_t slots[])
{
  if (before == SF_OK &&
      (by_edge == NULL || slots == NULL || !sfc_rounds_find_slots(&sfc_multi_find(graph)->rounds, by_edge, NULL)))
    before = sfshm_error(SF_ERR_NOMEM, "slots of %lld edges", (long long)graph->nleaves);
  return move(before, sfc_multi_find(graph)->edges, sf_bcast, by_edge, slots);
}

static sf_status_t connect_slots(sf_status_t before, sf_graph_t *graph, const int64_t slots[], sf_graph_t **multi_p)
{
  const sfc_ranks_t *roots = &sfc_multi_find(graph)->root_ranks, *leaves = &sfc_multi_find(graph)->leaf_ranks;
  int32_t *rank = malloc(((size_t)graph->nleaves + 1) * sizeof *rank);
  if (before == SF_OK && rank == NULL)
    before = sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)graph->nleaves);
  for (int32_t i = 0; i < roots->nranks && before == SF_OK; i++)
    for (int64_t k = roots->offset[i]; k < roots->offset[i + 1]; k++)
      rank[k] = roots->ranks[i];
  int64_t nslots = before == SF_OK ? leaves->offset[leaves->nranks] : 0;
  sf_status_t status = create(before, graph, nslots, graph->nleaves, roots->leaf, rank, slots, graph->flags, multi_p);
  free(rank);
  return status;
}

static sf_status_t make_graph(sf_status_t before, sf_graph_t *graph)
{
  sfc_multi_t *multi = sfc_multi_find(graph);
  bool local = sfc_group_is_local(graph->group);
  sf_status_t status = have_leaf_ranks(before, graph);
  if (local || multi->edges != NULL)
    status = sfc_graph_meet(status, graph, SFSHM_MAKE_MULTI);
  if (status != SF_OK)
    return status; /* for all */

  status = sfc_graph_failure(graph); /* since then */
  if (local && multi->edges == NULL)
    status = make_edges(status, graph, true);
  if (multi->edges == NULL)
    return status; /* for all */
  int64_t nedges = multi->leaf_ranks.offset[multi->leaf_ranks.nranks];
  int64_t *by_edge = calloc((size_t)nedges + 1, sizeof *by_edge);
  int64_t *slots = malloc(((size_t)graph->nleaves + 1) * sizeof *slots);
  status = tell_slots(status, graph, by_edge, slots);
  status = connect_slots(status, graph, slots, &graph->multi);
  free(by_edge);
  free(slots);
  if (status == SF_OK) {
    atomic_store_explicit(&graph->multi->counts->multi_of, graph->number, memory_order_relaxed);
    sfc_graph_set_parent(graph->multi, graph);
    status = drop_edges(multi);
  }
  return status;
}

sf_status_t sfc_multi_graph(sf_status_t before, sf_graph_t *graph, sf_graph_t **multi_p)
{
  sf_status_t status = begin_use(before, graph);
  if (sfc_multi_find(graph) != NULL && graph->multi == NULL)
    status = make_graph(status, graph);
  if (status == SF_OK)
    *multi_p = graph->multi;
  return status;
}

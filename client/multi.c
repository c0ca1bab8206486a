/* Multi-graphs: see multi.h. */
#include "client/multi.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/context.h"
#include "client/group.h"
#include "client/runs.h"
#include "client/sort.h"
#include "shm/error.h"

#define SPARSE 4 /* roots to an edge, above which the edges are sorted instead of counted by root */

static sf_status_t need_multi(sf_graph_t *graph)
{
  if (graph->multi == NULL)
    graph->multi = calloc(1, sizeof *graph->multi);
  return graph->multi != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "multi-graph");
}

/* A rank for which something has failed still has to take part in the set-up for which the others wait: with input that
 * makes it fail for all of them. */
static sf_status_t create(sf_status_t before, sf_graph_t *graph, int64_t nroots, int64_t nleaves, const int64_t leaf[],
                          const int32_t rank[], const int64_t root[], uint32_t flags, sf_graph_t **graph_p)
{
  char detail[256];
  if (before == SF_OK)
    return sf_graph_create(graph->group, nroots, nleaves, leaf, rank, root, flags, graph_p);
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  (void)!sf_graph_create(graph->group, -1, 0, NULL, NULL, NULL, flags, graph_p);
  return sfshm_error(before, "%s", detail);
}

/* ---- Edges by rank ----------------------------------------------------------------------------------------------- */

sf_status_t sfc_multi_root_ranks(sf_graph_t *graph, const sfc_ranks_t **ranks_p)
{
  sf_status_t status = need_multi(graph);
  if (status == SF_OK && !graph->multi->has_root_ranks) {
    status = sfc_ranks_of_roots(graph, &graph->multi->root_ranks);
    graph->multi->has_root_ranks = status == SF_OK;
  }
  if (status == SF_OK)
    *ranks_p = &graph->multi->root_ranks;
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
  const sfc_ranks_t *root_ranks = &graph->multi->root_ranks;
  int32_t size = graph->group->size, n = root_ranks->nranks;
  int64_t *own = malloc(((size_t)n + 1) * sizeof *own);
  *directory = (directory_t){.by_root_rank = malloc(((size_t)n + 1) * sizeof(int64_t)),
                             .by_rank = calloc((size_t)size, sizeof(int64_t))};
  if (before == SF_OK && (own == NULL || directory->by_root_rank == NULL || directory->by_rank == NULL))
    before = sfshm_error(SF_ERR_NOMEM, "directory of %d ranks", size);
  for (int32_t i = 0; i < n && own != NULL; i++)
    own[i] = graph->rank;
  sf_status_t status =
      create(before, graph, size, n, NULL, root_ranks->ranks, own, SF_GRAPH_DEFAULT, &directory->graph);
  free(own);
  return status;
}

static sf_status_t close_directory(sf_status_t before, directory_t *directory)
{
  sf_status_t status = sf_graph_destroy(directory->graph);
  free(directory->by_root_rank);
  free(directory->by_rank);
  return before != SF_OK ? before : status;
}

/* Learns how many edges each leaf rank has, and makes room for them. */
static sf_status_t count_leaf_ranks(sf_graph_t *graph, directory_t *directory)
{
  sfc_multi_t *multi = graph->multi;
  int32_t nranks = 0;
  int64_t nedges = 0;
  for (int32_t i = 0; i < multi->root_ranks.nranks; i++)
    directory->by_root_rank[i] = multi->root_ranks.offset[i + 1] - multi->root_ranks.offset[i];
  sf_status_t status = sf_reduce(directory->graph, SF_INT64, directory->by_root_rank, directory->by_rank, SF_REPLACE);
  if (status != SF_OK)
    return status;
  for (int32_t rank = 0; rank < graph->group->size; rank++) {
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
  sfc_multi_t *multi = graph->multi;
  const sfc_ranks_t *roots = &multi->root_ranks, *leaves = &multi->leaf_ranks;
  size_t n = (size_t)graph->nleaves + 1;
  int32_t *rank = malloc(n * sizeof *rank);
  int64_t *root = malloc(n * sizeof *root);
  for (int32_t i = 0; i < leaves->nranks; i++)
    directory->by_rank[leaves->ranks[i]] = leaves->offset[i];
  sf_status_t told = sf_bcast(directory->graph, SF_INT64, directory->by_rank, directory->by_root_rank, SF_REPLACE);
  if (before == SF_OK)
    before = told;
  if (before == SF_OK && (rank == NULL || root == NULL))
    before = sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)graph->nleaves);
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

/* Makes the graph of edges. local: the leaf ranks are known. */
static sf_status_t make_edges(sf_status_t before, sf_graph_t *graph, bool local)
{
  directory_t directory;
  sf_status_t status = open_directory(before, graph, &directory);
  if (status == SF_OK && !local)
    before = count_leaf_ranks(graph, &directory);
  if (status == SF_OK)
    status = connect_edges(before, graph, &directory);
  return close_directory(status, &directory);
}

static sf_status_t hear_of_edges(sf_graph_t *graph)
{
  sfc_multi_t *multi = graph->multi;
  sf_request_t *requests[2] = {NULL, NULL};
  sf_status_t status =
      sf_reduce_begin(multi->edges, SF_INT64, multi->root_ranks.root, multi->leaf_ranks.root, SF_REPLACE, &requests[0]);
  if (status == SF_OK)
    status = sf_reduce_begin(multi->edges, SF_INT64, multi->root_ranks.leaf, multi->leaf_ranks.leaf, SF_REPLACE,
                             &requests[1]);
  sf_status_t ended = sf_wait_all(2, requests);
  return status != SF_OK ? status : ended;
}

/* What all ranks do in the same order, whatever fails here. */
static sf_status_t find_leaf_ranks(sf_graph_t *graph)
{
  const sfc_ranks_t *roots;
  sf_status_t status = sfc_multi_root_ranks(graph, &roots);
  if (graph->multi == NULL)
    return status;
  if (sfc_group_is_local(graph->group))
    return status == SF_OK ? sfc_ranks_of_leaves(graph, &graph->multi->leaf_ranks) : status;
  status = make_edges(status, graph, false);
  if (status == SF_OK)
    status = hear_of_edges(graph);
  if (status != SF_OK) {
    (void)sf_graph_destroy(graph->multi->edges);
    graph->multi->edges = NULL;
    sfc_ranks_free(&graph->multi->leaf_ranks);
  }
  return status;
}

sf_status_t sfc_multi_leaf_ranks(sf_graph_t *graph, const sfc_ranks_t **ranks_p)
{
  sf_status_t status = need_multi(graph);
  if (status == SF_OK && !graph->multi->has_leaf_ranks) {
    status = find_leaf_ranks(graph);
    graph->multi->has_leaf_ranks = status == SF_OK;
  }
  if (status == SF_OK)
    *ranks_p = &graph->multi->leaf_ranks;
  return status;
}

/* ---- The multi-graph --------------------------------------------------------------------------------------------- */

int64_t *sfc_multi_first_slots(const sf_graph_t *graph)
{
  const sfc_ranks_t *leaves = &graph->multi->leaf_ranks;
  int64_t *first = calloc((size_t)graph->nroots + 1, sizeof *first);
  if (first == NULL)
    return NULL;
  for (int64_t i = 0; i < leaves->offset[leaves->nranks]; i++)
    first[leaves->root[i] + 1]++;
  for (int64_t root = 0; root < graph->nroots; root++)
    first[root + 1] += first[root];
  return first;
}

/* The slot of each edge, which stand by rank and leaf, with a number for each root. */
static bool count_slots(const sf_graph_t *graph, int64_t n, int64_t by_edge[])
{
  int64_t *next = sfc_multi_first_slots(graph);
  for (int64_t i = 0; i < n && next != NULL; i++)
    by_edge[i] = next[graph->multi->leaf_ranks.root[i]]++;
  free(next);
  return next != NULL;
}

/* The same by sorting the edges, which takes less time and memory if roots are many more. */
static bool sort_slots(const sf_graph_t *graph, int64_t n, int64_t by_edge[])
{
  sfc_keyed_t *edges = malloc((size_t)n * sizeof *edges + 1), *scratch = malloc((size_t)n * sizeof *scratch + 1);
  bool sorted = edges != NULL && scratch != NULL;
  for (int64_t i = 0; i < n && sorted; i++)
    edges[i] = (sfc_keyed_t){graph->multi->leaf_ranks.root[i], i};
  if (sorted)
    sfc_sort(edges, scratch, n, graph->nroots);
  for (int64_t slot = 0; slot < n && sorted; slot++)
    by_edge[edges[slot].item] = slot;
  free(edges);
  free(scratch);
  return sorted;
}

bool sfc_multi_find_slots(const sf_graph_t *graph, int64_t by_edge[])
{
  int64_t n = graph->multi->leaf_ranks.offset[graph->multi->leaf_ranks.nranks];
  return graph->nroots / SPARSE > n ? sort_slots(graph, n, by_edge) : count_slots(graph, n, by_edge);
}

/* Tells the leaf ranks the slots of their edges. */
static sf_status_t tell_slots(sf_status_t before, sf_graph_t *graph, int64_t slots[])
{
  const sfc_ranks_t *leaves = &graph->multi->leaf_ranks;
  int64_t n = leaves->offset[leaves->nranks];
  int64_t *by_edge = calloc((size_t)n + 1, sizeof *by_edge);
  if (before == SF_OK && (by_edge == NULL || !sfc_multi_find_slots(graph, by_edge)))
    before = sfshm_error(SF_ERR_NOMEM, "slots of %lld edges", (long long)n);
  sf_status_t status = SF_OK;
  if (by_edge != NULL && slots != NULL)
    status = sf_bcast(graph->multi->edges, SF_INT64, by_edge, slots, SF_REPLACE);
  free(by_edge);
  return before != SF_OK ? before : status;
}

static sf_status_t connect_slots(sf_status_t before, sf_graph_t *graph, const int64_t slots[], sf_graph_t **multi_p)
{
  const sfc_ranks_t *roots = &graph->multi->root_ranks, *leaves = &graph->multi->leaf_ranks;
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

static sf_status_t make_graph(sf_graph_t *graph, bool with_runs, size_t wanted)
{
  const sfc_ranks_t *leaves;
  sfc_multi_t *multi = graph->multi;
  sf_status_t status = sfc_multi_leaf_ranks(graph, &leaves), before = status;
  if (status != SF_OK && !sfc_group_is_local(graph->group))
    return status; /* for all */
  if (multi->edges == NULL)
    status = make_edges(before, graph, true);
  if (status != SF_OK)
    return status;
  int64_t *slots = malloc(((size_t)graph->nleaves + 1) * sizeof *slots);
  before = slots == NULL ? sfshm_error(SF_ERR_NOMEM, "%lld slots", (long long)graph->nleaves) : SF_OK;
  before = tell_slots(before, graph, slots);
  status = connect_slots(before, graph, slots, &multi->graph);
  free(slots);
  if (status != SF_OK)
    return status;
  atomic_store_explicit(&multi->graph->counts->multi_of, graph->number, memory_order_relaxed);
  sfc_graph_set_parent(multi->graph, graph);
  if (with_runs && !sfc_group_is_local(graph->group))
    status = sfc_runs_make(graph, wanted, &multi->runs);
  sf_graph_t *edges = multi->edges;
  multi->edges = NULL;
  sf_status_t destroyed = sf_graph_destroy(edges);
  return status != SF_OK ? status : destroyed;
}

static sf_status_t find_graph(sf_graph_t *graph, bool with_runs, size_t wanted, sf_graph_t **multi_p)
{
  sf_status_t status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = need_multi(graph);
  if (status == SF_OK && graph->multi->graph == NULL)
    status = make_graph(graph, with_runs, wanted);
  if (status == SF_OK)
    *multi_p = graph->multi->graph;
  return status;
}

sf_status_t sfc_multi_graph(sf_graph_t *graph, sf_graph_t **multi_p)
{
  return find_graph(graph, false, 0, multi_p);
}

sf_status_t sfc_multi_graph_with_runs(sf_graph_t *graph, size_t wanted, sf_graph_t **multi_p)
{
  return find_graph(graph, true, wanted, multi_p);
}

/* ---- The order of contributions ---------------------------------------------------------------------------------- */

sf_status_t sfc_multi_slot_roots(sf_graph_t *graph, const sfshm_pattern_t **roots_p)
{
  sfc_rounds_t *rounds = &graph->multi->rounds;
  sf_status_t status = SF_OK;
  if (rounds->slot_roots == NULL) {
    int64_t *first = sfc_multi_first_slots(graph);
    status = sfc_rounds_make_roots(rounds, first, graph->nroots);
    free(first);
  }
  if (status == SF_OK)
    *roots_p = &rounds->slot_root;
  return status;
}

sf_status_t sfc_multi_rounds(sf_graph_t *graph, const sfc_round_t **rounds_p, int64_t *nrounds_p)
{
  sfc_rounds_t *rounds = &graph->multi->rounds;
  sf_status_t status = SF_OK;
  if (rounds->rounds == NULL) {
    int64_t *first = sfc_multi_first_slots(graph);
    status = sfc_rounds_make(rounds, first, graph->nroots);
    free(first);
  }
  if (status == SF_OK) {
    *rounds_p = rounds->rounds;
    *nrounds_p = rounds->nrounds;
  }
  return status;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

bool sfc_multi_is_busy(const sf_graph_t *graph)
{
  const sf_graph_t *multi = sfc_multi_of(graph);
  return multi != NULL && (multi->in_flight > 0 || sfc_multi_is_busy(multi));
}

void sfc_multi_destroy(sf_graph_t *graph)
{
  sfc_multi_t *multi = graph->multi;
  if (multi == NULL)
    return;
  sfc_runs_destroy(multi->runs);
  if (multi->graph != NULL)
    sfc_graph_set_parent(multi->graph, NULL);
  (void)sf_graph_destroy(multi->graph); /* none is in flight */
  (void)sf_graph_destroy(multi->edges);
}

void sfc_multi_free(sf_graph_t *graph)
{
  sfc_multi_t *multi = graph->multi;
  if (multi == NULL)
    return;
  sfc_ranks_free(&multi->root_ranks);
  sfc_ranks_free(&multi->leaf_ranks);
  sfc_rounds_free(&multi->rounds);
  sfc_runs_free(multi->runs);
  free(multi);
}

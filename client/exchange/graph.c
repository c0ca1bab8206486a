/* Graphs for exchanges with neighbours: sf_exchange.h. A rank knows which ranks it sends to, and which it receives
 * from, but not at which place it is in their lists. So each rank tells its dests the places of their blocks, over a
 * helper graph with one root per rank whose leaves are the places in the lists: gathered at a root they are in the
 * order of ranks and places, which is how equal neighbours are matched. One thread. */
#include <stdlib.h>

#include <sf/sf_exchange.h>

#include "client/algebra.h"
#include "client/graph.h"
#include "shm/base/error.h"

static void check_list(sfc_derive_t *derive, const char *name, int32_t n, const int32_t ranks[])
{
  sf_status_t status = SF_OK;
  int32_t size = derive->group->size;
  if (n < 0 || (n > 0 && ranks == NULL))
    status = sfshm_error(SF_ERR_ARG, "n%s %d, %s %p", name, n, name, (const void *)ranks);
  for (int32_t i = 0; i < n && status == SF_OK; i++)
    if (ranks[i] < 0 || ranks[i] >= size)
      status = sfshm_error(SF_ERR_RANGE, "%s[%d] is rank %d of a group of %d", name, i, ranks[i], size);
  sfc_derive_note(derive, status, -1);
}

/* Tells each of the n dests its place in the list. Returns what this rank has been told: *ntold_p ranks and places, in
 * this order; NULL: an error is noted. */
static const sfc_vertex_t *tell_places(sfc_derive_t *derive, int32_t n, const int32_t dests[], int64_t *ntold_p)
{
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n, false);
  sfc_vertex_t *places = sfc_derive_vertices(derive, n);
  sf_graph_t *multi = NULL;
  for (int32_t j = 0; !derive->starved && j < n; j++) {
    edges.root_rank[edges.n++] = dests[j];
    places[j] = (sfc_vertex_t){derive->group->rank, j};
  }
  sf_graph_t *graph = sfc_derive_helper(derive, 1, &edges);
  if (graph == NULL)
    return NULL;
  sfc_derive_note(derive, sf_graph_multi(graph, &multi), -1);
  *ntold_p = multi != NULL ? multi->nroots : 0;
  sfc_vertex_t *told = sfc_derive_vertices(derive, *ntold_p);
  sfc_derive_reduce(derive, multi, SF_INT64, 2, places, told, SF_REPLACE);
  (void)sf_graph_destroy(graph);
  return derive->status == SF_OK ? told : NULL;
}

static int by_rank(const void *a, const void *b)
{
  const sfc_vertex_t *x = a, *y = b;
  if (x->rank != y->rank)
    return (x->rank > y->rank) - (x->rank < y->rank);
  return (x->index > y->index) - (x->index < y->index);
}

static int64_t count(const sfc_vertex_t list[], int64_t n, int64_t rank)
{
  int64_t found = 0;
  for (int64_t i = 0; i < n; i++)
    found += list[i].rank == rank;
  return found;
}

/* Both lists are sorted; they differ first at place i. */
static sf_status_t disagree(const sfc_derive_t *derive, const sfc_vertex_t sources[], int64_t nsources,
                            const sfc_vertex_t told[], int64_t ntold, int64_t i)
{
  int64_t rank = i < nsources ? sources[i].rank : told[i].rank;
  if (i < nsources && i < ntold && told[i].rank < rank)
    rank = told[i].rank;
  return sfshm_error(SF_ERR_MISMATCH,
                     "rank %d has rank %lld %lld times among its sources, which has rank %d %lld times among its dests",
                     derive->group->rank, (long long)rank, (long long)count(sources, nsources, rank),
                     derive->group->rank, (long long)count(told, ntold, rank));
}

static void add_edges(sfc_derive_t *derive, int32_t n, const int32_t sources[], const sfc_vertex_t told[],
                      int64_t ntold)
{
  sfc_vertex_t *sorted = sfc_derive_vertices(derive, n);
  sfc_derive_reserve(derive, n);
  if (derive->starved)
    return;
  for (int32_t i = 0; i < n; i++)
    sorted[i] = (sfc_vertex_t){sources[i], i};
  qsort(sorted, (size_t)n, sizeof *sorted, by_rank);
  for (int64_t i = 0; i < n || i < ntold; i++) {
    if (i >= n || i >= ntold || sorted[i].rank != told[i].rank) {
      sfc_derive_note(derive, disagree(derive, sorted, n, told, ntold, i), -1);
      return;
    }
    sfc_derive_add(derive, sorted[i].index, sorted[i].rank, told[i].index);
  }
}

sf_status_t sf_exchange_graph_create(sf_group_t *group, int32_t nsources, const int32_t sources[], int32_t ndests,
                                     const int32_t dests[], uint32_t flags, sf_graph_t **graph_p)
{
  sfc_derive_t derive;
  int64_t ntold = 0;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, flags);
  if (status != SF_OK)
    return status;
  check_list(&derive, "sources", nsources, sources);
  check_list(&derive, "dests", ndests, dests);
  bool bad = derive.status != SF_OK;
  const sfc_vertex_t *told = tell_places(&derive, bad ? 0 : ndests, dests, &ntold);
  derive.nroots = bad ? 0 : ndests;
  if (told != NULL && !bad)
    add_edges(&derive, nsources, sources, told, ntold);
  return sfc_derive_end(&derive, graph_p);
}

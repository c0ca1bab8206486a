/* Derivations: see derive.h. */
#include "client/algebra/derive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static bool same_group(const sf_group_t *a, const sf_group_t *b)
{
  if (a == b)
    return true;
  if (a->context != b->context || a->size != b->size)
    return false;
  for (int32_t i = 0; i < a->size; i++)
    if (sfc_group_job_rank(a, i) != sfc_group_job_rank(b, i))
      return false;
  return true;
}

void sfc_derive_begin(sfc_derive_t *derive, const char *caller, sf_group_t *group, uint32_t flags)
{
  *derive = (sfc_derive_t){
      .caller = caller, .group = group, .flags = flags, .bad_leaf = -1, .call_site = sfc_call_site_next()};
}

sf_status_t sfc_derive_on(sfc_derive_t *derive, const char *caller, sf_group_t *group, uint32_t flags)
{
  if (group == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: the group is NULL", caller);
  sfc_derive_begin(derive, caller, group, flags);
  return sfc_context_check(group->context, caller);
}

sf_status_t sfc_derive_from(sfc_derive_t *derive, const char *caller, const sf_graph_t *graph)
{
  if (graph == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: a graph is NULL", caller);
  sf_status_t status = sfc_derive_on(derive, caller, graph->group, graph->flags);
  derive->nroots = graph->nroots;
  return status;
}

sf_status_t sfc_derive_from_two(sfc_derive_t *derive, const char *caller, const sf_graph_t *a, const sf_graph_t *b)
{
  sf_status_t status = sfc_derive_from(derive, caller, b);
  if (status == SF_OK)
    status = sfc_derive_from(derive, caller, a);
  if (status == SF_OK && !same_group(a->group, b->group))
    status = sfshm_error(SF_ERR_ARG, "%s: the graphs are of different groups, of %d and %d ranks", caller,
                         a->group->size, b->group->size);
  return status;
}

/* ---- On the way -------------------------------------------------------------------------------------------------- */

void sfc_derive_note(sfc_derive_t *derive, sf_status_t status, int64_t leaf)
{
  if (status == SF_OK || derive->status != SF_OK)
    return;
  derive->status = status;
  derive->bad_leaf = leaf;
  strncpy(derive->detail, sfshm_error_detail(), sizeof derive->detail - 1);
}

void sfc_derive_check_output(sfc_derive_t *derive, const void *result)
{
  if (result == NULL)
    sfc_derive_note(derive, sfshm_error(SF_ERR_ARG, "there is no place for the result"), -1);
}

void *sfc_derive_array(sfc_derive_t *derive, int64_t n, size_t element_bytes)
{
  bool fits = n >= 0 && (uint64_t)n < PTRDIFF_MAX / element_bytes;
  assert(derive->narrays < SFC_DERIVE_ARRAYS);
  void *array = fits ? calloc((size_t)n + 1, element_bytes) : NULL;
  if (array == NULL) {
    sfc_derive_note(derive, sfshm_error(SF_ERR_NOMEM, "array of %lld elements", (long long)n), -1);
    derive->starved = true;
    return NULL;
  }
  derive->arrays[derive->narrays++] = array;
  return array;
}

sfc_vertex_t *sfc_derive_vertices(sfc_derive_t *derive, int64_t n)
{
  sfc_vertex_t *places = sfc_derive_array(derive, n, sizeof *places);
  for (int64_t i = 0; places != NULL && i < n; i++)
    places[i] = (sfc_vertex_t){-1, -1};
  return places;
}

sfc_derive_edges_t sfc_derive_new_edges(sfc_derive_t *derive, int64_t n, bool leaves)
{
  return (sfc_derive_edges_t){.leaf = leaves ? sfc_derive_array(derive, n, sizeof(int64_t)) : NULL,
                              .root_rank = sfc_derive_array(derive, n, sizeof(int32_t)),
                              .root = sfc_derive_array(derive, n, sizeof(int64_t))};
}

void sfc_derive_read_edges(sfc_derive_t *derive, const sf_graph_t *graph, sfc_derive_edges_t *edges)
{
  *edges = sfc_derive_new_edges(derive, graph->nleaves, true);
  if (derive->starved)
    return;
  sf_status_t status = sf_graph_edges(graph, edges->leaf, edges->root_rank, edges->root);
  if (status == SF_OK)
    edges->n = graph->nleaves;
  sfc_derive_note(derive, status, -1);
  derive->starved |= status != SF_OK;
}

void sfc_derive_reserve(sfc_derive_t *derive, int64_t n)
{
  derive->edges = sfc_derive_new_edges(derive, n, true);
  derive->room = derive->starved ? 0 : n;
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

sf_status_t sfc_derive_give_up(sf_graph_t *graph, sf_status_t status)
{
  char own[320], detail[352];
  if (status == SF_OK || sfc_graph_is_failed(graph))
    return status;
  snprintf(own, sizeof own, "%s", sfshm_error_detail());
  snprintf(detail, sizeof detail, "rank %d: %s", graph->rank, own);
  sfc_graph_fail_everywhere(graph, status, detail);
  return sfshm_error(status, "%s", own);
}

static void exchange(sfc_derive_t *derive, sf_graph_t *graph, sfc_move_fn_t *operation, const sf_type_t *base,
                     int64_t count, const void *from, void *to, const sf_op_t *op)
{
  const sf_type_t *unit = base;
  if (graph == NULL)
    return;
  sf_status_t status = derive->starved ? sfshm_error(derive->status, "%s", derive->detail) : SF_OK;
  if (status == SF_OK && count > 1)
    status = sf_type_create_block(count, base, &unit);
  if (status == SF_OK)
    status = operation(graph, unit, from, to, op);
  sfc_derive_note(derive, sfc_derive_give_up(graph, status), -1);
  (void)sf_type_destroy(unit);
}

void sfc_derive_bcast(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *root,
                      void *leaf)
{
  exchange(derive, graph, sf_bcast, base, count, root, leaf, SF_REPLACE);
}

void sfc_derive_reduce(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *leaf,
                       void *root, const sf_op_t *op)
{
  exchange(derive, graph, sf_reduce, base, count, leaf, root, op);
}

/* ---- Set-up ------------------------------------------------------------------------------------------------------ */

static sf_status_t make(const sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges, uint32_t flags,
                        sf_graph_t **graph_p)
{
  sfc_setup_caller_t finding = {derive->caller, derive->status, derive->bad_leaf, derive->detail, 0};
  sfc_edge_input_t input = {nroots, edges->n, edges->leaf, edges->root_rank, edges->root, true};
  if (derive->status != SF_OK)
    input = (sfc_edge_input_t){.wide = true};
  sf_at(derive->call_site); /* again for each helper graph: creation forgets it */
  return sfc_graph_create(derive->group, &input, flags, &finding, graph_p);
}

void sfc_derive_drop(sfc_derive_t *derive)
{
  while (derive->narrays > 0)
    free(derive->arrays[--derive->narrays]);
}

sf_status_t sfc_derive_end(sfc_derive_t *derive, sf_graph_t **graph_p)
{
  sf_status_t status = derive->agreed ? sfshm_error(derive->status, "%s", derive->detail)
                                      : make(derive, derive->nroots, &derive->edges, derive->flags, graph_p);
  sfc_derive_drop(derive);
  return status;
}

sf_status_t sfc_derive_copy(const char *caller, const sf_graph_t *graph, uint32_t flags, sf_status_t local_error,
                            sf_graph_t **copy_p)
{
  sfc_derive_t derive;
  sfc_derive_begin(&derive, caller, graph->group, flags);
  sfc_derive_note(&derive, local_error, -1);
  derive.nroots = graph->nroots;
  sfc_derive_read_edges(&derive, graph, &derive.edges);
  return sfc_derive_end(&derive, copy_p);
}

void sfc_derive_end_part(sfc_derive_t *part, sfc_derive_t *whole)
{
  sfc_derive_drop(part);
  whole->starved |= part->starved;
  if (part->status != SF_OK)
    sfc_derive_note(whole, sfshm_error(part->status, "%s", part->detail), part->bad_leaf);
}

sf_graph_t *sfc_derive_helper(sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges)
{
  sf_graph_t *graph = NULL;
  if (derive->agreed)
    return NULL;
  sf_status_t status = make(derive, nroots, edges, SF_GRAPH_DEFAULT, &graph);
  derive->agreed = status != SF_OK;
  if (derive->agreed)
    derive->status = SF_OK; /* included in the agreed error */
  sfc_derive_note(derive, status, -1);
  return graph;
}

void sfc_derive_bcast_along(sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges,
                            const sf_type_t *unit, const void *root, void *leaf)
{
  sf_graph_t *graph = sfc_derive_helper(derive, nroots, edges);
  sfc_derive_bcast(derive, graph, unit, 1, root, leaf);
  (void)sf_graph_destroy(graph);
}

/* The cheapest agreement: the set-up of a graph without edges. */
sf_status_t sfc_derive_agree(sfc_derive_t *derive)
{
  const sfc_derive_edges_t none = {.n = 0};
  (void)sf_graph_destroy(sfc_derive_helper(derive, 0, &none));
  sfc_derive_drop(derive);
  return derive->status == SF_OK ? SF_OK : sfshm_error(derive->status, "%s", derive->detail);
}

static void allgather_edges(const sfc_derive_t *derive, int64_t count, sfc_derive_edges_t *edges)
{
  for (int32_t rank = 0; edges->n < count * derive->group->size; rank++)
    for (int64_t i = 0; i < count; i++, edges->n++) {
      edges->root_rank[edges->n] = rank;
      edges->root[edges->n] = i;
    }
}

const int64_t *sfc_derive_allgather(sfc_derive_t *derive, int64_t count, const int64_t mine[])
{
  int64_t n = count * derive->group->size;
  int64_t *all = sfc_derive_array(derive, n, sizeof *all);
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n, false);
  if (!derive->starved)
    allgather_edges(derive, count, &edges);
  sfc_derive_bcast_along(derive, count, &edges, SF_INT64, mine, all);
  return derive->status == SF_OK ? all : NULL;
}

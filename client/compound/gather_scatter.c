/* Gather and scatter are operations on the multi-graph; fetch_op is composite: see sf.h. The thread that uses the
 * graph. */
#include "client/compound/composite.h"

#include "client/compound/multigraph.h"

/* Checks a call when the number of slots is not known yet. */
static sf_status_t check_first(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const void *leaf,
                               const void *slots, sf_request_t **request_p)
{
  sf_status_t status = sfc_call_check(name, graph, unit, SF_REPLACE, request_p);
  if (status == SF_OK)
    status = sfc_call_check_buffer(name, graph, "leafdata", leaf, graph->plan.leaf_max, unit);
  if (status == SF_OK)
    status = sfc_call_check_buffer(name, graph, "slotdata", slots, graph->plan.root_max < 0 ? -1 : 0, unit);
  return status;
}

/* Finds the graph of the operation, which checks the call. The first call is checked here: all ranks, which create the
 * multi-graph now, are told of errors. */
static sf_status_t find_multi(sfshm_call_t call, sf_graph_t *graph, const sf_type_t *unit, const void *leaf,
                              const void *slots, sf_request_t **request_p, sf_graph_t **multi_p)
{
  const char *name = sfshm_call_name(call);
  sf_status_t status = sfc_call_check_graph(name, graph);
  if (status != SF_OK)
    return status;
  if (graph->multi == NULL)
    status = check_first(name, graph, unit, leaf, slots, request_p);
  return sfc_multigraph_get(status, graph, multi_p);
}

sf_status_t sf_gather_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata, request_p, &multi);
  return status == SF_OK ? sf_reduce_begin(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                           sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata, request_p, &multi);
  return status == SF_OK ? sf_reduce_init(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata)
{
  sf_graph_t *multi;
  sf_request_t *unused;
  sf_status_t status = find_multi(SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata, &unused, &multi);
  return status == SF_OK ? sf_reduce(multi, unit, leafdata, slotdata, SF_REPLACE) : status;
}

sf_status_t sf_scatter_begin(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                             sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata, request_p, &multi);
  return status == SF_OK ? sf_bcast_begin(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter_init(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata, request_p, &multi);
  return status == SF_OK ? sf_bcast_init(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata)
{
  sf_graph_t *multi;
  sf_request_t *unused;
  sf_status_t status = find_multi(SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata, &unused, &multi);
  return status == SF_OK ? sf_bcast(multi, unit, slotdata, leafdata, SF_REPLACE) : status;
}

static sf_status_t make_fetch(sf_graph_t *graph, const sf_field_t *field, void *leafupdate, bool persistent,
                              sf_request_t **request_p)
{
  sfc_composite_call_t call = {SFSHM_CALL_FETCH, graph, field, 1, leafupdate, persistent};
  return sfc_composite_make(&call, request_p);
}

sf_status_t sf_fetch_op_begin(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                              void *leafupdate, const sf_op_t *op, sf_request_t **request_p)
{
  sf_field_t field = {unit, rootdata, (void *)(uintptr_t)leafdata, op}; /* leafdata is only read */
  sf_request_t *request;
  sf_status_t status = make_fetch(graph, &field, leafupdate, false, request_p == NULL ? NULL : &request);
  return status == SF_OK ? sfc_request_begin(request, request_p) : status;
}

sf_status_t sf_fetch_op_init(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                             void *leafupdate, const sf_op_t *op, sf_request_t **request_p)
{
  sf_field_t field = {unit, rootdata, (void *)(uintptr_t)leafdata, op};
  return make_fetch(graph, &field, leafupdate, true, request_p);
}

sf_status_t sf_fetch_op(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                        void *leafupdate, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status = sf_fetch_op_begin(graph, unit, rootdata, leafdata, leafupdate, op, &request);
  return status == SF_OK ? sf_wait(&request) : status;
}

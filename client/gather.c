/* Gather, scatter and fetch_op: see sf.h. The first two are operations on the multi-graph, the last one is composite.
 * The thread that uses the graph. */
#include "client/composite.h"

#include "client/multi.h"
#include "shm/error.h"

/* Where the operation takes place. unit and request_p are checked with the rest, there. */
static sf_status_t find_multi(sf_graph_t *graph, sfshm_call_t call, sf_graph_t **multi_p)
{
  return graph == NULL ? sfshm_error(SF_ERR_ARG, "%s: graph is NULL", sfshm_call_name(call))
                       : sf_graph_multi(graph, multi_p);
}

sf_status_t sf_gather_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_GATHER, &multi);
  return status == SF_OK ? sf_reduce_begin(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                           sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_GATHER, &multi);
  return status == SF_OK ? sf_reduce_init(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_GATHER, &multi);
  return status == SF_OK ? sf_reduce(multi, unit, leafdata, slotdata, SF_REPLACE) : status;
}

sf_status_t sf_scatter_begin(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                             sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_SCATTER, &multi);
  return status == SF_OK ? sf_bcast_begin(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter_init(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_SCATTER, &multi);
  return status == SF_OK ? sf_bcast_init(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata)
{
  sf_graph_t *multi;
  sf_status_t status = find_multi(graph, SFSHM_CALL_SCATTER, &multi);
  return status == SF_OK ? sf_bcast(multi, unit, slotdata, leafdata, SF_REPLACE) : status;
}

sf_status_t sf_fetch_op_begin(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                              void *leafupdate, const sf_op_t *op, sf_request_t **request_p)
{
  sfc_composite_call_t call = {SFSHM_CALL_FETCH, graph, unit, rootdata, leafdata, leafupdate, op, false};
  return sfc_composite_make_and_begin(&call, request_p);
}

sf_status_t sf_fetch_op_init(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                             void *leafupdate, const sf_op_t *op, sf_request_t **request_p)
{
  sfc_composite_call_t call = {SFSHM_CALL_FETCH, graph, unit, rootdata, leafdata, leafupdate, op, true};
  return sfc_composite_make(&call, request_p);
}

sf_status_t sf_fetch_op(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                        void *leafupdate, const sf_op_t *op)
{
  sf_request_t *request;
  sf_status_t status = sf_fetch_op_begin(graph, unit, rootdata, leafdata, leafupdate, op, &request);
  return status == SF_OK ? sf_wait(&request) : status;
}

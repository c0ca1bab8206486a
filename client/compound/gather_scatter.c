/* Gather, scatter and fetch_op: see sf.h. The first two are operations on the multi-graph, the last one is composite.
 * The thread that uses the graph. */
#include "client/compound/composite.h"

#include "client/compound/multigraph.h"
#include "shm/base/error.h"

/* What gather or scatter is called with. */
typedef struct gathering {
  sfshm_call_t call;
  sf_graph_t *graph;
  const sf_type_t *unit;
  const void *leaf;
  const void *slots;
} gathering_t;

/* How many slots there are is not known yet. */
static sf_status_t check_first(const gathering_t *asked, sf_request_t **request_p)
{
  const char *name = sfshm_call_name(asked->call);
  const sf_graph_t *graph = asked->graph;
  sf_status_t status = sfc_call_check(name, graph, asked->unit, SF_REPLACE, request_p);
  if (status == SF_OK)
    status = sfc_call_check_buffer(name, graph, "leafdata", asked->leaf, graph->plan.leaf_max, asked->unit);
  if (status == SF_OK)
    status =
        sfc_call_check_buffer(name, graph, "slotdata", asked->slots, graph->plan.root_max < 0 ? -1 : 0, asked->unit);
  return status;
}

/* Where the operation takes place. The call is checked there, unless it is the first: what is wrong with that all ranks
 * are told, who make the multi-graph now. */
static sf_status_t find_multi(const gathering_t *asked, sf_request_t **request_p, sf_graph_t **multi_p)
{
  sf_status_t status = sfc_call_check_graph(sfshm_call_name(asked->call), asked->graph);
  if (status != SF_OK)
    return status;
  if (asked->graph->multi == NULL)
    status = check_first(asked, request_p);
  return sfc_multigraph_get(status, asked->graph, multi_p);
}

sf_status_t sf_gather_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status =
      find_multi(&(gathering_t){SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata}, request_p, &multi);
  return status == SF_OK ? sf_reduce_begin(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata,
                           sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status =
      find_multi(&(gathering_t){SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata}, request_p, &multi);
  return status == SF_OK ? sf_reduce_init(multi, unit, leafdata, slotdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_gather(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata)
{
  sf_graph_t *multi;
  sf_request_t *unused;
  sf_status_t status = find_multi(&(gathering_t){SFSHM_CALL_GATHER, graph, unit, leafdata, slotdata}, &unused, &multi);
  return status == SF_OK ? sf_reduce(multi, unit, leafdata, slotdata, SF_REPLACE) : status;
}

sf_status_t sf_scatter_begin(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                             sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status =
      find_multi(&(gathering_t){SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata}, request_p, &multi);
  return status == SF_OK ? sf_bcast_begin(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter_init(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata,
                            sf_request_t **request_p)
{
  sf_graph_t *multi;
  sf_status_t status =
      find_multi(&(gathering_t){SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata}, request_p, &multi);
  return status == SF_OK ? sf_bcast_init(multi, unit, slotdata, leafdata, SF_REPLACE, request_p) : status;
}

sf_status_t sf_scatter(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata)
{
  sf_graph_t *multi;
  sf_request_t *unused;
  sf_status_t status = find_multi(&(gathering_t){SFSHM_CALL_SCATTER, graph, unit, leafdata, slotdata}, &unused, &multi);
  return status == SF_OK ? sf_bcast(multi, unit, slotdata, leafdata, SF_REPLACE) : status;
}

sf_status_t sf_fetch_op_begin(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                              void *leafupdate, const sf_op_t *op, sf_request_t **request_p)
{
  sfc_composite_call_t call = {SFSHM_CALL_FETCH, graph, unit, rootdata, leafdata, leafupdate, op, false};
  sf_request_t *request;
  sf_status_t status = sfc_composite_make(&call, request_p == NULL ? NULL : &request);
  return status == SF_OK ? sfc_request_begin(request, request_p) : status;
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

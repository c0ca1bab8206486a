/* Checks of the arguments of composite operations: see composite.h. The thread that uses the graph. */
#include "client/compound/composite.h"

#include "client/compound/multigraph.h"
#include "shm/base/error.h"

static sf_status_t check_buffers(const sfc_composite_call_t *call)
{
  const char *name = sfshm_call_name(call->call);
  const sf_graph_t *graph = call->graph;
  sf_status_t status = SF_OK;
  for (int32_t k = 0; k < call->nfields && status == SF_OK; k++) {
    const sf_field_t *field = &call->fields[k];
    status = sfc_call_check_buffer(name, graph, "rootdata", field->rootdata, graph->plan.root_max, field->unit);
    if (status == SF_OK)
      status = sfc_call_check_buffer(name, graph, "leafdata", field->leafdata, graph->plan.leaf_max, field->unit);
    if (status == SF_OK && call->call == SFSHM_CALL_FETCH)
      status = sfc_call_check_buffer(name, graph, "leafupdate", call->leafupdate, graph->plan.leaf_max, field->unit);
    if (status != SF_OK)
      status = sfc_fields_name(k, call->nfields, status);
  }
  return status;
}

/* first: the call creates the multi-graph with all ranks, which are told of errors; else the parts check buffers. */
static sf_status_t check(const sfc_composite_call_t *call, bool first, sf_request_t **request_p, uint64_t *signature_p)
{
  const char *name = sfshm_call_name(call->call);
  const sf_field_t *one = call->fields;
  sf_status_t status = SF_OK;
  if (call->nfields == 1 && one->op != NULL && one->op->function != NULL)
    status = sfc_call_check(name, call->graph, one->unit, one->op, request_p);
  else if (call->nfields == 1)
    status = sfc_call_check_op(name, call->graph, one->unit, one->op, request_p);
  else if (request_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "%s: request_p is NULL", name);
  else
    status = sfc_fields_check(name, call->call, call->nfields, call->fields, signature_p);
  if (status == SF_OK && call->nfields == 1)
    *signature_p = sfshm_desc_signature(call->call, one->unit->unit, one->op->op);
  return status == SF_OK && first ? check_buffers(call) : status;
}

sf_status_t sfc_composite_check(const sfc_composite_call_t *call, sf_request_t **request_p, uint64_t *signature_p,
                                sf_graph_t **multi_p)
{
  *multi_p = NULL;
  bool bcast = call->call == SFSHM_CALL_BCAST;
  sf_status_t status = sfc_call_check_graph(sfshm_call_name(call->call), call->graph);
  if (status != SF_OK)
    return status;
  status = check(call, !bcast && call->graph->multi == NULL, request_p, signature_p);
  if (!bcast)
    return sfc_multigraph_get(status, call->graph, multi_p);
  return status == SF_OK ? sfc_graph_failure(call->graph) : status;
}

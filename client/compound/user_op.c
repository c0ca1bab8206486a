/* Ops of the application, which composite requests call. Immutable; any thread. */
#include <stdlib.h>

#include "client/compound/composite.h"
#include "shm/base/error.h"

static sf_status_t make_request(const sfc_op_call_t *call, sf_request_t **request_p)
{
  sfc_composite_call_t composite = {.call = call->operation == SFSHM_BCAST ? SFSHM_CALL_BCAST : SFSHM_CALL_REDUCE,
                                    .graph = call->graph,
                                    .fields = call->fields,
                                    .nfields = call->nfields,
                                    .persistent = call->persistent};
  return sfc_composite_make(&composite, request_p);
}

sf_status_t sf_op_create(sf_op_function_t function, void *context, const sf_op_t **op_p)
{
  if (function == NULL || op_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_op_create: %s is NULL", function == NULL ? "function" : "op_p");
  sf_op_t *op = malloc(sizeof *op);
  if (op == NULL)
    return sfshm_error(SF_ERR_NOMEM, "op");
  *op = (sf_op_t){SFSHM_OP_APPLICATION, make_request, function, context};
  *op_p = op;
  return SF_OK;
}

sf_status_t sf_op_destroy(const sf_op_t *op)
{
  if (op != NULL && op->make_request != NULL)
    free((void *)(uintptr_t)op); /* created without const */
  return SF_OK;
}

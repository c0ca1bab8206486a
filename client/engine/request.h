/* Making requests and keeping them: see operation.h for what they are. */
#ifndef SFC_ENGINE_REQUEST_H
#define SFC_ENGINE_REQUEST_H

#include "client/core.h"
#include "client/engine/operation.h"

/* What a request is to do, with arguments that have been checked. */
typedef struct sfc_call {
  sf_graph_t *graph;
  sfshm_operation_t operation;
  uint64_t signature; /* what the messages say that was called */
  const sf_field_t *fields;
  int32_t nfields;
  bool persistent;
} sfc_call_t;

/* A call with an op that makes its requests itself (core/type.h), with arguments that have not been checked. */
typedef struct sfc_op_call {
  sf_graph_t *graph;
  sfshm_operation_t operation;
  const sf_type_t *unit;
  const void *root;
  const void *leaf;
  const sf_op_t *op;
  bool persistent;
} sfc_op_call_t;

/* Refuses NULL, and use in a forked child. name: of the function, for the text. */
sf_status_t sfc_call_check_graph(const char *name, const sf_graph_t *graph);

/* The same, and refuses NULL where something else is needed. */
sf_status_t sfc_call_check(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                           sf_request_t **request_p);

/* The operation's name to the application: on a multi-graph some have names of their own. */
sfshm_call_t sfc_call_name(const sf_graph_t *graph, sfshm_operation_t operation, const sf_op_t *op);

/* The same as sfc_call_check, and refuses an op that is not defined for the unit. */
sf_status_t sfc_call_check_op(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                              sf_request_t **request_p);

/* A buffer must be there if a vertex of it takes part, and must not end before the last one (-1: none takes part).
 * name: of the operation; buffer: its name. */
sf_status_t sfc_buffer_check(const char *name, const char *buffer, const void *address, int64_t last, size_t unit_bytes,
                             const sfc_memory_ref_t *ref);

/* The same for a buffer of a call on the graph that nothing is known of yet. */
sf_status_t sfc_call_check_buffer(const char *name, const sf_graph_t *graph, const char *buffer, const void *address,
                                  int64_t last, const sf_type_t *unit);

/* The devices' kernels if one of the buffers is on a device, else NULL. SF_ERR_ARG for memory of a device that is not
 * registered. */
sf_status_t sfc_devices_choose(const char *name, const void *const addresses[], const sfc_memory_ref_t *const refs[],
                               int n, const sfshm_device_ops_t **devices_p);

/* Kernels of devices can't say that they have failed: then what was sent, or has come, is nothing to go on with, and
 * the graph fails for all ranks. To be called before an operation's end is reported, for they may be at work until
 * then, also if it is known to have failed. */
sf_status_t sfc_devices_check(sf_graph_t *graph, const sfshm_device_ops_t *devices, uint64_t since, sf_status_t known);

/* Fills a request in and checks its buffers. */
sf_status_t sfc_request_make(const sfc_call_t *call, sf_request_t **request_p);

sf_status_t sfc_request_look_up(sf_request_t *request);

/* Looks both buffers up and checks them, unless nothing has changed since that was done. */
static inline sf_status_t sfc_request_prepare(sf_request_t *request)
{
  return request->memory_epoch == sfc_memory_epoch(&request->graph->context->memory) ? SF_OK
                                                                                     : sfc_request_look_up(request);
}

/* Begins a request that was just made, and hands it out; frees it if that fails. */
sf_status_t sfc_request_begin(sf_request_t *request, sf_request_t **request_p);

/* Gives a request back that is not in flight; a persistent one leaves its graph's list. */
void sfc_request_free(sf_request_t *request);

/* The same for a request that is not in the graph's list of persistent ones. */
void sfc_request_recycle(sf_request_t *request);

#endif

/* Requests: checking arguments, creating and keeping requests, turns of ordered reduces; operation.h has the struct. */
#ifndef SFC_ENGINE_REQUEST_H
#define SFC_ENGINE_REQUEST_H

#include "client/core.h"
#include "client/engine/operation.h"

/* A call with checked arguments. */
typedef struct sfc_call {
  sf_graph_t *graph;
  sfshm_operation_t operation;
  uint64_t signature; /* descriptor of the call, without number */
  const sf_field_t *fields;
  int32_t nfields;
  bool persistent;
} sfc_call_t;

/* A call with an op that makes its own requests (core/type.h); arguments are unchecked. */
typedef struct sfc_op_call {
  sf_graph_t *graph;
  sfshm_operation_t operation;
  const sf_field_t *fields; /* one of them has such an op; which buffers are written depends on the operation */
  int32_t nfields;
  bool persistent;
} sfc_op_call_t;

/* Checks for NULL and use in a forked child. name: function, for the text. */
sf_status_t sfc_call_check_graph(const char *name, const sf_graph_t *graph);

/* The same, and checks the other arguments for NULL. */
sf_status_t sfc_call_check(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                           sf_request_t **request_p);

/* Name of the operation for the application: some have another name on a multi-graph. */
sfshm_call_t sfc_call_name(const sf_graph_t *graph, sfshm_operation_t operation, const sf_op_t *op);

/* As sfc_call_check, and checks that the op is defined for the unit. */
sf_status_t sfc_call_check_op(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                              sf_request_t **request_p);

/* Checks units and ops of several fields, and computes the signature of the call. name: operation. */
sf_status_t sfc_fields_check(const char *name, sfshm_call_t call, int32_t n, const sf_field_t fields[],
                             uint64_t *signature_p);

/* Adds the number of the field to the detail of an error, if the operation has several. */
sf_status_t sfc_fields_name(int32_t k, int32_t n, sf_status_t status);

/* Combines the values of the link's edges from the sources directly into the fields' targets. sources: the address of
 * each field's source; NULL: the fields' own sources. */
void sfc_fields_apply(const sf_request_t *request, const sfc_link_t *link, const char *const sources[]);

/* Checks a buffer: present if a vertex takes part, and long enough for the last one (-1: none). name: operation;
 * buffer: name of the buffer. */
sf_status_t sfc_buffer_check(const char *name, const char *buffer, const void *address, int64_t last, size_t unit_bytes,
                             const sfc_memory_ref_t *ref);

/* Looks the buffer up, then as sfc_buffer_check. */
sf_status_t sfc_call_check_buffer(const char *name, const sf_graph_t *graph, const char *buffer, const void *address,
                                  int64_t last, const sf_type_t *unit);

/* Device operations if a buffer is on a device, else NULL. SF_ERR_ARG: unregistered device memory. */
sf_status_t sfc_devices_choose(const char *name, const void *const addresses[], const sfc_memory_ref_t *const refs[],
                               int n, const sfshm_device_ops_t **devices_p);

/* Fails the graph for all ranks if kernels have failed, since kernels cannot report it. Call before an operation's end
 * is reported, even if it has failed: kernels may run until then. */
sf_status_t sfc_devices_check(sf_graph_t *graph, const sfshm_device_ops_t *devices, uint64_t since, sf_status_t known);

/* Creates a request and checks its buffers. */
sf_status_t sfc_request_make(const sfc_call_t *call, sf_request_t **request_p);

/* Creates a request with the fields of all parts. The parts are prepared, of one kind, on one graph. */
sf_status_t sfc_request_join(sf_request_t *const parts[], int32_t n, sf_request_t **request_p);

sf_status_t sfc_request_look_up(sf_request_t *request);

/* Looks up and checks both buffers, unless nothing has changed. */
static inline sf_status_t sfc_request_prepare(sf_request_t *request)
{
  return request->memory_epoch == sfc_memory_epoch(&request->graph->context->memory) ? SF_OK
                                                                                     : sfc_request_look_up(request);
}

/* Begins a new request and returns it; frees it on error. */
sf_status_t sfc_request_begin(sf_request_t *request, sf_request_t **request_p);

/* Frees a request not in flight; a persistent one leaves its graph's list. */
void sfc_request_free(sf_request_t *request);

/* Frees a request that is in no list, unless it is another room's: one with a payload. */
void sfc_request_recycle(sf_request_t *request);

/* ---- Turns of an ordered reduce: contributions, and this rank's own, in the combine order ---- */

/* Applies the edges within the rank. */
void sfc_request_do_self(sf_request_t *request);

/* Advances an ordered reduce to the next contribution of another rank. */
void sfc_request_advance(sf_request_t *request);

/* Whether the next turn is the lane's. */
static inline bool sfc_request_is_turn(const sf_request_t *request, const sfc_lane_t *lane)
{
  return request->graph->plan.turns[request->turn].lane == (int32_t)(lane - request->graph->lanes);
}

/* Ends a turn whose contribution has been combined. */
static inline void sfc_request_end_turn(sf_request_t *request)
{
  request->turn++;
  sfc_request_advance(request);
}

#endif

/* Requests: see request.h. The thread that uses the graph. */
#include "client/engine/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/core.h"
#include "client/engine/device_staging.h"
#include "client/engine/lane_send.h"
#include "client/engine/offload.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

sf_status_t sfc_buffer_check(const char *name, const char *buffer, const void *address, int64_t last, size_t unit_bytes,
                             const sfc_memory_ref_t *ref)
{
  uint64_t need;
  if (last < 0)
    return SF_OK;
  if (address == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL, but vertex %lld takes part", name, buffer, (long long)last);
  if (__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)unit_bytes, &need))
    return sfshm_error(SF_ERR_RANGE, "%s: %s: %lld units of %zu bytes", name, buffer, (long long)last + 1, unit_bytes);
  if (ref->class != SFC_MEMORY_UNKNOWN && ref->bytes_left < need)
    return sfshm_error(SF_ERR_RANGE, "%s: %s at %p needs %llu bytes, but its %s ends after %zu", name, buffer, address,
                       (unsigned long long)need,
                       ref->class == SFC_MEMORY_ALLOC ? "sf_alloc memory" : "registered region", ref->bytes_left);
  return SF_OK;
}

sf_status_t sfc_call_check_buffer(const char *name, const sf_graph_t *graph, const char *buffer, const void *address,
                                  int64_t last, const sf_type_t *unit)
{
  sfc_memory_ref_t ref = sfc_memory_find(&graph->context->memory, address);
  return sfc_buffer_check(name, buffer, address, last, sfshm_unit_size(unit->unit), &ref);
}

sf_status_t sfc_devices_choose(const char *name, const void *const addresses[], const sfc_memory_ref_t *const refs[],
                               int n, const sfshm_device_ops_t **devices_p)
{
  *devices_p = NULL;
  for (int i = 0; i < n; i++) {
    sf_status_t status = refs[i]->class == SFC_MEMORY_UNKNOWN ? sfc_device_refuse(name, addresses[i]) : SF_OK;
    if (status != SF_OK)
      return status;
    if (refs[i]->class == SFC_MEMORY_DEVICE)
      *devices_p = sfshm_device_loaded();
  }
  return SF_OK;
}

sf_status_t sfc_devices_check(sf_graph_t *graph, const sfshm_device_ops_t *devices, uint64_t since, sf_status_t known)
{
  sf_status_t status = devices->check(since); /* always: kernels must have ended when the application continues */
  if (known != SF_OK || status != SF_OK)
    sfc_graph_end_reading(graph);
  if (known != SF_OK || status == SF_OK)
    return known;
  sfc_graph_fail_everywhere(graph, status, devices->detail());
  return sfc_graph_failure(graph);
}

/* Names of the buffers for the application. */
static const char *root_name(const sf_request_t *request)
{
  return request->graph->parent != NULL && request->whole == NULL ? "slotdata" : "rootdata";
}

static const char *leaf_name(const sf_request_t *request)
{
  bool fetch = (request->signature & sfshm_desc_signature(SFSHM_CALL_FETCH, (sfshm_unit_t){0}, 0)) != 0;
  return fetch && request->operation == SFSHM_BCAST ? "leafupdate" : "leafdata";
}

/* Of those on devices. */
static sf_status_t check_aligned(const sf_request_t *request, const sfc_field_t *field, const char *name,
                                 const sfc_memory_ref_t *root, const sfc_memory_ref_t *leaf)
{
  sfshm_unit_t unit = field->combine.unit;
  sf_status_t status = SF_OK;
  if (root->class == SFC_MEMORY_DEVICE)
    status = sfc_device_check_aligned(name, root_name(request), field->root, unit, field->op);
  if (status == SF_OK && leaf->class == SFC_MEMORY_DEVICE)
    status = sfc_device_check_aligned(name, leaf_name(request), field->leaf, unit, field->op);
  return status;
}

/* Chooses kernels for the place of the data. */
static sf_status_t choose_kernels(const sf_graph_t *graph, sfc_field_t *field, const char *name)
{
  sfshm_unit_t unit = field->combine.unit;
  field->combine.kernels = field->devices != NULL ? sfc_devices_combine(graph, field->devices, unit, field->op)
                                                  : sfshm_kernels_find(unit, field->op);
  field->move = sfc_kernels_find(field->devices, unit, SFSHM_OP_REPLACE);
  if (field->combine.kernels == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s: %s of %s on a device", name, sfshm_op_name(field->op),
                       sfshm_base_name(unit.base));
  return SF_OK;
}

static sf_status_t look_up(const sf_request_t *request, sfc_field_t *field)
{
  sf_graph_t *graph = request->graph;
  const char *name = sfshm_desc_operation(request->signature);
  size_t unit_bytes = field->combine.unit_bytes;
  sfc_memory_ref_t root = sfc_memory_find(&graph->context->memory, field->root);
  sfc_memory_ref_t leaf = sfc_memory_find(&graph->context->memory, field->leaf);
  sf_status_t status = sfc_buffer_check(name, root_name(request), field->root, graph->plan.root_max, unit_bytes, &root);
  if (status == SF_OK)
    status = sfc_buffer_check(name, leaf_name(request), field->leaf, graph->plan.leaf_max, unit_bytes, &leaf);
  const void *const addresses[] = {field->root, field->leaf};
  const sfc_memory_ref_t *const refs[] = {&root, &leaf};
  if (status == SF_OK)
    status = sfc_devices_choose(name, addresses, refs, 2, &field->devices);
  if (status == SF_OK)
    status = check_aligned(request, field, name, &root, &leaf);
  if (status == SF_OK)
    status = choose_kernels(graph, field, name);
  if (status != SF_OK)
    return status;
  field->source_ref = request->operation == SFSHM_BCAST ? root : leaf;
  field->target_ref = request->operation == SFSHM_BCAST ? leaf : root;
  return SF_OK;
}

sf_status_t sfc_fields_name(int32_t k, int32_t n, sf_status_t status)
{
  char detail[SFSHM_DETAIL_BYTES];
  if (n == 1)
    return status;
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  return sfshm_error(status, "field %d: %s", k, detail);
}

sf_status_t sfc_request_look_up(sf_request_t *request)
{
  uint64_t epoch = sfc_memory_epoch(&request->graph->context->memory);
  request->devices = NULL;
  for (int32_t k = 0; k < request->nfields; k++) {
    sfc_field_t *field = &request->fields[k];
    sf_status_t status = look_up(request, field);
    if (status != SF_OK)
      return sfc_fields_name(k, request->nfields, status);
    if (field->devices != NULL)
      request->devices = field->devices;
    if (k == 0 || field->source_ref.class == request->source_class)
      request->source_class = field->source_ref.class;
    else
      request->source_class = SFC_MEMORY_UNKNOWN;
  }
  if (request->devices != NULL)
    sfc_request_unflatten(request);
  request->may_offer = sfc_offload_parts(request);
  request->memory_epoch = epoch;
  return SF_OK;
}

sf_status_t sfc_call_check_graph(const char *name, const sf_graph_t *graph)
{
  if (graph == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: graph is NULL", name);
  if (graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", name);
  return SF_OK;
}

sf_status_t sfc_call_check(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                           sf_request_t **request_p)
{
  sf_status_t status = sfc_call_check_graph(name, graph);
  if (status == SF_OK && (unit == NULL || op == NULL || request_p == NULL))
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL", name, unit == NULL ? "unit" : op == NULL ? "op" : "request_p");
  return status;
}

sf_status_t sfc_call_check_op(const char *name, const sf_graph_t *graph, const sf_type_t *unit, const sf_op_t *op,
                              sf_request_t **request_p)
{
  sf_status_t status = sfc_call_check(name, graph, unit, op, request_p);
  if (status == SF_OK && !sfshm_op_applies(op->op, unit->unit.base))
    status = sfshm_error(SF_ERR_ARG, "%s: op %s is not defined for %s", name, sfshm_op_name(op->op),
                         sfshm_base_name(unit->unit.base));
  return status;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void set_free(sf_request_t *request)
{
  sfc_staging_free(request);
  sfc_request_unflatten(request);
  request->next = request->graph->requests.unused;
  request->graph->requests.unused = request;
}

/* A request with room for so many fields, if they are several. NULL: there is no memory. */
static sf_request_t *take_free(sf_graph_t *graph, int32_t nfields)
{
  sf_request_t *request = graph->requests.unused;
  sfc_graph_begin_operations(graph);
  if (request == NULL)
    request = calloc(1, sizeof *request);
  else
    graph->requests.unused = request->next;
  if (request == NULL || nfields == 1 || nfields <= request->nroom)
    return request;
  request->graph = graph;
  sfc_field_t *room = realloc(request->room, (size_t)nfields * sizeof *room);
  if (room == NULL) {
    set_free(request);
    return NULL;
  }
  request->room = room;
  request->nroom = nfields;
  return request;
}

static void fill_in_field(sf_request_t *request, const sf_field_t *from, sfc_field_t *field)
{
  bool bcast = request->operation == SFSHM_BCAST;
  *field = (sfc_field_t){
      .op = from->op->op,
      .combine = {.unit = from->unit->unit, .unit_bytes = sfshm_unit_size(from->unit->unit)},
      .before_bytes = request->value_bytes,
      .root = from->rootdata,
      .leaf = from->leafdata,
      .source = bcast ? from->rootdata : from->leafdata,
      .target = bcast ? from->leafdata : from->rootdata,
  };
  request->value_bytes += field->combine.unit_bytes;
  request->replaces |= field->op == SFSHM_OP_REPLACE;
  request->ordered |=
      !bcast && request->graph->plan.roots_shared && !sfshm_op_order_free(field->op, field->combine.unit.base);
}

static void fill_in(sf_request_t *request, const sfc_call_t *call)
{
  *request = (sf_request_t){
      .graph = call->graph,
      .ops = &sfc_plain_request_ops,
      .awaited = request,
      .carrier = request,
      .persistent = call->persistent,
      .kind = (uint8_t)sfshm_desc_kind(call->signature),
      .operation = call->operation,
      .signature = call->signature,
      .nfields = call->nfields,
      .fields = call->nfields == 1 ? &request->first : request->room,
      .first = {.combine = {.unit = SFC_UNIT_OF_SEVERAL}},
      .room = request->room,
      .nroom = request->nroom,
  };
  for (int32_t k = 0; k < call->nfields; k++)
    fill_in_field(request, &call->fields[k], &request->fields[k]);
}

sf_status_t sfc_request_join(sf_request_t *const parts[], int32_t n, sf_request_t **request_p)
{
  const sf_request_t *like = parts[0];
  int32_t nfields = 0;
  uint64_t digest = 0;
  for (int32_t i = 0; i < n; i++)
    nfields += parts[i]->nfields;
  sf_request_t *request = take_free(like->graph, nfields);
  if (request == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%s: request", sfshm_desc_operation(like->signature));
  *request = (sf_request_t){.graph = like->graph,
                            .ops = &sfc_plain_request_ops,
                            .awaited = request,
                            .carrier = request,
                            .nparts = n,
                            .kind = like->kind,
                            .operation = like->operation,
                            .fields = request->room,
                            .first = {.combine = {.unit = SFC_UNIT_OF_SEVERAL}},
                            .room = request->room,
                            .nroom = request->nroom,
                            .source_class = like->source_class,
                            .memory_epoch = like->memory_epoch};
  for (int32_t i = 0; i < n; i++) {
    const sf_request_t *part = parts[i];
    for (int32_t k = 0; k < part->nfields; k++) {
      sfc_field_t *field = &request->fields[request->nfields++];
      *field = part->fields[k];
      field->before_bytes = request->value_bytes;
      request->value_bytes += field->combine.unit_bytes;
      digest = sfshm_desc_digest(digest, field->combine.unit, field->op);
    }
    request->replaces |= part->replaces;
    request->ordered |= part->ordered;
    request->devices = part->devices != NULL ? part->devices : request->devices;
    request->source_class = part->source_class == request->source_class ? request->source_class : SFC_MEMORY_UNKNOWN;
  }
  request->signature = sfshm_desc_of_fields((sfshm_call_t)(like->signature >> 24 & 3), (uint64_t)nfields, digest);
  *request_p = request;
  return SF_OK;
}

sf_status_t sfc_request_make(const sfc_call_t *call, sf_request_t **request_p)
{
  sf_graph_t *graph = call->graph;
  sf_request_t *request = take_free(graph, call->nfields);
  if (request == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%s: request", sfshm_desc_operation(call->signature));
  fill_in(request, call);
  sf_status_t status = sfc_request_look_up(request);
  if (status != SF_OK) {
    set_free(request);
    return status;
  }
  sfc_fast_path_find(request);
  if (call->persistent) {
    sfc_request_flatten(request);
    request->next = graph->requests.persistent;
    graph->requests.persistent = request;
  }
  *request_p = request;
  return SF_OK;
}

/* Keeps a request for the next operation: filled in, unless it is persistent or part of another. */
void sfc_request_recycle(sf_request_t *request)
{
  sf_request_t **recent = &request->graph->requests.recent[request->operation], *before = *recent;
  if (before == request || request->payload != NULL)
    return;
  if (request->persistent || request->whole != NULL || (before != NULL && before->in_flight)) {
    set_free(request);
    return;
  }
  *recent = request;
  if (before != NULL)
    set_free(before);
}

void sfc_request_free(sf_request_t *request)
{
  sf_request_t **link = &request->graph->requests.persistent;
  while (request->persistent && *link != request)
    link = &(*link)->next;
  if (request->persistent)
    *link = request->next;
  sfc_request_recycle(request);
}

/* ---- Turns of an ordered reduce ---------------------------------------------------------------------------------- */

void sfc_request_do_self(sf_request_t *request)
{
  const sfc_link_t *self = &request->graph->plan.self;
  if (request->payload != NULL) {
    request->payload->do_self(request);
    return;
  }
  sfc_fields_apply(request, self, NULL);
  sfshm_count(&request->graph->counts->bytes_self, (uint64_t)self->nedges * request->value_bytes);
}

void sfc_request_advance(sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  for (; request->turn < graph->plan.nturns; request->turn++) {
    const sfc_turn_t *turn = &graph->plan.turns[request->turn];
    if (!sfc_turn_is_of(turn, request->replaces))
      continue;
    if (turn->lane != SFC_SELF_TURN)
      break;
    sfc_request_do_self(request);
  }
}

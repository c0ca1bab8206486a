/* Operations with several fields (sf_bcast_v, sf_reduce_v, and so on), and requests that sf_start_all joins. Runs on
 * the thread that uses the graph. */
#include <stdlib.h>

#include "client/engine/lane_send.h"
#include "client/engine/operation.h"
#include "client/engine/request.h"
#include "client/engine/start.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* Limit on the sum of the unit sizes of all fields; one unit alone has the same limit. */
#define MAX_VALUE_BYTES ((size_t)1 << 40)

_Static_assert(SF_FIELDS_MAX == SFSHM_DESC_FIELDS_MAX, "a descriptor has room for the number of fields");

static sf_status_t check_field(const char *name, int32_t k, const sf_field_t *field)
{
  if (field->unit == NULL || field->op == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: field %d: %s is NULL", name, k, field->unit == NULL ? "unit" : "op");
  if (field->op->make_request == NULL && !sfshm_op_applies(field->op->op, field->unit->unit.base))
    return sfshm_error(SF_ERR_ARG, "%s: field %d: op %s is not defined for %s", name, k, sfshm_op_name(field->op->op),
                       sfshm_base_name(field->unit->unit.base));
  return SF_OK;
}

sf_status_t sfc_fields_check(const char *name, sfshm_call_t call, int32_t n, const sf_field_t fields[],
                             uint64_t *signature_p)
{
  uint64_t digest = 0;
  size_t bytes = 0;
  for (int32_t k = 0; k < n; k++) {
    const sf_field_t *field = &fields[k];
    sf_status_t status = check_field(name, k, field);
    if (status != SF_OK)
      return status;
    bytes += sfshm_unit_size(field->unit->unit);
    digest = sfshm_desc_digest(digest, field->unit->unit, field->op->op);
  }
  if (bytes > MAX_VALUE_BYTES)
    return sfshm_error(SF_ERR_ARG, "%s: units of %zu bytes together; at most 2^40 expected", name, bytes);
  *signature_p = sfshm_desc_of_fields(call, (uint64_t)n, digest);
  return SF_OK;
}

/* A field's op of the application; NULL: all ops are predefined. */
static const sf_op_t *find_own_op(const sfc_call_t *call)
{
  for (int32_t k = 0; k < call->nfields; k++)
    if (call->fields[k].op != NULL && call->fields[k].op->make_request != NULL)
      return call->fields[k].op;
  return NULL;
}

static bool is_same(const sfc_field_t *made, const sf_field_t *field)
{
  return field->unit != NULL && field->op != NULL && made->root == field->rootdata && made->leaf == field->leafdata &&
         made->combine.unit.base == field->unit->unit.base && made->combine.unit.count == field->unit->unit.count &&
         made->op == field->op->op;
}

/* The recent request of the graph if this call has the same arguments. */
static sf_request_t *take_recent(const sfc_call_t *call)
{
  sf_request_t *request = call->graph->requests.recent[call->operation];
  if (call->persistent || request == NULL || request->in_flight || request->nfields != call->nfields)
    return NULL;
  for (int32_t k = 0; k < call->nfields; k++)
    if (!is_same(&request->fields[k], &call->fields[k]))
      return NULL;
  return request;
}

static sf_status_t make(sfc_call_t *call, sf_request_t **request_p)
{
  const char *name = sfshm_call_name(call->operation == SFSHM_BCAST ? SFSHM_CALL_BCAST : SFSHM_CALL_REDUCE);
  sf_status_t status = sfc_call_check_graph(name, call->graph);
  if (status == SF_OK && (call->nfields < 1 || call->nfields > SF_FIELDS_MAX || call->fields == NULL))
    status = sfshm_error(SF_ERR_ARG, "%s: %d fields at %p; 1 to %d expected", name, call->nfields,
                         (const void *)call->fields, SF_FIELDS_MAX);
  const sf_op_t *own = status == SF_OK ? find_own_op(call) : NULL;
  if (own != NULL)
    return own->make_request(
        &(sfc_op_call_t){call->graph, call->operation, call->fields, call->nfields, call->persistent}, request_p);
  if (status == SF_OK && request_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "%s: request_p is NULL", name);
  if (status != SF_OK)
    return status;
  sf_request_t *request = take_recent(call);
  if (request != NULL) {
    if (!request->flattened) /* the same call once more */
      sfc_request_flatten(request);
    *request_p = request;
    return SF_OK;
  }
  sfshm_call_t called = sfc_call_name(call->graph, call->operation, call->fields[0].op);
  status = sfc_fields_check(sfshm_call_name(called), called, call->nfields, call->fields, &call->signature);
  if (status == SF_OK && !call->persistent)
    status = sfc_graph_failure(call->graph);
  return status == SF_OK ? sfc_request_make(call, request_p) : status;
}

/* Calls with one field take the path of operations without a list. */
static bool is_single(int32_t n, const sf_field_t fields[])
{
  return n == 1 && fields != NULL;
}

static sf_status_t begin(sf_graph_t *graph, sfshm_operation_t operation, int32_t n, const sf_field_t fields[],
                         sf_request_t **request_p)
{
  sfc_call_t call = {.graph = graph, .operation = operation, .fields = fields, .nfields = n};
  sf_request_t *request;
  sf_status_t status = make(&call, request_p == NULL ? NULL : &request);
  return status == SF_OK ? sfc_request_begin(request, request_p) : status;
}

sf_status_t sf_bcast_begin_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[], sf_request_t **request_p)
{
  if (is_single(n, fields))
    return sf_bcast_begin(graph, fields->unit, fields->rootdata, fields->leafdata, fields->op, request_p);
  return begin(graph, SFSHM_BCAST, n, fields, request_p);
}

sf_status_t sf_reduce_begin_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[], sf_request_t **request_p)
{
  if (is_single(n, fields))
    return sf_reduce_begin(graph, fields->unit, fields->leafdata, fields->rootdata, fields->op, request_p);
  return begin(graph, SFSHM_REDUCE, n, fields, request_p);
}

sf_status_t sf_bcast_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[])
{
  sf_request_t *request;
  sf_status_t status = sf_bcast_begin_v(graph, n, fields, &request);
  return status == SF_OK ? sf_wait(&request) : status;
}

sf_status_t sf_reduce_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[])
{
  sf_request_t *request;
  sf_status_t status = sf_reduce_begin_v(graph, n, fields, &request);
  return status == SF_OK ? sf_wait(&request) : status;
}

sf_status_t sf_bcast_init_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[], sf_request_t **request_p)
{
  sfc_call_t call = {.graph = graph, .operation = SFSHM_BCAST, .fields = fields, .nfields = n, .persistent = true};
  if (is_single(n, fields))
    return sf_bcast_init(graph, fields->unit, fields->rootdata, fields->leafdata, fields->op, request_p);
  return make(&call, request_p);
}

sf_status_t sf_reduce_init_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[], sf_request_t **request_p)
{
  sfc_call_t call = {.graph = graph, .operation = SFSHM_REDUCE, .fields = fields, .nfields = n, .persistent = true};
  if (is_single(n, fields))
    return sf_reduce_init(graph, fields->unit, fields->leafdata, fields->rootdata, fields->op, request_p);
  return make(&call, request_p);
}

/* ---- Field after field ------------------------------------------------------------------------------------------- */

/* Values of each field in turn: so few that their indices stay in the cache for the next field. */
#define VALUES_IN_TURN 4096

void sfc_fields_apply(const sf_request_t *request, const sfc_link_t *link, const char *const sources[])
{
  int64_t count = link->nvalues, some = request->devices == NULL ? VALUES_IN_TURN : count;
  sfshm_paths_t paths;
  if (request->nfields > 1 && count > some)
    paths = sfc_link_paths(link, request->operation);
  else
    some = count;
  for (int64_t first = 0; first < count; first += some)
    for (int32_t k = 0; k < request->nfields; k++) {
      const sfc_field_t *field = &request->fields[k];
      const sfc_combine_t *combine = &field->combine;
      const char *source = sources != NULL ? sources[k] : field->source;
      if (some == count)
        sfc_link_apply(link, request->operation, combine, source, field->target);
      else
        sfshm_paths_apply(&paths, combine->unit, combine->kernels, source, field->target, first,
                          count - first < some ? count - first : some);
    }
}

/* ---- All fields as one ------------------------------------------------------------------------------------------- */

/* Most values of a message whose list is worth its lines of cache; and of a contiguous field, which is copied faster.
 */
#define FLAT_VALUES_MAX 2048
#define FLAT_CONTIGUOUS_MAX 48

/* Distances of the fields' sources, or targets, from the lowest one, in units. Returns the lowest; NULL if a distance
 * is no number of units. */
static char *find_offsets(const sf_request_t *request, bool sources, int64_t offsets[])
{
  uintptr_t lowest = UINTPTR_MAX;
  size_t unit_bytes = request->fields->combine.unit_bytes;
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    uintptr_t address = (uintptr_t)(sources ? field->source : field->target);
    lowest = address < lowest ? address : lowest;
  }
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    uintptr_t distance = (uintptr_t)(sources ? field->source : field->target) - lowest;
    if (distance % unit_bytes != 0)
      return NULL;
    offsets[k] = (int64_t)(distance / unit_bytes);
  }
  return (char *)lowest;
}

static bool is_worth_while(const sf_request_t *request, const sfc_link_t *link, bool sends, const int64_t offsets[])
{
  bool roots = (request->operation == SFSHM_BCAST) == sends;
  const sfshm_pattern_t *pattern = roots ? &link->value_root : &link->leaf;
  int64_t most = pattern->kind == SFSHM_PATTERN_CONTIGUOUS ? FLAT_CONTIGUOUS_MAX : FLAT_VALUES_MAX / request->nfields;
  int64_t count = sfc_link_count(link, request->operation);
  if (count > 0 && sfc_link_adjoins(link, request->operation, sends, offsets, request->nfields))
    return true;
  return count > 0 && count <= most && link->extra_value.n <= most;
}

static void flatten_lanes(sf_request_t *request, bool sends)
{
  const sf_graph_t *graph = request->graph;
  int64_t offsets[SF_FIELDS_MAX];
  sfshm_operation_t operation = request->operation;
  int32_t n = sends ? graph->routes.nsenders[operation] : graph->routes.nreceivers[operation];
  sfc_lane_t *const *lanes = sends ? graph->routes.senders[operation] : graph->routes.receivers[operation];
  char *lowest = find_offsets(request, sends, offsets);
  if (sends)
    request->flat->field.source = lowest;
  else
    request->flat->field.target = lowest;
  for (int32_t i = 0; i < n && lowest != NULL; i++) {
    const sfc_link_t *link = sends ? sfc_lane_outgoing(lanes[i], operation) : sfc_lane_incoming(lanes[i], operation);
    /* Without memory the lane does without. */
    if (lanes[i]->trunk == NULL && is_worth_while(request, link, sends, offsets))
      (void)sfc_link_flatten(link, operation, sends, offsets, request->nfields,
                             &request->flat->links[2 * (lanes[i] - graph->lanes) + sends]);
  }
}

void sfc_request_flatten(sf_request_t *request)
{
  const sfc_field_t *first = request->fields;
  request->flattened = true;
  if (request->nfields == 1 || request->devices != NULL)
    return;
  for (int32_t k = 1; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    if (field->op != first->op || field->combine.unit.base != first->combine.unit.base ||
        field->combine.unit.count != first->combine.unit.count)
      return;
  }
  int32_t nlinks = 2 * request->graph->nlanes;
  request->flat = calloc(1, sizeof *request->flat + (size_t)nlinks * sizeof request->flat->links[0]);
  if (request->flat == NULL)
    return;
  request->flat->field = *first;
  request->flat->nlinks = nlinks;
  flatten_lanes(request, true);
  flatten_lanes(request, false);
  sfc_fast_path_find(request);
}

void sfc_request_unflatten(sf_request_t *request)
{
  if (request->flat == NULL)
    return;
  request->send = request->receive = (sfc_fast_path_t){0}; /* of the flat form */
  for (int32_t i = 0; i < request->flat->nlinks; i++)
    sfc_link_destroy(&request->flat->links[i]);
  free(request->flat);
  request->flat = NULL;
}

/* ---- Requests that start together -------------------------------------------------------------------------------- */

bool sfc_request_joins(const sf_request_t *a, const sf_request_t *b)
{
  return (a->graph->flags & SF_GRAPH_TOGETHER) != 0 && a->graph == b->graph && a->kind == b->kind &&
         a->ops == &sfc_plain_request_ops && b->ops == &sfc_plain_request_ops;
}

static sf_status_t part_end(sf_request_t *part, sf_status_t status)
{
  sf_request_t *carrier = part->carrier;
  if (carrier->devices != NULL)
    status = sfc_devices_check(carrier->graph, carrier->devices, carrier->failures, status);
  part->in_flight = false;
  part->whole = NULL;
  part->carrier = part;
  part->awaited = part;
  part->ops = &sfc_plain_request_ops;
  if (--carrier->nparts == 0)
    sfc_finish(carrier);
  return status;
}

sf_status_t sfc_request_start_joined(sf_request_t *const parts[], int32_t n, sfc_thread_t *thread)
{
  static const sfc_request_ops_t part_ops = {.end = part_end};
  sf_request_t *carrier;
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < n && status == SF_OK; i++)
    status = sfc_request_prepare(parts[i]);
  if (status == SF_OK)
    status = sfc_request_join(parts, n, &carrier);
  if (status != SF_OK)
    return status;
  status = carrier->ops->begin(carrier, thread);
  if (status != SF_OK) {
    carrier->ops->free(carrier);
    return status;
  }
  for (int32_t i = 0; i < n; i++) {
    sf_request_t *part = parts[i];
    part->in_flight = true;
    part->whole = carrier;
    part->carrier = carrier;
    part->awaited = carrier;
    part->ops = &part_ops;
    part->sequence = carrier->sequence;
  }
  return SF_OK;
}

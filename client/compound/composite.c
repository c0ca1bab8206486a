/* Composite operations: see composite.h. */
#include "client/compound/composite.h"

#include <stdlib.h>

#include "client/compound/multigraph.h"
#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/plan.h"
#include "shm/base/error.h"

#define CHUNK_BYTES ((size_t)16 << 10)

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void free_composite(sfc_composite_t *composite)
{
  sfc_device_free_array(composite->own_round);
  free(composite->scratch);
  free(composite->fields);
  free(composite);
}

/* The composites of a graph. */
typedef struct composites {
  sfc_attachment_t attachment;
  sfc_composite_t *all;    /* by sibling */
  sfc_composite_t *unused; /* kept for the next operation */
} composites_t;

static void leave_thread(sfc_composite_t *composite)
{
  sfc_thread_remove(composite->thread, &composite->continuation);
  composite->thread = NULL;
}

/* sf_finalize leaves operations of a failed graph in flight. The continuations of other threads are not touched: they
 * keep their composites. */
static void free_composites(sfc_attachment_t *attachment)
{
  composites_t *composites = (composites_t *)attachment;
  for (sfc_composite_t *at = composites->all, *next; at != NULL; at = next) {
    next = at->sibling;
    if (at->thread == sfc_thread_self())
      leave_thread(at);
    if (at->thread == NULL)
      free_composite(at);
  }
  free(composites);
}

static const sfc_attachment_ops_t composites_ops = {.free = free_composites};

static void set_free(sfc_composite_t *composite)
{
  composites_t *composites = sfc_graph_attachment(composite->graph, &composites_ops);
  composite->next = composites->unused;
  composites->unused = composite;
}

static sf_status_t no_memory(const sfc_composite_t *composite, int64_t nunits)
{
  return sfshm_error(SF_ERR_NOMEM, "%s: memory for %lld contributions", sfshm_call_name(composite->call),
                     (long long)nunits);
}

/* Writes to *bytes_p the bytes before the contributions of each field, and in all; nunits contributions of each. */
static bool lay_out(const sfc_composite_t *composite, int64_t nunits, size_t before[], size_t *bytes_p)
{
  size_t bytes = 0;
  for (int32_t k = 0; k < composite->nfields; k++) {
    const sfc_composite_field_t *field = &composite->fields[k];
    size_t contributions = 0;
    if (!field->direct && (__builtin_mul_overflow((size_t)nunits, field->combine.unit_bytes, &contributions) ||
                           contributions > SIZE_MAX / 8 || bytes > SIZE_MAX / 8))
      return false;
    before[k] = bytes;
    bytes += sfc_composite_aligned(contributions);
  }
  *bytes_p = bytes;
  return true;
}

/* Allocates for nunits contributions of each field. */
static sf_status_t make_room(sfc_composite_t *composite, int64_t nunits)
{
  size_t before[SF_FIELDS_MAX], contributions, chunk = 0;
  for (int32_t k = 0; k < composite->nfields; k++) {
    sfc_composite_field_t *field = &composite->fields[k];
    size_t unit_bytes = field->combine.unit_bytes;
    field->chunk = unit_bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / unit_bytes) : 1;
    if (field->chunk > nunits)
      field->chunk = nunits > 0 ? nunits : 1;
    size_t bytes = sfc_composite_aligned((size_t)field->chunk * unit_bytes);
    chunk = bytes > chunk ? bytes : chunk;
  }
  if (!lay_out(composite, nunits, before, &contributions))
    return no_memory(composite, nunits);
  size_t bytes = contributions + 2 * chunk;
  if (bytes > composite->scratch_bytes) {
    free(composite->scratch);
    composite->scratch_bytes = 0;
    composite->scratch = aligned_alloc(SFC_COMPOSITE_ALIGN, bytes);
    if (composite->scratch == NULL)
      return no_memory(composite, nunits);
    composite->scratch_bytes = bytes;
  }
  composite->chunks = composite->scratch + contributions;
  for (int32_t k = 0; k < composite->nfields; k++)
    composite->fields[k].scratch = composite->scratch + before[k];
  return SF_OK;
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

/* Runs the local step and lets the second request go. */
static void combine(sfc_composite_t *composite)
{
  sfc_composite_combine(composite);
  composite->combined = true;
  if (composite->second == NULL)
    return;
  sfc_request_lift(composite->second);
  composite->first->awaited = composite->second;
}

static bool advance(sfc_continuation_t *self)
{
  sfc_composite_t *composite = (sfc_composite_t *)self;
  sf_request_t *first = composite->first;
  bool combined = composite->combined;
  if (sfc_graph_is_failed(first->graph) || first->receives_left > 1)
    return false;
  if (!combined)
    combine(composite);
  if (composite->second != NULL && !sfc_request_is_complete(composite->second))
    return !combined;
  leave_thread(composite);
  first->receives_left = 0;
  return true;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static composites_t *find_composites(sf_graph_t *graph)
{
  composites_t *composites = sfc_graph_attachment(graph, &composites_ops);
  if (composites == NULL && (composites = calloc(1, sizeof *composites)) != NULL)
    sfc_graph_attach(graph, &composites->attachment, &composites_ops);
  return composites;
}

/* A composite with nothing but its memory, and room for so many fields; NULL: no memory. */
static sfc_composite_t *take_free(sf_graph_t *graph, int32_t nfields)
{
  composites_t *composites = find_composites(graph);
  sfc_composite_t *composite = composites != NULL ? composites->unused : NULL;
  if (composite != NULL) {
    composites->unused = composite->next;
    sfc_device_free_array(composite->own_round);
    *composite = (sfc_composite_t){.graph = graph,
                                   .sibling = composite->sibling,
                                   .fields = composite->fields,
                                   .nroom = composite->nroom,
                                   .scratch = composite->scratch,
                                   .scratch_bytes = composite->scratch_bytes};
  } else if (composites != NULL && (composite = calloc(1, sizeof *composite)) != NULL) {
    composite->graph = graph;
    composite->sibling = composites->all;
    composites->all = composite;
  }
  if (composite == NULL || nfields <= composite->nroom)
    return composite;
  sfc_composite_field_t *fields = realloc(composite->fields, (size_t)nfields * sizeof *fields);
  if (fields == NULL) {
    set_free(composite);
    return NULL;
  }
  composite->fields = fields;
  composite->nroom = nfields;
  return composite;
}

static sf_status_t look_up_target(sfc_composite_t *composite, sfc_composite_field_t *field)
{
  sf_graph_t *graph = composite->graph;
  sfc_memory_ref_t ref = sfc_memory_find(&graph->context->memory, field->target);
  bool bcast = composite->call == SFSHM_CALL_BCAST;
  const char *name = sfshm_call_name(composite->call), *target = bcast ? "leafdata" : "rootdata";
  sf_status_t status =
      sfc_buffer_check(name, target, field->target, bcast ? graph->plan.leaf_max : graph->plan.root_max,
                       field->combine.unit_bytes, &ref);
  const void *const addresses[] = {field->target};
  const sfc_memory_ref_t *const refs[] = {&ref};
  if (status == SF_OK)
    status = sfc_devices_choose(name, addresses, refs, 1, &field->devices);
  if (status == SF_OK && ref.class == SFC_MEMORY_DEVICE && field->op.function == NULL)
    status = sfc_device_check_aligned(name, target, field->target, field->combine.unit, field->op.op);
  return status == SF_OK ? sfc_composite_choose(composite, field) : status;
}

/* The engine checks the other buffers. */
static sf_status_t look_up_targets(sfc_composite_t *composite)
{
  uint64_t epoch = sfc_memory_epoch(&composite->graph->context->memory);
  if (composite->memory_epoch == epoch)
    return SF_OK;
  for (int32_t k = 0; k < composite->nfields; k++) {
    sf_status_t status = composite->fields[k].direct ? SF_OK : look_up_target(composite, &composite->fields[k]);
    if (status != SF_OK)
      return sfc_fields_name(k, composite->nfields, status);
  }
  composite->memory_epoch = epoch;
  return SF_OK;
}

/* One round for a bcast: values have the positions of the leaves. */
static sf_status_t make_leaf_round(sfc_composite_t *composite)
{
  sf_graph_t *graph = composite->graph;
  int64_t n = graph->nleaves;
  sfc_slot_round_t *round = malloc(sizeof *round + (size_t)n * sizeof(int64_t));
  if (round == NULL)
    return sfshm_error(SF_ERR_NOMEM, "bcast: %lld leaves", (long long)n);
  int64_t *leaf = (int64_t *)(void *)(round + 1);
  sf_status_t status = sfc_edge_readback_read(graph->plan.readback, graph->plan.leaf_max + 1, leaf, NULL, NULL);
  round->slot = round->root = sfshm_pattern_from_index64(leaf, n);
  composite->own_round = round;
  composite->rounds = round;
  composite->nrounds = n > 0;
  return status;
}

/* Makes an engine request. Its messages name the call and its ops. */
static sf_status_t make_part(sfc_composite_t *composite, sf_graph_t *graph, sfshm_operation_t operation,
                             const sf_field_t fields[], sf_request_t **request_p)
{
  sfc_call_t part = {.graph = graph,
                     .operation = operation,
                     .signature = composite->signature,
                     .fields = fields,
                     .nfields = composite->nfields,
                     .persistent = composite->persistent};
  if (composite->call == SFSHM_CALL_FETCH)
    part.signature =
        sfshm_desc_signature(SFSHM_CALL_FETCH | (operation == SFSHM_BCAST ? SFSHM_CALL_SCATTER : SFSHM_CALL_GATHER),
                             composite->fields->combine.unit, composite->fields->op.op);
  sf_status_t status = sfc_request_make(&part, request_p);
  if (status == SF_OK)
    (*request_p)->whole = composite;
  return status;
}

/* Frees the parts; none is in flight. */
static void free_parts(sfc_composite_t *composite)
{
  sf_request_t *parts[] = {composite->first, composite->second};
  for (int i = 0; i < 2; i++)
    if (parts[i] != NULL)
      sfc_request_free(parts[i]);
}

/* Values come to scratch memory, or to the leaves. */
static sf_status_t make_bcast(sfc_composite_t *composite, const sfc_composite_call_t *call)
{
  sf_field_t fields[SF_FIELDS_MAX];
  sf_status_t status = make_leaf_round(composite);
  if (status == SF_OK)
    status = make_room(composite, call->graph->plan.leaf_max + 1);
  for (int32_t k = 0; k < call->nfields; k++) {
    fields[k] = call->fields[k];
    if (composite->fields[k].direct)
      continue;
    composite->fields[k].target = fields[k].leafdata;
    fields[k].leafdata = composite->fields[k].scratch;
    fields[k].op = SF_REPLACE;
  }
  return status == SF_OK ? make_part(composite, call->graph, SFSHM_BCAST, fields, &composite->first) : status;
}

static sf_status_t make_gather(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi)
{
  sf_field_t fields[SF_FIELDS_MAX];
  sf_status_t status = make_room(composite, multi->nroots);
  for (int32_t k = 0; k < call->nfields; k++) {
    sfc_composite_field_t *field = &composite->fields[k];
    field->target = call->fields[k].rootdata;
    fields[k] = (sf_field_t){call->fields[k].unit, field->scratch, call->fields[k].leafdata, SF_REPLACE};
  }
  if (status == SF_OK)
    status = make_part(composite, multi, SFSHM_REDUCE, fields, &composite->first);
  fields->leafdata = call->leafupdate;
  if (status == SF_OK && call->call == SFSHM_CALL_FETCH)
    status = make_part(composite, multi, SFSHM_BCAST, fields, &composite->second);
  if (composite->second != NULL)
    composite->second->send.lane = NULL; /* held requests do not use the fast path */
  return status;
}

static sf_status_t make(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi)
{
  composite->call = call->call;
  composite->persistent = call->persistent;
  composite->nfields = call->nfields;
  for (int32_t k = 0; k < call->nfields; k++) {
    const sf_field_t *field = &call->fields[k];
    composite->fields[k] = (sfc_composite_field_t){
        .op = *field->op,
        .combine = {.unit = field->unit->unit, .unit_bytes = sfshm_unit_size(field->unit->unit)},
        .direct = call->call == SFSHM_CALL_BCAST && field->op->function == NULL};
  }
  sf_status_t status = multi == NULL ? make_bcast(composite, call) : make_gather(composite, call, multi);
  return status == SF_OK ? look_up_targets(composite) : status;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

/* Begins the second immediately after the first. */
static sf_status_t begin_parts(const sfc_composite_t *composite, sfc_thread_t *thread)
{
  sf_request_t *first = composite->first, *second = composite->second;
  const sfshm_device_ops_t *devices = sfshm_device_loaded();
  sf_status_t status = sfc_request_prepare(first);
  if (status == SF_OK && second != NULL)
    status = sfc_request_prepare(second);
  if (status == SF_OK)
    status = sfc_graph_prepare(first->graph, thread, 2);
  if (status != SF_OK)
    return status;
  first->failures = devices != NULL ? devices->failures() : 0;
  sfc_start(first, thread, false);
  first->receives_left++; /* counts the composite */
  first->awaited = first;
  if (second == NULL)
    return SF_OK;
  second->failures = first->failures;
  second->held = true;
  sfc_start(second, thread, false);
  return SF_OK;
}

static sf_status_t composite_begin(sf_request_t *request, sfc_thread_t *thread)
{
  sfc_composite_t *composite = request->whole;
  sf_status_t status = look_up_targets(composite);
  if (status == SF_OK)
    status = begin_parts(composite, thread);
  if (status != SF_OK)
    return status;
  composite->thread = thread;
  composite->combined = false;
  sfc_thread_add(thread, &composite->continuation);
  (void)advance(&composite->continuation); /* everything may be here already */
  (void)sfc_thread_send_eagerly(thread);
  return SF_OK;
}

static sf_status_t check_devices(const sfc_composite_t *composite, sf_status_t status)
{
  const sfshm_device_ops_t *devices = composite->first->devices;
  for (int32_t k = 0; k < composite->nfields && devices == NULL; k++)
    devices = composite->fields[k].devices;
  if (devices == NULL && composite->second != NULL)
    devices = composite->second->devices;
  return devices == NULL ? status : sfc_devices_check(composite->graph, devices, composite->first->failures, status);
}

static sf_status_t composite_end(sf_request_t *request, sf_status_t status)
{
  sfc_composite_t *composite = request->whole;
  status = check_devices(composite, status);
  if (composite->thread != NULL)
    leave_thread(composite);
  if (composite->second != NULL)
    sfc_finish(composite->second);
  sfc_finish(request);
  if (!composite->persistent)
    set_free(composite);
  return status;
}

static void composite_free(sf_request_t *request)
{
  sfc_composite_t *composite = request->whole;
  free_parts(composite);
  set_free(composite);
}

/* ---- The request ------------------------------------------------------------------------------------------------- */

sf_status_t sfc_composite_make(const sfc_composite_call_t *call, sf_request_t **request_p)
{
  static const sfc_request_ops_t ops = {composite_begin, composite_end, composite_free, NULL};
  sf_graph_t *multi;
  uint64_t signature;
  sf_status_t status = sfc_composite_check(call, request_p, &signature, &multi);
  if (status != SF_OK)
    return status;
  sfc_composite_t *composite = take_free(call->graph, call->nfields);
  if (composite == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%s: request", sfshm_call_name(call->call));
  composite->signature = signature;
  status = make(composite, call, multi);
  if (status != SF_OK) {
    free_parts(composite);
    set_free(composite);
    return status;
  }
  composite->continuation.advance = advance;
  composite->first->ops = &ops;
  *request_p = composite->first;
  return SF_OK;
}

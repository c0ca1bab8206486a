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

/* Allocates for nunits contributions. */
static sf_status_t make_room(sfc_composite_t *composite, int64_t nunits)
{
  size_t unit_bytes = composite->combine.unit_bytes, contributions, chunk;
  composite->chunk = unit_bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / unit_bytes) : 1;
  if (composite->chunk > nunits)
    composite->chunk = nunits > 0 ? nunits : 1;
  chunk = sfc_composite_aligned((size_t)composite->chunk * unit_bytes);
  if (__builtin_mul_overflow((size_t)nunits, unit_bytes, &contributions) || contributions > SIZE_MAX / 8)
    return sfshm_error(SF_ERR_NOMEM, "%s: %lld units of %zu bytes", sfshm_call_name(composite->call), (long long)nunits,
                       unit_bytes);
  size_t bytes = sfc_composite_aligned(contributions) + 2 * chunk;
  if (bytes > composite->scratch_bytes) {
    free(composite->scratch);
    composite->scratch_bytes = 0;
    composite->scratch = aligned_alloc(SFC_COMPOSITE_ALIGN, bytes);
    if (composite->scratch == NULL)
      return sfshm_error(SF_ERR_NOMEM, "%s: %zu bytes for contributions", sfshm_call_name(composite->call), bytes);
    composite->scratch_bytes = bytes;
  }
  composite->chunks = composite->scratch + sfc_composite_aligned(contributions);
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

/* A composite with nothing but its memory; NULL: no memory. */
static sfc_composite_t *take_free(sf_graph_t *graph)
{
  composites_t *composites = find_composites(graph);
  sfc_composite_t *composite = composites != NULL ? composites->unused : NULL;
  if (composite != NULL) {
    composites->unused = composite->next;
    sfc_device_free_array(composite->own_round);
    *composite = (sfc_composite_t){
        .sibling = composite->sibling, .scratch = composite->scratch, .scratch_bytes = composite->scratch_bytes};
  } else if (composites != NULL && (composite = calloc(1, sizeof *composite)) != NULL) {
    composite->sibling = composites->all;
    composites->all = composite;
  }
  return composite;
}

/* The engine checks the other buffers. */
static sf_status_t look_up_target(sfc_composite_t *composite)
{
  sf_graph_t *graph = composite->graph;
  sfc_memory_t *memory = &graph->context->memory;
  uint64_t epoch = sfc_memory_epoch(memory);
  if (composite->memory_epoch == epoch)
    return SF_OK;
  sfc_memory_ref_t ref = sfc_memory_find(memory, composite->target);
  bool bcast = composite->call == SFSHM_CALL_BCAST;
  const char *name = sfshm_call_name(composite->call), *target = bcast ? "leafdata" : "rootdata";
  sf_status_t status =
      sfc_buffer_check(name, target, composite->target, bcast ? graph->plan.leaf_max : graph->plan.root_max,
                       composite->combine.unit_bytes, &ref);
  const void *const addresses[] = {composite->target};
  const sfc_memory_ref_t *const refs[] = {&ref};
  if (status == SF_OK)
    status = sfc_devices_choose(name, addresses, refs, 1, &composite->devices);
  if (status == SF_OK && ref.class == SFC_MEMORY_DEVICE && composite->op.function == NULL)
    status = sfc_device_check_aligned(name, target, composite->target, composite->combine.unit, composite->op.op);
  if (status == SF_OK)
    status = sfc_composite_choose(composite);
  if (status == SF_OK)
    composite->memory_epoch = epoch;
  return status;
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

/* Makes an engine request. It replaces; its messages name the call and its op. */
static sf_status_t make_part(sfc_composite_t *composite, sf_graph_t *graph, sfshm_operation_t operation,
                             const void *root, const void *leaf, sf_request_t **request_p)
{
  sfshm_call_t call = composite->call;
  if (call == SFSHM_CALL_FETCH)
    call |= operation == SFSHM_BCAST ? SFSHM_CALL_SCATTER : SFSHM_CALL_GATHER;
  sf_type_t unit = {.unit = composite->combine.unit};
  sf_field_t field = {&unit, (void *)(uintptr_t)root, (void *)(uintptr_t)leaf, SF_REPLACE};
  sfc_call_t part = {.graph = graph,
                     .operation = operation,
                     .signature = sfshm_desc_signature(call, composite->combine.unit, composite->op.op),
                     .fields = &field,
                     .nfields = 1,
                     .persistent = composite->persistent};
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

static sf_status_t make_bcast(sfc_composite_t *composite, const sfc_composite_call_t *call)
{
  sf_status_t status = make_leaf_round(composite);
  if (status == SF_OK)
    status = make_room(composite, call->graph->plan.leaf_max + 1);
  composite->target = (void *)(uintptr_t)call->leaf; /* the caller permits writing */
  if (status == SF_OK)
    status = make_part(composite, call->graph, SFSHM_BCAST, call->root, composite->scratch, &composite->first);
  return status;
}

static sf_status_t make_gather(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi)
{
  sf_status_t status = make_room(composite, multi->nroots);
  composite->target = (void *)(uintptr_t)call->root;
  if (status == SF_OK)
    status = make_part(composite, multi, SFSHM_REDUCE, composite->scratch, call->leaf, &composite->first);
  if (status == SF_OK && call->call == SFSHM_CALL_FETCH)
    status = make_part(composite, multi, SFSHM_BCAST, composite->scratch, call->leafupdate, &composite->second);
  if (composite->second != NULL)
    composite->second->send.lane = NULL; /* held requests do not use the fast path */
  return status;
}

static sf_status_t check_buffers(const sfc_composite_call_t *call)
{
  const char *name = sfshm_call_name(call->call);
  const sf_graph_t *graph = call->graph;
  sf_status_t status = sfc_call_check_buffer(name, graph, "rootdata", call->root, graph->plan.root_max, call->unit);
  if (status == SF_OK)
    status = sfc_call_check_buffer(name, graph, "leafdata", call->leaf, graph->plan.leaf_max, call->unit);
  if (status == SF_OK && call->call == SFSHM_CALL_FETCH)
    status = sfc_call_check_buffer(name, graph, "leafupdate", call->leafupdate, graph->plan.leaf_max, call->unit);
  return status;
}

/* first: the call creates the multi-graph with all ranks, which are told of errors; else the parts check buffers. */
static sf_status_t check(const sfc_composite_call_t *call, bool first, sf_request_t **request_p)
{
  const char *name = sfshm_call_name(call->call);
  sf_status_t status = sfc_call_check(name, call->graph, call->unit, call->op, request_p);
  if (status == SF_OK && call->op->function == NULL)
    status = sfc_call_check_op(name, call->graph, call->unit, call->op, request_p);
  return status == SF_OK && first ? check_buffers(call) : status;
}

static sf_status_t make(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi)
{
  composite->graph = call->graph;
  composite->call = call->call;
  composite->persistent = call->persistent;
  composite->op = *call->op;
  composite->combine = (sfc_combine_t){.unit = call->unit->unit, .unit_bytes = sfshm_unit_size(call->unit->unit)};
  sf_status_t status = multi == NULL ? make_bcast(composite, call) : make_gather(composite, call, multi);
  return status == SF_OK ? look_up_target(composite) : status;
}

/* Checks the call and finds the multi-graph; NULL for a bcast. */
static sf_status_t find_multi(const sfc_composite_call_t *call, sf_request_t **request_p, sf_graph_t **multi_p)
{
  bool bcast = call->call == SFSHM_CALL_BCAST;
  sf_status_t status = sfc_call_check_graph(sfshm_call_name(call->call), call->graph);
  if (status != SF_OK)
    return status;
  status = check(call, !bcast && call->graph->multi == NULL, request_p);
  if (!bcast)
    return sfc_multigraph_get(status, call->graph, multi_p);
  return status == SF_OK ? sfc_graph_failure(call->graph) : status;
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
  sf_status_t status = look_up_target(composite);
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
  const sfshm_device_ops_t *devices = composite->devices;
  if (devices == NULL)
    devices = composite->first->devices;
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
  static const sfc_request_ops_t ops = {composite_begin, composite_end, composite_free};
  sf_graph_t *multi = NULL;
  sf_status_t status = find_multi(call, request_p, &multi);
  if (status != SF_OK)
    return status;
  sfc_composite_t *composite = take_free(call->graph);
  if (composite == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%s: request", sfshm_call_name(call->call));
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

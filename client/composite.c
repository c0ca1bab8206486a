/* Composite operations: see composite.h. */
#include "client/composite.h"

#include <stdlib.h>

#include "client/context.h"
#include "client/device.h"
#include "client/multi.h"
#include "client/origin.h"
#include "shm/error.h"

#define CHUNK_BYTES ((size_t)16 << 10)
#define ALIGN ((size_t)64)

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void free_own_round(sfc_composite_t *composite)
{
  sfc_device_free_array(composite->own_round);
}

static void free_composite(sfc_composite_t *composite)
{
  free_own_round(composite);
  free(composite->scratch);
  free(composite);
}

void sfc_composites_free(sfc_composite_t *composites)
{
  while (composites != NULL) {
    sfc_composite_t *next = composites->next;
    free_composite(composites);
    composites = next;
  }
}

void sfc_composites_drop(const sf_request_t *requests)
{
  for (; requests != NULL; requests = requests->next)
    if (requests->composite != NULL && requests->composite->first == requests)
      free_composite(requests->composite);
}

static void set_free(sfc_composite_t *composite)
{
  composite->next = composite->graph->composites;
  composite->graph->composites = composite;
}

static size_t aligned(size_t bytes)
{
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Room for nunits contributions. */
static sf_status_t make_room(sfc_composite_t *composite, int64_t nunits)
{
  size_t unit_bytes = composite->combine.unit_bytes, contributions, chunk;
  composite->chunk = unit_bytes < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / unit_bytes) : 1;
  if (composite->chunk > nunits)
    composite->chunk = nunits > 0 ? nunits : 1;
  chunk = aligned((size_t)composite->chunk * unit_bytes);
  if (__builtin_mul_overflow((size_t)nunits, unit_bytes, &contributions) || contributions > SIZE_MAX / 4)
    return sfshm_error(SF_ERR_NOMEM, "%s: %lld units of %zu bytes", sfshm_call_name(composite->call), (long long)nunits,
                       unit_bytes);
  size_t bytes = aligned(contributions) + 2 * chunk;
  if (bytes > composite->scratch_bytes) {
    free(composite->scratch);
    composite->scratch_bytes = 0;
    composite->scratch = aligned_alloc(ALIGN, bytes);
    if (composite->scratch == NULL)
      return sfshm_error(SF_ERR_NOMEM, "%s: %zu bytes for contributions", sfshm_call_name(composite->call), bytes);
    composite->scratch_bytes = bytes;
  }
  composite->chunks = composite->scratch + aligned(contributions);
  return SF_OK;
}

/* ---- What is done here ------------------------------------------------------------------------------------------- */

/* n of a round's contributions, from number first on. */
typedef struct sfc_piece {
  const sfc_round_t *round;
  int64_t first;
  int64_t n;
} sfc_piece_t;

/* The target's vertices take the contributions in; with a fetch_op each contribution is replaced by what was there
 * before. */
static void combine_kernel(const sfc_composite_t *composite, const sfc_piece_t *piece, bool fetch)
{
  const sfc_combine_t *combine = &composite->combine;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  if (fetch)
    composite->move->pack(combine->unit, vertex, piece->first, piece->n, composite->target, composite->chunks);
  combine->kernels->scatter(combine->unit, slot, 0, composite->scratch, vertex, composite->target, piece->first,
                            piece->n);
  if (fetch)
    composite->move->unpack(combine->unit, slot, piece->first, piece->n, composite->chunks, composite->scratch);
}

static void combine_function(const sfc_composite_t *composite, const sfc_piece_t *piece, bool fetch)
{
  sfshm_unit_t unit = composite->combine.unit;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  char *present = composite->chunks;
  char *in = present + aligned((size_t)composite->chunk * composite->combine.unit_bytes);
  composite->move->pack(unit, vertex, piece->first, piece->n, composite->target, present);
  composite->move->pack(unit, slot, piece->first, piece->n, composite->scratch, in);
  if (fetch)
    composite->move->unpack(unit, slot, piece->first, piece->n, present, composite->scratch);
  composite->op.function(in, present, piece->n, composite->combine.unit_bytes, composite->op.context);
  composite->move->unpack(unit, vertex, piece->first, piece->n, present, composite->target);
}

/* Slots are in the order of roots and contributions: each root is met by its contributions one after the other. */
static void fetch_all(const sfc_composite_t *composite)
{
  const sfc_combine_t *combine = &composite->combine;
  combine->kernels->fetch(combine->unit, composite->slot_root, 0, composite->slot_root->n, composite->scratch,
                          composite->target);
}

static void combine_round(const sfc_composite_t *composite, const sfc_round_t *round)
{
  bool fetch = composite->call == SFSHM_CALL_FETCH;
  for (int64_t first = 0; first < round->slot.n; first += composite->chunk) {
    int64_t left = round->slot.n - first;
    sfc_piece_t piece = {round, first, left < composite->chunk ? left : composite->chunk};
    if (composite->op.function != NULL)
      combine_function(composite, &piece, fetch);
    else
      combine_kernel(composite, &piece, fetch);
  }
}

static void leave_thread(sfc_composite_t *composite, sfc_thread_t *thread)
{
  sfc_composite_t **link = &thread->composites;
  while (*link != composite)
    link = &(*link)->next;
  *link = composite->next;
  composite->waiting = false;
}

/* Whether it was ready. */
static bool advance(sfc_composite_t *composite, sfc_thread_t *thread)
{
  if (!composite->waiting || composite->first->receives_left > 0 || sfc_graph_is_failed(composite->first->graph))
    return false;
  if (composite->slot_root != NULL)
    fetch_all(composite);
  for (int64_t i = 0; i < composite->nrounds; i++)
    combine_round(composite, &composite->rounds[i]);
  leave_thread(composite, thread);
  if (composite->second != NULL)
    sfc_request_lift(composite->second);
  return true;
}

bool sfc_composites_progress(sfc_thread_t *thread)
{
  bool moved = false;
  for (sfc_composite_t *composite = thread->composites, *next; composite != NULL; composite = next) {
    next = composite->next;
    moved |= advance(composite, thread);
  }
  return moved;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static sfc_composite_t *take_free(sf_graph_t *graph)
{
  sfc_composite_t *composite = graph->composites;
  if (composite == NULL)
    return calloc(1, sizeof *composite);
  graph->composites = composite->next;
  free_own_round(composite);
  *composite = (sfc_composite_t){.scratch = composite->scratch, .scratch_bytes = composite->scratch_bytes};
  return composite;
}

static const char *target_name(const sfc_composite_t *composite)
{
  return composite->call == SFSHM_CALL_BCAST ? "leafdata" : "rootdata";
}

/* Kernels for where the target is. */
static sf_status_t choose_kernels(sfc_composite_t *composite)
{
  sfshm_unit_t unit = composite->combine.unit;
  composite->move = sfc_kernels_find(composite->devices, unit, SFSHM_OP_REPLACE);
  if (composite->op.function != NULL)
    return SF_OK;
  composite->combine.kernels = sfc_kernels_find(composite->devices, unit, composite->op.op);
  if (composite->combine.kernels == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s: %s of %s on a device", sfshm_call_name(composite->call),
                       sfshm_op_name(composite->op.op), sfshm_base_name(unit.base));
  return SF_OK;
}

/* How contributions meet the roots, which depends on the kernels. */
static sf_status_t choose_order(sfc_composite_t *composite)
{
  const sfshm_kernels_t *kernels = composite->combine.kernels;
  if (composite->call == SFSHM_CALL_BCAST)
    return SF_OK;
  composite->slot_root = NULL;
  composite->nrounds = 0;
  if (composite->call == SFSHM_CALL_FETCH && kernels != NULL && kernels->fetch != NULL)
    return sfc_multi_slot_roots(composite->graph, &composite->slot_root);
  return sfc_multi_rounds(composite->graph, &composite->rounds, &composite->nrounds);
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
  int64_t last = composite->call == SFSHM_CALL_BCAST ? graph->leaf_max : graph->root_max;
  sf_status_t status = sfc_buffer_check(sfshm_call_name(composite->call), target_name(composite), composite->target,
                                        last, composite->combine.unit_bytes, &ref);
  const void *const addresses[] = {composite->target};
  const sfc_memory_ref_t *const refs[] = {&ref};
  if (status == SF_OK)
    status = sfc_devices_choose(sfshm_call_name(composite->call), addresses, refs, 1, &composite->devices);
  if (status == SF_OK)
    status = choose_kernels(composite);
  if (status == SF_OK)
    status = choose_order(composite);
  if (status == SF_OK)
    composite->memory_epoch = epoch;
  return status;
}

/* A bcast's values arrive where the leaves are in the leaf buffer: one round. */
static sf_status_t make_leaf_round(sfc_composite_t *composite)
{
  sf_graph_t *graph = composite->graph;
  int64_t n = graph->nleaves;
  sfc_round_t *round = malloc(sizeof *round + (size_t)n * sizeof(int64_t));
  if (round == NULL)
    return sfshm_error(SF_ERR_NOMEM, "bcast: %lld leaves", (long long)n);
  int64_t *leaf = (int64_t *)(void *)(round + 1);
  sf_status_t status = sfc_origin_read(graph->origin, graph->leaf_max + 1, leaf, NULL, NULL);
  round->slot = round->root = sfshm_pattern_from_index64(leaf, n);
  composite->own_round = round;
  composite->rounds = round;
  composite->nrounds = n > 0;
  return status;
}

/* The engine's request: op is what it does, the call and its op are what the messages say. */
static sf_status_t make_part(sfc_composite_t *composite, sf_graph_t *graph, sfshm_operation_t operation,
                             const void *root, const void *leaf, sf_request_t **request_p)
{
  sfshm_call_t call = composite->call;
  if (call == SFSHM_CALL_FETCH)
    call |= operation == SFSHM_BCAST ? SFSHM_CALL_SCATTER : SFSHM_CALL_GATHER;
  sfc_call_t part = {.graph = graph,
                     .operation = operation,
                     .unit = composite->combine.unit,
                     .op = SFSHM_OP_REPLACE,
                     .signature = sfshm_desc_signature(call, composite->combine.unit, composite->op.op),
                     .root = root,
                     .leaf = leaf,
                     .persistent = composite->persistent};
  sf_status_t status = sfc_request_make(&part, request_p);
  if (status == SF_OK)
    (*request_p)->composite = composite;
  return status;
}

/* Gives the parts back, none of which is in flight. */
static void free_parts(sfc_composite_t *composite)
{
  sf_request_t *parts[] = {composite->first, composite->second};
  for (int i = 0; i < 2; i++) {
    if (parts[i] == NULL)
      continue;
    if (composite->persistent)
      sfc_request_retire(parts[i]);
    else
      sfc_request_recycle(parts[i]);
  }
}

static sf_status_t make_bcast(sfc_composite_t *composite, const sfc_composite_call_t *call)
{
  sf_status_t status = make_leaf_round(composite);
  if (status == SF_OK)
    status = make_room(composite, call->graph->leaf_max + 1);
  composite->target = (void *)(uintptr_t)call->leaf; /* the caller lets it be written */
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
    composite->second->send.lane = NULL; /* what is held does not go the straight way */
  return status;
}

static sf_status_t check(const sfc_composite_call_t *call, sf_request_t **request_p)
{
  const char *name = sfshm_call_name(call->call);
  sf_status_t status = sfc_call_check(name, call->graph, call->unit, call->op, request_p);
  if (status == SF_OK && call->op->function == NULL)
    status = sfc_call_check_op(name, call->graph, call->unit, call->op, request_p);
  return status == SF_OK ? sfc_graph_failure(call->graph) : status;
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

sf_status_t sfc_composite_make(const sfc_composite_call_t *call, sf_request_t **request_p)
{
  sf_graph_t *multi = NULL;
  sf_status_t status = check(call, request_p);
  if (status == SF_OK && call->call != SFSHM_CALL_BCAST)
    status = sfc_multi_graph(call->graph, &multi);
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
  *request_p = composite->first;
  return SF_OK;
}

void sfc_composite_free(sf_request_t *request)
{
  sfc_composite_t *composite = request->composite;
  free_parts(composite);
  set_free(composite);
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

sf_status_t sfc_composite_begin(sf_request_t *request, sfc_thread_t *thread)
{
  sfc_composite_t *composite = request->composite;
  sf_status_t status = look_up_target(composite);
  if (status == SF_OK)
    status = sfc_request_prepare(composite->first);
  if (status == SF_OK && composite->second != NULL)
    status = sfc_request_prepare(composite->second);
  if (status != SF_OK)
    return status;
  if (composite->second != NULL)
    composite->second->held = true;
  status = sfc_request_begin_two(composite->first, composite->second, thread);
  if (status != SF_OK)
    return status;
  composite->waiting = true;
  composite->next = thread->composites;
  thread->composites = composite;
  (void)advance(composite, thread); /* what is all here already */
  return SF_OK;
}

sf_status_t sfc_composite_make_and_begin(const sfc_composite_call_t *call, sf_request_t **request_p)
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_request_t *request;
  sf_status_t status = sfc_composite_make(call, request_p == NULL ? NULL : &request);
  if (status != SF_OK)
    return status;
  status = sfc_composite_begin(request, thread);
  sfc_thread_flush(thread);
  if (status != SF_OK)
    sfc_composite_free(request);
  else
    *request_p = request;
  return status;
}

/* What it has come to, once it is complete. */
static sf_status_t check_devices(const sfc_composite_t *composite, sf_status_t status)
{
  const sfshm_device_ops_t *devices = composite->devices;
  if (devices == NULL)
    devices = composite->first->devices;
  if (devices == NULL && composite->second != NULL)
    devices = composite->second->devices;
  return devices == NULL ? status : sfc_devices_check(composite->graph, devices, status);
}

/* Takes both parts out of flight. */
static void end(sf_request_t **request, sfc_thread_t *thread)
{
  sfc_composite_t *composite = (*request)->composite;
  bool persistent = composite->persistent;
  if (composite->waiting)
    leave_thread(composite, thread);
  if (composite->second != NULL)
    sfc_request_end(composite->second);
  sfc_request_end(composite->first);
  if (persistent)
    return;
  set_free(composite);
  *request = NULL;
}

static bool is_complete(const sfc_composite_t *composite)
{
  return !composite->waiting && sfc_request_is_complete(composite->first) &&
         (composite->second == NULL || sfc_request_is_complete(composite->second));
}

sf_status_t sfc_composite_wait(sf_request_t **request, sfc_thread_t *thread, int64_t timeout_ns, bool *done_p)
{
  sfc_composite_t *composite = (*request)->composite;
  sf_status_t status = sfc_thread_wait(thread, composite->first, timeout_ns);
  if (status == SF_OK)
    (void)advance(composite, thread);
  if (status == SF_OK && composite->second != NULL && sfc_request_is_complete(composite->first))
    status = sfc_thread_wait(thread, composite->second, timeout_ns);
  bool done = status != SF_OK || is_complete(composite);
  if (done) {
    status = check_devices(composite, status);
    end(request, thread);
  }
  if (status == SF_OK && done_p != NULL)
    *done_p = done;
  return status;
}

sf_status_t sfc_composite_test(sf_request_t **request, sfc_thread_t *thread, bool *done_p)
{
  sfc_composite_t *composite = (*request)->composite;
  sfc_thread_test(thread);
  sf_status_t status = sfc_graph_failure(composite->first->graph);
  bool done = status != SF_OK || is_complete(composite);
  if (done) {
    status = check_devices(composite, status);
    end(request, thread);
  }
  if (status == SF_OK)
    *done_p = done;
  return status;
}

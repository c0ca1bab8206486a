/* Operations on streams: see operation.h. */
#include "client/streams/operation.h"

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/streams/areas.h"
#include "client/streams/call.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"

#define NAME "operation on a stream"

/* ---- Whether all call the same ----------------------------------------------------------------------------------- */

sf_status_t sfc_streams_mismatch(const sfc_streams_t *streams, int32_t lane, uint64_t mine, uint64_t theirs)
{
  const sf_graph_t *graph = streams->graph;
  uint64_t operation = streams->ncalls > 0 ? streams->ncalls : 1;
  char who[32], other[64], name[SFC_GRAPH_TEXT_BYTES], detail[SFC_MISMATCH_TEXT_BYTES];
  sfc_graph_text(graph, name);
  if (mine == theirs)
    return sfshm_error(SF_ERR_MISMATCH,
                       "%s: ranks %d and %d differ in what they called on streams before operation %llu", name,
                       graph->rank, graph->lanes[lane].rank, (unsigned long long)operation);
  snprintf(who, sizeof who, "rank %d", graph->lanes[lane].rank);
  sfshm_desc_text(theirs, other, sizeof other);
  sfc_mismatch_describe(graph, operation, " on streams", mine, who, other, detail, sizeof detail);
  return sfshm_error(SF_ERR_MISMATCH, "%s", detail);
}

/* Whether the other end of a lane, if it has come exactly as far, has called the same. It may go on meanwhile. */
static sf_status_t compare_call(const sfc_streams_t *streams, int32_t i, uint64_t call, uint64_t called)
{
  const sfc_stream_area_t *area = sfc_stream_area(streams->room.ways[i].area);
  size_t entry = streams->ncalls % SFC_STREAMS_CALLS;
  uint64_t theirs = atomic_load(&area->calls[entry]), there = atomic_load(&area->called[entry]);
  if (theirs >> 32 != call >> 32 || theirs == call)
    return SF_OK;
  return sfc_streams_mismatch(streams, i, called, atomic_load(&area->calls[entry]) == theirs ? there : called);
}

/* The descriptor of the latest call. */
static uint64_t desc_of(const sfc_streams_t *streams, uint64_t called)
{
  return called | (streams->ncalls & SFSHM_DESC_SEQUENCE_MASK);
}

/* Says what has been called, and looks whether another host that has come exactly as far has called the same. Of two
 * that say and then look, one at least sees the other. */
static sf_status_t compare_calls(sfc_streams_t *streams, uint64_t called)
{
  sf_status_t status = SF_OK;
  streams->ncalls++;
  streams->hash = (uint32_t)(((streams->hash ^ called) * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
  uint64_t call = streams->ncalls << 32 | streams->hash;
  size_t entry = streams->ncalls % SFC_STREAMS_CALLS;
  for (int32_t i = 0; i < streams->nlanes; i++) {
    sfc_stream_area_t *theirs = sfc_stream_area(streams->room.ways[i].peer_area);
    atomic_store(&theirs->called[entry], called);
    atomic_store(&theirs->calls[entry], call);
  }
  for (int32_t i = 0; i < streams->nlanes && status == SF_OK; i++)
    status = compare_call(streams, i, call, called);
  if (status == SF_OK && streams->nodes != NULL)
    status = sfc_streams_nodes_compare(streams->nodes, desc_of(streams, called));
  if (status != SF_OK)
    sfc_graph_fail_everywhere(streams->graph, status, sfshm_error_detail());
  return status == SF_OK ? SF_OK : sfc_graph_failure(streams->graph);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static sf_status_t check_call(const sfc_asked_t *asked, sf_streamed_t **streamed_p)
{
  sf_request_t *unused = NULL;
  if (streamed_p == NULL)
    return sfshm_error(SF_ERR_ARG, NAME ": streamed_p is NULL");
  sf_status_t status = sfc_call_check(NAME, asked->graph, asked->unit, asked->op, &unused);
  if (status == SF_OK && asked->op->function != NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED,
                       NAME ": an op of the application is a function of the host, by which nothing on a device can be "
                            "combined; fetch_op takes one if the roots are on the host, and so does sf_%s",
                       asked->operation == SFSHM_BCAST ? "bcast" : "reduce");
  return status == SF_OK ? sfc_call_check_op(NAME, asked->graph, asked->unit, asked->op, &unused) : status;
}

sf_status_t sfc_streams_find_buffer(const sfc_streams_t *streams, const char *name, const void *address, int64_t last,
                                    sfshm_unit_t unit, sfshm_op_t op, bool *on_host_p)
{
  sf_graph_t *graph = streams->graph;
  sfc_memory_ref_t ref = sfc_memory_find(&graph->context->memory, address);
  sf_status_t status = sfc_buffer_check(NAME, name, address, last, sfshm_unit_size(unit), &ref);
  if (status == SF_OK && ref.class == SFC_MEMORY_UNKNOWN)
    status = sfc_device_refuse(NAME, address);
  int32_t device = -1;
  if (status == SF_OK)
    status = sfc_memory_check_alive(NAME, &ref, address, &device);
  *on_host_p = ref.class != SFC_MEMORY_DEVICE;
  if (status != SF_OK || *on_host_p)
    return status;
  if (device != streams->ops->device(streams->device))
    return sfshm_error(SF_ERR_UNSUPPORTED, NAME ": %s is on device %d, the stream on device %d", name, device,
                       streams->ops->device(streams->device));
  return sfc_device_check_aligned(NAME, name, address, unit, op);
}

/* The place of the operation to be begun. */
static sf_streamed_t *next_request(sfc_streams_t *streams)
{
  return &streams->requests[(streams->ncalls + 1) % SF_STREAMS_IN_FLIGHT];
}

static sf_status_t find_root(const sfc_streams_t *streams, const sfc_asked_t *asked, const void **root_p,
                             bool *on_host_p)
{
  if (asked->slots != NULL) {
    *root_p = sfc_streams_address(*asked->slots, asked->slots_by_host);
    *on_host_p = asked->slots_by_host;
    return SF_OK;
  }
  *root_p = asked->root;
  return sfc_streams_find_buffer(streams, "rootdata", asked->root, asked->graph->plan.root_max, asked->unit->unit,
                                 asked->op->op, on_host_p);
}

static sf_status_t fill_in(const sfc_streams_t *streams, const sfc_asked_t *asked, sf_streamed_t *streamed)
{
  sf_graph_t *graph = asked->graph;
  bool bcast = asked->operation == SFSHM_BCAST, root_on_host, leaf_on_host;
  const void *root = NULL;
  if (streamed->in_flight)
    return sfshm_error(SF_ERR_LIMIT, NAME ": the one begun %d operations before has not been ended",
                       SF_STREAMS_IN_FLIGHT);
  sf_status_t status = find_root(streams, asked, &root, &root_on_host);
  if (status == SF_OK)
    status = sfc_streams_find_buffer(streams, "leafdata", asked->leaf, graph->plan.leaf_max, asked->unit->unit,
                                     asked->op->op, &leaf_on_host);
  if (status != SF_OK)
    return status;
  streamed->graph = graph;
  streamed->half = 0;
  streamed->operation = asked->operation;
  streamed->unit = asked->unit->unit;
  streamed->op = asked->op->op;
  streamed->source = bcast ? root : asked->leaf;
  streamed->target = (char *)(uintptr_t)(bcast ? asked->leaf : root);
  streamed->source_on_host = bcast ? root_on_host : leaf_on_host;
  streamed->target_on_host = bcast ? leaf_on_host : root_on_host;
  return SF_OK;
}

sf_status_t sfc_streams_leave(sfc_streams_t *streams, sf_status_t status)
{
  if (status == SF_OK) {
    status = streams->ops->mark(streams->device);
  } else {
    sfshm_error(status, "%s", streams->plugin->detail());
    (void)streams->ops->mark(streams->device); /* of what there is */
  }
  if (status != SF_OK)
    sfc_graph_fail_everywhere(streams->graph, status, streams->plugin->detail());
  if (streams->nodes != NULL)
    sfc_streams_nodes_watch(streams->nodes);
  atomic_store(&streams->is_calling, false);
  return status == SF_OK ? SF_OK : sfc_graph_failure(streams->graph);
}

sf_status_t sfc_streams_enter(sfc_streams_t *streams)
{
  atomic_store(&streams->is_calling, true); /* before looking: see watchdog.c */
  if (atomic_load(&streams->graph->failure.status) == SF_OK)
    return SF_OK;
  atomic_store(&streams->is_calling, false);
  return sfc_graph_failure(streams->graph);
}

static uint64_t signature_of(const sfc_asked_t *asked)
{
  return asked->signature != 0 ? asked->signature
                               : sfshm_desc_signature(sfc_call_name(asked->graph, asked->operation, asked->op),
                                                      asked->unit->unit, asked->op->op);
}

bool sfc_streams_is_on_device(const sf_graph_t *graph, const void *address)
{
  return sfc_memory_find(&graph->context->memory, address).class == SFC_MEMORY_DEVICE;
}

static sfc_stream_sides_t sides_of(const sfc_asked_t *asked)
{
  return (sfc_stream_sides_t){.roots_on_device = asked->slots != NULL
                                                     ? !asked->slots_by_host
                                                     : sfc_streams_is_on_device(asked->graph, asked->root),
                              .leaves_on_device = sfc_streams_is_on_device(asked->graph, asked->leaf)};
}

sf_status_t sfc_streams_refuse(sf_status_t status, sf_graph_t *graph)
{
  return sfc_streams_of(graph) == NULL ? sfc_graph_barrier(status, graph, SFSHM_MAKE_STREAMS) : status;
}

sf_status_t sfc_streams_ready(const sfc_asked_t *asked, void *stream)
{
  if (sfc_streams_of(asked->graph) != NULL)
    return sfc_graph_failure(asked->graph);
  sf_status_t status = sfc_graph_barrier(SF_OK, asked->graph, SFSHM_MAKE_STREAMS);
  if (status != SF_OK)
    return status;
  return sfc_streams_set_up(sfc_graph_failure(asked->graph), asked->graph, sfshm_unit_size(asked->unit->unit),
                            sides_of(asked), stream, signature_of(asked));
}

/* What may fail here alone, before anybody is told of the call. */
static sf_status_t prepare(const sfc_asked_t *asked, void *stream, size_t unit_bytes)
{
  sf_graph_t *graph = asked->graph;
  sf_status_t status = sfc_streams_ready(asked, stream);
  if (status != SF_OK)
    return status;
  sfc_streams_t *streams = sfc_streams_of(graph);
  if (streams->room.unit_bytes < unit_bytes && sfc_streams_are_busy(streams))
    return sfshm_error(SF_ERR_STATE, NAME ": the first one with units of %zu bytes, while others have not been ended",
                       unit_bytes);
  status = fill_in(streams, asked, next_request(streams));
  return status == SF_OK ? sfc_streams_status(streams, streams->ops->choose(streams->device, stream)) : status;
}

sf_status_t sfc_streams_begin(const sfc_asked_t *asked, void *stream, sf_streamed_t **streamed_p)
{
  sf_graph_t *graph = asked->graph;
  sf_status_t status = sfc_call_check_graph(NAME, graph);
  if (status != SF_OK)
    return status;
  status = check_call(asked, streamed_p);
  if (status != SF_OK)
    return sfc_streams_refuse(status, graph);
  size_t unit_bytes = sfshm_unit_size(asked->unit->unit);
  uint64_t called = signature_of(asked);
  status = prepare(asked, stream, unit_bytes);
  if (status != SF_OK)
    return status;
  sfc_streams_t *streams = sfc_streams_of(graph);
  sf_streamed_t *streamed = next_request(streams);
  status = compare_calls(streams, called);
  if (status == SF_OK && streams->room.unit_bytes < unit_bytes)
    status = sfc_streams_room_grow(streams, unit_bytes, sides_of(asked), called);
  if (status == SF_OK)
    status = sfc_streams_enter(streams);
  if (status == SF_OK) {
    streamed->match = desc_of(streams, called);
    sfc_streams_watch_begin(streams, streamed, called);
    status = sfc_streams_send(streams, streamed);
    sfc_streams_watch_begun(streams, streamed);
    status = sfc_streams_leave(streams, status);
  }
  if (status != SF_OK)
    return status;
  streamed->in_flight = true;
  *streamed_p = streamed;
  return SF_OK;
}

sf_status_t sf_end_on_stream(sf_streamed_t **streamed, void *stream)
{
  if (streamed == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_end_on_stream: streamed is NULL");
  sf_streamed_t *ending = *streamed;
  if (ending == NULL)
    return SF_OK;
  if (ending->graph->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "sf_end_on_stream: in a child of the process that called sf_init");
  sfc_streams_t *streams = sfc_streams_of(ending->graph);
  sf_status_t status = sfc_streams_status(streams, streams->ops->choose(streams->device, stream));
  if (status != SF_OK)
    return status;
  ending->in_flight = false;
  *streamed = NULL;
  status = sfc_streams_enter(streams);
  if (status != SF_OK)
    return status;
  status = sfc_streams_receive(streams, ending);
  sfc_streams_watch_end(streams, ending);
  return sfc_streams_leave(streams, status);
}

/* ---- The public interface ---------------------------------------------------------------------------------------- */

sf_status_t sf_bcast_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                                     const sf_op_t *op, void *stream, sf_streamed_t **streamed_p)
{
  sfc_asked_t asked = {
      .graph = graph, .operation = SFSHM_BCAST, .unit = unit, .root = rootdata, .leaf = leafdata, .op = op};
  return sfc_streams_begin(&asked, stream, streamed_p);
}

sf_status_t sf_reduce_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                                      const sf_op_t *op, void *stream, sf_streamed_t **streamed_p)
{
  sfc_asked_t asked = {
      .graph = graph, .operation = SFSHM_REDUCE, .unit = unit, .root = rootdata, .leaf = leafdata, .op = op};
  return sfc_streams_begin(&asked, stream, streamed_p);
}

sf_status_t sf_bcast_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                               const sf_op_t *op, void *stream)
{
  sf_streamed_t *streamed;
  sf_status_t status = sf_bcast_begin_on_stream(graph, unit, rootdata, leafdata, op, stream, &streamed);
  return status == SF_OK ? sf_end_on_stream(&streamed, stream) : status;
}

sf_status_t sf_reduce_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                                const sf_op_t *op, void *stream)
{
  sf_streamed_t *streamed;
  sf_status_t status = sf_reduce_begin_on_stream(graph, unit, leafdata, rootdata, op, stream, &streamed);
  return status == SF_OK ? sf_end_on_stream(&streamed, stream) : status;
}

/* Whether another rank whose graph has failed lets its streams go on. Why is on its way to this one. */
static bool is_released(const sfc_streams_t *streams)
{
  for (int32_t i = 0; i < streams->nlanes; i++)
    if (atomic_load(&sfc_stream_area(streams->room.ways[i].area)->released) != 0)
      return true;
  return streams->nodes != NULL && sfc_streams_nodes_are_released(streams->nodes);
}

/* The device's failure becomes that of the graph, for all ranks. */
static sf_status_t judge(sf_graph_t *graph, sf_status_t status)
{
  const sfc_streams_t *streams = sfc_streams_of(graph);
  if (status != SF_OK)
    sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
  else if (streams->nodes != NULL)
    sfc_streams_nodes_judge(streams->nodes);
  sfc_idle_t idle = {0};
  while (is_released(streams) && atomic_load(&graph->failure.status) == SF_OK)
    sfc_idle_pause(&idle);
  return sfc_graph_failure(graph);
}

/* The graph's streams, and those of its multi-graph. */
static sf_status_t look_at_both(sf_graph_t *graph, const char *name, sf_status_t (*look)(const sfc_streams_t *streams))
{
  sf_status_t status = sfc_call_check_graph(name, graph);
  sf_graph_t *multi = status == SF_OK ? graph->multi : NULL;
  if (multi != NULL && sfc_streams_of(multi) != NULL)
    status = judge(multi, look(sfc_streams_of(multi)));
  if (status == SF_OK && sfc_streams_of(graph) != NULL)
    status = judge(graph, look(sfc_streams_of(graph)));
  return status == SF_OK ? sfc_graph_failure(graph) : status;
}

static sf_status_t look_once(const sfc_streams_t *streams)
{
  bool idle;
  return sfc_streams_status(streams, streams->ops->is_idle(streams->device, &idle));
}

sf_status_t sf_streams_check(sf_graph_t *graph)
{
  return look_at_both(graph, __func__, look_once);
}

sf_status_t sf_streams_wait(sf_graph_t *graph)
{
  return look_at_both(graph, __func__, sfc_streams_drain);
}

/* Fetch_op on streams: a gather into pinned memory, a kernel or a function of the host by which each root meets its
 * contributions, and a scatter of what was there before; all of them on the streams of the multi-graph. The scatter
 * takes the rank's own edges from that memory when it is ended, so there are two halves of it, for the two fetch_ops
 * that can be in flight. */
#include "client/streams/fetch_op.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client/compound.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/streams/call.h"
#include "shm/base/error.h"
#include "shm/region/region.h"

#define NAME "fetch_op on a stream"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void sfc_streams_fetch_free(sfc_streams_t *streams)
{
  sfc_stream_slots_t *slots = &streams->fetched;
  if (slots->bytes == 0)
    return;
  streams->ops->unpin(streams->device, slots->place.host);
  munmap(slots->place.host, slots->bytes);
  slots->bytes = 0;
}

static sf_status_t make_slots(sfc_streams_t *streams, size_t bytes)
{
  sfc_stream_slots_t *slots = &streams->fetched;
  char *seen_at;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return sfshm_error(SF_ERR_NOMEM, NAME ": %zu bytes for contributions", bytes);
  sf_status_t status = sfc_streams_status(streams, streams->ops->pin(streams->device, memory, bytes, &seen_at));
  if (status != SF_OK) {
    munmap(memory, bytes);
    return status;
  }
  slots->place = (sfc_stream_pinned_t){memory, seen_at};
  slots->bytes = bytes;
  return SF_OK;
}

/* Room for the contributions to all roots here, and one more unit, twice. It is larger than before only if there is
 * more room for messages, too, which nothing that is in flight has seen. */
static sf_status_t reserve(sfc_streams_t *streams, size_t unit_bytes)
{
  size_t bytes, page = sfshm_page_bytes();
  sf_status_t status = SF_OK;
  if (unit_bytes < streams->room.unit_bytes)
    unit_bytes = streams->room.unit_bytes;
  if (__builtin_mul_overflow((size_t)streams->graph->nroots + 1, unit_bytes, &bytes) || bytes > PTRDIFF_MAX / 4)
    return sfshm_error(SF_ERR_LIMIT, NAME ": %lld units of %zu bytes", (long long)streams->graph->nroots, unit_bytes);
  bytes = 2 * ((bytes + page - 1) / page * page);
  if (bytes <= streams->fetched.bytes)
    return SF_OK;
  if (streams->fetched.bytes > 0)
    status = sfc_streams_drain(streams);
  if (status == SF_OK) {
    sfc_streams_fetch_free(streams);
    status = make_slots(streams, bytes);
  }
  return status;
}

/* The half that no fetch_op in flight uses. */
static int free_half(const sfc_streams_t *streams)
{
  bool used = false;
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    used |= streams->requests[i].in_flight && streams->requests[i].half == 1;
  return used ? 2 : 1;
}

/* ---- What is between gather and scatter -------------------------------------------------------------------------- */

typedef struct fetching {
  const sfshm_pattern_t *slot_root;
  char *slots;
  char *roots;
  sfshm_unit_t unit;
  sf_op_t op;
  char *spare; /* a unit */
} fetching_t;

static void fetch_with_function(const fetching_t *fetching)
{
  size_t unit_bytes = sfshm_unit_size(fetching->unit);
  for (int64_t i = 0; i < fetching->slot_root->n; i++) {
    char *slot = fetching->slots + (size_t)i * unit_bytes;
    char *root = fetching->roots + (size_t)sfshm_pattern_at(fetching->slot_root, i) * unit_bytes;
    memcpy(fetching->spare, slot, unit_bytes);
    memcpy(slot, root, unit_bytes);
    fetching->op.function(fetching->spare, root, 1, unit_bytes, fetching->op.context);
  }
}

static void fetch_on_host(void *argument)
{
  const fetching_t *fetching = argument;
  if (fetching->op.function != NULL)
    fetch_with_function(fetching);
  else
    sfshm_kernels_find(fetching->unit, fetching->op.op)
        ->fetch(fetching->unit, fetching->slot_root, 0, fetching->slot_root->n, fetching->slots, fetching->roots);
}

static sfshm_move_t move_of(const fetching_t *fetching)
{
  int64_t n = fetching->slot_root->n;
  return sfc_move_of(sfshm_pattern_contiguous(0, n), fetching->slots, *fetching->slot_root, fetching->roots, n);
}

static sf_status_t give_fetch(sfc_streams_t *streams, const fetching_t *fetching, bool on_host)
{
  sfshm_move_t move = move_of(fetching);
  sf_status_t status = sfc_streams_enter(streams);
  if (status != SF_OK)
    return status;
  if (on_host)
    status = streams->ops->call(streams->device, fetch_on_host, fetching, sizeof *fetching);
  else
    status = streams->ops->scatter_all(streams->device, streams->fetched.prepared, fetching->unit, fetching->op.op,
                                       true, &move, 1, NULL, 0);
  return sfc_streams_leave(streams, status);
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

typedef struct fetch {
  sf_graph_t *graph;
  sf_graph_t *multi;
  const sf_type_t *unit;
  void *root;
  const void *leaf;
  void *leafupdate;
  const sf_op_t *op;
  void *stream;
  bool root_on_host;
  int half; /* of the pinned memory, 1 or 2: */
  sfc_stream_pinned_t slots;
} fetch_t;

/* Part of the call, with the signature that the same part has in an ordinary one. */
static sfc_asked_t part_of(const fetch_t *fetch, sfshm_operation_t operation)
{
  sfc_asked_t asked = {.graph = fetch->multi,
                       .operation = operation,
                       .unit = fetch->unit,
                       .leaf = operation == SFSHM_BCAST ? fetch->leafupdate : fetch->leaf,
                       .op = SF_REPLACE,
                       .slots_by_host = fetch->root_on_host};
  sfshm_call_t call = SFSHM_CALL_FETCH | (operation == SFSHM_BCAST ? SFSHM_CALL_SCATTER : SFSHM_CALL_GATHER);
  asked.signature = sfshm_desc_signature(call, fetch->unit->unit, fetch->op->op);
  asked.slots = &fetch->slots;
  return asked;
}

static sf_status_t check_places(const sfc_streams_t *streams)
{
  for (uint64_t i = 1; i <= 2; i++)
    if (streams->requests[(streams->ncalls + i) % SF_STREAMS_IN_FLIGHT].in_flight)
      return sfshm_error(SF_ERR_LIMIT, NAME ": takes the places of two of the %d operations in flight, which are taken",
                         SF_STREAMS_IN_FLIGHT);
  return SF_OK;
}

/* What may fail here alone, before anything is given to the stream. */
static sf_status_t prepare(fetch_t *fetch, const sfshm_pattern_t **slot_root_p)
{
  sfc_streams_t *streams = sfc_streams_of(fetch->multi);
  size_t unit_bytes = sfshm_unit_size(fetch->unit->unit);
  bool unused;
  sf_status_t status = check_places(streams);
  if (status == SF_OK)
    status = sfc_streams_find_buffer(streams, "rootdata", fetch->root, fetch->graph->plan.root_max, fetch->unit->unit,
                                     fetch->op->op, &fetch->root_on_host);
  if (status == SF_OK)
    status = sfc_streams_find_buffer(streams, "leafupdate", fetch->leafupdate, fetch->multi->plan.leaf_max,
                                     fetch->unit->unit, SFSHM_OP_REPLACE, &unused);
  if (status == SF_OK && fetch->op->function != NULL && !fetch->root_on_host)
    status = sfshm_error(SF_ERR_UNSUPPORTED, NAME ": an op of the application is a function of the host, and rootdata "
                                                  "is on a device; see sf_fetch_op");
  if (status == SF_OK && streams->room.unit_bytes < unit_bytes && sfc_streams_are_busy(streams))
    status = sfshm_error(SF_ERR_STATE, NAME ": the first one with units of %zu bytes, while others have not been ended",
                         unit_bytes);
  if (status == SF_OK)
    status = sfc_slot_rounds_slot_roots(&sfc_multigraph_find(fetch->graph)->rounds, slot_root_p);
  if (status == SF_OK && !streams->fetched.is_prepared) {
    sfshm_move_t move = move_of(&(fetching_t){.slot_root = *slot_root_p});
    status =
        sfc_streams_status(streams, streams->ops->prepare_all(streams->device, &move, 1, &streams->fetched.prepared));
    streams->fetched.is_prepared = status == SF_OK;
  }
  if (status == SF_OK)
    status = reserve(streams, unit_bytes);
  fetch->half = free_half(streams);
  fetch->slots = sfc_streams_pinned_at(streams->fetched.place, fetch->half == 1 ? 0 : streams->fetched.bytes / 2);
  return status;
}

/* The gather has been given. */
static sf_status_t go_on(const fetch_t *fetch, const sfshm_pattern_t *slot_root, sf_streamed_t **gather,
                         sf_streamed_t **streamed_p)
{
  sfc_streams_t *streams = sfc_streams_of(fetch->multi);
  fetching_t fetching = {.slot_root = slot_root,
                         .slots = sfc_streams_address(fetch->slots, fetch->root_on_host),
                         .roots = fetch->root,
                         .unit = fetch->unit->unit,
                         .op = *fetch->op,
                         .spare = fetch->slots.host + (size_t)slot_root->n * sfshm_unit_size(fetch->unit->unit)};
  sfc_asked_t scatter = part_of(fetch, SFSHM_BCAST);
  sf_status_t status = sf_end_on_stream(gather, fetch->stream);
  if (status == SF_OK && slot_root->n > 0)
    status = give_fetch(streams, &fetching, fetch->root_on_host);
  if (status == SF_OK)
    status = sfc_streams_begin(&scatter, fetch->stream, streamed_p);
  if (status == SF_OK)
    (*streamed_p)->half = fetch->half;
  return status;
}

static sf_status_t check(const fetch_t *fetch, sf_streamed_t **streamed_p)
{
  sf_request_t *unused = NULL;
  if (streamed_p == NULL)
    return sfshm_error(SF_ERR_ARG, NAME ": streamed_p is NULL");
  sf_status_t status = sfc_call_check(NAME, fetch->graph, fetch->unit, fetch->op, &unused);
  if (status == SF_OK && fetch->op->function == NULL)
    status = sfc_call_check_op(NAME, fetch->graph, fetch->unit, fetch->op, &unused);
  return status;
}

sf_status_t sf_fetch_op_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                                        void *leafupdate, const sf_op_t *op, void *stream, sf_streamed_t **streamed_p)
{
  const sfshm_pattern_t *slot_root;
  sf_streamed_t *gather;
  fetch_t fetch = {.graph = graph,
                   .unit = unit,
                   .root = rootdata,
                   .leaf = leafdata,
                   .leafupdate = leafupdate,
                   .op = op,
                   .stream = stream};
  sf_status_t status = sfc_call_check_graph(NAME, graph);
  if (status == SF_OK)
    status = sfc_streams_multi(check(&fetch, streamed_p), graph, &fetch.multi);
  if (status != SF_OK)
    return status;
  fetch.root_on_host = !sfc_streams_is_on_device(graph, rootdata);
  sfc_asked_t first = part_of(&fetch, SFSHM_REDUCE);
  status = sfc_streams_ready(&first, stream);
  if (status == SF_OK)
    status = sfc_graph_failure(graph);
  if (status == SF_OK)
    status = prepare(&fetch, &slot_root);
  first = part_of(&fetch, SFSHM_REDUCE); /* with slots */
  if (status == SF_OK)
    status = sfc_streams_begin(&first, stream, &gather);
  return status == SF_OK ? go_on(&fetch, slot_root, &gather, streamed_p) : status;
}

sf_status_t sf_fetch_op_on_stream(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                                  void *leafupdate, const sf_op_t *op, void *stream)
{
  sf_streamed_t *streamed;
  sf_status_t status = sf_fetch_op_begin_on_stream(graph, unit, rootdata, leafdata, leafupdate, op, stream, &streamed);
  return status == SF_OK ? sf_end_on_stream(&streamed, stream) : status;
}

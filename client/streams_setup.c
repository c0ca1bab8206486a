/* Making streams of a graph ready: memory for messages, pinned on both sides, and the index arrays of its links on the
 * device. See streams.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/algebra/derive.h"
#include "client/context.h"
#include "client/device.h"
#include "client/group.h"
#include "client/progress.h"
#include "client/streams.h"
#include "shm/error.h"

#define ALIGN ((size_t)128)
#define LOOK_AGAIN_NS 50000

/* Where a rank's area for another one is: of its segment, in bytes. */
typedef struct place {
  int64_t segment;
  int64_t pages; /* of its block */
  int64_t pages_bytes;
  int64_t area;
  int64_t slot_bytes;
} place_t;
#define PLACE_INTS ((int64_t)(sizeof(place_t) / sizeof(int64_t)))

static size_t round_up(size_t bytes, size_t to)
{
  return (bytes + to - 1) / to * to;
}

static size_t page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Units of the largest message that comes over the lane. */
static int64_t incoming_units(const sfc_lane_t *lane)
{
  return larger(lane->as_leaf.nvalues, lane->as_root.nedges);
}

static int64_t outgoing_units(const sfc_lane_t *lane)
{
  return larger(lane->as_root.nvalues, lane->as_leaf.nedges);
}

static bool slot_of(int64_t units, size_t unit_bytes, size_t *slot_bytes_p)
{
  uint64_t bytes;
  if (__builtin_mul_overflow((uint64_t)units, (uint64_t)unit_bytes, &bytes) || bytes > PTRDIFF_MAX / 64)
    return false;
  *slot_bytes_p = round_up((size_t)bytes, ALIGN);
  return true;
}

/* All areas, and a slot for the rank itself, one behind the other; *offsets: by lane. */
static sf_status_t lay_out(sfc_streams_t *streams, size_t *bytes_p)
{
  const sf_graph_t *graph = streams->graph;
  size_t bytes = 0, self_bytes = 0;
  bool fits = slot_of(graph->self.nedges, streams->unit_bytes, &self_bytes);
  for (int32_t i = 0; i < graph->nlanes && fits; i++) {
    sfc_stream_lane_t *lane = &streams->lanes[i];
    fits =
        slot_of(incoming_units(&graph->lanes[i]), streams->unit_bytes, &lane->slot_bytes) && bytes < PTRDIFF_MAX / 64;
    lane->area.host = (char *)bytes;
    bytes += sizeof(sfc_stream_area_t) + SF_STREAMS_IN_FLIGHT * lane->slot_bytes;
  }
  if (!fits)
    return sfshm_error(SF_ERR_LIMIT, "messages of units of %zu bytes", streams->unit_bytes);
  streams->self_slot.host = (char *)bytes;
  *bytes_p = bytes + self_bytes + ALIGN; /* never nothing */
  return SF_OK;
}

/* Whole pages, which nothing else uses, out of a block of the inbox. */
static sf_status_t take_memory(sfc_streams_t *streams)
{
  size_t bytes = 0, page = page_bytes();
  char *seen_at;
  sf_status_t status = lay_out(streams, &bytes);
  if (status == SF_OK) {
    streams->pages_bytes = round_up(bytes, page);
    status = sfc_heap_take(&streams->graph->context->inbox, streams->pages_bytes + page, &streams->block);
  }
  if (status != SF_OK)
    return status;
  streams->pages = (char *)round_up((size_t)(uintptr_t)streams->block.address, page);
  status = streams->ops->pin(streams->device, streams->pages, streams->pages_bytes, &seen_at);
  if (status != SF_OK)
    return sfshm_error(status, "%s", streams->plugin->detail());
  streams->is_pinned = true;
  for (int32_t i = 0; i < streams->nlanes; i++) {
    sfc_stream_lane_t *lane = &streams->lanes[i];
    size_t offset = (size_t)lane->area.host;
    lane->area = (sfc_seen_t){streams->pages + offset, seen_at + offset};
  }
  size_t offset = (size_t)streams->self_slot.host;
  streams->self_slot = (sfc_seen_t){streams->pages + offset, seen_at + offset};
  return SF_OK;
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

static sf_status_t prepare_link(const sfc_streams_t *streams, const sfc_link_t *link)
{
  const sfshm_pattern_t *targets[] = {&link->leaf, &link->value_root, &link->extra_leaf, &link->extra_root};
  sf_status_t status = streams->ops->prepare(streams->device, &link->extra_value, false);
  for (int i = 0; i < 4 && status == SF_OK; i++)
    status = streams->ops->prepare(streams->device, targets[i], true);
  return status;
}

static sf_status_t prepare_links(const sfc_streams_t *streams)
{
  const sf_graph_t *graph = streams->graph;
  sf_status_t status = prepare_link(streams, &graph->self);
  for (int32_t i = 0; i < graph->nlanes && status == SF_OK; i++) {
    status = prepare_link(streams, &graph->lanes[i].as_root);
    if (status == SF_OK)
      status = prepare_link(streams, &graph->lanes[i].as_leaf);
  }
  return status;
}

static sf_status_t open_device(sfc_streams_t *streams, void *stream)
{
  const char *wanted = getenv("SF_STREAM_MEMOPS");
  bool use_memops = wanted == NULL || strcmp(wanted, "off") != 0;
  sf_status_t status = sfshm_device_load(&streams->plugin);
  if (status != SF_OK)
    return status;
  streams->ops = streams->plugin->streams;
  status = streams->ops->open(stream, use_memops, &streams->device);
  if (status == SF_OK)
    status = prepare_links(streams);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", streams->plugin->detail());
}

/* ---- The other ranks --------------------------------------------------------------------------------------------- */

static sf_status_t check_place(const sfc_streams_t *streams, const sfc_lane_t *lane, const place_t *place,
                               size_t segment_bytes)
{
  size_t need, page = page_bytes();
  uint64_t last = 0;
  bool good =
      place->pages >= 0 && place->pages_bytes > 0 && place->area >= 0 && place->slot_bytes >= 0 &&
      (uint64_t)place->pages % page == 0 && (uint64_t)place->pages_bytes % page == 0 &&
      (uint64_t)place->area % ALIGN == 0 && (uint64_t)place->pages <= segment_bytes &&
      (uint64_t)place->pages_bytes <= segment_bytes - (uint64_t)place->pages &&
      slot_of(outgoing_units(lane), streams->unit_bytes, &need) && (uint64_t)place->slot_bytes == need &&
      !__builtin_add_overflow((uint64_t)place->area,
                              sizeof(sfc_stream_area_t) + SF_STREAMS_IN_FLIGHT * (uint64_t)place->slot_bytes, &last) &&
      last <= (uint64_t)place->pages_bytes;
  return good ? SF_OK : sfshm_error(SF_ERR_PROTO, "rank %d has no room for messages on streams", lane->rank);
}

/* Maps and pins the other end's pages. */
static sf_status_t reach(sfc_streams_t *streams, int32_t i, const place_t *place)
{
  const sfc_lane_t *lane = &streams->graph->lanes[i];
  sfc_stream_lane_t *own = &streams->lanes[i];
  sfc_peers_t *peers = &streams->graph->context->peers;
  char *seen_at;
  sf_status_t status = sfc_peer_pin(peers, lane->peer, (uint64_t)place->segment, &own->peer_pinned);
  if (status != SF_OK)
    return status;
  status = check_place(streams, lane, place, own->peer_pinned.length_bytes);
  char *pages = (char *)own->peer_pinned.base + place->pages;
  if (status == SF_OK) {
    status = streams->ops->pin(streams->device, pages, (size_t)place->pages_bytes, &seen_at);
    if (status != SF_OK)
      sfshm_error(status, "%s", streams->plugin->detail());
  }
  if (status != SF_OK) {
    sfc_peer_unpin(peers, &own->peer_pinned);
    return status;
  }
  own->peer_pages = pages;
  own->peer_area = (sfc_seen_t){pages + place->area, seen_at + place->area};
  own->peer_slot_bytes = (size_t)place->slot_bytes;
  return SF_OK;
}

/* What each rank tells the others: a root for each rank of the group, of which those count that it shares edges with.
 */
static void tell(const sfc_streams_t *streams, place_t *places)
{
  for (int32_t i = 0; i < streams->nlanes; i++) {
    const sfc_stream_lane_t *lane = &streams->lanes[i];
    size_t before = (size_t)(streams->pages - (char *)streams->block.address);
    places[streams->graph->lanes[i].rank] = (place_t){.segment = (int64_t)streams->block.segment,
                                                      .pages = (int64_t)(streams->block.offset + before),
                                                      .pages_bytes = (int64_t)streams->pages_bytes,
                                                      .area = (int64_t)(lane->area.host - streams->pages),
                                                      .slot_bytes = (int64_t)lane->slot_bytes};
  }
}

/* Ranks that have found an error take part, too; they may have no streams. */
static void exchange(sfc_derive_t *derive, const sf_graph_t *graph)
{
  int32_t n = graph->nlanes;
  place_t *mine = sfc_derive_array(derive, graph->size, sizeof *mine);
  place_t *theirs = sfc_derive_array(derive, n, sizeof *theirs);
  sfc_edges_t edges = {n, NULL, sfc_derive_array(derive, n, sizeof *edges.root_rank),
                       sfc_derive_array(derive, n, sizeof *edges.root)};
  if (derive->starved)
    edges.n = 0;
  for (int32_t i = 0; i < edges.n; i++) {
    edges.root_rank[i] = graph->lanes[i].rank;
    edges.root[i] = graph->rank;
  }
  if (!derive->starved && derive->status == SF_OK)
    tell(graph->streams, mine);
  sf_graph_t *helper = sfc_derive_helper(derive, graph->size, &edges);
  if (helper == NULL)
    return;
  sfc_derive_bcast(derive, helper, SF_INT64, PLACE_INTS, mine, theirs);
  (void)sf_graph_destroy(helper);
  for (int32_t i = 0; i < n && derive->status == SF_OK; i++)
    sfc_derive_note(derive, reach(graph->streams, i, &theirs[i]), -1);
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

static sf_status_t check_nodes(const sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].trunk != NULL)
      return sfshm_error(SF_ERR_UNSUPPORTED,
                         "operations on streams reach ranks of one node only: this graph has edges to node %d",
                         graph->lanes[i].rank);
  return SF_OK;
}

static sf_status_t make(sf_graph_t *graph, size_t unit_bytes, sfc_streams_t **streams_p)
{
  sfc_streams_t *streams = calloc(1, sizeof *streams);
  if (streams == NULL)
    return sfshm_error(SF_ERR_NOMEM, "streams of a graph");
  *streams_p = streams;
  streams->graph = graph;
  streams->unit_bytes = unit_bytes;
  streams->lanes = calloc((size_t)graph->nlanes + 1, sizeof *streams->lanes);
  streams->messages = calloc((size_t)graph->nlanes + 1, SF_STREAMS_IN_FLIGHT * sizeof *streams->messages);
  if (streams->lanes == NULL || streams->messages == NULL)
    return sfshm_error(SF_ERR_NOMEM, "streams of a graph with %d ranks", graph->nlanes);
  streams->nlanes = graph->nlanes;
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    streams->requests[i].messages = streams->messages + (size_t)i * (size_t)graph->nlanes;
  return SF_OK;
}

sf_status_t sfc_streams_set_up(sf_graph_t *graph, size_t unit_bytes, void *stream)
{
  sfc_derive_t derive;
  sfc_streams_t *streams = NULL;
  sfc_streams_tear_down(graph);
  sfc_derive_begin(&derive, "operation on a stream", graph->group, SF_GRAPH_DEFAULT);
  sf_status_t status = check_nodes(graph);
  if (status == SF_OK)
    status = make(graph, unit_bytes, &streams);
  graph->streams = streams;
  if (status == SF_OK)
    status = open_device(streams, stream);
  if (status == SF_OK)
    status = take_memory(streams);
  if (status == SF_OK)
    status = sfc_streams_guard(streams);
  sfc_derive_note(&derive, status, -1);
  exchange(&derive, graph);
  status = sfc_derive_agree(&derive);
  if (status != SF_OK)
    sfc_streams_tear_down(graph);
  return status;
}

bool sfc_streams_are_busy(const sf_graph_t *graph)
{
  for (int i = 0; graph->streams != NULL && i < SF_STREAMS_IN_FLIGHT; i++)
    if (graph->streams->requests[i].in_flight)
      return true;
  return false;
}

static void look_again_later(void)
{
  nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
}

sf_status_t sfc_streams_drain(const sfc_streams_t *streams)
{
  bool idle = false;
  for (;;) {
    sf_status_t status = streams->ops->is_idle(streams->device, &idle);
    if (status != SF_OK)
      return sfshm_error(status, "%s", streams->plugin->detail());
    if (idle)
      return SF_OK;
    look_again_later();
  }
}

/* Until the other ends have read what was sent: then nobody writes here any more. */
static bool await_acks(const sfc_streams_t *streams)
{
  for (int32_t i = 0; i < streams->nlanes; i++) {
    const sfc_stream_lane_t *lane = &streams->lanes[i];
    const sfc_stream_area_t *area = (const sfc_stream_area_t *)(const void *)lane->area.host;
    uint32_t sent = atomic_load(&lane->nsent), n = sent < SF_STREAMS_IN_FLIGHT ? sent : SF_STREAMS_IN_FLIGHT;
    for (uint32_t message = sent - n + 1; n > 0; message++, n--)
      while ((int32_t)(atomic_load(&area->acks[message % SF_STREAMS_IN_FLIGHT]) - message) < 0) {
        if (sfc_graph_is_failed(streams->graph))
          return false;
        look_again_later();
      }
  }
  return !sfc_graph_is_failed(streams->graph);
}

static void let_go_of_peers(sfc_streams_t *streams)
{
  for (int32_t i = 0; i < streams->nlanes; i++) {
    sfc_stream_lane_t *lane = &streams->lanes[i];
    if (lane->peer_pages == NULL)
      continue;
    streams->ops->unpin(streams->device, lane->peer_pages);
    sfc_peer_unpin(&streams->graph->context->peers, &lane->peer_pinned);
  }
}

/* Where the graph has failed others may write to the pages still: they stay until the context ends. */
void sfc_streams_tear_down(sf_graph_t *graph)
{
  sfc_streams_t *streams = graph->streams;
  bool quiet = true;
  if (streams == NULL)
    return;
  if (streams->is_guarded) {
    quiet = sfc_streams_drain(streams) == SF_OK && await_acks(streams);
    sfc_streams_unguard(streams);
  }
  if (streams->device != NULL) {
    let_go_of_peers(streams);
    if (streams->is_pinned)
      streams->ops->unpin(streams->device, streams->pages);
    streams->ops->close(streams->device);
  }
  if (streams->block.address != NULL && quiet)
    sfc_heap_give(&graph->context->inbox, &streams->block);
  free(streams->lanes);
  free(streams->messages);
  free(streams);
  graph->streams = NULL;
}

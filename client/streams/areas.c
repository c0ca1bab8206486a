/* Room for messages on streams: see areas.h. */
#include "client/streams/areas.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/streams/device_slots.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"

static size_t round_up(size_t bytes, size_t to)
{
  return (bytes + to - 1) / to * to;
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* ---- Own areas --------------------------------------------------------------------------------------------------- */

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
  *slot_bytes_p = round_up((size_t)bytes, SFC_STREAMS_ALIGN);
  return true;
}

/* All areas, and a slot for the rank itself, one behind the other: where each will be, from the first page on. */
static sf_status_t lay_out(const sfc_streams_t *streams, sfc_stream_room_t *room, size_t *bytes_p)
{
  const sf_graph_t *graph = streams->graph;
  size_t bytes = 0, self_bytes = 0;
  bool fits = slot_of(graph->plan.self.nedges, room->unit_bytes, &self_bytes);
  for (int32_t i = 0; i < streams->nlanes && fits; i++) {
    sfc_stream_way_t *way = &room->ways[i];
    fits = slot_of(incoming_units(&graph->lanes[i]), room->unit_bytes, &way->slot_bytes) && bytes < PTRDIFF_MAX / 64;
    way->area.host = (char *)bytes;
    bytes += sizeof(sfc_stream_area_t) + SF_STREAMS_IN_FLIGHT * way->slot_bytes;
  }
  if (!fits)
    return sfshm_error(SF_ERR_LIMIT, "messages of units of %zu bytes", room->unit_bytes);
  room->self_slot.host = (char *)bytes;
  *bytes_p = bytes + self_bytes + SFC_STREAMS_ALIGN; /* never nothing */
  return SF_OK;
}

static sfc_stream_pinned_t seen(const sfc_stream_room_t *room, sfc_stream_pinned_t place, char *seen_at)
{
  size_t offset = (size_t)place.host;
  return (sfc_stream_pinned_t){room->pages + offset, seen_at + offset};
}

/* As if all messages until now had gone through these areas. */
static void count_messages(const sfc_stream_lane_t *lane, const sfc_stream_way_t *way)
{
  sfc_stream_area_t *area = sfc_stream_area(way->area);
  atomic_store(&area->ready, atomic_load(&lane->nreceived));
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    atomic_store(&area->acks[i], atomic_load(&lane->nsent));
}

sf_status_t sfc_streams_room_make(const sfc_streams_t *streams, size_t unit_bytes, sfc_stream_sides_t sides,
                                  sfc_stream_room_t *room)
{
  size_t bytes = 0, page = sfshm_page_bytes();
  char *seen_at;
  room->unit_bytes = unit_bytes;
  room->sides = sides;
  sf_status_t status = lay_out(streams, room, &bytes);
  if (status == SF_OK) {
    room->pages_bytes = round_up(bytes, page);
    status = sfc_heap_take(&streams->graph->context->inbox, room->pages_bytes + page, true, &room->block);
  }
  if (status != SF_OK)
    return status;
  room->pages = (char *)round_up((size_t)(uintptr_t)room->block.address, page);
  status = sfc_streams_status(streams, streams->ops->pin(streams->device, room->pages, room->pages_bytes, &seen_at));
  if (status != SF_OK)
    return status;
  room->is_pinned = true;
  for (int32_t i = 0; i < streams->nlanes; i++) {
    room->ways[i].area = seen(room, room->ways[i].area, seen_at);
    count_messages(&streams->lanes[i], &room->ways[i]);
  }
  room->self_slot = seen(room, room->self_slot, seen_at);
  sfc_streams_slots_make(streams, room);
  return SF_OK;
}

void sfc_streams_room_drop(const sfc_streams_t *streams, sfc_stream_room_t *room)
{
  for (int32_t i = 0; room->ways != NULL && i < streams->nlanes; i++) {
    sfc_stream_way_t *way = &room->ways[i];
    if (way->peer_pages == NULL)
      continue;
    streams->ops->unpin(streams->device, way->peer_pages);
    sfc_peer_unpin(&streams->graph->context->peers, &way->peer_pinned);
    sfc_streams_slots_leave(streams, i, way);
  }
  if (room->device_block.address != NULL)
    sfc_graph_retire_block(streams->graph, &room->device_block);
  if (room->is_pinned)
    streams->ops->unpin(streams->device, room->pages);
  if (room->block.address != NULL)
    sfc_graph_retire_block(streams->graph, &room->block);
  free(room->ways);
  *room = (sfc_stream_room_t){0};
}

/* ---- Those of others --------------------------------------------------------------------------------------------- */

sfc_stream_place_t sfc_streams_room_place(const sfc_streams_t *streams, const sfc_stream_room_t *room, int32_t lane,
                                          uint64_t called)
{
  size_t before = (size_t)(room->pages - (char *)room->block.address);
  const sfc_stream_way_t *way = &room->ways[lane];
  sfc_stream_place_t place = {.called = (int64_t)called,
                              .segment = (int64_t)room->block.segment,
                              .pages = (int64_t)(room->block.offset + before),
                              .pages_bytes = (int64_t)room->pages_bytes,
                              .area = (int64_t)(way->area.host - room->pages),
                              .slot_bytes = (int64_t)way->slot_bytes};
  if (way->device_slots != NULL)
    sfc_streams_slots_place(streams, room, way, &place);
  return place;
}

static sf_status_t check_place(const sfc_stream_room_t *room, const sfc_lane_t *lane, const sfc_stream_place_t *place,
                               size_t segment_bytes)
{
  size_t need, page = sfshm_page_bytes();
  uint64_t last = 0;
  bool good =
      place->pages >= 0 && place->pages_bytes > 0 && place->area >= 0 && place->slot_bytes >= 0 &&
      (uint64_t)place->pages % page == 0 && (uint64_t)place->pages_bytes % page == 0 &&
      (uint64_t)place->area % SFC_STREAMS_ALIGN == 0 && (uint64_t)place->pages <= segment_bytes &&
      (uint64_t)place->pages_bytes <= segment_bytes - (uint64_t)place->pages &&
      slot_of(outgoing_units(lane), room->unit_bytes, &need) && (uint64_t)place->slot_bytes == need &&
      !__builtin_add_overflow((uint64_t)place->area,
                              sizeof(sfc_stream_area_t) + SF_STREAMS_IN_FLIGHT * (uint64_t)place->slot_bytes, &last) &&
      last <= (uint64_t)place->pages_bytes;
  return good ? SF_OK : sfshm_error(SF_ERR_PROTO, "rank %d has no room for messages on streams", lane->rank);
}

/* Maps and pins the other end's pages. */
sf_status_t sfc_streams_room_reach(const sfc_streams_t *streams, sfc_stream_room_t *room, int32_t i,
                                   const sfc_stream_place_t *place, uint64_t called)
{
  const sfc_lane_t *lane = &streams->graph->lanes[i];
  sfc_stream_way_t *way = &room->ways[i];
  sfc_peers_t *peers = &streams->graph->context->peers;
  char *seen_at;
  if ((uint64_t)place->called != called)
    return sfc_streams_mismatch(streams, i, called, (uint64_t)place->called);
  sf_status_t status = sfc_peer_pin(peers, lane->peer, (uint64_t)place->segment, &way->peer_pinned);
  if (status != SF_OK)
    return status;
  status = check_place(room, lane, place, way->peer_pinned.length_bytes);
  char *pages = (char *)way->peer_pinned.base + place->pages;
  if (status == SF_OK)
    status =
        sfc_streams_status(streams, streams->ops->pin(streams->device, pages, (size_t)place->pages_bytes, &seen_at));
  if (status != SF_OK) {
    sfc_peer_unpin(peers, &way->peer_pinned);
    return status;
  }
  way->peer_pages = pages;
  way->peer_area = (sfc_stream_pinned_t){pages + place->area, seen_at + place->area};
  way->peer_slot_bytes = (size_t)place->slot_bytes;
  sfc_streams_slots_choose(streams, room, i, place);
  return SF_OK;
}

/* No other rank writes there any more. */
static void give_on_device(sfc_block_t *block)
{
  if (block->address != NULL)
    sfc_heap_give(block->heap, block);
  block->address = NULL;
}

sf_status_t sfc_streams_room_settle(const sfc_streams_t *streams, sfc_stream_room_t *room)
{
  bool used = false;
  for (int32_t i = 0; i < streams->nlanes; i++) {
    sfc_idle_t idle = {0};
    const _Atomic uint32_t *chosen = &sfc_stream_area(room->ways[i].area)->chosen;
    while (atomic_load_explicit(chosen, memory_order_acquire) == SFSHM_STREAM_SLOTS_NONE) {
      if (sfc_graph_is_failed(streams->graph))
        return sfc_graph_failure(streams->graph);
      sfc_idle_pause(&idle);
    }
    uint32_t kind = atomic_load_explicit(chosen, memory_order_relaxed);
    room->ways[i].is_from_peer = kind == SFSHM_STREAM_SLOTS_ON_PEER;
    if (kind == SFSHM_STREAM_SLOTS_PINNED)
      room->ways[i].device_slots = NULL;
    used |= room->ways[i].device_slots != NULL;
  }
  if (!used)
    give_on_device(&room->device_block);
  return SF_OK;
}

/* ---- Growing ----------------------------------------------------------------------------------------------------- */

/* Tells the other ends, in the areas that they have now. */
static void tell(const sfc_streams_t *streams, const sfc_stream_room_t *room, uint64_t called)
{
  for (int32_t i = 0; i < streams->nlanes; i++) {
    sfc_stream_area_t *theirs = sfc_stream_area(streams->room.ways[i].peer_area);
    theirs->place = sfc_streams_room_place(streams, room, i, called);
    atomic_store_explicit(&theirs->grown, streams->ncalls, memory_order_release); /* pairs with the load in hear() */
  }
}

static bool has_told(const sfc_streams_t *streams, int32_t i)
{
  const sfc_stream_area_t *area = sfc_stream_area(streams->room.ways[i].area);
  return atomic_load_explicit(&area->grown, memory_order_acquire) == streams->ncalls;
}

/* In whatever order they tell: each waits for what this rank chooses for it, and shall not have to wait for others with
 * which it shares no edge. */
static sf_status_t hear(const sfc_streams_t *streams, sfc_stream_room_t *room, uint64_t called)
{
  sf_status_t status = SF_OK;
  sfc_idle_t idle = {0};
  int32_t nheard = 0;
  while (nheard < streams->nlanes) {
    int32_t before = nheard;
    for (int32_t i = 0; i < streams->nlanes; i++) {
      if (room->ways[i].peer_pages != NULL || !has_told(streams, i))
        continue;
      sfc_stream_place_t place = sfc_stream_area(streams->room.ways[i].area)->place;
      status = sfc_streams_room_reach(streams, room, i, &place, called);
      if (status != SF_OK)
        return status;
      nheard++;
    }
    if (nheard == before) {
      if (sfc_graph_is_failed(streams->graph))
        return sfc_graph_failure(streams->graph);
      sfc_idle_pause(&idle);
    }
  }
  return SF_OK;
}

/* A rank tells its place when its streams have come to their end: from then on it writes to the old areas of others
 * nothing but that. So when all have told theirs the old block is free. */
sf_status_t sfc_streams_room_grow(sfc_streams_t *streams, size_t unit_bytes, sfc_stream_sides_t sides, uint64_t called)
{
  sfc_stream_room_t room = {.ways = calloc((size_t)streams->nlanes + 1, sizeof *room.ways)};
  sf_status_t status = room.ways != NULL ? sfc_streams_drain(streams) : sfshm_error(SF_ERR_NOMEM, "more room");
  if (status == SF_OK && streams->nodes != NULL)
    status = sfc_streams_nodes_grow(streams->nodes, unit_bytes);
  if (status == SF_OK)
    status = sfc_streams_room_make(streams, unit_bytes, sides, &room);
  if (status == SF_OK) {
    sfc_streams_guard_growth(streams);
    tell(streams, &room, called);
  }
  if (status == SF_OK)
    status = hear(streams, &room, called);
  if (status == SF_OK)
    status = sfc_streams_room_settle(streams, &room);
  if (status == SF_OK) {
    sfc_block_t old = streams->room.block;
    streams->room.block.address = NULL;
    sfc_block_t old_on_device = streams->room.device_block;
    streams->room.device_block.address = NULL;
    room = sfc_streams_guard_room(streams, room);
    sfc_streams_room_drop(streams, &room);
    sfc_heap_give(&streams->graph->context->inbox, &old);
    give_on_device(&old_on_device);
    return SF_OK;
  }
  sfc_graph_fail_everywhere(streams->graph, status, sfshm_error_detail());
  sfc_streams_room_drop(streams, &room);
  return sfc_graph_failure(streams->graph);
}

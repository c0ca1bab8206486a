/* Slots on devices: see device_slots.h. */
#include "client/streams/device_slots.h"

#include <string.h>

#include "client/core.h"

/* Whether all data here that messages over the lane are of are on the device. */
static bool is_on_device(const sfc_stream_room_t *room, const sfc_lane_t *lane)
{
  return (lane->as_root.nedges == 0 || room->sides.roots_on_device) &&
         (lane->as_leaf.nedges == 0 || room->sides.leaves_on_device);
}

/* ---- Own slots --------------------------------------------------------------------------------------------------- */

void sfc_streams_slots_make(const sfc_streams_t *streams, sfc_stream_room_t *room)
{
  const sf_graph_t *graph = streams->graph;
  int32_t device = streams->ops->device(streams->device);
  size_t bytes = 0;
  for (int32_t i = 0; i < streams->nlanes; i++)
    if (is_on_device(room, &graph->lanes[i]))
      bytes += SF_STREAMS_IN_FLIGHT * room->ways[i].slot_bytes;
  if (bytes == 0 || !sfc_device_may_share() ||
      sfc_heap_take_on_device(graph->context, device, bytes, &room->device_block) != SF_OK)
    return;
  char *slots = room->device_block.address;
  for (int32_t i = 0; i < streams->nlanes; i++) {
    if (!is_on_device(room, &graph->lanes[i]))
      continue;
    room->ways[i].device_slots = slots;
    slots += SF_STREAMS_IN_FLIGHT * room->ways[i].slot_bytes;
  }
}

/* Without an identity they are taken for those of another device. */
void sfc_streams_slots_place(const sfc_streams_t *streams, const sfc_stream_room_t *room, const sfc_stream_way_t *way,
                             sfc_stream_place_t *place)
{
  int64_t region = (int64_t)room->device_block.segment;
  place->region = streams->ops->sees_peers(streams->device) ? region : -region;
  place->slots = (int64_t)room->device_block.offset + (way->device_slots - (char *)room->device_block.address);
  (void)streams->plugin->identify(streams->ops->device(streams->device), &place->device);
}

/* ---- Those of others --------------------------------------------------------------------------------------------- */

/* Kernels store whole units there: what is not aligned for them would end the context of the driver. */
static bool fits(const sfc_stream_place_t *place, const void *base, size_t length_bytes)
{
  return place->slots >= 0 && (uint64_t)place->slots <= length_bytes &&
         ((uintptr_t)base + (uint64_t)place->slots) % SFC_STREAMS_ALIGN == 0 &&
         (uint64_t)place->slot_bytes * SF_STREAMS_IN_FLIGHT <= length_bytes - (uint64_t)place->slots;
}

static bool open_slots(const sfc_streams_t *streams, const sfc_lane_t *lane, const sfc_stream_place_t *place,
                       sfc_stream_way_t *way)
{
  sfc_peers_t *peers = &streams->graph->context->peers;
  uint64_t region = place->region < 0 ? -(uint64_t)place->region : (uint64_t)place->region;
  if (sfc_peer_pin_device(peers, lane->peer, region, streams->ops->device(streams->device), &way->peer_device) != SF_OK)
    return false;
  if (!fits(place, way->peer_device.base, way->peer_device.length_bytes)) {
    sfc_peer_unpin_device(peers, lane->peer, &way->peer_device);
    return false;
  }
  way->peer_device_slots = (char *)way->peer_device.base + place->slots;
  return true;
}

static bool is_same_device(const sfc_streams_t *streams, const sfshm_device_identity_t *other)
{
  sfshm_device_identity_t own;
  return streams->plugin->identify(streams->ops->device(streams->device), &own) == SF_OK &&
         memcmp(&own, other, sizeof own) == 0;
}

void sfc_streams_slots_choose(const sfc_streams_t *streams, sfc_stream_room_t *room, int32_t i,
                              const sfc_stream_place_t *place)
{
  const sfc_lane_t *lane = &streams->graph->lanes[i];
  sfc_stream_way_t *way = &room->ways[i];
  bool same = is_same_device(streams, &place->device);
  bool opened = place->region != 0 && (same || place->region > 0) && is_on_device(room, lane) &&
                sfc_device_may_share() && open_slots(streams, lane, place, way);
  uint32_t kind = !opened ? SFSHM_STREAM_SLOTS_PINNED
                  : same  ? SFSHM_STREAM_SLOTS_ON_DEVICE
                          : SFSHM_STREAM_SLOTS_ON_PEER;
  if (SFSHM_IS_COUNTED)
    atomic_store_explicit(&lane->counts->streams, kind, memory_order_relaxed);
  /* pairs with the load in sfc_streams_room_settle */
  atomic_store_explicit(&sfc_stream_area(way->peer_area)->chosen, kind, memory_order_release);
}

void sfc_streams_slots_leave(const sfc_streams_t *streams, int32_t i, sfc_stream_way_t *way)
{
  if (way->peer_device_slots != NULL)
    sfc_peer_unpin_device(&streams->graph->context->peers, streams->graph->lanes[i].peer, &way->peer_device);
  way->peer_device_slots = NULL;
}

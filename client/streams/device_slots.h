/* Slots for messages on streams that are on the reader's device, where they need not pass through the host: for a pair
 * of ranks whose data are on devices at both ends, of which the writer's reaches the reader's memory. The memory lasts
 * until all have closed it, so that no stream writes to what is gone, whoever dies first. All graphs of a rank share
 * it, so that other ranks open it once. Everything else is as with pinned slots, which are there, too: an operation
 * with data of the host has them copied to a slot on the device, or from there, by a kernel of that end. The thread
 * that uses the graph. */
#ifndef SFC_STREAMS_DEVICE_SLOTS_H
#define SFC_STREAMS_DEVICE_SLOTS_H

#include "client/streams/operation.h"

/* Allocates slots for what comes over lanes whose data here are on the device. Without them, as when the
 * device is full or the job may not have so much memory, messages pass through pinned memory. */
void sfc_streams_slots_make(const sfc_streams_t *streams, sfc_stream_room_t *room);

/* Where those of a lane are, which there are. */
void sfc_streams_slots_place(const sfc_streams_t *streams, const sfc_stream_room_t *room, const sfc_stream_way_t *way,
                             sfc_stream_place_t *place);

/* What the other end of a lane has told: opens its slots, if there are any and this end's data are on a device that
 * reaches them, and tells it what has become of it. Its area is pinned. */
void sfc_streams_slots_choose(const sfc_streams_t *streams, sfc_stream_room_t *room, int32_t lane,
                              const sfc_stream_place_t *place);

/* Ends the use of those of the other end, which stay open for other graphs. */
void sfc_streams_slots_leave(const sfc_streams_t *streams, int32_t lane, sfc_stream_way_t *way);

/* The slot for a message, and that in pinned memory. */
static inline sfc_stream_pinned_t sfc_streams_slot_pinned(sfc_stream_pinned_t area, size_t slot_bytes, uint64_t message)
{
  size_t offset = sizeof(sfc_stream_area_t) + message % SF_STREAMS_IN_FLIGHT * slot_bytes;
  return (sfc_stream_pinned_t){area.host + offset, area.device + offset};
}

static inline sfc_stream_pinned_t sfc_streams_slot_of(sfc_stream_pinned_t area, size_t slot_bytes, char *device_slots,
                                                      uint64_t message)
{
  sfc_stream_pinned_t slot = sfc_streams_slot_pinned(area, slot_bytes, message);
  if (device_slots != NULL)
    slot.device = device_slots + message % SF_STREAMS_IN_FLIGHT * slot_bytes;
  return slot;
}

#endif

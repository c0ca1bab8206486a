/* Room for messages on streams: areas for each rank of the node with which a graph shares edges, in whole pages of the
 * inbox, pinned on both sides. Agreed on when the first operation is begun on a graph, and again, between neighbours
 * alone, by one with larger units. The thread that uses the graph. */
#ifndef SFC_STREAMS_AREAS_H
#define SFC_STREAMS_AREAS_H

#include "client/streams/operation.h"

/* Makes areas for units of that size; room must be zeroed but for ways. What has been done of it is to be dropped also
 * on failure. */
sf_status_t sfc_streams_room_make(const sfc_streams_t *streams, size_t unit_bytes, sfc_stream_sides_t sides,
                                  sfc_stream_room_t *room);

/* Where the areas for a lane are, to be told to its other end with what this rank calls; and what that has told. */
sfc_stream_place_t sfc_streams_room_place(const sfc_streams_t *streams, const sfc_stream_room_t *room, int32_t lane,
                                          uint64_t called);
sf_status_t sfc_streams_room_reach(const sfc_streams_t *streams, sfc_stream_room_t *room, int32_t lane,
                                   const sfc_stream_place_t *place, uint64_t called);

/* All ranks have reached, or will if nothing fails: learns where what others send will be. */
sf_status_t sfc_streams_room_settle(const sfc_streams_t *streams, sfc_stream_room_t *room);

/* Nothing of this rank is under way in it any more. Its block stays the graph's. */
void sfc_streams_room_drop(const sfc_streams_t *streams, sfc_stream_room_t *room);

/* More room, for an operation that has been compared with those of others. Waits for what streams have to do still, and
 * for neighbours to call the same; whatever goes wrong fails the graph. */
sf_status_t sfc_streams_room_grow(sfc_streams_t *streams, size_t unit_bytes, sfc_stream_sides_t sides, uint64_t called);

#endif

/* Packs the data of messages into memory that the peer reads: cells, and eager blocks. The thread that uses the graph.
 */
#ifndef SFC_ENGINE_LANE_PACK_H
#define SFC_ENGINE_LANE_PACK_H

#include "client/engine/lane_send.h"

/* Packs the piece at the lane's cursor into the cell of the next message, and moves the cursor behind it. Returns the
 * size of the piece. */
size_t sfc_lane_pack_piece(sfc_lane_t *lane, const sfc_outgoing_t *out);

/* Packs all that follows the lane's cursor, so many bytes; the cursor stays. */
void sfc_lane_pack_rest(const sfc_lane_t *lane, const sfc_outgoing_t *out, size_t bytes, char *packed);

#endif

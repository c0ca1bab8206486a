/* Eager sends. A begin hands over all that another rank needs to end its own part, as its caller may wait for that rank
 * elsewhere next (in MPI_Recv, say) and makes no progress there. What slots and cells of a lane do not take is packed
 * into memory of the writer, and posted to an eager slot (shm/lane/lane.h), from where the reader gets it by itself. A
 * wait does the same before its thread sleeps.
 *
 * Bounds: on their way to one rank there may be SFC_EAGER_BYTES of values in such memory, and 24 operations: each takes
 * one of 32 eager slots, whose numbers the messages in the 8 slots share. Without memory nothing is sent eagerly, nor
 * are values on devices, and those behind data that the reader has yet to read in place. The thread that uses the
 * graph. */
#ifndef SFC_ENGINE_EAGER_H
#define SFC_ENGINE_EAGER_H

#include "client/engine/operation.h"
#include "client/graph.h"

/* Posts all that is left of the request to the lane, to a rank of this node. False if that is not possible: everything
 * is as it was. */
bool sfc_eager_send(sfc_lane_t *lane, sf_request_t *request);

/* Gives memory back whose values the reader has taken. */
void sfc_eager_settle(sfc_lane_t *lane);

/* The next message if it is in an eager slot. */
const sfshm_slot_t *sfc_eager_peek(sfc_lane_t *lane);

/* The next message if it has arrived, else NULL: as sfshm_lane_peek, of all slots. */
static inline const sfshm_slot_t *sfc_lane_peek(sfc_lane_t *lane)
{
  const sfshm_slot_t *slot = sfshm_lane_peek(&lane->rx, &lane->tx);
  return slot != NULL || !sfshm_lane_has_eager(&lane->rx) ? slot : sfc_eager_peek(lane);
}

/* sfc_eager_retire ends eager sending on the lane: the inbox may reuse its blocks once every rank has destroyed the
 * graph. sfc_eager_free frees the lane's own record of them. */
void sfc_eager_retire(sfc_lane_t *lane);
void sfc_eager_free(sfc_lane_t *lane);

#endif

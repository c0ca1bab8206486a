/* Eager sends. A begin hands over everything that another rank needs to end its part, because the caller may next wait
 * for that rank elsewhere (in MPI_Recv, say) without progress here. What slots and cells do not take is packed into the
 * writer's inbox and posted to an eager slot (shm/lane/lane.h), from which the reader takes it. A wait does the same
 * before its thread sleeps.
 *
 * Limits per peer: SFC_EAGER_BYTES of values in such memory, and 24 operations (of 32 eager slots, whose numbers the
 * messages in the 8 slots share). Not sent eagerly: values on devices, and anything without memory. Blocks of an
 * exchange, which have no other way if the reader cannot read them in place, have no limit of bytes. The thread that
 * uses the graph. */
#ifndef SFC_ENGINE_EAGER_H
#define SFC_ENGINE_EAGER_H

#include "client/engine/operation.h"
#include "client/graph.h"

/* Posts the rest of the request to a lane to a rank of this node. false: impossible; nothing has changed. */
bool sfc_eager_send(sfc_lane_t *lane, sf_request_t *request);

/* The parts of that, also for messages in other slots that name such memory. sfc_eager_have_slots: makes the eager
 * slots and the record of blocks at first use; false: no memory. sfc_eager_claim: the eager slot for the next message;
 * NULL: none. sfc_eager_take: a block that the slot, of the next message, names from then on; NULL: no memory, or more
 * than most_bytes in such blocks. sfc_eager_post publishes an eager slot. */
bool sfc_eager_have_slots(sfc_lane_t *lane);
sfshm_slot_t *sfc_eager_claim(sfc_lane_t *lane);
char *sfc_eager_take(sfc_lane_t *lane, size_t bytes, size_t most_bytes, sfshm_slot_t *slot);
void sfc_eager_post(sfc_lane_t *lane, sfshm_slot_t *slot, sf_request_t *request, sfshm_method_t method, size_t bytes);

/* Frees the memory of values that the reader has taken. */
void sfc_eager_settle(sfc_lane_t *lane);

/* Returns the next message if it is in an eager slot. */
const sfshm_slot_t *sfc_eager_peek(sfc_lane_t *lane);

/* Returns the next message, in any slot, if it has arrived; else NULL. */
static inline const sfshm_slot_t *sfc_lane_peek(sfc_lane_t *lane)
{
  const sfshm_slot_t *slot = sfshm_lane_peek(&lane->rx, &lane->tx);
  return slot != NULL || !sfshm_lane_has_eager(&lane->rx) ? slot : sfc_eager_peek(lane);
}

/* sfc_eager_retire ends eager sending: the inbox may reuse its blocks once every rank has destroyed the graph.
 * sfc_eager_free frees the lane's record of them. */
void sfc_eager_retire(sfc_lane_t *lane);
void sfc_eager_free(sfc_lane_t *lane);

#endif

/* Receives from lanes: see lane_send.h. */
#include "client/engine/eager.h"
#include "client/engine/lane_ops.h"
#include "client/engine/lane_take.h"
#include "client/engine/mismatch.h"
#include "client/engine/offload.h"
#include "client/engine/op_trace.h"
#include "client/engine/request.h"
#include "client/graph.h"
#include "shm/base/error.h"

#define MESSAGES_AT_ONCE (SFSHM_LANE_SLOTS / 2)

static void finish_receive(sfc_lane_t *lane, bool turn_is_over)
{
  sf_request_t *request = lane->rx_request;
  if (request->operation == SFSHM_BCAST && lane->as_leaf.extra_value.n > 0)
    sfshm_count(&lane->counts->bytes_saved, (uint64_t)lane->as_leaf.extra_value.n * request->value_bytes);
  lane->rx_cursor = (sfc_cursor_t){0};
  sfc_lane_end_request(lane);
  if (request->ordered && !turn_is_over)
    sfc_request_end_turn(request);
}

/* Finds a message for rx_request, if it is the lane's turn; *desc_p: its descriptor. NULL: none. */
static const sfshm_slot_t *find_message(sfc_lane_t *lane, uint64_t *desc_p)
{
  const sf_request_t *request = lane->rx_request;
  if (request->ordered && !lane->rx_reading && !sfc_request_is_turn(request, lane))
    return NULL;
  const sfshm_slot_t *slot = sfc_lane_peek(lane);
  if (slot != NULL)
    *desc_p = slot->desc; /* read once: the peer could change it */
  return slot;
}

/* Takes a message. false: nothing more can be taken now. */
static bool receive_message(sfc_lane_t *lane, const sfshm_slot_t *slot, uint64_t desc, bool *moved_p)
{
  sf_request_t *request = lane->rx_request;
  sfc_taken_how_t how;
  if (lane->offers != NULL)
    sfc_offload_note_protocol(lane, request, sfshm_desc_method(desc));
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_mark(request);
  sf_status_t status = sfc_lane_take(lane, request, slot, desc, &how);
  if (status == SF_ERR_RANK_FAILED)
    return false; /* another rank may have died first: the daemon reports which one */
  if (status != SF_OK)
    sfc_graph_fail_everywhere(lane->graph, status, sfshm_error_detail());
  /* A device's read ends when the lane is looked at again; nobody else would wake this rank. */
  *moved_p |= status != SF_OK || how != SFC_TAKEN_LATER || lane->rx_reading;
  if (status != SF_OK || how == SFC_TAKEN_LATER)
    return false;
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_unpacked(request, lane, lane->rx.received, 0);
  if (how != SFC_TAKEN_PARTLY)
    finish_receive(lane, how == SFC_TAKEN_AFTER_TURN);
  return true;
}

/* Takes a short message of something else than fields, if it is one, and is not in an eager slot. */
static inline bool takes_short(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  const sfc_payload_ops_t *payload = lane->rx_request->payload;
  return payload != NULL && !sfshm_lane_is_eager(&lane->rx, slot) && payload->take_short(lane, slot);
}

bool sfc_lane_receive_shared(sfc_lane_t *lane)
{
  bool moved = false, goes_on = true;
  for (uint32_t messages = 0; lane->rx_request != NULL && goes_on && messages < MESSAGES_AT_ONCE; messages++) {
    const sf_request_t *request = lane->rx_request;
    uint64_t desc;
    const sfshm_slot_t *slot = find_message(lane, &desc);
    if (slot == NULL)
      break;
    if (takes_short(lane, slot)) {
      moved = true;
      continue;
    }
    if ((desc & SFSHM_DESC_MATCH_MASK) != request->match) {
      sfc_mismatch_fail(lane, request->match, request->sequence, desc);
      return true;
    }
    goes_on = receive_message(lane, slot, desc, &moved);
  }
  return moved;
}

static bool has_message(sfc_lane_t *lane)
{
  return sfc_lane_peek(lane) != NULL;
}

const sfc_lane_ops_t sfc_shared_lane_ops = {
    .send = sfc_lane_send_shared, .receive = sfc_lane_receive_shared, .has_message = has_message};

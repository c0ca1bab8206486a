/* Eager sends: see eager.h. The thread that uses the graph. */
#include "client/engine/eager.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/engine/lane_pack.h"
#include "client/engine/op_trace.h"
#include "client/engine/protocol.h"
#include "client/engine/thread.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* Packed values of one message. */
typedef struct sfc_eager_values {
  uint64_t message;
  sfc_block_t block;
} sfc_eager_values_t;

/* Eager memory of a lane: eager slots, and values perhaps unread, oldest first, at most one per slot. */
struct sfc_eager {
  sfc_block_t slots;
  sfc_eager_values_t values[SFSHM_EAGER_SLOTS];
  uint64_t first;
  uint64_t end;
  size_t bytes;
};

static sfc_eager_values_t *values_at(struct sfc_eager *eager, uint64_t i)
{
  return &eager->values[i % SFSHM_EAGER_SLOTS];
}

bool sfc_eager_have_slots(sfc_lane_t *lane)
{
  if (lane->eager != NULL)
    return true;
  struct sfc_eager *eager = calloc(1, sizeof *eager);
  if (eager == NULL)
    return false;
  size_t bytes = SFSHM_EAGER_SLOTS * sizeof(sfshm_slot_t);
  if (sfc_heap_take(&lane->graph->context->inbox, bytes, true, &eager->slots) != SF_OK) {
    free(eager);
    return false;
  }
  sfshm_lane_offer_eager(&lane->tx, eager->slots.address, eager->slots.segment, eager->slots.offset);
  lane->eager = eager;
  return true;
}

void sfc_eager_settle(sfc_lane_t *lane)
{
  struct sfc_eager *eager = lane->eager;
  while (eager->first < eager->end && sfshm_lane_is_consumed(&lane->tx, values_at(eager, eager->first)->message)) {
    const sfc_block_t *block = &values_at(eager, eager->first++)->block;
    eager->bytes -= block->length_bytes;
    sfc_heap_give(&lane->graph->context->inbox, block);
  }
}

char *sfc_eager_take(sfc_lane_t *lane, size_t bytes, size_t most_bytes, sfshm_slot_t *slot)
{
  struct sfc_eager *eager = lane->eager;
  sfc_block_t block;
  if (eager->bytes + bytes > most_bytes || sfc_heap_take(&lane->graph->context->inbox, bytes, false, &block) != SF_OK)
    return NULL;
  sfshm_eager_block_t where = {block.segment, block.offset};
  memcpy(slot->payload, &where, sizeof where);
  assert(eager->end - eager->first < SFSHM_EAGER_SLOTS); /* others are inline in other slots */
  *values_at(eager, eager->end++) = (sfc_eager_values_t){lane->tx.posted + 1, block};
  eager->bytes += block.length_bytes;
  return block.address;
}

sfshm_slot_t *sfc_eager_claim(sfc_lane_t *lane)
{
  if (!sfc_eager_have_slots(lane))
    return NULL;
  sfshm_slot_t *slot = sfshm_lane_claim_eager(&lane->tx, &lane->rx);
  if (slot != NULL)
    sfc_eager_settle(lane); /* the claim may have seen more values taken */
  return slot;
}

void sfc_eager_post(sfc_lane_t *lane, sfshm_slot_t *slot, sf_request_t *request, sfshm_method_t method, size_t bytes)
{
  sfshm_lane_post_eager(&lane->tx, slot, sfshm_desc_with_method(request->match, method));
  sfc_thread_note(lane->graph->user.thread, lane->peer->wake);
  sfshm_count(&lane->counts->messages_sent, 1);
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_sent(request, lane, lane->tx.posted, bytes);
}

bool sfc_eager_send(sfc_lane_t *lane, sf_request_t *request)
{
  if (request->held || request->devices != NULL || lane->trunk != NULL)
    return false;
  if (request->payload != NULL)
    return request->payload->send_eagerly(lane, request);
  sfc_outgoing_t out = sfc_lane_find_outgoing(lane, request);
  size_t all_bytes = (size_t)out.n * request->value_bytes;
  sfc_outgoing_flatten(lane, request, &out);
  size_t bytes = sfc_message_left(out.fields, out.nfields, &lane->tx_cursor, out.n);
  sfshm_slot_t *slot = bytes <= SFC_EAGER_BYTES ? sfc_eager_claim(lane) : NULL;
  if (slot == NULL)
    return false;
  if (all_bytes <= SFSHM_INLINE_BYTES) {
    sfc_outgoing_pack(&out, slot->payload);
    sfc_eager_post(lane, slot, request, SFSHM_METHOD_INLINE, bytes);
    sfshm_count(&lane->counts->bytes_inline, bytes);
  } else {
    char *values = sfc_eager_take(lane, bytes, SFC_EAGER_BYTES, slot);
    if (values == NULL)
      return false;
    sfc_lane_pack_rest(lane, &out, bytes, values);
    sfc_eager_post(lane, slot, request, SFSHM_METHOD_CELL, bytes);
    sfshm_count(&lane->counts->bytes_slots, bytes);
  }
  request->sends_left--;
  return true;
}

/* ---- The reader -------------------------------------------------------------------------------------------------- */

/* Finds the peer's eager slots, at first use. */
static sf_status_t find_slots(sfc_lane_t *lane)
{
  const sfshm_lane_control_t *control = lane->rx.control;
  uint64_t segment = control->eager_segment, offset = control->eager_offset; /* read once: the peer could change it */
  size_t length, need = SFSHM_EAGER_SLOTS * sizeof(sfshm_slot_t);
  void *base;
  sf_status_t status = sfc_peer_segment(&lane->graph->context->peers, lane->peer, segment, &base, &length);
  if (status != SF_OK)
    return status;
  if (offset > length || length - offset < need || offset % SFC_BLOCK_ALIGN != 0)
    return sfshm_error(SF_ERR_PROTO, "rank %d says that its eager slots are outside of its memory", lane->rank);
  lane->rx.eager = (const sfshm_slot_t *)(const void *)((const char *)base + offset);
  return SF_OK;
}

__attribute__((noinline)) const sfshm_slot_t *sfc_eager_peek(sfc_lane_t *lane)
{
  if (lane->rx.eager == NULL) {
    sf_status_t status = find_slots(lane);
    if (status != SF_OK) {
      sfc_graph_fail_everywhere(lane->graph, status, sfshm_error_detail());
      return NULL;
    }
  }
  return sfshm_lane_peek_eager(&lane->rx);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void sfc_eager_retire(sfc_lane_t *lane)
{
  struct sfc_eager *eager = lane->eager;
  if (eager == NULL)
    return;
  for (; eager->first < eager->end; eager->first++)
    sfc_graph_retire_block(lane->graph, &values_at(eager, eager->first)->block);
  sfc_graph_retire_block(lane->graph, &eager->slots);
}

void sfc_eager_free(sfc_lane_t *lane)
{
  free(lane->eager);
}

/* Sending over lanes: see transfer.h. Receiving is in receive.c. */
#include "client/transfer.h"

#include <string.h>

#include "client/context.h"
#include "client/method.h"
#include "client/progress.h"
#include "client/trunk.h"
#include "shm/error.h"

/* What a lane sends in an operation. */
typedef struct sfc_outgoing {
  const sfshm_pattern_t *pattern; /* in the source */
  int64_t n;
  int64_t runs;
} sfc_outgoing_t;

static inline sfc_outgoing_t outgoing(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  if (operation == SFSHM_BCAST)
    return (sfc_outgoing_t){&lane->as_root.value_root, lane->as_root.nvalues, lane->as_root.root_runs};
  return (sfc_outgoing_t){&lane->as_leaf.leaf, lane->as_leaf.nedges, lane->as_leaf.leaf_runs};
}

static void post(sfc_lane_t *lane, sfshm_slot_t *slot, const sf_request_t *request, sfshm_method_t method)
{
  sfshm_lane_post(&lane->tx, &lane->rx, slot, sfshm_desc_with_method(request->match, method));
  sfc_thread_note(lane->graph->thread, lane->peer->wake);
  sfshm_count(&lane->graph->counts->messages_sent, 1);
}

/* The other end has read what that entry of awaiting stands for. */
static void settle(sfc_lane_t *lane, sf_request_t **entry)
{
  (*entry)->sends_left--;
  *entry = NULL;
  lane->tx_unread--;
  lane->graph->nunread--;
}

/* The slot for the next message, if there is one. The message before in that slot has been consumed then. */
static sfshm_slot_t *claim(sfc_lane_t *lane)
{
  sfshm_slot_t *slot = sfshm_lane_claim(&lane->tx, &lane->rx);
  sf_request_t **entry = &lane->awaiting[lane->tx.posted % SFSHM_LANE_SLOTS];
  if (slot != NULL && *entry != NULL)
    settle(lane, entry);
  return slot;
}

static bool send_inline(sfc_lane_t *lane, sf_request_t *request, const sfc_outgoing_t *out, size_t bytes)
{
  sfshm_slot_t *slot = claim(lane);
  if (slot == NULL)
    return false;
  request->move->pack(request->combine.unit, out->pattern, 0, out->n, request->source, slot->payload);
  post(lane, slot, request, SFSHM_METHOD_INLINE);
  sfshm_count(&lane->graph->counts->bytes_inline, bytes);
  request->sends_left--;
  return true;
}

/* Says where the data are; the request ends when the other end has read them. */
static bool send_reference(sfc_lane_t *lane, sf_request_t *request, sfshm_method_t method, size_t bytes)
{
  sfshm_slot_t *slot = claim(lane);
  if (slot == NULL)
    return false;
  if (method == SFSHM_METHOD_IN_PLACE) {
    sfshm_in_place_t where = {request->source_ref.segment, request->source_ref.offset};
    memcpy(slot->payload, &where, sizeof where);
    sfshm_count(&lane->graph->counts->bytes_in_place, bytes);
  } else {
    sfshm_vm_read_t where = {(uint64_t)(uintptr_t)request->source};
    memcpy(slot->payload, &where, sizeof where);
    sfshm_count(&lane->graph->counts->bytes_vm_read, bytes);
  }
  lane->awaiting[lane->tx.posted % SFSHM_LANE_SLOTS] = request;
  lane->tx_unread++;
  lane->graph->nunread++;
  post(lane, slot, request, method);
  return true;
}

/* Makes sure that the lane has cells large enough, asking the other end for larger ones if need be. */
static bool have_cells(sfc_lane_t *lane, const sf_request_t *request, size_t payload_bytes)
{
  size_t wanted = sfc_method_cell_bytes(payload_bytes);
  if (lane->tx.cell_bytes >= wanted)
    return true;
  if (!lane->tx_grow_asked) {
    sfshm_slot_t *slot = claim(lane);
    if (slot == NULL)
      return false;
    sfshm_grow_t grow = {wanted};
    memcpy(slot->payload, &grow, sizeof grow);
    post(lane, slot, request, SFSHM_METHOD_GROW);
    lane->tx_grow_asked = true;
  }
  if (!sfshm_lane_has_grant(&lane->tx))
    return false;
  void *base;
  size_t length;
  const sfshm_lane_control_t *control = lane->tx.control;
  size_t need = SFSHM_LANE_SLOTS * wanted;
  sf_status_t status = sfc_peer_segment(&lane->graph->context->peers, lane->peer, control->segment, &base, &length);
  if (status == SF_OK && (control->cell_bytes != wanted || control->offset > length || length - control->offset < need))
    status = sfshm_error(SF_ERR_PROTO, "rank %d granted cells outside of its memory", lane->rank);
  if (status != SF_OK) {
    sfc_graph_fail_everywhere(lane->graph, status, sfshm_error_detail());
    return false;
  }
  sfshm_lane_take_grant(&lane->tx, (char *)base + control->offset);
  lane->tx_grow_asked = false;
  return true;
}

/* Packs the piece at the cursor into a cell and moves the cursor on. */
static size_t pack_piece(sfc_lane_t *lane, const sf_request_t *request, const sfc_outgoing_t *out, uint8_t *cell)
{
  sfc_cursor_t *cursor = &lane->tx_cursor;
  size_t unit_bytes = request->combine.unit_bytes, cell_bytes = lane->tx.cell_bytes;
  if (unit_bytes <= cell_bytes) {
    int64_t n = out->n - cursor->value;
    if ((uint64_t)n > cell_bytes / unit_bytes)
      n = (int64_t)(cell_bytes / unit_bytes);
    request->move->pack(request->combine.unit, out->pattern, cursor->value, n, request->source, cell);
    cursor->value += n;
    return (size_t)n * unit_bytes;
  }
  size_t bytes = unit_bytes - cursor->bytes < cell_bytes ? unit_bytes - cursor->bytes : cell_bytes;
  int64_t vertex = sfshm_pattern_at(out->pattern, cursor->value);
  memcpy(cell, request->source + (size_t)vertex * unit_bytes + cursor->bytes, bytes);
  cursor->bytes += bytes;
  if (cursor->bytes == unit_bytes)
    *cursor = (sfc_cursor_t){cursor->value + 1, 0};
  return bytes;
}

static bool send_pieces(sfc_lane_t *lane, sf_request_t *request, const sfc_outgoing_t *out, size_t bytes)
{
  if (!have_cells(lane, request, bytes))
    return false;
  while (lane->tx_cursor.value < out->n) {
    sfshm_slot_t *slot = claim(lane);
    if (slot == NULL)
      return false;
    size_t piece_bytes = pack_piece(lane, request, out, sfshm_lane_tx_cell(&lane->tx));
    post(lane, slot, request, SFSHM_METHOD_CELL);
    sfshm_count(&lane->graph->counts->bytes_slots, piece_bytes);
  }
  request->sends_left--;
  return true;
}

bool sfc_lane_send(sfc_lane_t *lane, sf_request_t *request)
{
  if (lane->trunk != NULL)
    return sfc_trunk_send(lane, request);
  sfc_outgoing_t out = outgoing(lane, request->operation);
  size_t bytes = (size_t)out.n * request->combine.unit_bytes;
  if (bytes <= SFSHM_INLINE_BYTES)
    return send_inline(lane, request, &out, bytes);
  /* A request that has begun in pieces goes on in pieces: the choice is the same each time, as nothing that it depends
   * on changes while the request is in flight. */
  sfshm_method_t method =
      sfc_method_choose(&lane->graph->context->board->costs, lane, &request->source_ref, out.pattern, out.runs, bytes);
  return method == SFSHM_METHOD_CELL ? send_pieces(lane, request, &out, bytes)
                                     : send_reference(lane, request, method, bytes);
}

bool sfc_lane_check_read(sfc_lane_t *lane)
{
  bool moved = false;
  uint64_t oldest = lane->tx.posted < SFSHM_LANE_SLOTS ? 0 : lane->tx.posted - SFSHM_LANE_SLOTS;
  for (uint64_t message = oldest; message < lane->tx.posted && lane->tx_unread > 0; message++) {
    sf_request_t **entry = &lane->awaiting[message % SFSHM_LANE_SLOTS];
    if (*entry == NULL)
      continue;
    if (!sfshm_lane_is_consumed(&lane->tx, message + 1))
      break;
    settle(lane, entry);
    moved = true;
  }
  return moved;
}

void sfc_graph_fail_everywhere(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfc_graph_fail(graph, status, detail);
  fail.graph = graph->number;
  fail.detail = graph->failure_detail;
  fail.has_status = true;
  fail.status = status;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_FAIL;
  message.graph_fail = &fail;
  (void)sfc_control_tell(&graph->context->control, &message, NULL, 0); /* the failure itself is what counts */
}

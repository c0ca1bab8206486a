/* Sends over lanes: see lane_send.h. */
#include "client/engine/lane_send.h"

#include <string.h>

#include "client/core.h"
#include "client/engine/device_staging.h"
#include "client/engine/eager.h"
#include "client/engine/lane_pack.h"
#include "client/engine/protocol.h"
#include "client/engine/thread.h"
#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"
#include "shm/kernels/kernels_dense.h"

/* Chooses the values to pack: staged from the device for all lanes, or of all fields as one. */
static void take_packed(const sfc_lane_t *lane, sf_request_t *request, sfshm_pattern_t *consecutive,
                        sfc_outgoing_t *out)
{
  if (!out->of_device) {
    sfc_outgoing_flatten(lane, request, out);
    return;
  }
  const sfc_field_t *staged = sfc_staging_find(lane, request);
  if (staged == NULL)
    return;
  *consecutive = sfshm_pattern_contiguous(0, out->n);
  out->pattern = consecutive;
  out->fields = staged;
  out->of_device = false;
}

static bool send_inline(sfc_lane_t *lane, sf_request_t *request, const sfc_outgoing_t *out, size_t bytes)
{
  sfshm_slot_t *slot = sfc_lane_claim(lane);
  if (slot == NULL)
    return false;
  sfc_outgoing_pack(out, slot->payload);
  sfc_lane_post(lane, slot, request, SFSHM_METHOD_INLINE, bytes);
  sfshm_count(&lane->counts->bytes_inline, bytes);
  request->sends_left--;
  return true;
}

/* Where the field's source is, as the method says it. Returns the number of bytes. */
static size_t write_reference(const sfc_field_t *field, sfshm_method_t method, uint8_t *to)
{
  const sfc_memory_ref_t *ref = &field->source_ref;
  if (method == SFSHM_METHOD_DEVICE) {
    sfshm_device_data_t where = {ref->segment, ref->offset};
    memcpy(to, &where, sizeof where);
    return sizeof where;
  }
  if (method == SFSHM_METHOD_IN_PLACE) {
    sfshm_in_place_t where = {ref->segment, ref->offset};
    memcpy(to, &where, sizeof where);
    return sizeof where;
  }
  sfshm_vm_read_t where = {(uint64_t)(uintptr_t)field->source};
  memcpy(to, &where, sizeof where);
  return sizeof where;
}

/* Sends a reference to the data; the request ends when the peer has read them. */
static bool send_references(sfc_lane_t *lane, sf_request_t *request, sfshm_method_t method, size_t bytes)
{
  size_t list_bytes = (size_t)request->nfields * sfshm_reference_bytes(method);
  sfshm_slot_t *slot = sfc_lane_claim(lane);
  if (slot == NULL)
    return false;
  uint8_t *to = list_bytes > SFSHM_INLINE_BYTES ? sfshm_lane_tx_piece(&lane->tx, list_bytes) : slot->payload;
  for (int32_t k = 0; k < request->nfields; k++)
    to += write_reference(&request->fields[k], method, to);
  sfshm_count(method == SFSHM_METHOD_VM_READ ? &lane->counts->bytes_vm_read : &lane->counts->bytes_in_place, bytes);
  sfc_lane_expect_read(lane, request);
  sfc_lane_post(lane, slot, request, method, bytes);
  if (sfc_offload_sends(request, bytes))
    sfc_offload_source(lane, request);
  return true;
}

/* Whether the peer has said if it can open this rank's devices; asks at first use. */
static bool have_answer(sfc_lane_t *lane, sf_request_t *request)
{
  if (!lane->tx_devices_asked) {
    sfshm_slot_t *slot = sfc_lane_claim(lane);
    if (slot == NULL)
      return false;
    sfshm_device_data_t where = {request->first.source_ref.segment, 0};
    memcpy(slot->payload, &where, sizeof where);
    sfc_lane_post(lane, slot, request, SFSHM_METHOD_ASK, 0);
    lane->tx_devices_asked = true;
  }
  return sfshm_lane_devices(&lane->tx) != SFSHM_DEVICES_UNKNOWN;
}

/* Whether pieces of the request have been sent. */
static bool has_begun(const sfc_lane_t *lane)
{
  return lane->tx_cursor.field != 0 || lane->tx_cursor.value != 0 || lane->tx_cursor.bytes != 0;
}

/* Size of the cells that the lane lacks for the payload; 0: none. A requested size is lacking until granted. Cells do
 * not change within an operation, because the pieces sent depend on them. */
static size_t lacking_cells(const sfc_lane_t *lane, size_t payload_bytes)
{
  if (lane->tx_cells_asked != 0)
    return lane->tx_cells_asked;
  if (payload_bytes <= lane->tx.cell_bytes && payload_bytes < SFSHM_PIECE_MOVES_FROM)
    return 0; /* fast exit for small messages */
  if (has_begun(lane))
    return 0;
  size_t wanted =
      sfc_protocol_cell_bytes(payload_bytes, lane->tx.posted, sfc_lanes_nlocal(lane->graph), lane->tx_nontemporal);
  return lane->tx_cells_tried >= wanted ? 0 : wanted;
}

bool sfc_lane_have_cells(sfc_lane_t *lane, sf_request_t *request, size_t payload_bytes)
{
  size_t wanted = lacking_cells(lane, payload_bytes);
  if (wanted == 0)
    return true;
  if (lane->tx_cells_asked == 0) {
    sfshm_slot_t *slot = sfc_lane_claim(lane);
    if (slot == NULL)
      return false;
    sfshm_grow_t grow = {wanted};
    memcpy(slot->payload, &grow, sizeof grow);
    sfc_lane_post(lane, slot, request, SFSHM_METHOD_GROW, 0);
    lane->tx_cells_asked = wanted;
  }
  if (!sfshm_lane_has_grant(&lane->tx))
    return false;
  void *base;
  size_t length;
  const sfshm_lane_control_t *control = lane->tx.control;
  size_t granted = (size_t)control->cell_bytes, need = SFSHM_LANE_SLOTS * granted;
  sf_status_t status = sfc_peer_segment(&lane->graph->context->peers, lane->peer, control->segment, &base, &length);
  if (status == SF_OK && (!sfc_protocol_has_cells_of(granted) || granted > wanted || control->offset > length ||
                          length - control->offset < need))
    status = sfshm_error(SF_ERR_PROTO, "rank %d granted cells outside of its memory", lane->rank);
  if (status != SF_OK) {
    sfc_graph_fail_everywhere(lane->graph, status, sfshm_error_detail());
    return false;
  }
  sfshm_lane_take_grant(&lane->tx, (char *)base + control->offset);
  lane->tx_cells_asked = 0;
  lane->tx_cells_tried = wanted;
  if (lane->eager != NULL)
    sfc_eager_settle(lane); /* these cells usually freed them */
  return true;
}

static bool send_pieces(sfc_lane_t *lane, sf_request_t *request, const sfc_outgoing_t *out, size_t bytes)
{
  if (!sfc_lane_have_cells(lane, request, bytes))
    return false;
  /* A reader that keeps up would never end this loop, and received data would wait. */
  uint32_t most = lane->tx_stalled ? SFSHM_LANE_SLOTS / 2 : SFSHM_LANE_SLOTS;
  for (uint32_t pieces = 0; lane->tx_cursor.field < out->nfields; pieces++) {
    sfshm_slot_t *slot = pieces < most ? sfc_lane_claim(lane) : NULL;
    if (slot == NULL)
      return false;
    size_t piece_bytes = sfc_lane_pack_piece(lane, out);
    sfc_lane_post(lane, slot, request, SFSHM_METHOD_CELL, piece_bytes);
    sfshm_count(&lane->counts->bytes_slots, piece_bytes);
  }
  request->sends_left--;
  return true;
}

/* Cheapest method for a payload of all fields. Devices are read one field at a time: then several fields are packed. */
static sfshm_method_t choose_method(const sfc_lane_t *lane, const sf_request_t *request, const sfc_outgoing_t *out,
                                    size_t bytes)
{
  sfc_memory_ref_t several = {.class = request->source_class};
  return sfc_protocol_choose(&lane->graph->context->board->costs, lane,
                             request->nfields == 1 ? &request->first.source_ref : &several, out->pattern,
                             out->runs * request->nfields, bytes);
}

bool sfc_lane_send_shared(sfc_lane_t *lane, sf_request_t *request)
{
  if (request->payload != NULL)
    return request->payload->send(lane, request);
  sfshm_pattern_t consecutive;
  sfc_outgoing_t out = sfc_lane_find_outgoing(lane, request);
  size_t bytes = (size_t)out.n * request->value_bytes;
  if (bytes <= SFSHM_INLINE_BYTES) {
    take_packed(lane, request, &consecutive, &out);
    return send_inline(lane, request, &out, bytes);
  }
  const sfshm_costs_t *costs = &lane->graph->context->board->costs;
  sfshm_method_t method = SFSHM_METHOD_CELL; /* a request sent in pieces continues in pieces */
  if (!has_begun(lane))
    method = sfc_offload_sends(request, bytes) && sfc_protocol_suits_worker(costs, out.runs, bytes)
                 ? SFSHM_METHOD_IN_PLACE
                 : choose_method(lane, request, &out, bytes);
  if (method == SFSHM_METHOD_DEVICE) {
    if (!have_answer(lane, request))
      return false;
    if (sfshm_lane_devices(&lane->tx) == SFSHM_DEVICES_CLOSED)
      method = SFSHM_METHOD_CELL;
  }
  size_t list_bytes = (size_t)request->nfields * sfshm_reference_bytes(method);
  if (method != SFSHM_METHOD_CELL && list_bytes > SFSHM_INLINE_BYTES && !sfc_lane_have_cells(lane, request, list_bytes))
    return false;
  /* The other end may grant smaller cells than it was asked for. */
  if (method != SFSHM_METHOD_CELL && (list_bytes <= SFSHM_INLINE_BYTES || list_bytes <= lane->tx.cell_bytes))
    return send_references(lane, request, method, bytes);
  take_packed(lane, request, &consecutive, &out);
  return send_pieces(lane, request, &out, bytes);
}

bool sfc_lane_reads_devices(const sfc_lane_t *lane, const sf_request_t *request)
{
  sfc_outgoing_t out = sfc_lane_find_outgoing(lane, request);
  size_t bytes = (size_t)out.n * request->value_bytes;
  return lane->trunk == NULL && bytes > SFSHM_INLINE_BYTES && sfshm_lane_devices(&lane->tx) != SFSHM_DEVICES_CLOSED &&
         choose_method(lane, request, &out, bytes) == SFSHM_METHOD_DEVICE;
}

/* The pattern's values, if they are consecutive and few. */
static sfc_fast_path_t find_fast_path(sfc_lane_t *lane, const sf_request_t *request, const sfshm_pattern_t *pattern,
                                      int64_t n, const char *buffer)
{
  size_t unit_bytes = (request->nfields > 1 ? &request->flat->field : &request->first)->combine.unit_bytes;
  if (lane->trunk != NULL || request->devices != NULL || pattern->kind != SFSHM_PATTERN_CONTIGUOUS || n <= 0 ||
      (size_t)n > SFC_FAST_PATH_BYTES_MAX / unit_bytes)
    return (sfc_fast_path_t){0};
  char *values = (char *)(uintptr_t)buffer + (size_t)pattern->start * unit_bytes;
  return (sfc_fast_path_t){lane, values, (size_t)n * unit_bytes};
}

void sfc_fast_path_find(sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  sfshm_operation_t operation = request->operation;
  if (request->nfields > 1 && request->flat == NULL)
    return;
  if (graph->routes.nsenders[operation] == 1) {
    sfc_lane_t *lane = graph->routes.senders[operation][0];
    sfc_outgoing_t out = sfc_lane_find_outgoing(lane, request);
    sfc_outgoing_flatten(lane, request, &out);
    if (out.nfields == 1)
      request->send = find_fast_path(lane, request, out.pattern, out.n, out.fields->source);
  }
  if (graph->routes.nreceivers[operation] == 1 && request->replaces && !request->ordered) {
    sfc_lane_t *lane = graph->routes.receivers[operation][0];
    const sfc_link_t *flat = sfc_flat_link(request, lane, false);
    const sfc_link_t *link = flat != NULL ? flat : sfc_lane_incoming(lane, operation);
    const sfc_field_t *field = flat != NULL ? &request->flat->field : &request->first;
    if (link->extra_value.n == 0 && (flat != NULL || request->nfields == 1))
      request->receive = find_fast_path(lane, request, operation == SFSHM_BCAST ? &link->leaf : &link->value_root,
                                        link->nedges, field->target);
  }
}

bool sfc_fast_path_send_cell(sf_request_t *request, sfc_thread_t *thread)
{
  const sfc_fast_path_t *send = &request->send;
  sfc_lane_t *lane = send->lane;
  if (lane->tx_stalled || lane->tx_cells_asked != 0 || send->bytes > lane->tx.cell_bytes)
    return false;
  sfshm_slot_t *slot = sfc_lane_claim(lane);
  if (slot == NULL)
    return false;
  sfc_lane_write(lane, sfshm_lane_tx_piece(&lane->tx, send->bytes), send->values, send->bytes);
  sfshm_lane_post(&lane->tx, &lane->rx, slot, sfshm_desc_with_method(request->match, SFSHM_METHOD_CELL));
  sfc_thread_note(thread, lane->peer->wake);
  sfshm_count(&lane->counts->messages_sent, 1);
  sfshm_count(&lane->counts->bytes_slots, send->bytes);
  request->sends_left = 0;
  return true;
}

bool sfc_fast_path_take_cell(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  const sf_request_t *request = lane->rx_request;
  const sfc_fast_path_t *receive = &request->receive;
  if (slot->desc != sfshm_desc_with_method(request->match, SFSHM_METHOD_CELL) || receive->bytes > lane->rx.cell_bytes)
    return false;
  if (!sfc_lane_is_nontemporal(lane, receive->bytes))
    sfshm_lane_fetch_next_piece(&lane->tx, receive->bytes);
  sfshm_dense_copy(receive->values, (const char *)sfshm_lane_rx_piece(&lane->rx, receive->bytes), receive->bytes);
  return true;
}

bool sfc_lane_check_read(sfc_lane_t *lane)
{
  bool moved = false;
  uint64_t oldest = lane->tx.posted < SFC_LANE_AWAITING ? 0 : lane->tx.posted - SFC_LANE_AWAITING;
  for (uint64_t message = oldest; message < lane->tx.posted && lane->tx_unread > 0; message++) {
    sf_request_t **entry = &lane->awaiting[message % SFC_LANE_AWAITING];
    if (*entry == NULL)
      continue;
    bool consumed = sfshm_lane_is_consumed(&lane->tx, message + 1);
    if (!consumed && lane->offers == NULL)
      break;
    if (!consumed && !sfc_offload_source_done(lane, message))
      continue; /* later entries may be done */
    sfc_lane_settle(lane, entry);
    moved = true;
  }
  return moved;
}

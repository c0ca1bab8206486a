/* Operations over trunks: see trunk.h. The thread that uses the graph. */
#include "client/engine/trunk.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/engine/device_staging.h"
#include "client/engine/lane_ops.h"
#include "client/engine/mismatch.h"
#include "client/engine/op_trace.h"
#include "client/engine/request.h"
#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static sf_status_t add_exchange(sf_graph_t *graph, uint64_t class_bytes, int64_t side, sfc_exchange_t **exchange_p)
{
  sfc_trunks_t *trunks = graph->trunks;
  uint32_t nsides = trunks->map->nsides;
  uint64_t length;
  sfc_exchange_t *exchange = calloc(1, sizeof *exchange + nsides * sizeof exchange->slots[0]);
  if (exchange == NULL)
    return sfshm_error(SF_ERR_NOMEM, "exchange of %u sides", nsides);
  exchange->class_bytes = class_bytes;
  exchange->side = side;
  sf_status_t status = sfshm_exchange_layout(trunks->map->sides, nsides, side, class_bytes, SFC_EXCHANGE_MAX_BYTES,
                                             exchange->slots, &length);
  if (status == SF_OK)
    status = sfc_trunk_exchange_map(graph, class_bytes, side, &exchange->region);
  if (status == SF_OK && exchange->region.length_bytes < length) {
    status = sfshm_error(SF_ERR_PROTO, "exchange of %zu bytes, %llu expected", exchange->region.length_bytes,
                         (unsigned long long)length);
    sfshm_region_destroy(&exchange->region);
  }
  if (status != SF_OK) {
    free(exchange);
    return status;
  }
  exchange->next = trunks->exchanges;
  trunks->exchanges = exchange;
  *exchange_p = exchange;
  return SF_OK;
}

static sf_status_t find_exchange(sf_graph_t *graph, size_t unit_bytes, int64_t side, sfc_exchange_t **exchange_p)
{
  uint64_t class_bytes = sfshm_exchange_class(unit_bytes);
  sfc_exchange_t *exchange = graph->trunks->exchanges;
  while (exchange != NULL && (exchange->class_bytes != class_bytes || exchange->side != side))
    exchange = exchange->next;
  *exchange_p = exchange;
  if (exchange != NULL)
    return SF_OK;
  return class_bytes != 0 ? add_exchange(graph, class_bytes, side, exchange_p)
                          : sfshm_error(SF_ERR_LIMIT, "unit of %zu bytes", unit_bytes);
}

sf_status_t sfc_trunks_exchange(sf_graph_t *graph, size_t unit_bytes, sfc_exchange_t **exchange_p)
{
  return find_exchange(graph, unit_bytes, SFSHM_ALL_SIDES, exchange_p);
}

sf_status_t sfc_trunks_exchange_of_blocks(sf_graph_t *graph, size_t unit_bytes, const sfc_trunk_side_t *side,
                                          sfc_exchange_t **exchange_p)
{
  sfc_trunks_t *trunks = graph->trunks;
  if (trunks->own_class == 0)
    trunks->own_class = sfshm_own_class(trunks->map->sides, trunks->map->nsides);
  bool shared = sfshm_exchange_class(unit_bytes) < trunks->own_class;
  return find_exchange(graph, unit_bytes, shared ? SFSHM_ALL_SIDES : (int64_t)side->number, exchange_p);
}

/* The exchange for the request's units; NULL: the graph has failed. */
static const sfc_exchange_t *need_exchange(const sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  size_t unit_bytes = request->value_bytes;
  sfc_exchange_t *exchange;
  sf_status_t status = sfc_trunks_exchange(graph, unit_bytes, &exchange);
  if (status == SF_OK)
    return exchange;
  sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
  return NULL;
}

static char *send_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side, uint64_t message)
{
  return (char *)exchange->region.base + sfc_trunk_send_slot(exchange, side, message);
}

static const char *receive_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side, uint64_t message)
{
  return (const char *)exchange->region.base + sfc_trunk_receive_slot(exchange, side, message);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* A message has a section for each field. While the members write a reduce's message, sections hold the staging units
 * as well. */
static size_t section_sent(const sfc_trunk_side_t *side, const sf_request_t *request, const sfc_field_t *field)
{
  int64_t units = request->operation == SFSHM_BCAST ? side->told->send_values : side->told->send_units;
  return (size_t)units * field->before_bytes;
}

/* Moves the sections of a complete message together: staging units are not sent. */
static void close_gaps(const sfc_trunk_side_t *side, const sf_request_t *request, char *slot)
{
  size_t values = (size_t)side->told->send_values;
  for (int32_t k = 1; k < request->nfields && side->told->send_units > side->told->send_values; k++) {
    const sfc_field_t *field = &request->fields[k];
    memmove(slot + values * field->before_bytes, slot + section_sent(side, request, field),
            values * field->combine.unit_bytes);
  }
}

/* Starts values that will be combined in the slot before they reach roots. */
static void start_values(const sfc_trunk_t *trunk, const sfc_field_t *field, char *section)
{
  if (!trunk->uncombined && (trunk->extra_leaf.n > 0 || trunk->leaf_image.header.nlayers > 0))
    sfshm_kernels_start(field->combine.unit, field->op, &trunk->to, trunk->nvalues, section);
}

/* Kernels that reach a field's source and a slot of the host: one that moves, and one that combines with the op. They
 * are the host's, unless the source is on a device. Where the target is does not matter. */
typedef struct kernels {
  const sfshm_kernels_t *move;
  const sfshm_kernels_t *combine;
} kernels_t;

static kernels_t packing_kernels(const sfc_field_t *field)
{
  sfshm_unit_t unit = field->combine.unit;
  if (field->devices == NULL || field->source_ref.class == SFC_MEMORY_DEVICE)
    return (kernels_t){field->move, field->combine.kernels};
  return (kernels_t){sfshm_kernels_find(unit, SFSHM_OP_REPLACE), sfshm_kernels_find(unit, field->op)};
}

/* Writes the first contribution of each value and combines further ones of this rank with it, by ascending leaf. */
static void pack_contributions(const sfc_trunk_t *trunk, const sfc_field_t *field, char *section)
{
  sfshm_unit_t unit = field->combine.unit;
  kernels_t kernels = packing_kernels(field);
  kernels.move->scatter(unit, &trunk->leaf, 0, field->source, &trunk->to, section, 0, trunk->nvalues);
  start_values(trunk, field, section);
  if (trunk->extra_leaf.n > 0)
    (trunk->uncombined ? kernels.move : kernels.combine)
        ->scatter(unit, &trunk->extra_leaf, 0, field->source, &trunk->extra_to, section, 0, trunk->extra_leaf.n);
}

/* Writes this rank's part of the field's section of the request's message. */
static void pack(const sfc_trunk_t *trunk, const sf_request_t *request, const sfc_field_t *field, char *section)
{
  const sfc_combine_t *combine = &field->combine;
  if (request->operation == SFSHM_BCAST)
    packing_kernels(field).move->pack(combine->unit, &trunk->root, 0, trunk->root.n, field->source,
                                      section + (size_t)trunk->first * combine->unit_bytes);
  else
    pack_contributions(trunk, field, section);
}

/* The same of a field that has been brought from a device. */
static void pack_staged(const sfc_trunk_t *trunk, const sf_request_t *request, const sfc_field_t *staged, char *section)
{
  sfshm_unit_t unit = staged->combine.unit;
  size_t unit_bytes = staged->combine.unit_bytes;
  const sfshm_kernels_t *combine = trunk->uncombined ? staged->move : sfshm_kernels_find(unit, staged->op);
  if (request->operation == SFSHM_BCAST) {
    memcpy(section + (size_t)trunk->first * unit_bytes, staged->source, (size_t)trunk->root.n * unit_bytes);
    return;
  }
  staged->move->unpack(unit, &trunk->to, 0, trunk->nvalues, staged->source, section);
  start_values(trunk, staged, section);
  if (trunk->extra_leaf.n > 0)
    combine->unpack(unit, &trunk->extra_to, 0, trunk->extra_leaf.n,
                    staged->source + (size_t)trunk->nvalues * unit_bytes, section);
}

/* The layers were checked when the map was opened; they are ordered by contributing rank. */
sf_status_t sfc_trunk_combine(const sfc_trunk_t *trunk, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                              char *section)
{
  size_t unit_bytes = sfshm_unit_size(unit);
  for (uint32_t k = 0; k < trunk->leaf_image.header.nlayers; k++) {
    sfshm_pattern_t positions;
    int64_t first;
    sf_status_t status = sfshm_leaf_layer_open(&trunk->leaf_image, k, &positions, &first);
    if (status != SF_OK)
      return status;
    const char *units = section + (size_t)(trunk->leaf_image.header.reduce_values + first) * unit_bytes;
    kernels->unpack(unit, &positions, 0, positions.n, units, section);
  }
  return SF_OK;
}

static sf_status_t combine_staged(const sfc_trunk_t *trunk, const sf_request_t *request, char *slot)
{
  sf_status_t status = SF_OK;
  for (int32_t k = 0; k < request->nfields && status == SF_OK; k++) {
    const sfc_field_t *field = &request->fields[k];
    status = sfc_trunk_combine(trunk, field->combine.unit, field->combine.kernels,
                               slot + section_sent(&trunk->as_leaf, request, field));
  }
  return status;
}

/* Counts this rank's share of a part as written. The last member submits the part, and completes the message if it goes
 * whole. */
static void post(sfc_lane_t *lane, const sf_request_t *request, char *slot, uint32_t part, uint32_t parts)
{
  sf_graph_t *graph = lane->graph;
  const sfc_trunk_side_t *side = sfc_trunk_sending(lane->trunk, request->operation);
  uint64_t message = side->sent + 1;
  if (!sfc_trunk_count_packed(side, message, part))
    return;
  if (request->operation == SFSHM_REDUCE && lane->trunk->leaf_image.header.nlayers > 0) {
    sf_status_t status = combine_staged(lane->trunk, request, slot);
    if (status != SF_OK) {
      sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
      return;
    }
    close_gaps(side, request, slot);
  }
  if (part + 1 == parts)
    sfc_trunk_count_sent(lane, side, request->value_bytes);
  sfc_trunk_submit(lane, request, side, request->value_bytes, sfshm_trunk_part_word(part, parts));
}

/* Writes this rank's share into the slot of the next message. */
static void fill_slot(sfc_lane_t *lane, sf_request_t *request, const sfc_trunk_side_t *side, char *slot)
{
  const sfc_field_t *staged = request->devices != NULL ? sfc_staging_find(lane, request) : NULL;
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    char *section = slot + section_sent(side, request, field);
    if (staged != NULL)
      pack_staged(lane->trunk, request, &staged[k], section);
    else
      pack(lane->trunk, request, field, section);
  }
}

static size_t sent_bytes(const sfc_trunk_t *trunk, const sf_request_t *request)
{
  int64_t n = request->operation == SFSHM_BCAST ? trunk->root.n
                                                : trunk->nvalues + (trunk->uncombined ? trunk->extra_leaf.n : 0);
  return (size_t)n * request->value_bytes;
}

static bool send_message(sfc_lane_t *lane, sf_request_t *request)
{
  if (request->payload != NULL)
    return request->payload->send_to_node(lane, request);
  sfc_trunk_t *trunk = lane->trunk;
  sfc_trunk_side_t *side = sfc_trunk_sending(trunk, request->operation);
  if (atomic_load_explicit(&side->flow->granted, memory_order_acquire) <
      sfc_trunk_send_needs(side, request->value_bytes, side->sent + 1))
    return false;
  const sfc_exchange_t *exchange = need_exchange(request);
  if (exchange == NULL)
    return false;
  char *slot = send_slot(exchange, side, side->sent + 1);
  uint32_t parts = sfc_trunk_parts_find(trunk, request, side);
  bool at_once = parts == 1 || request->devices != NULL;
  size_t bytes = sent_bytes(trunk, request);
  if (at_once)
    fill_slot(lane, request, side, slot);
  if (request->operation == SFSHM_REDUCE && !trunk->uncombined)
    sfshm_count(&lane->counts->bytes_saved, (uint64_t)trunk->extra_leaf.n * request->value_bytes);
  for (uint32_t part = 0; part < parts; part++) {
    if (!at_once)
      sfc_trunk_parts_pack(lane, request, slot, part, parts);
    post(lane, request, slot, part, parts);
  }
  side->sent++;
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_sent(request, lane, side->sent, bytes);
  request->sends_left--;
  sfshm_count(&lane->counts->messages_sent, 1);
  sfshm_count(&lane->counts->bytes_slots, bytes);
  return true;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

static bool has_arrived(const sfc_trunk_side_t *side)
{
  return atomic_load_explicit(&side->flow->arrived, memory_order_acquire) > side->received;
}

static bool has_message(sfc_lane_t *lane)
{
  const sf_request_t *request = lane->rx_request;
  const sfc_trunk_side_t *side = sfc_trunk_receiving(lane->trunk, request->operation);
  return has_arrived(side) || sfc_trunk_parts_arrived(lane, request, side) > lane->rx_cursor.value;
}

static size_t section_received(const sfc_trunk_side_t *side, const sfc_field_t *field)
{
  return (size_t)side->told->receive_values * field->before_bytes;
}

/* in_parts: values have been unpacked. */
static void unpack_to_leaves(const sfc_trunk_t *trunk, const sf_request_t *request, const char *slot, bool in_parts)
{
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    sfshm_unit_t unit = field->combine.unit;
    const sfshm_kernels_t *kernels = field->combine.kernels;
    const char *section = slot + section_received(&trunk->as_leaf, field);
    if (!in_parts)
      kernels->scatter(unit, &trunk->from, 0, section, &trunk->leaf, field->target, 0, trunk->nvalues);
    if (trunk->extra_leaf.n > 0)
      kernels->scatter(unit, &trunk->extra_from, 0, section, &trunk->extra_leaf, field->target, 0, trunk->extra_leaf.n);
  }
}

/* A turn of winners, behind the others, is for fields that are replaced only. */
static void unpack_turn(const sfc_trunk_t *trunk, int32_t number, const sf_request_t *request, const char *slot)
{
  const sfc_trunk_turn_t *turn = &trunk->turns[number];
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    if (number < trunk->nturns || field->op == SFSHM_OP_REPLACE)
      field->combine.kernels->scatter(field->combine.unit, &turn->position, 0,
                                      slot + section_received(&trunk->as_root, field), &turn->root, field->target, 0,
                                      turn->root.n);
  }
}

/* Combines the turns that have come; the cursor counts them. Returns whether all are done. */
static bool unpack_to_roots(sfc_lane_t *lane, sf_request_t *request, const char *slot)
{
  const sfc_trunk_t *trunk = lane->trunk;
  int32_t nturns = trunk->nturns + (request->replaces ? trunk->nwinners : 0);
  for (int32_t i = 0; !request->ordered && i < trunk->nturns; i++)
    unpack_turn(trunk, i, request, slot);
  if (!request->ordered)
    return true;
  while (lane->rx_cursor.value < nturns && sfc_request_is_turn(request, lane)) {
    unpack_turn(trunk, lane->graph->plan.turns[request->turn].number, request, slot);
    lane->rx_cursor.value++;
    sfc_request_end_turn(request);
  }
  return lane->rx_cursor.value == nturns;
}

/* This rank's part of a message that it has taken. */
static size_t received_bytes(const sfc_lane_t *lane, const sf_request_t *request)
{
  if (request->payload != NULL)
    return lane->rx_cursor.bytes;
  const sfc_link_t *link = sfc_lane_incoming(lane, request->operation);
  return (size_t)sfc_link_count(link, request->operation) * request->value_bytes;
}

static void count_received(sfc_lane_t *lane, const sf_request_t *request)
{
  sfshm_count(&lane->counts->messages_received, 1);
  sfshm_count(&lane->counts->bytes_received, received_bytes(lane, request));
  if (request->operation == SFSHM_BCAST)
    sfshm_count(&lane->counts->bytes_saved, (uint64_t)lane->trunk->extra_leaf.n * request->value_bytes);
}

/* Whether the daemon owes the sender credit, as the sender's next message may be a large one. Call this after the
 * request for credit was submitted. The barrier pairs with that of sfshm_ring_arm: either the loads see the message
 * that makes credit due, or the daemon, which counted that message before it slept, has looked at the ring since. */
static bool credit_is_due(const sfshm_flow_t *flow, uint64_t message)
{
  sfshm_publish_barrier();
  return sfshm_trunk_credit_is_due(atomic_load_explicit(&flow->arrived, memory_order_relaxed), message,
                                   atomic_load_explicit(&flow->returned, memory_order_relaxed),
                                   atomic_load_explicit(&flow->answered, memory_order_relaxed) != 0,
                                   SFSHM_TRUNK_LARGE_SLOTS);
}

/* Counts this rank's part as read; the last member tells the daemon, lazily unless the other node runs out of slots. */
static void consume(sfc_lane_t *lane, const sf_request_t *request, sfc_trunk_side_t *side)
{
  sf_graph_t *graph = lane->graph;
  uint64_t message = ++side->received;
  uint64_t unit_bytes = request->payload != NULL ? sfc_trunk_unit_bytes(side, message) : request->value_bytes;
  if (!sfc_trunk_count_consumed(side, message))
    return;
  sfshm_count(&lane->counts->node_messages_received, 1);
  sfshm_count(&lane->counts->node_values_received, (uint64_t)side->told->receive_values);
  sfshm_count(&lane->counts->node_bytes_received, (uint64_t)side->told->receive_values * unit_bytes);
  sfc_submit_ring_write_trunk(&graph->context->submit_ring, SFSHM_SUBMIT_CREDIT, graph->number, side->number, message,
                              0, 0, true);
  if (credit_is_due(side->flow, message))
    sfc_submit_ring_wake(&graph->context->submit_ring);
}

static sfc_taking_t take(sfc_lane_t *lane, sf_request_t *request, const sfc_trunk_side_t *side)
{
  uint64_t desc =
      atomic_load_explicit(&side->flow->descs[(side->received + 1) % SFSHM_TRUNK_SLOTS], memory_order_relaxed);
  if ((desc & SFSHM_DESC_MATCH_MASK) != request->match) {
    sfc_mismatch_fail(lane, request->match, request->sequence, desc & SFSHM_DESC_MATCH_MASK);
    return SFC_TAKING_FAILED;
  }
  if (request->payload != NULL)
    return request->payload->take_from_node(lane, request);
  if (request->ordered && !sfc_request_is_turn(request, lane))
    return SFC_TAKING_WAITS;
  const sfc_exchange_t *exchange = need_exchange(request);
  if (exchange == NULL)
    return SFC_TAKING_FAILED;
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_mark(request);
  const char *slot = receive_slot(exchange, side, side->received + 1);
  bool complete = has_arrived(side), in_parts = !complete || (!request->ordered && lane->rx_cursor.value > 0);
  if (in_parts)
    sfc_trunk_parts_unpack(lane, request, slot,
                           complete ? side->told->receive_values : sfc_trunk_parts_arrived(lane, request, side));
  if (!complete)
    return SFC_TAKING_PART;
  if (request->operation == SFSHM_BCAST)
    unpack_to_leaves(lane->trunk, request, slot, in_parts);
  else if (!in_parts && !unpack_to_roots(lane, request, slot))
    return SFC_TAKING_PART;
  return SFC_TAKING_DONE;
}

static bool receive_messages(sfc_lane_t *lane)
{
  bool moved = false;
  while (lane->rx_request != NULL && has_message(lane)) {
    sf_request_t *request = lane->rx_request;
    sfc_trunk_side_t *side = sfc_trunk_receiving(lane->trunk, request->operation);
    sfc_taking_t taking = take(lane, request, side);
    moved = moved || taking != SFC_TAKING_WAITS;
    if (taking != SFC_TAKING_DONE)
      break;
    count_received(lane, request);
    consume(lane, request, side);
    if (__builtin_expect(request->trace != 0, false))
      sfc_op_trace_unpacked(request, lane, side->received, received_bytes(lane, request));
    lane->rx_cursor = (sfc_cursor_t){0};
    sfc_lane_end_request(lane);
  }
  return moved;
}

const sfc_lane_ops_t sfc_trunk_lane_ops = {
    .send = send_message, .receive = receive_messages, .has_message = has_message};

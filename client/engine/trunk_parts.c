/* Submission of messages to other nodes, and messages in parts: see trunk.h. */
#include "client/engine/trunk.h"

#include <stdatomic.h>

#include "client/core.h"

void sfc_trunk_submit(sfc_lane_t *lane, const sf_request_t *request, const sfc_trunk_side_t *side, uint64_t unit_bytes,
                      uint32_t word)
{
  sf_graph_t *graph = lane->graph;
  const sfshm_ring_entry_t entry = {.kind = SFSHM_SUBMIT_SEND,
                                    .graph = graph->number,
                                    .message = side->sent + 1,
                                    .desc = request->match,
                                    .a = side->number,
                                    .b = word,
                                    .size = unit_bytes};
  sfc_submit_ring_write(&graph->context->submit_ring, &entry, false);
}

void sfc_trunk_count_sent(const sfc_lane_t *lane, const sfc_trunk_side_t *side, uint64_t unit_bytes)
{
  sfshm_count(&lane->counts->node_messages_sent, 1);
  sfshm_count(&lane->counts->node_values_sent, (uint64_t)side->told->send_values);
  sfshm_count(&lane->counts->node_bytes_sent, (uint64_t)side->told->send_values * unit_bytes);
}

/* What a rank sends or receives of a message, if it is consecutive there. */
typedef struct share {
  const sfshm_pattern_t *vertex; /* of each value */
  int64_t first;                 /* position in the message */
  int64_t n;
} share_t;

static bool is_contiguous(const sfshm_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS;
}

static bool find_sent(const sfc_trunk_t *trunk, const sf_request_t *request, share_t *share_p)
{
  if (request->operation == SFSHM_BCAST) {
    *share_p = (share_t){&trunk->root, trunk->first, trunk->root.n};
    return true;
  }
  *share_p = (share_t){&trunk->leaf, trunk->to.start, trunk->nvalues};
  return trunk->extra_leaf.n == 0 && is_contiguous(&trunk->to);
}

/* The values of a reduce that needs no order, from one rank of the other node, are consecutive as a rule. */
static bool find_received(const sfc_trunk_t *trunk, const sf_request_t *request, share_t *share_p)
{
  if (request->operation == SFSHM_BCAST) {
    *share_p = (share_t){&trunk->leaf, trunk->from.start, trunk->nvalues};
    return is_contiguous(&trunk->from);
  }
  if (request->ordered || trunk->nturns != 1)
    return false;
  const sfc_trunk_turn_t *turn = &trunk->turns[0];
  *share_p = (share_t){&turn->root, turn->position.start, turn->root.n};
  return is_contiguous(&turn->position);
}

/* Several members add up what they contribute before it travels, so only a single one sends a reduce in parts. */
uint32_t sfc_trunk_parts_find(const sfc_trunk_t *trunk, const sf_request_t *request, const sfc_trunk_side_t *side)
{
  share_t share;
  if (request->operation == SFSHM_REDUCE &&
      (side->told->nmembers > 1 || side->told->send_units > side->told->send_values || request->devices != NULL ||
       !find_sent(trunk, request, &share)))
    return 1;
  return sfshm_trunk_parts(side->told->send_values, request->value_bytes);
}

/* Parts divide the bytes of a message, in which the values of one field follow those of another. Returns how many of a
 * field's values are, or have begun, in the bytes of the first values of all fields; all: number of values of a field.
 */
static int64_t field_values(const sf_request_t *request, const sfc_field_t *field, int64_t all, int64_t values,
                            bool begun)
{
  int64_t unit_bytes = (int64_t)field->combine.unit_bytes;
  int64_t bytes = values * (int64_t)request->value_bytes - all * (int64_t)field->before_bytes;
  int64_t n = (bytes + (begun ? unit_bytes - 1 : 0)) / unit_bytes;
  return bytes <= 0 ? 0 : n < all ? n : all;
}

/* The share's values at positions from lo up to hi: *first_p is counted from the beginning of the share. */
static int64_t clip(const share_t *share, int64_t lo, int64_t hi, int64_t *first_p)
{
  int64_t end = share->first + share->n < hi ? share->first + share->n : hi;
  int64_t begin = share->first > lo ? share->first : lo;
  *first_p = begin - share->first;
  return end > begin ? end - begin : 0;
}

void sfc_trunk_parts_pack(sfc_lane_t *lane, const sf_request_t *request, char *slot, uint32_t part, uint32_t parts)
{
  int64_t values = sfc_trunk_sending(lane->trunk, request->operation)->told->send_values;
  int64_t from = sfshm_trunk_part_first(values, parts, part), until = sfshm_trunk_part_first(values, parts, part + 1);
  share_t share;
  (void)find_sent(lane->trunk, request, &share);
  for (int32_t k = 0; k < request->nfields; k++) {
    const sfc_field_t *field = &request->fields[k];
    int64_t first, n = clip(&share, field_values(request, field, values, from, true),
                            field_values(request, field, values, until, true), &first);
    char *section = slot + (size_t)values * field->before_bytes;
    if (n > 0)
      field->move->pack(field->combine.unit, share.vertex, first, n, field->source,
                        section + (size_t)(share.first + first) * field->combine.unit_bytes);
  }
}

int64_t sfc_trunk_parts_arrived(const sfc_lane_t *lane, const sf_request_t *request, const sfc_trunk_side_t *side)
{
  share_t share;
  uint64_t partial = atomic_load_explicit(&side->flow->partial, memory_order_acquire);
  uint32_t parts = partial >> 4 & 15, arrived = partial & 15;
  if (partial >> 8 != side->received + 1 || arrived >= parts || request->payload != NULL || request->devices != NULL ||
      !find_received(lane->trunk, request, &share))
    return 0;
  return sfshm_trunk_part_first(side->told->receive_values, parts, arrived);
}

void sfc_trunk_parts_unpack(sfc_lane_t *lane, const sf_request_t *request, const char *slot, int64_t until)
{
  int64_t values = sfc_trunk_receiving(lane->trunk, request->operation)->told->receive_values;
  share_t share;
  bool found = find_received(lane->trunk, request, &share);
  for (int32_t k = 0; k < request->nfields && found; k++) {
    const sfc_field_t *field = &request->fields[k];
    int64_t first, n = clip(&share, field_values(request, field, values, lane->rx_cursor.value, false),
                            field_values(request, field, values, until, false), &first);
    const char *section = slot + (size_t)values * field->before_bytes;
    if (n > 0)
      field->combine.kernels->unpack(field->combine.unit, share.vertex, first, n,
                                     section + (size_t)(share.first + first) * field->combine.unit_bytes,
                                     field->target);
  }
  lane->rx_cursor.value = until;
}

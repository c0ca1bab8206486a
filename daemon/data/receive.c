/* Trunk messages that arrive from other nodes. The daemon's thread. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/base.h"
#include "daemon/data/data.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"

sfd_trunk_side_t *sfd_trunks_find_side(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                       sfd_trunks_t **trunks_p)
{
  const sfd_job_t *job = sfd_job_find_id(server, head->job);
  const sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, head->object) : NULL;
  sfd_trunks_t *trunks = graph != NULL ? graph->trunks : NULL;
  if (trunks == NULL || graph->state == SFD_GRAPH_FAILED || trunks->letting_go)
    return NULL;
  uint32_t low = 0, high = trunks->nsides;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const sfshm_trunk_side_t *told = &trunks->sides[middle].told;
    if (told->node < node || (told->node == node && told->role < sfd_flags_role(head->flags)))
      low = middle + 1;
    else
      high = middle;
  }
  if (low == trunks->nsides || trunks->sides[low].told.node != node ||
      trunks->sides[low].told.role != sfd_flags_role(head->flags))
    return NULL;
  *trunks_p = trunks;
  return &trunks->sides[low];
}

/* Position of the first value of the part, or of the one behind it. */
static uint64_t first_of(const sfd_trunk_side_t *side, const sfd_message_head_t *head, uint32_t behind)
{
  uint32_t parts = sfd_flags_parts(head->flags), part = sfd_flags_part(head->flags) + behind;
  return (uint64_t)sfshm_trunk_part_first(side->told.receive_values, parts, part);
}

/* 0: not the size of any unit. */
static uint64_t unit_bytes_of(const sfd_trunk_side_t *side, const sfd_message_head_t *head)
{
  uint64_t values = first_of(side, head, 1) - first_of(side, head, 0);
  return values > 0 && head->payload_bytes % values == 0 ? head->payload_bytes / values : 0;
}

static sf_status_t check_data(const sfd_trunk_side_t *side, int32_t node, const sfd_message_head_t *head)
{
  uint64_t unit_bytes = unit_bytes_of(side, head), class_bytes = unit_bytes > 0 ? sfshm_exchange_class(unit_bytes) : 0;
  uint32_t parts = sfd_flags_parts(head->flags);
  if (sfd_flags_part(head->flags) != side->parts_arrived || side->parts_arrived >= parts || parts > SFSHM_TRUNK_PARTS ||
      (parts > 1 && class_bytes > 0 && parts != sfshm_trunk_parts(side->told.receive_values, unit_bytes)))
    return sfshm_error(SF_ERR_PROTO, "node %d sends part %u of %u of message %u of graph %" PRIu64 ", %u have arrived",
                       node, sfd_flags_part(head->flags), parts, head->number, head->object, side->parts_arrived);
  if ((uint32_t)(side->arrived + 1) != head->number ||
      side->arrived >= side->consumed + sfshm_trunk_slots(side->told.receive_values, class_bytes))
    return sfshm_error(SF_ERR_PROTO,
                       "node %d sends message %u of graph %" PRIu64 ", %" PRIu64 " have arrived and %" PRIu64
                       " been consumed",
                       node, head->number, head->object, side->arrived, side->consumed);
  if (class_bytes == 0)
    return sfshm_error(SF_ERR_PROTO, "node %d sends %" PRIu64 " bytes for %" PRId64 " units of graph %" PRIu64, node,
                       head->payload_bytes, side->told.receive_values, head->object);
  return SF_OK;
}

sfd_placing_t sfd_trunks_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  sfd_trunks_t *trunks;
  sfd_exchange_t *exchange;
  const sfd_trunk_side_t *side = sfd_trunks_find_side(server, node, head, &trunks);
  if (side == NULL) {
    SFD_CALL_LISTENERS(server->life->unknown_graph_named, server, node, head);
    return SFD_PLACE_NOWHERE;
  }
  if (check_data(side, node, head) != SF_OK)
    return SFD_PLACE_REFUSE;
  uint64_t unit_bytes = unit_bytes_of(side, head), message = side->arrived + 1;
  uint32_t number = (uint32_t)(side - trunks->sides);
  uint64_t class_bytes = sfshm_exchange_class(unit_bytes);
  sf_status_t status = (head->flags & SFD_FLAG_BLOCKS) != 0
                           ? sfd_trunks_exchange_of_blocks(trunks, class_bytes, number, &exchange)
                           : sfd_trunks_exchange(trunks, class_bytes, SFSHM_ALL_SIDES, &exchange);
  if (status != SF_OK) {
    sfd_trunks_fail(trunks, status, sfshm_error_detail());
    return SFD_PLACE_NOWHERE;
  }
  *buffer_p = (char *)exchange->region.base + sfshm_receive_slot(&exchange->slots[number], message) +
              first_of(side, head, 0) * unit_bytes;
  sfd_trunks_hold(trunks);
  server->data->arriving[node] = trunks;
  return SFD_PLACE_HERE;
}

static sfd_trunks_t *take_arriving(sfd_server_t *server, int32_t node)
{
  sfd_trunks_t *trunks = server->data->arriving[node];
  server->data->arriving[node] = NULL;
  return trunks;
}

sf_status_t sfd_trunks_data(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  sfd_trunks_t *held = take_arriving(server, node), *trunks;
  sfd_trunk_side_t *side = sfd_trunks_find_side(server, node, head, &trunks);
  if (side != NULL && trunks == held) {
    uint64_t message = side->arrived + 1;
    uint32_t parts = sfd_flags_parts(head->flags), arrived = ++side->parts_arrived;
    sfshm_flow_t *flow = side->flow;
    atomic_store_explicit(&flow->unit_bytes[message % SFSHM_TRUNK_SLOTS], unit_bytes_of(side, head),
                          memory_order_relaxed);
    atomic_store_explicit(&flow->descs[message % SFSHM_TRUNK_SLOTS], head->desc, memory_order_relaxed);
    if (arrived < parts) {
      atomic_store_explicit(&flow->partial, sfshm_trunk_partial(message, parts, arrived), memory_order_release);
    } else {
      if (sfd_event_ring != NULL)
        sfd_event_ring_add_message(SFSHM_TRACE_ARRIVE, node, head, message);
      side->parts_arrived = 0;
      side->arrived = message;
      side->slots = sfshm_trunk_slots(side->told.receive_values, sfshm_exchange_class(unit_bytes_of(side, head)));
      atomic_store_explicit(&flow->arrived, message, memory_order_release);
      sfd_trunk_side_return_due(trunks, side);
    }
    sfd_trunk_side_wake(trunks, side);
    SFD_CALL_LISTENERS(server->life->graph_named, trunks->graph);
  }
  sfd_trunks_release(held);
  return SF_OK;
}

void sfd_trunks_data_lost(sfd_server_t *server, int32_t node)
{
  sfd_trunks_release(take_arriving(server, node));
}

sf_status_t sfd_trunks_awaited(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  sfd_trunks_t *trunks;
  sfd_trunk_side_t *side = sfd_trunks_find_side(server, node, head, &trunks);
  if (side != NULL) {
    atomic_store_explicit(&side->flow->awaited, head->desc, memory_order_relaxed);
    sfd_trunk_side_wake(trunks, side);
    SFD_CALL_LISTENERS(server->life->graph_named, trunks->graph);
  } else if (sfshm_desc_method(head->desc) != SFSHM_DESC_OF_MULTI) {
    SFD_CALL_LISTENERS(server->life->unknown_graph_named, server, node, head);
  }
  return SF_OK;
}

/* 0: none. */
static uint64_t last_arrived(const sfd_trunk_side_t *side)
{
  return side->arrived > 0
             ? atomic_load_explicit(&side->flow->descs[side->arrived % SFSHM_TRUNK_SLOTS], memory_order_relaxed)
             : 0;
}

uint64_t sfd_trunks_named(const sfd_trunks_t *trunks, uint64_t operations, int32_t *node_p)
{
  for (uint32_t i = 0; trunks != NULL && i < trunks->nsides; i++) {
    const sfd_trunk_side_t *side = &trunks->sides[i];
    uint64_t awaited_desc = atomic_load_explicit(&side->flow->awaited, memory_order_relaxed), sent = last_arrived(side);
    *node_p = side->told.node;
    if (sent != 0 && sfshm_desc_is_later(sent, operations))
      return sent & SFSHM_DESC_MATCH_MASK;
    if (awaited_desc != 0 && sfshm_desc_method(awaited_desc) != SFSHM_DESC_OF_MULTI &&
        sfshm_desc_is_later(awaited_desc, operations))
      return awaited_desc & SFSHM_DESC_MATCH_MASK;
  }
  return 0;
}

bool sfd_trunks_has_arrived(const sfd_trunks_t *trunks, int32_t node, uint64_t desc)
{
  for (uint32_t i = 0; trunks != NULL && i < trunks->nsides; i++) {
    uint64_t last = trunks->sides[i].told.node == node ? last_arrived(&trunks->sides[i]) : 0;
    if (last != 0 && !sfshm_desc_is_later(desc, last))
      return true;
  }
  return false;
}

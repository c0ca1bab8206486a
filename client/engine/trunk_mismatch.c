/* Finding collective calls that do not match, between the ranks of a node and between nodes. Messages over trunks carry
 * descriptors, as those of lanes do; but a message is sent for all members of a side by the last of them, and a rank
 * that calls something else may keep it from ever being sent. So the ranks of a node also compare what they begin, on
 * the board; and who has waited for long asks the other node. The thread that uses the graph. */
#include <stdio.h>

#include "client/core/context.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/trunk.h"

static void fail_on_node(sf_graph_t *graph, uint64_t mine, uint64_t theirs)
{
  char other[64], detail[SFC_MATCH_TEXT_BYTES];
  sfshm_desc_text(theirs, other, sizeof other);
  sfc_match_describe(graph, mine & SFSHM_DESC_SEQUENCE_MASK, "", mine, "another rank of its node", other, detail,
                     sizeof detail);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

uint64_t sfc_trunks_compare_begun(const sfc_trunks_t *trunks, uint64_t mine)
{
  _Atomic uint64_t *entry = &trunks->board->history[mine % SFSHM_TRUNK_HISTORY];
  uint64_t there = atomic_load_explicit(entry, memory_order_relaxed);
  while (there != mine && (there == 0 || sfshm_desc_is_later(mine, there)))
    if (atomic_compare_exchange_weak_explicit(entry, &there, mine, memory_order_relaxed, memory_order_relaxed))
      return 0;
  return there != mine && ((there ^ mine) & SFSHM_DESC_SEQUENCE_MASK) == 0 ? there : 0;
}

void sfc_trunks_check_begun(sf_graph_t *graph, const sf_request_t *request)
{
  uint64_t there = sfc_trunks_compare_begun(graph->trunks, request->match);
  if (there != 0)
    fail_on_node(graph, request->match, there);
}

/* The descriptor is of the other node's call of an operation that was called differently here. */
static void compare(sfc_lane_t *lane, uint64_t desc)
{
  uint64_t sequence = sfc_graph_find_sequence(lane->graph, desc);
  uint64_t mine = sequence != 0 ? sfc_graph_called(lane->graph, sequence) : 0;
  if (mine != 0 && mine != desc)
    sfc_lane_fail_mismatch(lane, mine, sequence, desc);
}

uint64_t sfc_trunk_unexpected(const sfc_trunk_side_t *side)
{
  const sfshm_flow_t *flow = side->flow;
  if (atomic_load_explicit(&flow->arrived, memory_order_acquire) <= side->received)
    return 0;
  return atomic_load_explicit(&flow->descs[(side->received + 1) % SFSHM_TRUNK_SLOTS], memory_order_relaxed) &
         SFSHM_DESC_MATCH_MASK;
}

static void check_side(sfc_lane_t *lane, const sfc_trunk_side_t *side)
{
  if (!side->in_use)
    return;
  uint64_t unexpected = sfc_trunk_unexpected(side);
  if (unexpected != 0)
    compare(lane, unexpected);
  uint64_t awaited = atomic_load_explicit(&side->flow->awaited, memory_order_relaxed);
  if (sfc_awaited_is_of_multi(awaited))
    sfc_lane_check_multi(lane, awaited);
  else if (awaited != 0)
    compare(lane, awaited & SFSHM_DESC_MATCH_MASK);
}

void sfc_trunk_check_match(sfc_lane_t *lane)
{
  check_side(lane, &lane->trunk->as_root);
  check_side(lane, &lane->trunk->as_leaf);
}

/* Tells the other node's ranks that wait on the graph how far its multi-graph is here, once. */
static void tell_of_multi(const sfc_lane_t *lane)
{
  sfc_lane_t *told = sfc_lane_of_parent(lane);
  uint64_t awaited = told != NULL ? sfc_multi_awaited(lane->graph) : 0;
  if (told == NULL || told->rx_multi == awaited)
    return;
  const sfc_trunk_side_t *side = told->trunk->as_leaf.in_use ? &told->trunk->as_leaf : &told->trunk->as_root;
  told->rx_multi = awaited;
  sfc_submit(&lane->graph->context->submitter, SFSHM_SUBMIT_AWAIT, told->graph->number, side->number, 0, awaited, 0,
             false);
}

void sfc_trunks_ask(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_lane_t *lane = &graph->lanes[i];
    const sf_request_t *request = lane->rx_request;
    if (lane->trunk != NULL)
      tell_of_multi(lane);
    if (lane->trunk == NULL || request == NULL || lane->rx_awaited || sfc_trunk_has_message(lane))
      continue;
    const sfc_trunk_side_t *side = request->operation == SFSHM_BCAST ? &lane->trunk->as_leaf : &lane->trunk->as_root;
    lane->rx_awaited = true;
    sfc_submit(&graph->context->submitter, SFSHM_SUBMIT_AWAIT, graph->number, side->number, 0, request->match, 0,
               false);
  }
}

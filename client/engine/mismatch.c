/* Mismatch detection: see mismatch.h. */
#include "client/engine/mismatch.h"

#include <stdio.h>

#include "client/core.h"
#include "client/engine/eager.h"
#include "client/engine/lane_send.h"
#include "client/engine/thread.h"
#include "client/engine/trunk.h"
#include "client/graph.h"

/* ---- Calls of this rank ----------------------------------------------------------------------------------------- */

/* The latest operation begun here with the descriptor's number modulo 2^24; 0: not begun yet. */
static uint64_t find_sequence(const sf_graph_t *graph, uint64_t desc)
{
  uint64_t behind = (graph->flight.last_sequence - desc) & SFSHM_DESC_SEQUENCE_MASK;
  return behind <= SFSHM_DESC_SEQUENCE_MASK / 2 && behind < graph->flight.last_sequence
             ? graph->flight.last_sequence - behind
             : 0;
}

/* Descriptor of the operation; 0: not begun yet, or unknown. */
static uint64_t called_as(const sf_graph_t *graph, uint64_t sequence)
{
  const sf_request_t *request =
      sequence >= graph->flight.first_sequence ? graph->flight.table[sequence & graph->flight.table_mask] : NULL;
  uint64_t match = request != NULL ? request->match : graph->flight.history[sequence % SFC_HISTORY];
  return sequence > 0 && ((match ^ sequence) & SFSHM_DESC_SEQUENCE_MASK) == 0 ? match : 0;
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static void called_text(uint64_t mine, char text[], size_t text_bytes)
{
  if (mine != 0)
    sfshm_desc_text(mine, text, text_bytes);
  else
    snprintf(text, text_bytes, "something else");
}

void sfc_mismatch_describe(const sf_graph_t *graph, uint64_t operation, const char *how, uint64_t mine, const char *who,
                           const char *theirs, char detail[], size_t detail_bytes)
{
  char own[64], name[SFC_GRAPH_TEXT_BYTES];
  called_text(mine, own, sizeof own);
  sfc_graph_text(graph, name);
  snprintf(detail, detail_bytes, "%s, operation %llu%s: rank %d called %s, %s called %s", name,
           (unsigned long long)operation, how, graph->rank, own, who, theirs);
}

static void fail(sf_graph_t *graph, uint64_t operation, uint64_t mine, const char *who, const char *theirs)
{
  char detail[SFC_MISMATCH_TEXT_BYTES];
  sfc_mismatch_describe(graph, operation, "", mine, who, theirs, detail, sizeof detail);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

void sfc_mismatch_fail(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs)
{
  char own[64], other[64], who[32], name[SFC_GRAPH_TEXT_BYTES], detail[SFC_MISMATCH_TEXT_BYTES];
  sf_graph_t *graph = lane->graph;
  uint64_t own_number = sequence & SFSHM_DESC_SEQUENCE_MASK, other_number = theirs & SFSHM_DESC_SEQUENCE_MASK;
  sfshm_desc_text(theirs, other, sizeof other);
  snprintf(who, sizeof who, "%s %d", lane->trunk != NULL ? "node" : "rank", lane->rank);
  if (own_number == other_number) {
    fail(graph, own_number, mine, who, other);
    return;
  }
  called_text(mine, own, sizeof own);
  sfc_graph_text(graph, name);
  snprintf(detail, sizeof detail, "%s: rank %d waits for operation %llu, %s; %s sent for operation %llu, %s", name,
           graph->rank, (unsigned long long)own_number, own, who, (unsigned long long)other_number, other);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

/* Fails the graph if the operation was called differently here. An operation not begun here is compared later. */
static void compare(sfc_lane_t *lane, uint64_t desc)
{
  uint64_t theirs = desc & SFSHM_DESC_MATCH_MASK, sequence = find_sequence(lane->graph, theirs);
  uint64_t mine = called_as(lane->graph, sequence);
  if (mine != 0 && mine != theirs)
    sfc_mismatch_fail(lane, mine, sequence, theirs);
}

/* ---- Ranks of one node, on the board ----------------------------------------------------------------------------- */

uint64_t sfc_mismatch_compare_begun(const sfc_trunks_t *trunks, uint64_t mine)
{
  _Atomic uint64_t *entry = &trunks->board->history[mine % SFSHM_TRUNK_HISTORY];
  uint64_t there = atomic_load_explicit(entry, memory_order_relaxed);
  while (there != mine && (there == 0 || sfshm_desc_is_later(mine, there)))
    if (atomic_compare_exchange_weak_explicit(entry, &there, mine, memory_order_relaxed, memory_order_relaxed))
      return 0;
  return there != mine && ((there ^ mine) & SFSHM_DESC_SEQUENCE_MASK) == 0 ? there : 0;
}

void sfc_mismatch_check_begun(sf_graph_t *graph, uint64_t mine)
{
  char other[64];
  uint64_t there = sfc_mismatch_compare_begun(graph->trunks, mine);
  if (there == 0)
    return;
  sfshm_desc_text(there, other, sizeof other);
  fail(graph, mine & SFSHM_DESC_SEQUENCE_MASK, mine, "another rank of its node", other);
}

/* ---- Multi-graphs ------------------------------------------------------------------------------------------------ */

/* Operations of a multi-graph and of its graph wait for each other in vain if ranks call them in different order, and
 * neither graph sees both. Therefore a rank waiting on a multi-graph also announces on the graph's lanes how many
 * operations of each it has begun; a rank waiting on the graph compares these numbers with its own. */

/* Whether a is ahead of b; both count modulo mask + 1 and are close. */
static bool is_ahead(uint64_t a, uint64_t b, uint64_t mask)
{
  uint64_t by = (a - b) & mask;
  return by != 0 && by <= mask / 2;
}

static uint64_t multi_awaited(const sf_graph_t *multi)
{
  uint64_t last = multi->flight.last_sequence;
  return sfshm_desc_of_multi(multi->flight.history[last % SFC_HISTORY], last, multi->parent->flight.last_sequence);
}

/* The parent graph's lane to the same peer; NULL: none. */
static sfc_lane_t *lane_of_parent(const sfc_lane_t *lane)
{
  const sf_graph_t *graph = lane->graph, *parent = graph->parent;
  int64_t i = lane - graph->lanes;
  if (parent == NULL || i >= parent->nlanes || parent->lanes[i].rank != lane->rank ||
      (parent->lanes[i].trunk == NULL) != (lane->trunk == NULL))
    return NULL;
  return &parent->lanes[i];
}

/* Fails the graph if the peer has begun a multi-graph operation not begun here before a graph operation not begun
 * there. */
static void compare_multi(const sfc_lane_t *lane, uint64_t awaited)
{
  char who[48];
  sf_graph_t *graph = lane->graph;
  const sf_graph_t *multi = graph->multi;
  uint64_t on_multi = multi != NULL ? multi->flight.last_sequence : 0, theirs = awaited & SFSHM_DESC_SEQUENCE_MASK;
  if (!is_ahead(sfshm_desc_on_multi(awaited), on_multi, SFSHM_DESC_COUNT_MASK) ||
      !is_ahead(graph->flight.last_sequence, theirs, SFSHM_DESC_SEQUENCE_MASK))
    return;
  uint64_t behind = (graph->flight.last_sequence - theirs) & SFSHM_DESC_SEQUENCE_MASK;
  snprintf(who, sizeof who, "%s %d", lane->trunk != NULL ? "a rank of node" : "rank", lane->rank);
  fail(graph, theirs + 1, called_as(graph, graph->flight.last_sequence - behind + 1), who,
       sfshm_desc_operation(awaited));
}

/* ---- Awaited calls ---------------------------------------------------------------------------------------------- */

/* Announces to the peer, once. Returns whether it is new. */
static bool announce(sfc_lane_t *lane, uint64_t awaited)
{
  if (lane->rx_awaited == awaited)
    return false;
  lane->rx_awaited = awaited;
  if (lane->trunk == NULL) {
    sfshm_lane_await(&lane->rx, awaited);
    return true;
  }
  const sfc_trunk_side_t *side = sfc_trunk_receiving(lane->trunk, sfshm_desc_direction(awaited));
  if (!side->in_use) /* a multi-graph may wait for the peer's reading */
    side = side == &lane->trunk->as_leaf ? &lane->trunk->as_root : &lane->trunk->as_leaf;
  sfc_submit_ring_write_trunk(&lane->graph->context->submit_ring, SFSHM_SUBMIT_AWAIT, lane->graph->number, side->number,
                              0, awaited, 0, false);
  return true;
}

static void tell(sfc_lane_t *lane)
{
  sfc_lane_t *of_parent = lane_of_parent(lane);
  if (lane->rx_request != NULL)
    announce(lane, lane->rx_request->match);
  if (of_parent != NULL && of_parent->rx_request == NULL && announce(of_parent, multi_awaited(lane->graph)) &&
      of_parent->trunk == NULL)
    sfc_thread_note(lane->graph->user.thread, lane->peer->wake); /* the peer may have looked before */
}

void sfc_mismatch_ask_nodes(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].trunk != NULL)
      tell(&graph->lanes[i]);
}

/* ---- Calls of the peer ------------------------------------------------------------------------------------------ */

sfc_side_calls_t sfc_mismatch_side_calls(const sfc_trunk_side_t *side)
{
  const sfshm_flow_t *flow = side->flow;
  sfc_side_calls_t calls = {.awaited = atomic_load_explicit(&flow->awaited, memory_order_relaxed)};
  if (atomic_load_explicit(&flow->arrived, memory_order_acquire) > side->received)
    calls.sent = atomic_load_explicit(&flow->descs[(side->received + 1) % SFSHM_TRUNK_SLOTS], memory_order_relaxed);
  return calls;
}

void sfc_mismatch_check_message(sfc_lane_t *lane)
{
  const sf_request_t *request = lane->rx_request;
  const sfshm_slot_t *slot = sfc_lane_peek(lane);
  uint64_t desc = slot != NULL ? slot->desc & SFSHM_DESC_MATCH_MASK : 0;
  if (slot == NULL)
    return;
  if (request == NULL)
    compare(lane, desc);
  else if (desc != request->match)
    sfc_mismatch_fail(lane, request->match, request->sequence, desc);
}

static void check_awaited(sfc_lane_t *lane, uint64_t awaited)
{
  if (sfshm_desc_method(awaited) == SFSHM_DESC_OF_MULTI)
    compare_multi(lane, awaited);
  else if (awaited != 0)
    compare(lane, awaited);
}

static void check_side(sfc_lane_t *lane, const sfc_trunk_side_t *side)
{
  sfc_side_calls_t calls = side->in_use ? sfc_mismatch_side_calls(side) : (sfc_side_calls_t){0};
  if (calls.sent != 0)
    compare(lane, calls.sent);
  check_awaited(lane, calls.awaited);
}

void sfc_mismatch_check_lane(sfc_lane_t *lane)
{
  if (lane->trunk != NULL) {
    check_side(lane, &lane->trunk->as_root);
    check_side(lane, &lane->trunk->as_leaf);
    return;
  }
  sfc_mismatch_check_message(lane);
  tell(lane);
  check_awaited(lane, sfshm_lane_awaited(&lane->tx));
}

/* Calls that do not match: see mismatch.h. The thread that uses the graph. */
#include "client/engine/mismatch.h"

#include <stdio.h>

#include "client/compound/multigraph.h"
#include "client/engine/eager.h"
#include "client/engine/lane_send.h"
#include "client/engine/trunk.h"

/* How the operation was called here, as a descriptor; 0 if that is not known any more. */
uint64_t sfc_graph_called(const sf_graph_t *graph, uint64_t sequence)
{
  uint64_t match = graph->history[sequence % SFC_HISTORY];
  return sequence > 0 && ((match ^ sequence) & SFSHM_DESC_SEQUENCE_MASK) == 0 ? match : 0;
}

/* The latest operation begun here whose number ends like the descriptor's; 0 if that one is still to come. */
uint64_t sfc_graph_find_sequence(const sf_graph_t *graph, uint64_t desc)
{
  uint64_t behind = (graph->last_sequence - desc) & SFSHM_DESC_SEQUENCE_MASK;
  return behind <= SFSHM_DESC_SEQUENCE_MASK / 2 && behind < graph->last_sequence ? graph->last_sequence - behind : 0;
}

static void called_text(uint64_t mine, char text[], size_t text_bytes)
{
  if (mine != 0)
    sfshm_desc_text(mine, text, text_bytes);
  else
    snprintf(text, text_bytes, "something else");
}

void sfc_match_describe(const sf_graph_t *graph, uint64_t operation, const char *how, uint64_t mine, const char *who,
                        const char *theirs, char detail[], size_t detail_bytes)
{
  char own[64], name[SFC_GRAPH_TEXT_BYTES];
  called_text(mine, own, sizeof own);
  sfc_graph_text(graph, name);
  snprintf(detail, detail_bytes, "%s, operation %llu%s: rank %d called %s, %s called %s", name,
           (unsigned long long)operation, how, graph->rank, own, who, theirs);
}

void sfc_lane_fail_mismatch(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs)
{
  char own[64], other[64], who[32], name[SFC_GRAPH_TEXT_BYTES], detail[SFC_MATCH_TEXT_BYTES];
  sf_graph_t *graph = lane->graph;
  uint64_t own_number = sequence & SFSHM_DESC_SEQUENCE_MASK, other_number = theirs & SFSHM_DESC_SEQUENCE_MASK;
  sfshm_desc_text(theirs, other, sizeof other);
  snprintf(who, sizeof who, "%s %d", lane->trunk != NULL ? "node" : "rank", lane->rank);
  called_text(mine, own, sizeof own);
  if (own_number == other_number)
    sfc_match_describe(graph, own_number, "", mine, who, other, detail, sizeof detail);
  sfc_graph_text(graph, name);
  if (own_number != other_number)
    snprintf(detail, sizeof detail, "%s: rank %d waits for operation %llu, %s; %s sent for operation %llu, %s", name,
             graph->rank, (unsigned long long)own_number, own, who, (unsigned long long)other_number, other);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

/* ---- Multi-graphs ------------------------------------------------------------------------------------------------ */

/* Whether a is ahead of b; both count up to the mask, and are close to each other. */
static bool is_ahead(uint64_t a, uint64_t b, uint64_t mask)
{
  uint64_t by = (a - b) & mask;
  return by != 0 && by <= mask / 2;
}

uint64_t sfc_multi_awaited(const sf_graph_t *multi)
{
  uint64_t last = multi->last_sequence;
  return sfshm_desc_of_multi(multi->history[last % SFC_HISTORY], last, multi->parent->last_sequence);
}

sfc_lane_t *sfc_lane_of_parent(const sfc_lane_t *lane)
{
  const sf_graph_t *graph = lane->graph, *parent = graph->parent;
  int64_t i = lane - graph->lanes;
  if (parent == NULL || i >= parent->nlanes || parent->lanes[i].rank != lane->rank ||
      (parent->lanes[i].trunk == NULL) != (lane->trunk == NULL))
    return NULL;
  return &parent->lanes[i];
}

void sfc_lane_check_multi(sfc_lane_t *lane, uint64_t awaited)
{
  char who[48], detail[SFC_MATCH_TEXT_BYTES];
  sf_graph_t *graph = lane->graph;
  const sf_graph_t *multi = sfc_multi_of(graph);
  uint64_t on_multi = multi != NULL ? multi->last_sequence : 0, theirs = awaited & SFSHM_DESC_SEQUENCE_MASK;
  if (!is_ahead(sfshm_desc_on_multi(awaited), on_multi, SFSHM_DESC_COUNT_MASK) ||
      !is_ahead(graph->last_sequence, theirs, SFSHM_DESC_SEQUENCE_MASK))
    return;
  uint64_t behind = (graph->last_sequence - theirs) & SFSHM_DESC_SEQUENCE_MASK;
  uint64_t mine = sfc_graph_called(graph, graph->last_sequence - behind + 1);
  snprintf(who, sizeof who, "%s %d", lane->trunk != NULL ? "a rank of node" : "rank", lane->rank);
  sfc_match_describe(graph, theirs + 1, "", mine, who, sfshm_desc_operation(awaited), detail, sizeof detail);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

/* Tells the other end of the graph's lane, once, and wakes it: it may have looked before. */
static void tell_of_multi(const sfc_lane_t *lane)
{
  sfc_lane_t *told = sfc_lane_of_parent(lane);
  uint64_t awaited = told != NULL ? sfc_multi_awaited(lane->graph) : 0;
  if (told == NULL || told->rx_request != NULL || (told->rx_awaited && told->rx_multi == awaited))
    return;
  sfshm_lane_await(&told->rx, awaited);
  told->rx_awaited = true;
  told->rx_multi = awaited;
  sfc_thread_note(lane->graph->thread, lane->peer->wake);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/* A message of an operation that was begun here and has nothing to receive on this lane. One of an operation still to
 * come is none of our business yet. */
void sfc_lane_check_unexpected(sfc_lane_t *lane)
{
  const sfshm_slot_t *slot = sfc_lane_peek(lane);
  if (slot == NULL)
    return;
  uint64_t desc = slot->desc & SFSHM_DESC_MATCH_MASK, sequence = sfc_graph_find_sequence(lane->graph, desc);
  if (sequence != 0)
    sfc_lane_fail_mismatch(lane, sfc_graph_called(lane->graph, sequence), sequence, desc);
}

/* A message for the request that the lane receives for, whose turn may not have come. */
static bool check_expected(sfc_lane_t *lane)
{
  const sf_request_t *request = lane->rx_request;
  const sfshm_slot_t *slot = sfc_lane_peek(lane);
  if (slot == NULL)
    return true;
  uint64_t desc = slot->desc & SFSHM_DESC_MATCH_MASK;
  if (desc == request->match)
    return true;
  sfc_lane_fail_mismatch(lane, request->match, request->sequence, desc);
  return false;
}

/* What the other end waits for, if the operation is in flight here too. */
static void check_awaited(sfc_lane_t *lane)
{
  const sf_graph_t *graph = lane->graph;
  uint64_t awaited = sfshm_lane_awaited(&lane->tx);
  if (sfc_awaited_is_of_multi(awaited)) {
    sfc_lane_check_multi(lane, awaited);
    return;
  }
  uint64_t desc = awaited & SFSHM_DESC_MATCH_MASK, sequence = sfc_graph_find_sequence(graph, desc);
  if (desc == 0 || sequence < graph->first_sequence)
    return;
  const sf_request_t *request = graph->table[sequence & graph->table_mask];
  if (request != NULL && request->match != desc)
    sfc_lane_fail_mismatch(lane, request->match, sequence, desc);
}

void sfc_lane_check_match(sfc_lane_t *lane)
{
  if (lane->trunk != NULL) {
    sfc_trunk_check_match(lane);
    return;
  }
  if (lane->rx_request == NULL) {
    sfc_lane_check_unexpected(lane);
  } else if (check_expected(lane)) {
    sfshm_lane_await(&lane->rx, lane->rx_request->match);
    lane->rx_awaited = true;
    lane->rx_multi = 0;
  }
  tell_of_multi(lane);
  check_awaited(lane);
}

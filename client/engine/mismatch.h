/* Finding collective calls that do not match. Most are found by the receiver of a message, which compares what the
 * message says with what it expects. That is not enough when a rank receives nothing, or both wait for each other: see
 * sfc_lane_check_match. */
#ifndef SFC_MATCH_H
#define SFC_MATCH_H

#include "client/engine/operation.h"

/* How the operation was called here, as a descriptor; 0 if that is not known any more. */
uint64_t sfc_graph_called(const sf_graph_t *graph, uint64_t sequence);

/* The latest operation begun here whose number ends like the descriptor's; 0 if that one is still to come. */
uint64_t sfc_graph_find_sequence(const sf_graph_t *graph, uint64_t desc);

#define SFC_MATCH_TEXT_BYTES 400

/* Says that this rank has called an operation of the graph, numbered from 1, as the descriptor mine says (0: somehow
 * else), and who something else, theirs. how: "", or behind the number what else tells the operation from others. */
void sfc_match_describe(const sf_graph_t *graph, uint64_t operation, const char *how, uint64_t mine, const char *who,
                        const char *theirs, char detail[], size_t detail_bytes);

/* Fails the graph for all ranks: here operation number sequence is, or was, called as mine says, there as theirs. */
void sfc_lane_fail_mismatch(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs);

/* Looks at what the other end has called: at a message for an operation in which this lane receives nothing, at one
 * that waits for its turn, and at what the other end waits for, in exchange for what is waited for here. To be called
 * before sleeping and after testing in vain for long: of two ranks that wait for each other the one that comes later
 * sees it. */
void sfc_lane_check_match(sfc_lane_t *lane);

/* The first of these three, for a lane that receives nothing at the moment. */
void sfc_lane_check_unexpected(sfc_lane_t *lane);

/* The same for each lane that the operation just begun sends on, as far as slots go: eager slots can wait until the
 * thread does. As a rule this is a look at a line that has not changed. */
static inline void sfc_graph_check_unexpected(const sf_graph_t *graph, sfshm_operation_t operation)
{
  for (int32_t i = 0; i < graph->nsenders[operation]; i++) {
    sfc_lane_t *lane = graph->senders[operation][i];
    if (lane->trunk == NULL && lane->rx_request == NULL && sfshm_lane_has_message(&lane->rx))
      sfc_lane_check_unexpected(lane);
  }
}

/* An operation of a multi-graph and one of its graph wait for each other in vain when ranks have called them in
 * different order, and neither graph sees both. So who waits on a multi-graph also tells on the lanes of the graph how
 * many operations of each it has begun; whoever waits on the graph compares. awaited: what is told; the other end has
 * begun an operation that was not begun here, before one that was not begun there. */
void sfc_lane_check_multi(sfc_lane_t *lane, uint64_t awaited);

static inline bool sfc_awaited_is_of_multi(uint64_t awaited)
{
  return sfshm_desc_method(awaited) == SFSHM_DESC_OF_MULTI;
}

/* What to tell about a multi-graph; the lane of its graph that leads where this one does, NULL if there is none. */
uint64_t sfc_multi_awaited(const sf_graph_t *multi);
sfc_lane_t *sfc_lane_of_parent(const sfc_lane_t *lane);

/* The message that was waited for has come. */
static inline void sfc_lane_end_wait(sfc_lane_t *lane)
{
  if (!lane->rx_awaited)
    return;
  sfshm_lane_await(&lane->rx, 0);
  lane->rx_awaited = false;
  lane->rx_multi = 0;
}

#endif

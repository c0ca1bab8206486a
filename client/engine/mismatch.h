/* Mismatch detection: collective calls that differ between ranks. Most are found by the receiver of a message, which
 * compares the message's descriptor with its own. That is not enough when a rank receives nothing, or when two ranks
 * wait for each other. Therefore a rank that waits tells the other end of each lane what it waits for, and looks at
 * what the other ends have sent and wait for (sfc_mismatch_check_lane). Messages over a trunk are sent by the last
 * member of a node, and a rank that calls something else keeps them from being sent. Therefore the ranks of a node also
 * compare what they begin, on the trunks' board. The thread that uses the graph. */
#ifndef SFC_ENGINE_MISMATCH_H
#define SFC_ENGINE_MISMATCH_H

#include "client/engine/operation.h"
#include "client/engine/trunk.h"
#include "client/graph.h"

#define SFC_MISMATCH_TEXT_BYTES 400

/* Writes that this rank called an operation of the graph, numbered from 1, as the descriptor mine says (0: not known
 * any more), and that who called something else, theirs. how: "", or what tells the operation from others. */
void sfc_mismatch_describe(const sf_graph_t *graph, uint64_t operation, const char *how, uint64_t mine, const char *who,
                           const char *theirs, char detail[], size_t detail_bytes);

/* Fails the graph for all ranks: here operation number sequence is, or was, called as mine says, there as theirs. */
void sfc_mismatch_fail(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs);

/* Compares the call just begun with what the other ranks of the node have begun; fails the graph if they differ. */
void sfc_mismatch_check_begun(sf_graph_t *graph, uint64_t mine);

/* The same for a descriptor alone: what another rank called in its place, 0: nothing else. */
uint64_t sfc_mismatch_compare_begun(const sfc_trunks_t *trunks, uint64_t mine);

/* What the other node says on a side of a trunk: the descriptor of the first message that has come and has not been
 * received, and of what the other node waits for. 0: there is none. */
typedef struct sfc_side_calls {
  uint64_t sent;
  uint64_t awaited;
} sfc_side_calls_t;

sfc_side_calls_t sfc_mismatch_side_calls(const sfc_trunk_side_t *side);

/* Looks at a message that has come and that the lane's request does not expect. */
void sfc_mismatch_check_message(sfc_lane_t *lane);

/* Looks at what the other end has called, and on a lane between ranks of one node tells what is waited for here. To be
 * called before sleeping, and after testing in vain for long: of two ranks that wait for each other the one that comes
 * later sees it. */
void sfc_mismatch_check_lane(sfc_lane_t *lane);

/* Tells the other nodes what is waited for here. To be called after having waited for long. */
void sfc_mismatch_ask_nodes(sf_graph_t *graph);

/* sfc_mismatch_check_message for each lane that the operation just begun sends on, as far as slots go: eager slots can
 * wait until the thread does. As a rule this is a look at a line that has not changed. */
static inline void sfc_mismatch_check_unexpected(const sf_graph_t *graph, sfshm_operation_t operation)
{
  for (int32_t i = 0; i < graph->routes.nsenders[operation]; i++) {
    sfc_lane_t *lane = graph->routes.senders[operation][i];
    if (lane->trunk == NULL && lane->rx_request == NULL && sfshm_lane_has_message(&lane->rx))
      sfc_mismatch_check_message(lane);
  }
}

#endif

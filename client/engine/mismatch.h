/* Mismatch detection: collective calls that differ between ranks. The receiver of a message compares descriptors. For
 * ranks that receive nothing or wait for each other, a waiting rank announces on each lane what it awaits, and checks
 * what peers have sent and await (sfc_mismatch_check_lane). The last member of a node sends a trunk message, which a
 * different call prevents, so ranks of a node also compare begun calls on the trunk board. The thread that uses the
 * graph. */
#ifndef SFC_ENGINE_MISMATCH_H
#define SFC_ENGINE_MISMATCH_H

#include "client/engine/operation.h"
#include "client/engine/trunk.h"
#include "client/graph.h"

#define SFC_MISMATCH_TEXT_BYTES 400

/* Writes a text: this rank called operation number operation as mine (0: unknown), and who called theirs. how: "", or
 * what distinguishes the operation. */
void sfc_mismatch_describe(const sf_graph_t *graph, uint64_t operation, const char *how, uint64_t mine, const char *who,
                           const char *theirs, char detail[], size_t detail_bytes);

/* Fails the graph for all ranks: operation number sequence is called as mine here, as theirs there. */
void sfc_mismatch_fail(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs);

/* Compares the call just begun with those of other ranks of the node; fails the graph if they differ. */
void sfc_mismatch_check_begun(sf_graph_t *graph, uint64_t mine);

/* The same for a descriptor: returns another rank's different call, or 0. */
uint64_t sfc_mismatch_compare_begun(const sfc_trunks_t *trunks, uint64_t mine);

/* State of a trunk side: descriptor of the first unreceived message, and of what the other node awaits. 0: none. */
typedef struct sfc_side_calls {
  uint64_t sent;
  uint64_t awaited;
} sfc_side_calls_t;

sfc_side_calls_t sfc_mismatch_side_calls(const sfc_trunk_side_t *side);

/* Checks an arrived message that rx_request does not expect. */
void sfc_mismatch_check_message(sfc_lane_t *lane);

/* Checks what the peer has called; on a lane within the node also announces what is awaited here. Call before sleeping,
 * and after long unsuccessful testing: of two ranks that wait for each other the later one sees it. */
void sfc_mismatch_check_lane(sfc_lane_t *lane);

/* Announces to other nodes what is awaited here, after a long wait. */
void sfc_mismatch_ask_nodes(sf_graph_t *graph);

/* sfc_mismatch_check_message for each lane that the operation sends on, without eager slots, which can wait. Usually
 * one look at an unchanged cache line. */
static inline void sfc_mismatch_check_unexpected(const sf_graph_t *graph, sfshm_operation_t operation)
{
  for (int32_t i = 0; i < graph->routes.nsenders[operation]; i++) {
    sfc_lane_t *lane = graph->routes.senders[operation][i];
    if (lane->trunk == NULL && lane->rx_request == NULL && sfshm_lane_has_message(&lane->rx))
      sfc_mismatch_check_message(lane);
  }
}

#endif

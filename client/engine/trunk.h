/* Operations over trunks: send and receive; see trunk_types.h. The thread that uses the graph. */
#ifndef SFC_ENGINE_TRUNK_H
#define SFC_ENGINE_TRUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "client/engine/operation.h"
#include "client/graph.h"

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* Finds the exchange for that unit size; the daemon creates it at first use of its class. */
sf_status_t sfc_trunks_exchange(sf_graph_t *graph, size_t unit_bytes, sfc_exchange_t **exchange_p);

/* The same for messages of blocks (shm/trunk/blocks.h) on a side. */
sf_status_t sfc_trunks_exchange_of_blocks(sf_graph_t *graph, size_t unit_bytes, const sfc_trunk_side_t *side,
                                          sfc_exchange_t **exchange_p);

/* Offset of a message's slot in the exchange. */
static inline uint64_t sfc_trunk_send_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side,
                                           uint64_t message)
{
  return sfshm_send_slot(&exchange->slots[side->number], message);
}

static inline uint64_t sfc_trunk_receive_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side,
                                              uint64_t message)
{
  return sfshm_receive_slot(&exchange->slots[side->number], message);
}

/* Value of side->flow->granted required to write the message. */
static inline uint64_t sfc_trunk_send_needs(const sfc_trunk_side_t *side, size_t unit_bytes, uint64_t message)
{
  return sfshm_trunk_needs(message, side->told->send_values, sfshm_exchange_class(unit_bytes));
}

static inline sfc_trunk_side_t *sfc_trunk_sending(sfc_trunk_t *trunk, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &trunk->as_root : &trunk->as_leaf;
}

static inline sfc_trunk_side_t *sfc_trunk_receiving(sfc_trunk_t *trunk, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &trunk->as_leaf : &trunk->as_root;
}

/* Counts that a member has packed its share of a part of the message, or consumed its share of the message; returns
 * whether it was the last member. Releases this member's share, and acquires those of the others. */
static inline bool sfc_trunk_count_packed(const sfc_trunk_side_t *side, uint64_t message, uint32_t part)
{
  _Atomic uint64_t *packed = &side->flow->packed[message % SFSHM_TRUNK_SLOTS][part];
  return (atomic_fetch_add_explicit(packed, 1, memory_order_acq_rel) + 1) % (uint64_t)side->told->nmembers == 0;
}

static inline bool sfc_trunk_count_consumed(const sfc_trunk_side_t *side, uint64_t message)
{
  _Atomic uint64_t *consumed = &side->flow->consumed[message % SFSHM_TRUNK_SLOTS];
  return (atomic_fetch_add(consumed, 1) + 1) % (uint64_t)side->told->nmembers == 0;
}

/* Bytes of a unit of a message that has arrived. Ranks of the node may have written anything there. */
static inline uint64_t sfc_trunk_unit_bytes(const sfc_trunk_side_t *side, uint64_t message)
{
  return atomic_load_explicit(&side->flow->unit_bytes[message % SFSHM_TRUNK_SLOTS], memory_order_relaxed);
}

/* Submits the next message of the side, of such units, or a part of it. word: see SFSHM_SUBMIT_SEND. */
void sfc_trunk_submit(sfc_lane_t *lane, const sf_request_t *request, const sfc_trunk_side_t *side, uint64_t unit_bytes,
                      uint32_t word);

/* Counts a message that has been submitted. */
void sfc_trunk_count_sent(const sfc_lane_t *lane, const sfc_trunk_side_t *side, uint64_t unit_bytes);

/* ---- Parts -------------------------------------------------------------------------------------------------------
 * Large messages travel in parts, so that this rank packs a part while the daemon sends those before, and unpacks a
 * part while the daemon receives those behind: see SFSHM_TRUNK_PARTS. */

/* Number of parts of the request's next message; 1: it goes whole. All members of the side find the same number. */
uint32_t sfc_trunk_parts_find(const sfc_trunk_t *trunk, const sf_request_t *request, const sfc_trunk_side_t *side);

/* Packs this rank's share of a part into the slot. */
void sfc_trunk_parts_pack(sfc_lane_t *lane, const sf_request_t *request, char *slot, uint32_t part, uint32_t parts);

/* Number of values that have arrived of a message that is not complete, if this rank can unpack them; else 0. */
int64_t sfc_trunk_parts_arrived(const sfc_lane_t *lane, const sf_request_t *request, const sfc_trunk_side_t *side);

/* Unpacks this rank's share of the values between rx_cursor and until, and moves rx_cursor there. */
void sfc_trunk_parts_unpack(sfc_lane_t *lane, const sf_request_t *request, const char *slot, int64_t until);

/* ---- Staging ----------------------------------------------------------------------------------------------------- */

/* Adds staged contributions of other members to their positions in a reduce's message. */
sf_status_t sfc_trunk_combine(const sfc_trunk_t *trunk, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                              char *section);

#endif

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

/* Counts a part of the message that a member has packed, or consumed; returns whether it was the last one. Releases
 * this member's part, and acquires those of the others. */
static inline bool sfc_trunk_count_packed(const sfc_trunk_side_t *side, uint64_t message)
{
  _Atomic uint64_t *packed = &side->flow->packed[message % SFSHM_TRUNK_SLOTS];
  return (atomic_fetch_add_explicit(packed, 1, memory_order_acq_rel) + 1) % (uint64_t)side->told->nmembers == 0;
}

static inline bool sfc_trunk_count_consumed(const sfc_trunk_side_t *side, uint64_t message)
{
  _Atomic uint64_t *consumed = &side->flow->consumed[message % SFSHM_TRUNK_SLOTS];
  return (atomic_fetch_add(consumed, 1) + 1) % (uint64_t)side->told->nmembers == 0;
}

/* Adds staged contributions of other members to their positions in a reduce's message. */
sf_status_t sfc_trunk_combine(const sfc_trunk_t *trunk, sfshm_unit_t unit, const sfshm_kernels_t *kernels,
                              char *section);

#endif

/* Operations that the host calls, whose messages to other nodes are on a device: see trunk_device_slots.h, and for when
 * they are daemon/data/device_slots.h.
 *
 * begin: asks for slots there when the rank's data are on a device, and messages worth it, for the second time, or when
 * another rank of the node has asked; opens them when they are there.
 *
 * Sending: kernels write this rank's part of the messages for all nodes, and are waited for once; then it is counted as
 * packed. Whoever is last has kernels add up what is staged, too.
 *
 * Taking: kernels are told to read what has come, from all nodes before the first is waited for; then it is counted as
 * consumed, since the slot may be written again.
 *
 * Once some messages of a side are on the device all behind them are that are worth it, wherever the data lie: those of
 * the host are moved by kernels that move between host and device. The thread that uses the graph. */
#ifndef SFC_ENGINE_TRUNK_DEVICE_H
#define SFC_ENGINE_TRUNK_DEVICE_H

#include "client/engine/trunk.h"
#include "client/graph.h"
#include "client/setup.h"

/* Takes the next step if there is one to be taken. Asks the daemon then, but waits for no rank. */
void sfc_trunk_devices_step(sf_graph_t *graph, const sf_request_t *request);

/* At the begin of an operation: whether something has changed on the board, or it may be time to ask. */
static inline bool sfc_trunk_devices_concern(const sfc_trunks_t *trunks, const sf_request_t *request)
{
  uint32_t state = atomic_load_explicit(&trunks->board->on_device, memory_order_relaxed);
  return state != trunks->slots.seen ||
         (state == SFSHM_SLOTS_UNASKED && request->devices != NULL && !trunks->slots.has_asked);
}

/* The next message that is sent on the side, or has come there, on the device; NULL: it is in the exchange. Behind the
 * acquire of granted, or arrived. */
static inline char *sfc_trunk_devices_send_slot(const sfc_trunks_t *trunks, const sfc_trunk_side_t *side,
                                                const sf_request_t *request)
{
  if (trunks->slots.base == NULL)
    return NULL;
  uint64_t from = atomic_load_explicit(&side->flow->send_from, memory_order_relaxed), message = side->sent + 1;
  return from == 0 || message < from
             ? NULL
             : sfc_trunk_slots_at(&trunks->slots, side->number, SFSHM_SLOTS_SEND, side->told->send_values,
                                  request->combine.unit_bytes, message);
}

static inline const char *sfc_trunk_devices_receive_slot(const sfc_trunks_t *trunks, const sfc_trunk_side_t *side,
                                                         const sf_request_t *request)
{
  if (trunks->slots.base == NULL)
    return NULL;
  uint64_t from = atomic_load_explicit(&side->flow->receive_from, memory_order_relaxed), message = side->received + 1;
  return from == 0 || message < from
             ? NULL
             : sfc_trunk_slots_at(&trunks->slots, side->number, SFSHM_SLOTS_RECEIVE, side->told->receive_values,
                                  request->combine.unit_bytes, message);
}

/* For data of the host, too. */
sfc_trunk_kernels_t sfc_trunk_devices_kernels(const sf_request_t *request);

/* Has this rank's part of the lane's next message written, which is the request's and is on the device, with those for
 * other nodes that can be. False: the graph has failed. */
bool sfc_trunk_devices_fill(sfc_lane_t *lane, const sf_request_t *request);

/* Waits for all that kernels have been told. */
sf_status_t sfc_trunk_devices_await(void);

#endif

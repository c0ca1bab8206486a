/* What a rank waits for: see waiting.h. */
#include "client/waiting.h"

#include "client/transfer.h"
#include "client/watch.h"

/* What of the request is still missing on the lane, or of operations before it. */
static uint32_t missing(const sfc_lane_t *lane, const sf_request_t *request)
{
  uint32_t awaiting = 0;
  if (lane->rx_request != NULL && lane->rx_request->sequence <= request->sequence)
    awaiting |= SFSHM_AWAITS_MESSAGE;
  if ((lane->tx_stalled && lane->tx_sequence <= request->sequence) || lane->tx_unread > 0)
    awaiting |= SFSHM_AWAITS_READER;
  return awaiting;
}

void sfc_waiting_show(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns)
{
  sfshm_graph_counters_t *counts = graph->counts;
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_lane_t *lane = &graph->lanes[i];
    atomic_store_explicit(&lane->counts->awaiting, missing(lane, request), memory_order_relaxed);
  }
  atomic_store_explicit(&counts->wait_sequence, request->sequence, memory_order_relaxed);
  atomic_store_explicit(&counts->wait_desc, request->match, memory_order_relaxed);
  atomic_store_explicit(&counts->wait_since_ns, (uint64_t)since_ns, memory_order_release);
}

void sfc_waiting_hide(sf_graph_t *graph)
{
  sfshm_graph_counters_t *counts = graph->counts;
  if (atomic_load_explicit(&counts->wait_since_ns, memory_order_relaxed) != 0)
    atomic_store_explicit(&counts->wait_since_ns, 0, memory_order_relaxed);
}

void sfc_waiting_count(const sf_graph_t *graph, int64_t since_ns)
{
  uint64_t now_ns = sfshm_trace_now_ns();
  if (graph->last_lane == NULL)
    return;
  sfshm_count(&graph->last_lane->counts->waits, 1);
  sfshm_count(&graph->last_lane->counts->waited_ns, now_ns - (uint64_t)since_ns);
  sfc_watch_waited(graph, graph->last_lane, (uint64_t)since_ns, now_ns);
}

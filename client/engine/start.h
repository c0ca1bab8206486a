/* Start and finish of an operation. Inline: for small data these steps are most of the operation. */
#ifndef SFC_ENGINE_START_H
#define SFC_ENGINE_START_H

#include "client/engine/in_flight.h"
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/offload.h"
#include "client/engine/op_trace.h"
#include "client/engine/request.h"
#include "client/engine/trunk.h"
#include "shm/observe/calls.h"

/* Steps of the shortest operation: the compiler would not inline all. */
#define SFC_START_STEP static inline __attribute__((always_inline))

/* ---- The steps --------------------------------------------------------------------------------------------------- */

/* Numbers the operation, and compares it with calls of other ranks of the node. */
SFC_START_STEP void sfc_start_number(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  request->sequence = ++graph->flight.last_sequence;
  request->match = request->signature | (request->sequence & SFSHM_DESC_SEQUENCE_MASK);
  if (__builtin_expect(sfc_op_trace_is_due(request), false))
    sfc_op_trace_begin(request);
  if (graph->trunks == NULL)
    return;
  sfc_mismatch_check_begun(graph, request->match);
  sfshm_count(&graph->counts->unit_bytes[request->operation], request->value_bytes);
}

static inline void sfc_start_send_lanes(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->routes.nsenders[request->operation];
  request->sends_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->routes.senders[request->operation][i];
    if (lane->tx_stalled)
      continue; /* earlier operations go first */
    if (!sfc_lane_send(lane, request)) {
      lane->tx_stalled = true;
      lane->tx_sequence = request->sequence;
      graph->progress.nstalled++;
    } else {
      lane->tx_cursor = (sfc_cursor_t){0};
    }
  }
}

/* Sends what can be sent now, first, because another rank waits for it. Returns whether all went on the fast path. */
SFC_START_STEP bool sfc_start_send(sf_request_t *request, sfc_thread_t *thread)
{
  bool sent = request->send.lane != NULL && sfc_fast_path_send(request, thread);
  if (request->graph->user.thread == NULL)
    sfc_in_flight_attach(request->graph, thread);
  if (!sent)
    sfc_start_send_lanes(request);
  return sent;
}

/* Lets idle lanes receive for the operation. */
SFC_START_STEP void sfc_start_receive(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->routes.nreceivers[request->operation];
  request->receives_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->routes.receivers[request->operation][i];
    if (lane->rx_request != NULL)
      continue;
    lane->rx_request = request;
    graph->progress.expecting[graph->progress.nexpecting++] = lane;
  }
}

/* Enters the operation in tables and counters. */
SFC_START_STEP void sfc_start_account(sf_request_t *request, sfc_thread_t *thread)
{
  sf_graph_t *graph = request->graph;
  request->in_flight = true;
  graph->in_flight++;
  thread->in_flight++;
  graph->flight.table[request->sequence & graph->flight.table_mask] = request;
  graph->flight.history[request->sequence % SFC_HISTORY] = request->match;
  sfshm_calls_note(graph->counts, &graph->flight.digest, request->sequence, request->match);
  sfshm_count(&graph->counts->begun[request->kind], 1);
  sfc_mismatch_check_unexpected(graph, request->operation);
}

/* Applies the edges within the rank, if it is their turn and the request is not held. */
SFC_START_STEP void sfc_start_self(sf_request_t *request)
{
  request->turn = 0;
  if (request->ordered)
    sfc_request_advance(request);
  else if (request->graph->plan.self.nedges > 0 && !request->held)
    sfc_request_do_self(request);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Starts an operation; the caller flushes wakes. split: begin and end are separate calls, so workers may copy between
 * them. */
SFC_START_STEP void sfc_start(sf_request_t *request, sfc_thread_t *thread, bool split)
{
  sfc_start_number(request);
  request->offers = split ? sfc_offload_begun(request) : 0;
  bool sent = sfc_start_send(request, thread);
  sfc_start_receive(request);
  sfc_start_account(request, thread);
  if ((request->offers & SFC_OFFER_TARGET) != 0)
    sfc_offload_targets(request);
  sfc_start_self(request);
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_begun(request, sent);
}

/* Takes the operation out of flight. */
SFC_START_STEP void sfc_finish(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  if ((request->offers & SFC_OFFER_TARGET) != 0)
    sfc_offload_end(request);
  graph->flight.table[request->sequence & graph->flight.table_mask] = NULL;
  request->in_flight = false;
  graph->user.thread->in_flight--;
  if (--graph->in_flight == 0) {
    graph->flight.first_sequence = graph->flight.last_sequence + 1;
    sfc_in_flight_detach(graph);
  } else {
    /* Operations without a number may be all that is left. */
    while (graph->flight.first_sequence <= graph->flight.last_sequence &&
           graph->flight.table[graph->flight.first_sequence & graph->flight.table_mask] == NULL)
      graph->flight.first_sequence++;
  }
  sfshm_count(&graph->counts->ended[request->kind], 1);
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_end(request);
  if (!request->persistent && graph->requests.recent[request->operation] != request)
    sfc_request_recycle(request);
}

#endif

/* Beginning and ending one operation in flight, for those who make operations of them: inline, because on small data
 * they take most of the time. */
#ifndef SFC_LAUNCH_H
#define SFC_LAUNCH_H

#include "client/engine/in_flight.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/offload.h"
#include "client/engine/op_trace.h"
#include "client/engine/progress.h"
#include "client/engine/request.h"
#include "client/engine/trunk.h"
#include "client/engine/trunk_device.h"
#include "shm/observe/calls.h"

static inline void sfc_launch_sends(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->nsenders[request->operation];
  request->sends_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->senders[request->operation][i];
    if (lane->tx_stalled)
      continue; /* its turn comes behind those that wait already */
    if (!sfc_lane_send(lane, request)) {
      lane->tx_stalled = true;
      lane->tx_sequence = request->sequence;
      graph->nstalled++;
    } else {
      lane->tx_cursor = (sfc_cursor_t){0};
    }
  }
}

static inline void sfc_launch_receives(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  int32_t n = graph->nreceivers[request->operation];
  request->receives_left = n;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->receivers[request->operation][i];
    if (lane->rx_request != NULL)
      continue;
    lane->rx_request = request;
    graph->expecting[graph->nexpecting++] = lane;
  }
}

/* Begins an operation; wakes of other ranks are left to the caller. Sends as early as possible: somebody waits. apart:
 * the owner will do something else before it ends it. */
static inline __attribute__((always_inline)) void sfc_launch(sf_request_t *request, sfc_thread_t *thread, bool apart)
{
  sf_graph_t *graph = request->graph;
  request->sequence = ++graph->last_sequence;
  request->match = request->signature | (request->sequence & SFSHM_DESC_SEQUENCE_MASK);
  if (__builtin_expect(sfc_watch_wanted(request), false))
    sfc_watch_begin(request);
  if (graph->trunks != NULL) {
    sfc_trunks_check_begun(graph, request);
    if (__builtin_expect(sfc_trunk_devices_concern(graph->trunks, request), false))
      sfc_trunk_devices_step(graph, request);
    sfshm_count(&graph->counts->unit_bytes[request->operation], request->combine.unit_bytes);
  }
  request->offers = apart ? sfc_offload_begun(request) : 0;
  bool sent = request->send.lane != NULL && sfc_request_send_straight(request, thread);
  if (graph->thread == NULL)
    sfc_flight_attach(graph, thread);
  if (!sent)
    sfc_launch_sends(request);
  sfc_launch_receives(request);
  request->turn = 0;
  request->in_flight = true;
  graph->in_flight++;
  thread->in_flight++;
  graph->table[request->sequence & graph->table_mask] = request;
  graph->history[request->sequence % SFC_HISTORY] = request->match;
  sfshm_calls_note(graph->counts, &graph->digest, request->sequence, request->match);
  sfshm_count(&graph->counts->begun[request->kind], 1);
  sfc_graph_check_unexpected(graph, request->operation);
  if ((request->offers & SFC_OFFER_TARGET) != 0)
    sfc_offload_targets(request);
  if (request->ordered)
    sfc_request_advance(request);
  else if (graph->self.nedges > 0 && !request->held)
    sfc_request_do_self(request);
  if (__builtin_expect(request->watch != 0, false))
    sfc_watch_begun(request, sent);
}

/* Takes the operation out of flight. */
static inline __attribute__((always_inline)) void sfc_launch_end(sf_request_t *request)
{
  sf_graph_t *graph = request->graph;
  if ((request->offers & SFC_OFFER_TARGET) != 0)
    sfc_offload_end(request);
  graph->table[request->sequence & graph->table_mask] = NULL;
  request->in_flight = false;
  graph->thread->in_flight--;
  if (--graph->in_flight == 0) {
    graph->first_sequence = graph->last_sequence + 1;
    sfc_flight_detach(graph);
  } else {
    while (graph->table[graph->first_sequence & graph->table_mask] == NULL)
      graph->first_sequence++;
  }
  sfshm_count(&graph->counts->ended[request->kind], 1);
  if (__builtin_expect(request->watch != 0, false))
    sfc_watch_end(request);
  if (!request->persistent && graph->recent[request->operation] != request)
    sfc_request_recycle(request);
}

#endif

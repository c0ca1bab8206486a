/* Operations of a graph in flight: their table, and the thread that makes progress on them. The thread that uses the
 * graph. */
#ifndef SFC_ENGINE_IN_FLIGHT_H
#define SFC_ENGINE_IN_FLIGHT_H

#include "client/engine/operation.h"
#include "client/engine/thread.h"
#include "client/graph.h"

/* Whether the table has room for noperations more. */
static inline bool sfc_in_flight_has_room(const sf_graph_t *graph, uint64_t noperations)
{
  return graph->flight.last_sequence - graph->flight.first_sequence + noperations <= graph->flight.table_mask;
}

/* Doubles the table. */
sf_status_t sfc_in_flight_make_room(sf_graph_t *graph);

sf_status_t sfc_graph_prepare_slow(sf_graph_t *graph, const sfc_thread_t *thread, uint64_t noperations);

/* Checks and prepares the graph for noperations more; start.h begins them. */
static inline sf_status_t sfc_graph_prepare(sf_graph_t *graph, const sfc_thread_t *thread, uint64_t noperations)
{
  bool is_ready = !sfc_graph_is_failed(graph) && (graph->user.thread == NULL || graph->user.thread == thread) &&
                  sfc_in_flight_has_room(graph, noperations);
  return __builtin_expect(is_ready, true) ? SF_OK : sfc_graph_prepare_slow(graph, thread, noperations);
}

/* Adds the graph to those on which the thread makes progress; removes it. */
static inline void sfc_in_flight_attach(sf_graph_t *graph, sfc_thread_t *thread)
{
  graph->user.thread = thread;
  graph->user.previous = NULL;
  graph->user.next = thread->graphs;
  if (thread->graphs != NULL)
    thread->graphs->user.previous = graph;
  thread->graphs = graph;
}

static inline void sfc_in_flight_detach(sf_graph_t *graph)
{
  if (graph->user.previous != NULL)
    graph->user.previous->user.next = graph->user.next;
  else
    graph->user.thread->graphs = graph->user.next;
  if (graph->user.next != NULL)
    graph->user.next->user.previous = graph->user.previous;
  graph->user.thread = NULL;
}

/* Counts an operation that lanes do not carry out, and that has no number, as one of the graph's; and no longer. */
static inline void sfc_in_flight_add(sf_graph_t *graph, sfc_thread_t *thread)
{
  if (graph->user.thread == NULL)
    sfc_in_flight_attach(graph, thread);
  graph->in_flight++;
  thread->in_flight++;
}

static inline void sfc_in_flight_remove(sf_graph_t *graph)
{
  graph->user.thread->in_flight--;
  if (--graph->in_flight > 0)
    return;
  graph->flight.first_sequence = graph->flight.last_sequence + 1;
  sfc_in_flight_detach(graph);
}

/* Next request after that sequence number that receives on the lane; NULL: none begun. */
sf_request_t *sfc_lane_next_request(const sfc_lane_t *lane, uint64_t sequence);

#endif

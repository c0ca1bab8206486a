/* The engine's attachment to a graph: frees requests, eager memory and offers. */
#include "client/engine/operation.h"

#include <stdlib.h>

#include "client/engine/device_staging.h"
#include "client/engine/eager.h"
#include "client/engine/lane_ops.h"
#include "client/engine/offload.h"
#include "client/engine/request.h"

static void free_request(sf_request_t *request)
{
  if (request == NULL)
    return;
  sfc_staging_free(request);
  sfc_request_unflatten(request);
  free(request->room);
  free(request);
}

static void free_requests(sf_request_t *request)
{
  while (request != NULL) {
    sf_request_t *next = request->next;
    free_request(request);
    request = next;
  }
}

static void retire(sfc_attachment_t *attachment)
{
  sf_graph_t *graph = attachment->graph;
  for (int32_t i = 0; i < graph->nlanes; i++)
    sfc_eager_retire(&graph->lanes[i]);
}

/* Drops operations in flight, which only a failed graph has here, at sf_finalize. Another thread's list of graphs is
 * not touched. */
static void drop_in_flight(sf_graph_t *graph)
{
  for (uint64_t i = 0; graph->in_flight > 0 && i <= graph->flight.table_mask; i++) {
    sf_request_t *request = graph->flight.table[i];
    if (request != NULL && !request->persistent && graph->requests.recent[request->operation] != request)
      free_request(request);
  }
  if (graph->user.thread != sfc_thread_self())
    return;
  graph->user.thread->in_flight -= (uint32_t)graph->in_flight;
  sfc_in_flight_detach(graph);
}

static void free_operations(sfc_attachment_t *attachment)
{
  sf_graph_t *graph = attachment->graph;
  drop_in_flight(graph);
  free_requests(graph->requests.unused);
  free_requests(graph->requests.persistent);
  free_request(graph->requests.recent[0]);
  free_request(graph->requests.recent[1]);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_offload_free_lane(&graph->lanes[i]);
    sfc_eager_free(&graph->lanes[i]);
  }
}

static const sfc_attachment_ops_t operations_ops = {.retire = retire, .free = free_operations};

void sfc_graph_begin_operations(sf_graph_t *graph)
{
  if (graph->operations.ops != NULL)
    return;
  sfc_graph_attach(graph, &graph->operations, &operations_ops);
  for (int32_t i = 0; i < graph->nlanes; i++)
    graph->lanes[i].ops = graph->lanes[i].trunk != NULL ? &sfc_trunk_lane_ops : &sfc_shared_lane_ops;
}

/* Graphs after set-up: failing, information, destruction. */
#include "client/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/compound/composite.h"
#include "client/compound/multigraph.h"
#include "client/core/context.h"
#include "client/core/device.h"
#include "client/core/group.h"
#include "client/engine/device_staging.h"
#include "client/engine/eager.h"
#include "client/engine/offload.h"
#include "client/engine/operation.h"
#include "client/graph/counters.h"
#include "client/graph/failure.h"
#include "client/graph/retired_memory.h"
#include "client/graph/trunk_types.h"
#include "client/plan/edge_readback.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lanes.h"
#include "client/setup/plan_cache.h"
#include "client/setup/trunk_device_slots.h"
#include "client/setup/trunk_plan.h"
#include "client/streams/operation.h"
#include "shm/base/error.h"

/* A multi-graph is made where its graph was. */
void sfc_graph_text(const sf_graph_t *graph, char text[SFC_GRAPH_TEXT_BYTES])
{
  const sf_graph_t *made = graph;
  while (made->parent != NULL && (made->counts == NULL || made->counts->place[0] == '\0'))
    made = made->parent;
  const char *place = made->counts != NULL ? made->counts->place : "";
  snprintf(text, SFC_GRAPH_TEXT_BYTES, place[0] != '\0' ? "graph %llu (%s)" : "graph %llu",
           (unsigned long long)graph->number, place);
}

/* Remembers the graph's shared memory until the daemon says that nobody touches it. */
static void retire_memory(sf_graph_t *graph)
{
  if (graph->shared.address != NULL)
    sfc_graph_leave_block(graph, &graph->shared);
  if (graph->lent.address != NULL)
    sfc_graph_leave_block(graph, &graph->lent);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    if (graph->lanes[i].rx_cells.address != NULL)
      sfc_graph_leave_block(graph, &graph->lanes[i].rx_cells);
    sfc_lane_leave_eager(&graph->lanes[i]);
  }
  sfc_retiring_enter(graph);
}

void sfc_graph_link(sf_graph_t *graph)
{
  sf_context_t *context = graph->context;
  graph->next = context->graphs;
  graph->link = &context->graphs;
  if (graph->next != NULL)
    graph->next->link = &graph->next;
  context->graphs = graph;
}

void sfc_graph_unlink(sf_graph_t *graph)
{
  sf_context_t *context = graph->context;
  pthread_mutex_lock(&context->lock);
  if (graph->link != NULL) {
    *graph->link = graph->next;
    if (graph->next != NULL)
      graph->next->link = graph->link;
    graph->link = NULL;
  }
  sfc_lent_forget(graph);
  sfc_counters_settle(&context->counters, graph);
  pthread_mutex_unlock(&context->lock);
}

static void free_request(sf_request_t *request)
{
  if (request == NULL)
    return;
  sfc_stage_free(request);
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

void sfc_graph_free_own_plan(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_link_destroy(&graph->lanes[i].as_root);
    sfc_link_destroy(&graph->lanes[i].as_leaf);
  }
  sfc_link_destroy(&graph->self);
  for (int32_t i = 0; i < graph->nlists; i++)
    sfc_device_destroy_region(&graph->lists[i]);
  free(graph->turns);
  free(graph->lists);
  sfc_origin_free(graph->origin);
}

void sfc_graph_free(sf_graph_t *graph)
{
  if (graph == NULL)
    return;
  sfc_left_free(graph->left, NULL);
  free(graph->retiring);
  free_requests(graph->free_requests);
  sfc_composites_drop(graph->persistent);
  free_requests(graph->persistent);
  free_request(graph->recent[0]);
  free_request(graph->recent[1]);
  sfc_composites_free(graph->composites);
  sfc_multi_free(graph);
  if (graph->plan == NULL)
    sfc_graph_free_own_plan(graph);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_offload_free_lane(&graph->lanes[i]);
    sfc_lane_free_eager(&graph->lanes[i]);
  }
  free(graph->lanes);
  free(graph->senders[0]);
  sfc_trunks_free(graph->context, graph->trunks);
  free(graph->expecting);
  free(graph->table);
  if (graph->plan != NULL)
    sfc_plan_let_go(graph->context, graph->plan);
  free(graph);
}

/* The graph's, those of its multi-graph, and so on. */
static bool streams_are_busy(const sf_graph_t *graph)
{
  return graph != NULL && (sfc_streams_are_busy(graph) || streams_are_busy(sfc_multi_of(graph)));
}

/* While the listener knows the graphs, and that they belong together: what streams wait for may fail. */
static void tear_streams_down(sf_graph_t *graph)
{
  if (graph == NULL)
    return;
  tear_streams_down(sfc_multi_of(graph));
  sfc_streams_tear_down(graph);
}

sf_status_t sf_graph_destroy(sf_graph_t *graph)
{
  if (graph == NULL)
    return SF_OK;
  sf_context_t *context = graph->context;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (graph->parent != NULL)
    return sfshm_error(SF_ERR_ARG, "sf_graph_destroy: the multi-graph of graph %llu goes with that",
                       (unsigned long long)graph->parent->number);
  if (graph->in_flight > 0 || sfc_multi_is_busy(graph))
    return sfshm_error(SF_ERR_STATE, "sf_graph_destroy: operations are in flight");
  if (!sfc_graph_is_failed(graph) && streams_are_busy(graph))
    return sfshm_error(SF_ERR_STATE, "sf_graph_destroy: operations on streams have not been ended");
  tear_streams_down(graph);
  sfc_multi_destroy(graph);
  sfc_graph_unlink(graph);
  if (graph->trunks != NULL) { /* before any thread can tell that it is destroyed */
    sfc_submitter_settle(&context->submitter);
    sfc_trunk_slots_close(&graph->trunks->slots);
  }
  retire_memory(graph);
  sfc_graphs_tell_destroyed(context);
  sfc_group_let_go(graph->group);
  sfc_graph_free(graph);
  sfc_plans_make_room(context);
  return SF_OK;
}

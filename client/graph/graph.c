/* Graphs after set-up: the context's list, and destruction. */
#include "client/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/core.h"
#include "client/graph/counters.h"
#include "client/graph/failure.h"
#include "client/graph/retired_memory.h"
#include "client/plan.h"
#include "shm/base/error.h"

/* A multi-graph has the call site of its graph. */
void sfc_graph_text(const sf_graph_t *graph, char text[SFC_GRAPH_TEXT_BYTES])
{
  const sf_graph_t *made = graph;
  while (made->parent != NULL && (made->counts == NULL || made->counts->place[0] == '\0'))
    made = made->parent;
  const char *place = made->counts != NULL ? made->counts->place : "";
  snprintf(text, SFC_GRAPH_TEXT_BYTES, place[0] != '\0' ? "graph %llu (%s)" : "graph %llu",
           (unsigned long long)graph->number, place);
}

/* Keeps the graph's shared memory until no peer accesses it. */
static void retire_memory(sf_graph_t *graph)
{
  if (graph->memory.shared.address != NULL)
    sfc_graph_retire_block(graph, &graph->memory.shared);
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].rx_cells.address != NULL)
      sfc_graph_retire_block(graph, &graph->lanes[i].rx_cells);
  sfc_retired_add(graph);
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

bool sfc_graph_is_linked(sf_graph_t *graph)
{
  pthread_mutex_lock(&graph->context->lock);
  bool is_linked = graph->link != NULL;
  pthread_mutex_unlock(&graph->context->lock);
  return is_linked;
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
  sfc_counters_settle(&context->counters, graph);
  pthread_mutex_unlock(&context->lock);
}

void sfc_graph_plan_free(sfc_graph_plan_t *plan)
{
  sfc_link_destroy(&plan->self);
  for (int32_t i = 0; i < plan->nlists; i++)
    sfc_device_destroy_region(&plan->lists[i]);
  free(plan->turns);
  free(plan->lists);
  sfc_edge_readback_free(plan->readback);
}

void sfc_graph_free_own_plan(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_link_destroy(&graph->lanes[i].as_root);
    sfc_link_destroy(&graph->lanes[i].as_leaf);
  }
  sfc_graph_plan_free(&graph->plan);
}

void sfc_graph_free(sf_graph_t *graph)
{
  if (graph == NULL)
    return;
  bool owns_plan = !graph->shares_plan;
  sfc_graph_free_attachments(graph);
  sfc_retired_blocks_free(graph->memory.retired_blocks, false);
  free(graph->memory.record);
  if (owns_plan)
    sfc_graph_free_own_plan(graph);
  free(graph->lanes);
  free(graph->routes.senders[0]);
  free(graph->progress.expecting);
  free(graph->flight.table);
  free(graph);
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
  if (sfc_graph_is_busy(graph))
    return sfshm_error(SF_ERR_STATE,
                       "sf_graph_destroy: operations are in flight, or operations on streams have not been ended");
  sfc_graph_tear_down(graph);
  sfc_graph_retire_attachments(graph);
  sfc_graph_unlink(graph);
  retire_memory(graph);
  sfc_retired_tell_daemon(context);
  sfc_group_release(graph->group);
  sfc_graph_free(graph);
  return SF_OK;
}

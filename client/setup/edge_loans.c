/* Lent edge lists: see edge_loans.h. The threads that make and destroy graphs. */
#include "client/setup/edge_loans.h"

#include "client/core/context.h"
#include "client/setup/lanes.h"

void sfc_lent_say_read(const sf_graph_t *graph)
{
  int32_t n = sfc_instance_nends(graph);
  for (int32_t i = 0; i < n; i++)
    if (graph->lanes[i].as_root.nedges > 0)
      sfshm_lane_say_edges_read(&graph->lanes[i].rx);
}

/* What leads to other nodes the daemon had read before it answered. */
static bool all_have_read(const sf_graph_t *graph)
{
  int32_t n = sfc_instance_nends(graph);
  for (int32_t i = 0; i < n; i++)
    if (graph->lanes[i].as_leaf.nedges > 0 && !sfshm_lane_edges_are_read(&graph->lanes[i].tx))
      return false;
  return true;
}

void sfc_lent_add(sf_graph_t *graph, const sfc_block_t *block)
{
  sf_context_t *context = graph->context;
  pthread_mutex_lock(&context->lock);
  graph->lent = *block;
  graph->lent_next = context->lent;
  context->lent = graph;
  pthread_mutex_unlock(&context->lock);
}

/* Takes one that all have read out of the list. */
static bool take_read(sf_context_t *context, sfc_block_t *block)
{
  pthread_mutex_lock(&context->lock);
  sf_graph_t **link = &context->lent;
  while (*link != NULL && !all_have_read(*link))
    link = &(*link)->lent_next;
  sf_graph_t *graph = *link;
  if (graph != NULL) {
    *block = graph->lent;
    graph->lent = (sfc_block_t){.address = NULL};
    *link = graph->lent_next;
  }
  pthread_mutex_unlock(&context->lock);
  return graph != NULL;
}

void sfc_lent_collect(sf_context_t *context)
{
  sfc_block_t block;
  while (take_read(context, &block))
    sfc_heap_give(&context->inbox, &block);
}

void sfc_lent_forget(sf_graph_t *graph)
{
  sf_graph_t **link = &graph->context->lent;
  while (*link != NULL && *link != graph)
    link = &(*link)->lent_next;
  if (*link != NULL)
    *link = graph->lent_next;
}

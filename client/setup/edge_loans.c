/* Edge loans: see edge_loans.h. The threads that create and destroy graphs. */
#include "client/setup/edge_loans.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/lanes.h"

void sfc_edge_loans_acknowledge(const sf_graph_t *graph)
{
  int32_t n = sfc_lanes_nlocal(graph);
  for (int32_t i = 0; i < n; i++)
    if (graph->lanes[i].as_root.nedges > 0)
      sfshm_lane_say_edges_read(&graph->lanes[i].rx);
}

/* The daemon had read lists for other nodes before it answered. */
static bool all_have_read(const sf_graph_t *graph)
{
  int32_t n = sfc_lanes_nlocal(graph);
  for (int32_t i = 0; i < n; i++)
    if (graph->lanes[i].as_leaf.nedges > 0 && !sfshm_lane_edges_are_read(&graph->lanes[i].tx))
      return false;
  return true;
}

static void forget(sfc_loan_t *loan)
{
  sf_context_t *context = loan->attachment.graph->context;
  pthread_mutex_lock(&context->lock);
  sfc_loan_t **link = &context->loans;
  while (*link != NULL && *link != loan)
    link = &(*link)->next;
  if (*link != NULL)
    *link = loan->next;
  pthread_mutex_unlock(&context->lock);
}

static void retire(sfc_attachment_t *attachment)
{
  sfc_loan_t *loan = (sfc_loan_t *)attachment;
  forget(loan);
  if (loan->block.address != NULL)
    sfc_graph_retire_block(attachment->graph, &loan->block);
}

static void free_loan(sfc_attachment_t *attachment)
{
  forget((sfc_loan_t *)attachment);
  free(attachment);
}

static const sfc_attachment_ops_t loan_ops = {.retire = retire, .free = free_loan};

void sfc_edge_loans_add(sf_graph_t *graph, const sfc_block_t *block)
{
  sf_context_t *context = graph->context;
  sfc_loan_t *loan = malloc(sizeof *loan);
  if (loan == NULL) {
    sfc_graph_retire_block(graph, block);
    return;
  }
  sfc_graph_attach(graph, &loan->attachment, &loan_ops);
  loan->block = *block;
  pthread_mutex_lock(&context->lock);
  loan->next = context->loans;
  context->loans = loan;
  pthread_mutex_unlock(&context->lock);
}

/* Takes an acknowledged list out of the context's list. */
static bool take_read(sf_context_t *context, sfc_block_t *block)
{
  pthread_mutex_lock(&context->lock);
  sfc_loan_t **link = &context->loans;
  while (*link != NULL && !all_have_read((*link)->attachment.graph))
    link = &(*link)->next;
  sfc_loan_t *loan = *link;
  if (loan != NULL) {
    *block = loan->block;
    loan->block = (sfc_block_t){.address = NULL};
    *link = loan->next;
  }
  pthread_mutex_unlock(&context->lock);
  return loan != NULL;
}

void sfc_edge_loans_collect(sf_context_t *context)
{
  sfc_block_t block;
  while (take_read(context, &block))
    sfc_heap_give(&context->inbox, &block);
}

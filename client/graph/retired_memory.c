/* Memory of destroyed graphs: see retired_memory.h. Any thread. */
#include "client/graph/retired_memory.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph/graph.h"

typedef struct sfc_retired_block {
  struct sfc_retired_block *next;
  sfc_block_t block;
} sfc_retired_block_t;

struct sfc_retired_record {
  sfc_retired_record_t *next; /* in its chain */
  sfc_retired_record_t *next_unreported;
  uint64_t graph;
  sfc_retired_block_t *left;
  uint64_t operations; /* begun on the graph */
  bool apart;          /* none, and the rank has no edges */
};

sfc_retired_t *sfc_retired_new(void)
{
  return calloc(1, sizeof(sfc_retired_t));
}

sfc_retired_record_t *sfc_retired_record_new(void)
{
  return calloc(1, sizeof(sfc_retired_record_t));
}

/* Without memory for the record the block stays taken until the context ends. */
void sfc_graph_retire_block(sf_graph_t *graph, const sfc_block_t *block)
{
  sfc_retired_block_t *left = malloc(sizeof *left);
  if (left == NULL)
    return;
  *left = (sfc_retired_block_t){graph->memory.retired_blocks, *block};
  graph->memory.retired_blocks = left;
}

void sfc_retired_blocks_free(sfc_retired_block_t *left, bool give)
{
  while (left != NULL) {
    sfc_retired_block_t *next = left->next;
    if (give)
      sfc_heap_give(left->block.heap, &left->block);
    free(left);
    left = next;
  }
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static sfc_retired_record_t **chain_of(sfc_retired_t *retired_graphs, uint64_t graph)
{
  return &retired_graphs->chains[graph % SFC_RETIRED_CHAINS];
}

static bool has_no_edges(const sf_graph_t *graph)
{
  return graph->nlanes == 0 && graph->trunks == NULL && graph->plan.self.nedges == 0;
}

void sfc_retired_add(sf_graph_t *graph)
{
  sfc_retired_t *retired_graphs = graph->context->retired_graphs;
  sfc_retired_record_t *record = graph->memory.record, **chain = chain_of(retired_graphs, graph->number);
  pthread_mutex_lock(&graph->context->lock);
  *record = (sfc_retired_record_t){.next = *chain,
                                   .next_unreported = retired_graphs->unreported,
                                   .graph = graph->number,
                                   .left = graph->memory.retired_blocks,
                                   .operations = graph->flight.last_sequence,
                                   .apart = graph->flight.last_sequence == 0 && has_no_edges(graph)};
  *chain = record;
  retired_graphs->unreported = record;
  pthread_mutex_unlock(&graph->context->lock);
  graph->memory.retired_blocks = NULL;
  graph->memory.record = NULL;
}

/* Link to the record of the graph in its chain. */
static sfc_retired_record_t **find(sfc_retired_t *retired_graphs, uint64_t graph)
{
  sfc_retired_record_t **link = chain_of(retired_graphs, graph);
  while (*link != NULL && (*link)->graph != graph)
    link = &(*link)->next;
  return link;
}

static void forget_unreported(sfc_retired_t *retired_graphs, const sfc_retired_record_t *record)
{
  sfc_retired_record_t **link = &retired_graphs->unreported;
  while (*link != NULL && *link != record)
    link = &(*link)->next_unreported;
  if (*link != NULL)
    *link = record->next_unreported;
}

void sfc_retired_graph_gone(sf_context_t *context, uint64_t number)
{
  pthread_mutex_lock(&context->lock);
  sfc_retired_record_t **link = find(context->retired_graphs, number), *record = *link;
  if (record != NULL) {
    *link = record->next;
    forget_unreported(context->retired_graphs, record);
  }
  pthread_mutex_unlock(&context->lock);
  if (record != NULL)
    sfc_retired_blocks_free(record->left, true);
  free(record);
}

void sfc_retired_free(sf_context_t *context)
{
  if (context->retired_graphs == NULL)
    return;
  for (size_t i = 0; i < SFC_RETIRED_CHAINS; i++) {
    sfc_retired_record_t **chain = &context->retired_graphs->chains[i];
    while (*chain != NULL) {
      sfc_retired_record_t *record = *chain;
      *chain = record->next;
      sfc_retired_blocks_free(record->left, false);
      free(record);
    }
  }
  free(context->retired_graphs);
  context->retired_graphs = NULL;
}

/* ---- Telling the daemon ------------------------------------------------------------------------------------------ */

/* Takes an unreported graph, which the caller reports. */
static bool take_unreported(sf_context_t *context, Sfproto__GraphDestroy *destroy)
{
  pthread_mutex_lock(&context->lock);
  sfc_retired_record_t *record = context->retired_graphs->unreported;
  if (record != NULL) {
    context->retired_graphs->unreported = record->next_unreported;
    destroy->graph = record->graph;
    destroy->operations = record->operations;
    destroy->has_apart = destroy->apart = record->apart;
  }
  pthread_mutex_unlock(&context->lock);
  return record != NULL;
}

/* Reporting failed. The record still exists, because the daemon waits for this rank. */
static void put_back(sf_context_t *context, uint64_t graph)
{
  pthread_mutex_lock(&context->lock);
  sfc_retired_record_t *record = *find(context->retired_graphs, graph);
  if (record != NULL) {
    record->next_unreported = context->retired_graphs->unreported;
    context->retired_graphs->unreported = record;
  }
  pthread_mutex_unlock(&context->lock);
}

/* Returns whether the message was sent. A lost daemon has forgotten the graph, so the answer does not matter. */
static bool tell_destroyed(sf_context_t *context, Sfproto__GraphDestroy *destroy)
{
  Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_DESTROY, graph_destroy, destroy);
  sfproto_incoming_t done;
  if (sfc_daemon_send(&context->control, &message, NULL, 0) != SF_OK)
    return false;
  if (sfc_daemon_receive(&context->control, message.request, SFC_DAEMON_LOOK_NS, SFPROTO__MESSAGE__BODY_DONE, &done) ==
      SF_OK)
    sfproto_incoming_free(&done);
  return true;
}

void sfc_retired_tell_daemon(sf_context_t *context)
{
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  while (take_unreported(context, &destroy))
    if (!tell_destroyed(context, &destroy)) {
      put_back(context, destroy.graph);
      return;
    }
}

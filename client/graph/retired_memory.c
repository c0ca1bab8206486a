/* Memory of destroyed graphs: see retired_memory.h. Any thread. */
#include "client/graph/retired_memory.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph/graph.h"

typedef struct sfc_left {
  struct sfc_left *next;
  sfc_block_t block;
} sfc_left_t;

struct sfc_retiring {
  sfc_retiring_t *next; /* in its chain */
  sfc_retiring_t *next_untold;
  uint64_t graph;
  sfc_left_t *left;
  uint64_t operations; /* that were begun on it */
};

sfc_retirings_t *sfc_retirings_new(void)
{
  return calloc(1, sizeof(sfc_retirings_t));
}

sfc_retiring_t *sfc_retiring_new(void)
{
  return calloc(1, sizeof(sfc_retiring_t));
}

/* Without memory to remember it, it stays taken until the context ends. */
void sfc_graph_leave_block(sf_graph_t *graph, const sfc_block_t *block)
{
  sfc_left_t *left = malloc(sizeof *left);
  if (left == NULL)
    return;
  *left = (sfc_left_t){graph->memory.left, *block};
  graph->memory.left = left;
}

void sfc_left_free(sfc_left_t *left, sfc_heap_t *inbox)
{
  while (left != NULL) {
    sfc_left_t *next = left->next;
    if (inbox != NULL)
      sfc_heap_give(inbox, &left->block);
    free(left);
    left = next;
  }
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static sfc_retiring_t **chain_of(sfc_retirings_t *retirings, uint64_t graph)
{
  return &retirings->chains[graph % SFC_RETIRING_CHAINS];
}

void sfc_retiring_enter(sf_graph_t *graph)
{
  sfc_retirings_t *retirings = graph->context->retirings;
  sfc_retiring_t *retiring = graph->memory.retiring, **chain = chain_of(retirings, graph->number);
  pthread_mutex_lock(&graph->context->lock);
  *retiring = (sfc_retiring_t){.next = *chain,
                               .next_untold = retirings->untold,
                               .graph = graph->number,
                               .left = graph->memory.left,
                               .operations = graph->flight.last_sequence};
  *chain = retiring;
  retirings->untold = retiring;
  pthread_mutex_unlock(&graph->context->lock);
  graph->memory.left = NULL;
  graph->memory.retiring = NULL;
}

/* Where the record of the graph is linked in its chain. */
static sfc_retiring_t **find(sfc_retirings_t *retirings, uint64_t graph)
{
  sfc_retiring_t **link = chain_of(retirings, graph);
  while (*link != NULL && (*link)->graph != graph)
    link = &(*link)->next;
  return link;
}

static void forget_untold(sfc_retirings_t *retirings, const sfc_retiring_t *retiring)
{
  sfc_retiring_t **link = &retirings->untold;
  while (*link != NULL && *link != retiring)
    link = &(*link)->next_untold;
  if (*link != NULL)
    *link = retiring->next_untold;
}

void sfc_graph_retired(sf_context_t *context, uint64_t number)
{
  pthread_mutex_lock(&context->lock);
  sfc_retiring_t **link = find(context->retirings, number), *retiring = *link;
  if (retiring != NULL) {
    *link = retiring->next;
    forget_untold(context->retirings, retiring);
  }
  pthread_mutex_unlock(&context->lock);
  if (retiring != NULL)
    sfc_left_free(retiring->left, &context->inbox);
  free(retiring);
}

void sfc_retirings_drop(sf_context_t *context)
{
  if (context->retirings == NULL)
    return;
  for (size_t i = 0; i < SFC_RETIRING_CHAINS; i++) {
    sfc_retiring_t **chain = &context->retirings->chains[i];
    while (*chain != NULL) {
      sfc_retiring_t *retiring = *chain;
      *chain = retiring->next;
      sfc_left_free(retiring->left, NULL);
      free(retiring);
    }
  }
  free(context->retirings);
  context->retirings = NULL;
}

/* ---- Telling the daemon ------------------------------------------------------------------------------------------ */

/* Takes it upon the caller to tell of one of which the daemon has not been told. */
static bool take_untold(sf_context_t *context, uint64_t *graph_p, uint64_t *operations_p)
{
  pthread_mutex_lock(&context->lock);
  sfc_retiring_t *retiring = context->retirings->untold;
  if (retiring != NULL) {
    context->retirings->untold = retiring->next_untold;
    *graph_p = retiring->graph;
    *operations_p = retiring->operations;
  }
  pthread_mutex_unlock(&context->lock);
  return retiring != NULL;
}

/* It could not be told: it is there still, as the daemon has not heard of it from every rank. */
static void put_back(sf_context_t *context, uint64_t graph)
{
  pthread_mutex_lock(&context->lock);
  sfc_retiring_t *retiring = *find(context->retirings, graph);
  if (retiring != NULL) {
    retiring->next_untold = context->retirings->untold;
    context->retirings->untold = retiring;
  }
  pthread_mutex_unlock(&context->lock);
}

/* Whether it could be sent. A lost daemon has forgotten the graph already, so the answer does not matter. */
static bool tell_destroyed(sf_context_t *context, uint64_t graph, uint64_t operations)
{
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfproto_incoming_t done;
  destroy.graph = graph;
  destroy.operations = operations;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_DESTROY;
  message.graph_destroy = &destroy;
  if (sfc_control_send(&context->control, &message, NULL, 0) != SF_OK)
    return false;
  if (sfc_control_receive(&context->control, message.request, SFPROTO__MESSAGE__BODY_DONE, &done) == SF_OK)
    sfproto_incoming_free(&done);
  return true;
}

void sfc_graphs_tell_destroyed(sf_context_t *context)
{
  uint64_t graph, operations;
  while (take_untold(context, &graph, &operations))
    if (!tell_destroyed(context, graph, operations)) {
      put_back(context, graph);
      return;
    }
}

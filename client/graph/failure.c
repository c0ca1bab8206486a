/* Failure of graphs: see failure.h. */
#include "client/graph/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/graph/retired_memory.h"
#include "shm/base/error.h"

sf_status_t sfc_graph_failure(const sf_graph_t *graph)
{
  /* Pairs with the release in sfc_graph_fail: the detail is complete. */
  int failed = atomic_load_explicit(&graph->failure.status, memory_order_acquire);
  return failed == SF_OK ? SF_OK : sfshm_error((sf_status_t)failed, "%s", graph->failure.detail);
}

static void (*_Atomic observer)(void);

void sfc_graph_observe_failures(void (*callback)(void))
{
  atomic_store(&observer, callback);
}

void sfc_graph_fail(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  static pthread_mutex_t lock =
      PTHREAD_MUTEX_INITIALIZER; /* the owner and the listener may fail the graph at the same time */
  pthread_mutex_lock(&lock);
  if (atomic_load_explicit(&graph->failure.status, memory_order_relaxed) == SF_OK) {
    strncpy(graph->failure.detail, detail, sizeof graph->failure.detail - 1);
    atomic_store_explicit(&graph->failure.status, status, memory_order_seq_cst); /* see streams/watchdog.c */
  }
  pthread_mutex_unlock(&lock);
  void (*observe)(void) = atomic_load(&observer);
  if (observe != NULL)
    observe();
}

/* Parents first: a thread that sees the graph failed must find its parents failed. */
static void fail_with_parents(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  if (graph->parent != NULL)
    fail_with_parents(graph->parent, status, detail);
  sfc_graph_fail(graph, status, detail);
}

static const sf_graph_t *oldest_of(const sf_graph_t *graph)
{
  while (graph->parent != NULL)
    graph = graph->parent;
  return graph;
}

/* All graphs with the same oldest ancestor, with the context's lock held. */
static void fail_kin(const sf_graph_t *graph, sf_status_t status, const char *detail)
{
  const sf_graph_t *oldest = oldest_of(graph);
  for (sf_graph_t *kin = graph->context->graphs; kin != NULL; kin = kin->next)
    if (oldest_of(kin) == oldest)
      fail_with_parents(kin, status, detail);
}

/* The related graph in whose barrier this rank waits; 0: none. */
static uint64_t find_barrier(const sf_graph_t *graph)
{
  const sf_graph_t *oldest = oldest_of(graph), *kin = graph->context->graphs;
  while (kin != NULL && (oldest_of(kin) != oldest || !kin->in_barrier))
    kin = kin->next;
  return kin != NULL ? kin->number : 0;
}

static void fail_as(const sf_graph_t *failed, const sf_graph_t *graph)
{
  int status = atomic_load_explicit(&failed->failure.status, memory_order_acquire);
  if (status != SF_OK)
    fail_kin(graph, (sf_status_t)status, failed->failure.detail);
}

/* Either may have failed before the listener knew the relation. */
void sfc_graph_set_parent(sf_graph_t *graph, sf_graph_t *parent)
{
  pthread_mutex_lock(&graph->context->lock);
  graph->parent = parent;
  if (parent != NULL) {
    fail_as(parent, graph);
    fail_as(graph, graph);
  }
  pthread_mutex_unlock(&graph->context->lock);
}

static void report(sf_context_t *context, uint64_t graph, sf_status_t status, const char *detail)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(GRAPH_FAIL, graph_fail, .graph = graph,
                                                .detail = (char *)(uintptr_t)detail, SFPROTO_HAS(status, status));
  (void)sfc_daemon_tell(&context->control, &message, NULL, 0); /* the result does not matter */
}

void sfc_graph_fail_everywhere(sf_graph_t *graph, sf_status_t status, const char *detail)
{
  fail_with_parents(graph, status, detail);
  if (graph->multi != NULL)
    sfc_graph_fail(graph->multi, status, detail);
  report(graph->context, graph->number, status, graph->failure.detail);
}

/* ---- Graphs in the making -----------------------------------------------------------------------------------------
 */

/* A failure of a graph whose number is not known here yet. */
struct sfc_early_failure {
  sfc_early_failure_t *next;
  uint64_t graph;
  sf_status_t status;
  char detail[];
};

void sfc_graph_expect(sf_context_t *context)
{
  pthread_mutex_lock(&context->lock);
  context->nexpected++;
  pthread_mutex_unlock(&context->lock);
}

/* With the context's lock held. */
static void keep_early(sf_context_t *context, uint64_t number, sf_status_t status, const char *detail)
{
  if (context->nexpected == 0)
    return;
  size_t length = strlen(detail) + 1;
  sfc_early_failure_t *early = malloc(sizeof *early + length);
  if (early == NULL) {
    (void)sfc_daemon_give_up(&context->control, sfshm_error(SF_ERR_NOMEM, "a graph has failed: %s", detail));
    return;
  }
  *early = (sfc_early_failure_t){.next = context->early_failures, .graph = number, .status = status};
  memcpy(early->detail, detail, length);
  context->early_failures = early;
}

void sfc_graph_expected(sf_context_t *context)
{
  if (--context->nexpected > 0)
    return;
  while (context->early_failures != NULL) {
    sfc_early_failure_t *early = context->early_failures;
    context->early_failures = early->next;
    free(early);
  }
}

void sfc_graph_give_up(sf_context_t *context)
{
  pthread_mutex_lock(&context->lock);
  sfc_graph_expected(context);
  pthread_mutex_unlock(&context->lock);
}

void sfc_graph_fail_early(sf_graph_t *graph)
{
  for (const sfc_early_failure_t *early = graph->context->early_failures; early != NULL; early = early->next)
    if (early->graph == graph->number)
      sfc_graph_fail(graph, early->status, early->detail);
}

/* ---- What the daemon says -----------------------------------------------------------------------------------------
 */

/* Inserts the call site of the graph into a detail that begins with its bare number: a daemon does not know the site if
 * the ranks of its node have left or destroyed the graph. */
static void add_call_site(const sf_graph_t *graph, const char *detail, char *text, size_t text_bytes)
{
  char name[SFC_GRAPH_TEXT_BYTES];
  size_t length = (size_t)snprintf(name, sizeof name, "graph %llu", (unsigned long long)graph->number);
  bool bare = strncmp(detail, name, length) == 0 && detail[length] == ',';
  sfc_graph_text(graph, name);
  snprintf(text, text_bytes, "%s%s", bare ? name : "", bare ? detail + length : detail);
}

/* All graphs related to a failed graph fail: other ranks may see any of them failed and send nothing more. Other ranks
 * may also not enter a barrier of a related graph in which this rank waits. The daemon does not know the relation, so
 * it is told. */
static void graph_failed(sf_context_t *context, uint64_t number, sf_status_t status, const char *detail)
{
  pthread_mutex_lock(&context->lock);
  const sf_graph_t *graph = context->graphs;
  uint64_t barrier = 0;
  char text[sizeof graph->failure.detail];
  while (graph != NULL && graph->number != number)
    graph = graph->next;
  if (graph != NULL) {
    add_call_site(graph, detail, text, sizeof text);
    fail_kin(graph, status, text);
    barrier = find_barrier(graph);
  } else {
    keep_early(context, number, status, detail);
  }
  pthread_mutex_unlock(&context->lock);
  sfshm_wake_always(context->wake);
  if (barrier != 0 && barrier != number)
    report(context, barrier, status, detail);
}

static void fail_all(sf_context_t *context, sf_status_t status, const char *detail)
{
  for (sf_graph_t *graph = context->graphs; graph != NULL; graph = graph->next)
    sfc_graph_fail(graph, status, detail);
}

const sfc_listener_ops_t sfc_graph_listener_ops = {
    .job_failed = fail_all, .graph_failed = graph_failed, .graph_gone = sfc_retired_graph_gone};

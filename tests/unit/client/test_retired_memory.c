/* Many live graphs and many destroyed ones: each is found by itself. With lists to be searched these would take
 * minutes.
 */
#include "client/graph/retired_memory.h"

#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/unit/runner.h"

#define GRAPHS 100000u

static sf_context_t context;
static sf_graph_t *graphs;

static void setup(void)
{
  memset(&context, 0, sizeof context);
  pthread_mutex_init(&context.lock, NULL);
  context.retired_graphs = sfc_retired_new();
  graphs = calloc(GRAPHS, sizeof *graphs);
  for (uint64_t i = 0; i < GRAPHS; i++) { /* all else is zero */
    graphs[i].context = &context;
    graphs[i].number = i + 1;
    graphs[i].memory.record = sfc_retired_record_new();
  }
}

static void teardown(void)
{
  for (uint64_t i = 0; i < GRAPHS; i++)
    free(graphs[i].memory.record);
  free(graphs);
  sfc_retired_free(&context);
  pthread_mutex_destroy(&context.lock);
}

SFTEST_FIXTURE(setup, teardown);

/* In any order: the i-th of them, each once. */
static sf_graph_t *pick(uint64_t i, int order)
{
  return &graphs[order == 0 ? i : order == 1 ? GRAPHS - 1 - i : i * 7919 % GRAPHS]; /* a prime */
}

SFTEST_FOR(live_graphs_are_unlinked, 3)
{
  for (uint64_t i = 0; i < GRAPHS; i++)
    sfc_graph_link(&graphs[i]);
  for (uint64_t i = 0; i < GRAPHS; i++) {
    sfc_graph_unlink(pick(i, _i));
    sfc_graph_unlink(pick(i, _i)); /* which is in no list any more */
    if (i == GRAPHS / 2) {
      uint64_t n = 0;
      for (const sf_graph_t *graph = context.graphs; graph != NULL; graph = graph->next)
        n++;
      ck_assert_uint_eq(n, GRAPHS - i - 1);
    }
  }
  ck_assert_ptr_null(context.graphs);
}

SFTEST_FOR(destroyed_graphs_are_found, 3)
{
  for (uint64_t i = 0; i < GRAPHS; i++)
    sfc_retired_add(&graphs[i]);
  context.retired_graphs->unreported = NULL; /* the daemon has been told of all */
  for (uint64_t i = 0; i < GRAPHS; i++) {
    sfc_retired_graph_gone(&context, pick(i, _i)->number);
    sfc_retired_graph_gone(&context, GRAPHS + 1 + i); /* nobody knows it */
  }
  for (int i = 0; i < SFC_RETIRED_CHAINS; i++)
    ck_assert_ptr_null(context.retired_graphs->chains[i]);
}

SFTEST(records_go_with_the_context)
{
  for (uint64_t i = 0; i < 3000; i++)
    sfc_retired_add(&graphs[i]);
  sfc_retired_graph_gone(&context, 2); /* unreported: one of a failed job, say */
  sfc_retired_free(&context);
}

/* Failure of graphs: marking, reporting to the daemon, and the listener's handlers. */
#ifndef SFC_GRAPH_FAILURE_H
#define SFC_GRAPH_FAILURE_H

#include "client/core.h"
#include "client/graph/graph.h"

/* Whether the graph has failed; sfc_graph_failure says why. */
static inline bool sfc_graph_is_failed(const sf_graph_t *graph)
{
  return atomic_load_explicit(&graph->failure.status, memory_order_relaxed) != SF_OK;
}

/* Returns SF_OK, or the failure of the graph or its job, with the detail. */
sf_status_t sfc_graph_failure(const sf_graph_t *graph);

/* Marks the graph failed; the first failure counts. Any thread. */
void sfc_graph_fail(sf_graph_t *graph, sf_status_t status, const char *detail);

/* Sets a callback for each failure of a graph of this process, called by the thread that detects it. */
void sfc_graph_observe_failures(void (*callback)(void));

/* Fails the graph for all ranks, here with its multi-graph and its parents. Other related graphs fail when the daemon
 * reports the failure; their waits check these graphs only. The thread that uses the graph, or the watchdog of its
 * streams. */
void sfc_graph_fail_everywhere(sf_graph_t *graph, sf_status_t status, const char *detail);

/* Sets the graph's parent, of which the graph is an internal part; both fail together. NULL: no parent. */
void sfc_graph_set_parent(sf_graph_t *graph, sf_graph_t *parent);

/* Handlers for the listener. */
extern const sfc_listener_ops_t sfc_graph_listener_ops;

/* Other ranks may use and fail a new graph before this rank knows its number. Between sfc_graph_expect and either
 * sfc_graph_give_up or sfc_graph_expected (lock held), failures of unknown graphs are kept. sfc_graph_fail_early (lock
 * held) applies a kept failure. */
void sfc_graph_expect(sf_context_t *context);
void sfc_graph_give_up(sf_context_t *context);
void sfc_graph_expected(sf_context_t *context);
void sfc_graph_fail_early(sf_graph_t *graph);

#endif

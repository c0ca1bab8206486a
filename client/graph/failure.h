/* Failure of graphs: what marks a graph failed, whom that is told, and what the daemon says of graphs. */
#ifndef SFC_GRAPH_FAILURE_H
#define SFC_GRAPH_FAILURE_H

#include "client/core.h"
#include "client/graph/graph.h"

/* Whether the graph has failed; sfc_graph_failure says why. */
static inline bool sfc_graph_is_failed(const sf_graph_t *graph)
{
  return atomic_load_explicit(&graph->failure.status, memory_order_relaxed) != SF_OK;
}

/* SF_OK, or why the graph (or its job) has failed, with the detail. */
sf_status_t sfc_graph_failure(const sf_graph_t *graph);

/* Marks the graph failed; the first reason stays. Any thread. */
void sfc_graph_fail(sf_graph_t *graph, sf_status_t status, const char *detail);

/* The same with its multi-graph, or the graphs of which it is a part. Others that belong to these fail when the daemon
 * says that it has: what waits on them looks at them alone. The thread that uses the graph, or for a graph that carries
 * streams their guard. */
void sfc_graph_fail_family(sf_graph_t *graph, sf_status_t status, const char *detail);

/* From now on the callback is called each time a graph of the process has failed, by the thread that found it out. */
void sfc_graph_observe_failures(void (*callback)(void));

/* Tells the daemon that it has failed. */
void sfc_graph_tell_failure(sf_context_t *context, uint64_t number, sf_status_t status, const char *detail);

/* Fails the graph for all ranks. */
void sfc_graph_fail_everywhere(sf_graph_t *graph, sf_status_t status, const char *detail);

/* Two graphs that fail together, one being part of what the other one is to the application; NULL: not any more. */
void sfc_graph_set_parent(sf_graph_t *graph, sf_graph_t *parent);

/* What graphs do with what the daemon says of them, and of the job. The listener. */
extern const sfc_listener_ops_t sfc_graph_listener_ops;

/* Other ranks may learn that a graph is ready, and fail it, before this rank knows the graph's number. Between
 * sfc_graph_expect and either sfc_graph_give_up or sfc_graph_expected (under the context's lock), the failures of
 * unknown graphs are kept. sfc_graph_fail_early fails the graph if its failure has been kept (under the lock). */
void sfc_graph_expect(sf_context_t *context);
void sfc_graph_give_up(sf_context_t *context);
void sfc_graph_expected(sf_context_t *context);
void sfc_graph_fail_early(sf_graph_t *graph);

#endif

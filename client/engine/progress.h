/* Progress of all operations of a thread, and waiting. Progress happens in calls into the library only. */
#ifndef SFC_ENGINE_PROGRESS_H
#define SFC_ENGINE_PROGRESS_H

#include <stdbool.h>

#include "client/core.h"
#include "client/engine/operation.h"
#include "client/engine/thread.h"

/* Makes progress on everything once. Returns whether anything moved. */
bool sfc_thread_progress(sfc_thread_t *thread);

/* The same for tests, of which many may follow one another. */
void sfc_thread_test(sfc_thread_t *thread);

/* Sends eagerly (eager.h) what lanes could not take, before the thread stops making progress: of a graph, or of all.
 * Returns whether anything moved. The caller flushes wakes. */
bool sfc_graph_send_eagerly(sf_graph_t *graph);
bool sfc_thread_send_eagerly(const sfc_thread_t *thread);

/* Makes progress until the request is complete, its graph has failed, or, unless timeout_ns is negative, the time is
 * over. */
sf_status_t sfc_thread_wait(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns);

/* ---- Turns of several threads ------------------------------------------------------------------------------------ */

/* For adapters whose programs end operations in other threads than those that began them. A pool stands in for a
 * thread: it has the graphs with operations in flight while no thread is inside. One thread at a time is inside, which
 * the caller makes sure of. Not for compound operations, which stay with the thread that began them. */

/* Moves the graphs of the context to the calling thread, which can then use them as if it had begun their operations.
 */
void sfc_pool_enter(const sf_context_t *context, sfc_thread_t *pool);

/* Moves the graphs of the context from the calling thread to the pool. Returns whether one of them is crowded. */
bool sfc_pool_leave(const sf_context_t *context, sfc_thread_t *pool);

/* What begin hands over: see engine/eager.h, and sf_exchange.h for other nodes. */
#define SFC_HANDED_ON_NODE (SFSHM_EAGER_SLOTS - SFSHM_LANE_SLOTS)
#define SFC_HANDED_BETWEEN_NODES 4

/* Whether more operations of a graph, which the calling thread uses, are in flight than begin hands over: other ranks
 * may wait for progress of this one. */
static inline bool sfc_pool_is_crowded(const sf_graph_t *graph)
{
  return (int64_t)graph->in_flight > (graph->trunks != NULL ? SFC_HANDED_BETWEEN_NODES : SFC_HANDED_ON_NODE) &&
         !sfc_graph_is_failed(graph);
}

/* Makes progress on the operations of the calling thread. */
void sfc_pool_continue(void);

#endif

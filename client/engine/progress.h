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

#endif

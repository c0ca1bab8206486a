/* Progress of everything that a thread has begun, and waiting. There is no other progress than that of calls into the
 * library: data move when their owner begins an operation and when it waits. */
#ifndef SFC_ENGINE_PROGRESS_H
#define SFC_ENGINE_PROGRESS_H

#include <stdbool.h>

#include "client/core.h"
#include "client/engine/operation.h"
#include "client/engine/thread.h"

/* Looks once at everything; whether anything moved. */
bool sfc_thread_progress(sfc_thread_t *thread);

/* The same for tests, of which many may follow one another. */
void sfc_thread_test(sfc_thread_t *thread);

/* Sends eagerly (eager.h) what lanes could not take, before the thread does something else than progress: of one graph,
 * or of all. Whether anything moved. Wakes are left to the caller. */
bool sfc_graph_send_eagerly(sf_graph_t *graph);
bool sfc_thread_send_eagerly(const sfc_thread_t *thread);

/* Progress until the request is complete or its graph has failed, or, unless it is negative, until about timeout_ns
 * have passed. */
sf_status_t sfc_thread_wait(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns);

#endif

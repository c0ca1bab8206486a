/* Listener: a thread that receives alerts of the daemon (failures, removed segments) and the loss of the daemon.
 * Threads that compute, spin or sleep see failures without asking. All signals are blocked in it. */
#ifndef SFC_CORE_LISTENER_H
#define SFC_CORE_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "proto/conn.h"

/* Handlers of the graph room. */
typedef struct sfc_listener_ops {
  void (*job_failed)(sf_context_t *context, sf_status_t status, const char *detail); /* with the context's lock held */
  void (*graph_failed)(sf_context_t *context, uint64_t graph, sf_status_t status, const char *detail);
  void (*graph_gone)(sf_context_t *context, uint64_t graph); /* every rank has destroyed it */
} sfc_listener_ops_t;

typedef struct sfc_listener {
  const sfc_listener_ops_t *ops;
  sfproto_conn_t *conn;
  int daemon_end; /* closed after sending; then -1 */
  bool running;
  pthread_t thread;
} sfc_listener_t;

/* Creates the socket pair. */
sf_status_t sfc_listener_open(sfc_listener_t *listener, const sfc_listener_ops_t *ops);

/* Starts the thread, when the context is complete. */
sf_status_t sfc_listener_start(sfc_listener_t *listener, sf_context_t *context);

/* Stops the thread if it runs, and closes the socket. */
void sfc_listener_close(sfc_listener_t *listener);

#endif

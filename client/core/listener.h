/* The listener: a thread that sleeps on the alert socket and carries out what the daemon says there. It makes the loss
 * of the daemon and the failure of other ranks known to threads that compute, spin or sleep, without any of them having
 * to ask. It runs with all signals blocked. */
#ifndef SFC_CORE_LISTENER_H
#define SFC_CORE_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "proto/conn.h"

/* What graphs do with news about the job. */
typedef struct sfc_listener_ops {
  void (*job_failed)(sf_context_t *context, sf_status_t status, const char *detail); /* under the context's lock */
  void (*graph_failed)(sf_context_t *context, uint64_t graph, sf_status_t status, const char *detail);
  void (*graph_gone)(sf_context_t *context, uint64_t graph); /* every rank has destroyed it */
} sfc_listener_ops_t;

typedef struct sfc_listener {
  const sfc_listener_ops_t *ops;
  sfproto_conn_t *conn;
  int daemon_end; /* until it has been sent; else -1 */
  bool running;
  pthread_t thread;
} sfc_listener_t;

/* Makes the socket pair. */
sf_status_t sfc_listener_open(sfc_listener_t *listener, const sfc_listener_ops_t *ops);

/* Starts listening for a context that is complete. */
sf_status_t sfc_listener_start(sfc_listener_t *listener, sf_context_t *context);

/* Stops the thread, if it runs, and closes. */
void sfc_listener_close(sfc_listener_t *listener);

#endif

/* The listener: a thread that sleeps on the alert socket and carries out what the daemon says there. It makes the loss
 * of the daemon and the failure of other ranks known to threads that compute, spin or sleep, without any of them having
 * to ask. It runs with all signals blocked. */
#ifndef SFC_ALERTS_H
#define SFC_ALERTS_H

#include <pthread.h>
#include <stdbool.h>

#include <sf/sf.h>

#include "proto/conn.h"

typedef struct sfc_alerts {
  sfproto_conn_t *conn;
  int daemon_end; /* until it has been sent; else -1 */
  bool running;
  pthread_t thread;
} sfc_alerts_t;

/* Makes the socket pair. */
sf_status_t sfc_alerts_open(sfc_alerts_t *alerts);

/* Starts listening for a context that is complete. */
sf_status_t sfc_alerts_start(sfc_alerts_t *alerts, sf_context_t *context);

/* Stops the thread, if it runs, and closes. */
void sfc_alerts_close(sfc_alerts_t *alerts);

#endif

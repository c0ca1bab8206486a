/* Requests to the daemon and answers, over the control connection. Any thread. Several requests may be pending: one
 * waiting thread reads for all. */
#ifndef SFC_CORE_DAEMON_CONN_H
#define SFC_CORE_DAEMON_CONN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/conn.h"

typedef struct sfc_daemon_answer sfc_daemon_answer_t;

typedef struct sfc_control {
  sfproto_conn_t *conn;
  pthread_mutex_t lock;   /* protects the fields below, and writing to conn */
  pthread_cond_t changed; /* an answer arrived, the connection broke, or no thread reads any more */
  uint64_t last_request;
  int64_t patience_ms; /* time limit for the daemon's next message; 0: none */
  bool reading;        /* a thread is in sfproto_conn_receive */
  sf_status_t broken;  /* SF_OK, or why the connection is broken */
  char *broken_detail;
  sfc_daemon_answer_t *answers;
} sfc_daemon_conn_t;

/* Connects to the daemon's socket. */
sf_status_t sfc_daemon_open(sfc_daemon_conn_t *control, const char *socket_path);
void sfc_daemon_close(sfc_daemon_conn_t *control);

/* Returns SF_OK, or why the connection is broken, with the detail: the daemon has then been told, if it runs, and the
 * rank fails for all. */
sf_status_t sfc_daemon_failure(sfc_daemon_conn_t *control);

/* Breaks the connection with that status and the thread's error text. The caller cannot send a message for which other
 * ranks wait; the end of the connection makes the daemon fail this rank for all ranks of the job. Returns the status.
 */
sf_status_t sfc_daemon_give_up(sfc_daemon_conn_t *control, sf_status_t status);

/* Sends a request and sets its number. The caller keeps the descriptors. If sending fails and other ranks wait for the
 * request, the rank has failed for all. Exception: if a GraphCreate or GraphCommit without error fails, nothing was
 * sent, unless sfc_daemon_failure reports a failure; the caller then sends the shorter message with an error. */
sf_status_t sfc_daemon_send(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds);

/* Waits for the next answer to the request, which must have the expected body. An Error becomes its status and detail.
 * The caller frees *incoming. look_ns: how long the thread looks for the answer, and yields, before it sleeps; 0: it
 * sleeps at once. */
#define SFC_DAEMON_LOOK_NS INT64_C(200000) /* for answers of the daemon alone */
sf_status_t sfc_daemon_receive(sfc_daemon_conn_t *control, uint64_t request, int64_t look_ns,
                               Sfproto__Message__BodyCase expected, sfproto_incoming_t *incoming);

/* Sends and receives. */
sf_status_t sfc_daemon_call(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds,
                            Sfproto__Message__BodyCase expected, sfproto_incoming_t *incoming);

/* Sends a request that is answered by Done, and waits. */
sf_status_t sfc_daemon_tell(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds);

#endif

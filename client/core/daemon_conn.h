/* Requests to the daemon and their answers, over the control connection. Any thread: several requests may be waiting at
 * once; whoever waits reads for all. */
#ifndef SFC_CORE_DAEMON_CONN_H
#define SFC_CORE_DAEMON_CONN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/conn.h"

typedef struct sfc_daemon_answer sfc_daemon_answer_t;

typedef struct sfc_control {
  sfproto_conn_t *conn;
  pthread_mutex_t lock;   /* the fields below, and writing to conn */
  pthread_cond_t changed; /* an answer came, the connection broke, or nobody reads any more */
  uint64_t last_request;
  int64_t patience_ms; /* how long the daemon may take for its next message; 0: for ever */
  bool reading;        /* some thread is in sfproto_conn_receive */
  sf_status_t broken;  /* SF_OK, or why nothing more will come */
  char *broken_detail; /* NULL: none */
  sfc_daemon_answer_t *answers;
} sfc_daemon_conn_t;

/* Connects to the daemon's socket. */
sf_status_t sfc_daemon_open(sfc_daemon_conn_t *control, const char *socket_path);
void sfc_daemon_close(sfc_daemon_conn_t *control);

/* SF_OK, or why nothing more will come, with the detail: then the daemon has been told, if it is there, and the rank
 * fails for all. */
sf_status_t sfc_daemon_failure(sfc_daemon_conn_t *control);

/* This rank can't say, for that status and detail, what others wait for: it fails for all. Returns the status. */
sf_status_t sfc_daemon_give_up(sfc_daemon_conn_t *control, sf_status_t status);

/* Sends a request; fills in its number, by which the answer is found. The descriptors stay the caller's. If that fails
 * and others wait for the request the rank has failed for all; except that nobody has heard of a GraphCreate or a
 * GraphCommit without error, unless sfc_daemon_failure says so: with an error these are shorter. */
sf_status_t sfc_daemon_send(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds);

/* Waits for the next answer to that request, which must have the body expected. An Error from the daemon becomes its
 * status and detail. *incoming is the caller's to free. */
sf_status_t sfc_daemon_receive(sfc_daemon_conn_t *control, uint64_t request, Sfproto__Message__BodyCase expected,
                               sfproto_incoming_t *incoming);

/* The same of an answer that takes long, where ranks share cores: leaves the core to others at once. */
sf_status_t sfc_daemon_receive_late(sfc_daemon_conn_t *control, uint64_t request, Sfproto__Message__BodyCase expected,
                                    sfproto_incoming_t *incoming);

/* Sends and receives. */
sf_status_t sfc_daemon_call(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds,
                            Sfproto__Message__BodyCase expected, sfproto_incoming_t *incoming);

/* A request that is answered by Done. */
sf_status_t sfc_daemon_tell(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds);

#endif

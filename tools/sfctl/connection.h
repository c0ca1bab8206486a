/* Connection of a tool to the daemon. */
#ifndef SFCTL_CONNECTION_H
#define SFCTL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include <sf/sf_status.h>

#include "proto/conn.h"
#include "proto/report/list.h"
#include "tools/sfctl/options.h"

/* Nodes that a query concerns. {0}: that of the daemon. */
typedef struct sfctl_target {
  bool named; /* the node of that number: */
  int32_t node;
  bool all;
} sfctl_target_t;

typedef struct sfctl_connection {
  sfproto_conn_t *conn;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* of the socket, for texts */
  int64_t timeout_ms;                                         /* for texts */
  int64_t deadline_ms;                                        /* of all queries, on the monotonic clock */
  uint64_t last_request;
  sfctl_target_t target;   /* of queries */
  int questions;           /* queries that share the time; 0: one */
  sfreport_list_t missing; /* NodeMissing messages, if all nodes are queried */
} sfctl_connection_t;

/* By the options. */
sfctl_target_t sfctl_target(const sfctl_options_t *options);

/* Connects and sends Hello; all answers must come within timeout_ms from now. Blocks. SF_ERR_NO_DAEMON, SF_ERR_VERSION,
 * SF_ERR_TIMEOUT, SF_ERR_DAEMON_LOST, SF_ERR_PROTO; errors of the daemon (SF_ERR_PERM, SF_ERR_LIMIT). */
sf_status_t sfctl_connect(const char *socket_path, int64_t timeout_ms, sfctl_connection_t *connection_p);

/* Starts the time again, and forgets missing nodes. */
void sfctl_renew(sfctl_connection_t *connection);
void sfctl_disconnect(sfctl_connection_t *connection);

/* Takes a message of an answer; may keep incoming->message by setting it to NULL. An error ends the query. */
typedef sf_status_t (*sfctl_take_t)(void *context, sfproto_incoming_t *incoming);

/* The error of nodes that did not answer, or SF_OK. nanswers: messages of those that did. */
sf_status_t sfctl_check_missing(const sfctl_connection_t *connection, size_t nanswers);

/* So many queries share the time of other nodes. */
void sfctl_will_ask(sfctl_connection_t *connection, int questions);

/* Sends the query and passes each message of the answer to take. Errors as above, after which the connection can't be
 * used. */
sf_status_t sfctl_query(sfctl_connection_t *connection, Sfproto__Query *query, sfctl_take_t take, void *context);

/* Sends the request, waits for its execution, and passes the Controlled of each node to take. Errors as above. */
sf_status_t sfctl_request(sfctl_connection_t *connection, Sfproto__Control *control, sfctl_take_t take, void *context);

#endif

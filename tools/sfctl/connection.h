/* The connection to the daemon, as a tool. */
#ifndef SFCTL_CONNECTION_H
#define SFCTL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include <sf/sf_status.h>

#include "proto/conn.h"
#include "proto/report/list.h"
#include "tools/sfctl/options.h"

/* Nodes of the cluster. {0}: the one whose daemon is asked. */
typedef struct sfctl_target {
  bool named; /* the node of that number: */
  int32_t node;
  bool all;
} sfctl_target_t;

typedef struct sfctl_connection {
  sfproto_conn_t *conn;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* of the socket, for texts */
  int64_t timeout_ms;                                         /* for texts */
  int64_t deadline_ms;                                        /* of everything, on the monotonic clock */
  uint64_t last_request;
  sfctl_target_t target;   /* whom queries concern */
  int questions;           /* that share the time; 0: one */
  sfreport_list_t missing; /* NodeMissing: what has no answer, if all nodes are meant */
} sfctl_connection_t;

/* As the options say. */
sfctl_target_t sfctl_target(const sfctl_options_t *options);

/* Connects and says hello. All that is asked over this connection must be answered within timeout_ms from now. Blocks
 * until the answer is there. SF_ERR_NO_DAEMON, SF_ERR_VERSION, SF_ERR_TIMEOUT, SF_ERR_DAEMON_LOST, SF_ERR_PROTO, or
 * what the daemon answers (SF_ERR_PERM, SF_ERR_LIMIT). */
sf_status_t sfctl_connect(const char *socket_path, int64_t timeout_ms, sfctl_connection_t *connection_p);

/* What is asked from now on has the whole time again; what was missing before is forgotten. */
void sfctl_renew(sfctl_connection_t *connection);
void sfctl_disconnect(sfctl_connection_t *connection);

/* Gets one message of an answer; may keep incoming->message, by setting it to NULL. Other than SF_OK ends the query. */
typedef sf_status_t (*sfctl_take_t)(void *context, sfproto_incoming_t *incoming);

/* SF_OK, or what to say of nodes that did not answer, besides what others did. nanswers: messages that these sent. */
sf_status_t sfctl_check_missing(const sfctl_connection_t *connection, size_t nanswers);

/* That many queries make up what is asked, and share the time that other nodes have. */
void sfctl_will_ask(sfctl_connection_t *connection, int questions);

/* Sends the query and hands each message of the answer to take. Errors as above. After an error the connection is of
 * no more use. */
sf_status_t sfctl_query(sfctl_connection_t *connection, Sfproto__Query *query, sfctl_take_t take, void *context);

/* Sends the request, waits until it has been carried out, and hands the answers to take, a Controlled of each node.
 * Errors as above. */
sf_status_t sfctl_request(sfctl_connection_t *connection, Sfproto__Control *control, sfctl_take_t take, void *context);

#endif

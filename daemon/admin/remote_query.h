/* Queries of a tool to other nodes: asks several nodes at a time, each for one portion after the other as the tool
 * reads, and forwards their answers. Names the nodes that do not answer. */
#ifndef SFD_ADMIN_REMOTE_QUERY_H
#define SFD_ADMIN_REMOTE_QUERY_H

#include <stdbool.h>

#include <sf/sf_status.h>

#include "daemon/clients.h"
#include "proto/sf_peer.pb-c.h"

typedef struct sfd_remote_query sfd_remote_query_t;

/* Begins to answer a Query or Control with nodes. SF_ERR_NOT_FOUND: no such node; SF_ERR_NOMEM. */
sf_status_t sfd_remote_query_begin(sfd_session_t *session, const Sfproto__Message *message);

/* The tool has read all output: asks for more. */
void sfd_remote_query_continue(sfd_remote_query_t *remote);

/* Whether nothing can be done until a node answers. NULL is accepted. */
bool sfd_remote_query_waits(const sfd_remote_query_t *remote);

/* NULL is accepted. */
void sfd_remote_query_free(sfd_remote_query_t *remote);

sf_status_t sfd_remote_query_handle_told(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A node is lost: tools that wait for its answer are told. */
void sfd_remote_queries_node_lost(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail);

#endif

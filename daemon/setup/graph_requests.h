/* Requests to destroy or fail a graph, and graphs of ranks that leave. A graph is gone from this node when all members
 * here have destroyed it. */
#ifndef SFD_SETUP_GRAPH_REQUESTS_H
#define SFD_SETUP_GRAPH_REQUESTS_H

#include "daemon/jobs.h"

/* A rank leaves: counts as if the rank had destroyed its graphs. */
void sfd_graphs_leave(sfd_rank_t *rank);

void sfd_graph_handle_destroy(sfd_session_t *session, const Sfproto__Message *message);
void sfd_graph_handle_fail(sfd_session_t *session, const Sfproto__Message *message);

#endif

/* Answers to GraphCreate and GraphCommit: GraphReply. */
#ifndef SFD_SETUP_REPLY_H
#define SFD_SETUP_REPLY_H

#include "daemon/setup/setup.h"

/* Answers every member: edges: with the blocks of leaves on its roots, and its trunks; ready: with the other ends of
 * its lanes. SF_ERR_NOMEM: no member has been answered. */
sf_status_t sfd_reply_send(sfd_graph_t *graph, bool edges, bool ready);

/* Answers every member that the graph is set up, but has failed. */
void sfd_reply_send_failed(const sfd_graph_t *graph, sf_status_t status, const char *detail);

/* Asks a member that named an earlier graph for its edges. */
void sfd_reply_ask_edges(sfd_session_t *session, uint64_t request, uint64_t number);

#endif

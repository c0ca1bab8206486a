/* What the nodes of a graph want from each other: between the edges of their ranks and the agreement of round 1, each
 * node merges the blocks of its ranks that lead to another node, sends the root image (shm/trunk/trunk.h) there, and
 * gets for answer how many roots the owners have, with which it checks its ranks' indices. So a node sends one message
 * to each node whose roots it wants and hears from each of these; nobody has to know beforehand who will send: that
 * round 1 ends is agreed on only when every node's messages have been answered (nonblocking consensus, T. Hoefler et
 * al., "Scalable communication protocols for dynamic sparse data exchange", 2010; here with answers in place of
 * synchronous sends, and the tree of tree_agreement.h for the barrier).
 *
 * Two nodes do not wait for answers: each tells the other how many roots its members have, what they want, and that
 * they have come, in one go. When both have, each sees whether some root is not there, of those that either wants; if
 * so they tell each other once more, with the errors. */
#ifndef SFD_SETUP_ROOT_REQUESTS_H
#define SFD_SETUP_ROOT_REQUESTS_H

#include "daemon/jobs.h"
#include "daemon/net.h"
#include "proto/sf_peer.pb-c.h"

typedef struct sfd_root_requests sfd_root_requests_t;

/* The members of this node have come: answers the nodes that asked before. */
void sfd_root_requests_members_came(sfd_graph_t *graph);

/* Merges and sends; ends with sfd_setup_edges_done, at once or later. */
void sfd_root_requests_begin(sfd_graph_t *graph);

/* Of two nodes, when each has said its part of round 1: whether ranks of either want roots that are not there. Both
 * find the same. Notes what is wrong with those of this node. */
bool sfd_root_requests_are_bad(sfd_graph_t *graph);

/* Makes the graph's trunks of what was sent and received. */
sf_status_t sfd_root_requests_make_trunks(sfd_graph_t *graph);

/* NULL is accepted. Work under way ends by itself. */
void sfd_root_requests_free(sfd_root_requests_t *requests);

/* Takes the image over. */
sf_status_t sfd_root_requests_arrived(sfd_group_t *group, int32_t node, const sfd_message_head_t *head, void *image);
sf_status_t sfd_root_requests_handle_wanted(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

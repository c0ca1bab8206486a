/* Root requests between the nodes of a graph, in round 1. Each node merges the blocks of its ranks that lead to another
 * node, sends that node the root image (shm/trunk/trunk.h), and receives the owners' numbers of roots, against which it
 * checks its ranks' indices. A node sends one message to each node whose roots it needs and receives one from each; no
 * node knows in advance which nodes will send. Round 1 ends by agreement once all messages of all nodes have been
 * answered (nonblocking consensus: T. Hoefler et al., "Scalable communication protocols for dynamic sparse data
 * exchange", 2010; with answers instead of synchronous sends, and the tree of tree_agreement.h as barrier). Two nodes
 * do not wait for answers: each sends its numbers of roots, its root request and its part of the agreement together.
 * With both parts, each checks both requests; if a root does not exist, they repeat the agreement with the errors. */
#ifndef SFD_SETUP_ROOT_REQUESTS_H
#define SFD_SETUP_ROOT_REQUESTS_H

#include "daemon/jobs.h"
#include "daemon/net.h"
#include "proto/sf_peer.pb-c.h"

typedef struct sfd_root_requests sfd_root_requests_t;

/* All members of this node have arrived: answers earlier requests. */
void sfd_root_requests_members_came(sfd_graph_t *graph);

/* Merges and sends; ends with sfd_setup_edges_done, now or later. */
void sfd_root_requests_begin(sfd_graph_t *graph);

/* Two nodes, after both parts of round 1: whether either requests roots that do not exist. Both nodes find the same.
 * Records the errors of this node's ranks. */
bool sfd_root_requests_are_bad(sfd_graph_t *graph);

/* Makes the graph's trunks from the merged and the received images. */
sf_status_t sfd_root_requests_make_trunks(sfd_graph_t *graph);

/* NULL is accepted. A running merge frees itself. */
void sfd_root_requests_free(sfd_root_requests_t *requests);

/* Takes over the image. */
sf_status_t sfd_root_requests_arrived(sfd_group_t *group, int32_t node, const sfd_message_head_t *head, void *image);
sf_status_t sfd_root_requests_handle_wanted(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

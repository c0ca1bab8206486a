/* Coordinator of joining jobs. While the ranks of a job come to several nodes, one node coordinates the job; it is
 * chosen by user and name (coordinator_client.h). The other nodes report their ranks to it. The coordinator finds out
 * when all ranks have come, or that some do not come in time. When all have come it sends JobStart to the first node of
 * the job, from where it goes down the tree of the job's nodes. After that no coordinator is needed (job.h). A daemon
 * that is alone has none.
 *
 *   JOINING ---all came---> STARTING ---JobRuns of the first node---> freed
 *      |                       |
 *      |--- a node with ranks, or the first node, is lost ---> REFUSED, for ten seconds: late ranks are refused, too;
 *      |                                                       freed when ranks come again that have been refused
 *      `--- JobMoved: another node is the coordinator ---> MOVED, for a minute */
#ifndef SFD_MEMBERSHIP_COORDINATOR_H
#define SFD_MEMBERSHIP_COORDINATOR_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "proto/sf_peer.pb-c.h"

/* A node is lost: refuses the coordinated jobs that need the node. */
void sfd_coordinators_node_lost(sfd_server_t *server, int32_t node, const char *detail);

void sfd_coordinators_free(sfd_server_t *server);

sf_status_t sfd_coordinator_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_coordinator_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A job runs on the node. */
sf_status_t sfd_coordinator_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* JobMoved: a node of a higher position coordinates a job. Nodes may disagree about lost nodes, and so about the
 * coordinator. A node that takes the place of others sends them JobMoved, and they forward it to all nodes that
 * reported to them. So the highest node that any node chose becomes the coordinator for all nodes in reach. */
sf_status_t sfd_coordinator_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

/* Coordinator of jobs that join: while the ranks of a job come to several nodes, one node is the job's home, chosen by
 * user and name (coordinator_client.h). The other nodes tell the home which ranks have come. The home finds out when
 * all have come, or that some do not come in time. When all have come it sends JobStart to the first node of the job;
 * from there it goes down the tree of the job's nodes. The job needs its home no longer then: its nodes notice losses
 * themselves, and tell each other (job.h). A daemon that is alone does without.
 *
 *   JOINING ---all came---> STARTING ---JobRuns of the first node---> forgotten
 *      |                       |
 *      |--- a node with ranks, or the first node, is lost ---> REFUSED, for ten seconds: ranks that come yet are
 *      |                           refused, too. Forgotten when ranks come that have been refused before: they try
 * again
 *      `--- JobMoved: another one is its home ---> MOVED, for a minute
 */
#ifndef SFD_MEMBERSHIP_COORDINATOR_H
#define SFD_MEMBERSHIP_COORDINATOR_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "proto/sf_peer.pb-c.h"

/* A node is lost: jobs of which this node is the home, and which need that node, do not come about. */
void sfd_coordinators_node_lost(sfd_server_t *server, int32_t node, const char *detail);

/* Forgets everything, silently. */
void sfd_coordinators_free(sfd_server_t *server);

sf_status_t sfd_coordinator_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_coordinator_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A job has begun on the node, which waits for this home no longer. */
sf_status_t sfd_coordinator_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Another node, of a higher position, is the home of a job. Nodes may disagree about which nodes are lost, and so about
 * the home: who takes the place of others as home of a job tells those by this message, and it is passed on to all that
 * have come to them. So the highest one that anybody chose becomes the home for all, as far as they can be reached. */
sf_status_t sfd_coordinator_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

/* Assembling jobs whose ranks come to several nodes: what their home does. While a job is joining, one node is its
 * home, chosen by user and name (coordinator_client.h): the others tell it which ranks have come, it finds out when all
 * have, or that some do not come in time, and tells the others. When all nodes have said that the job runs there it
 * does without its home: its nodes notice losses themselves, and tell each other (job.h). A daemon that is alone does
 * without.
 *
 *   JOINING ---all came---> STARTING --runs on all nodes (JobRuns)--> forgotten
 *      |                       ^    `--a node is lost before--> fails
 *      |                       |
 *      |                       `--- JobRuns with a table: its home was another one, which is lost. Those who come now
 *      |                            and belong to the job are started. Forgotten when it runs on all nodes, or is over
 *      |                            where it has been said to run
 *      |--- JobMoved: another one is its home ---> MOVED, for a minute
 *      `--- a node with ranks is lost ---> REFUSED, for ten seconds: ranks that come yet are refused, too. Forgotten
 *           when ranks come that have been refused before: they try again
 */
#ifndef SFD_ASSEMBLY_H
#define SFD_ASSEMBLY_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs/job.h"
#include "proto/sf_peer.pb-c.h"

/* A node is lost: of the jobs of which this node is the home those that have ranks there, and are not known to run
 * there, do not come about, or fail. */
void sfd_assemblies_node_lost(sfd_server_t *server, int32_t node, const char *detail);

/* Forgets everything, silently. */
void sfd_assemblies_free(sfd_server_t *server);

sf_status_t sfd_assembly_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_over(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A job runs on the node; with a table of its ranks, it has lost its home. */
sf_status_t sfd_assembly_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Another node, of a higher position, is the home of a job. Nodes may disagree about which nodes are lost, and so about
 * the home: who takes the place of others as home of a job tells those by this message, and it is passed on to all that
 * have come to them. So the highest one that anybody chose becomes the home for all, as far as they can be reached. */
sf_status_t sfd_assembly_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

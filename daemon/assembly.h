/* Assembling jobs whose ranks come to several nodes: what their home does. While a job is joining, one node is its
 * home, chosen by user and name (home.h): the others tell it which ranks have come, it finds out when all have, or that
 * some do not come in time, and tells the others. While the job runs the home watches over its nodes: those that share
 * nothing have no channel to each other, and would not notice a loss. A daemon that is alone does without.
 *
 *   JOINING ---all came---> RUNNING --over on all nodes--> forgotten
 *      |                       ^
 *      |                       `--- JobRuns: its home was another one, which is lost
 *      `--- JobMoved: another one is its home ---> MOVED, for a minute
 */
#ifndef SFD_ASSEMBLY_H
#define SFD_ASSEMBLY_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/job.h"
#include "proto/sf_peer.pb-c.h"

/* A node is lost: of the jobs of which this node is the home those that have ranks there do not come about, or fail. */
void sfd_assemblies_node_lost(sfd_server_t *server, int32_t node, const char *detail);

/* Forgets everything, silently. */
void sfd_assemblies_free(sfd_server_t *server);

sf_status_t sfd_assembly_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_over(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A job that runs has lost its home. */
sf_status_t sfd_assembly_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Another node, of a higher position, is the home of a job. Nodes may disagree about which nodes are lost, and so about
 * the home: who takes the place of others as home of a job tells those by this message, and it is passed on to all that
 * have come to them. So the highest one that anybody chose becomes the home for all, as far as they can be reached. */
sf_status_t sfd_assembly_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

/* Assembling jobs whose ranks come to several nodes. While a job is joining, one node is its home, chosen by user and
 * name: the others tell it which ranks have come, it finds out when all have, or that some do not come in time, and
 * tells the others. While the job runs the home watches over its nodes: those that share nothing have no channel to
 * each other, and would not notice a loss. A daemon that is alone does without. */
#ifndef SFD_ASSEMBLY_H
#define SFD_ASSEMBLY_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/job.h"
#include "proto/sf_peer.pb-c.h"

/* The node that assembles a job. */
int32_t sfd_assembly_home(const sfd_job_t *job);

/* A rank has come to this node. */
void sfd_assembly_rank_came(sfd_rank_t *rank, int64_t timeout_ms);

/* A job that is joining has failed here, for the reason in its detail. */
void sfd_assembly_withdraw(sfd_job_t *job);

/* The part of a running job that this node has is over. */
void sfd_assembly_over(sfd_job_t *job);

/* A node is lost: jobs that wait for it, or of which it is the home, do not come about; jobs of which this node is
 * the home, and that run there, fail. */
void sfd_assemblies_node_lost(sfd_server_t *server, int32_t node, const char *detail);

/* Forgets everything, silently. */
void sfd_assemblies_free(sfd_server_t *server);

sf_status_t sfd_assembly_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_refuse(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_over(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_assembly_handle_start(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

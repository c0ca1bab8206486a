/* Client of a job's coordinator: nodes report the ranks of joining jobs to a node that is chosen by user and name, or
 * to the next one if that is lost. The coordinator's side is in coordinator.h. A job all of whose ranks come to one
 * node starts there at once. */
#ifndef SFD_MEMBERSHIP_COORDINATOR_CLIENT_H
#define SFD_MEMBERSHIP_COORDINATOR_CLIENT_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "proto/sf_peer.pb-c.h"

#define SFD_COORDINATOR_DIGEST_BYTES 32
#define SFD_COORDINATOR_ANSWERS_MS 1000 /* time for the coordinator's answer, after the deadline of the ranks */

typedef sf_status_t (*sfd_coordinator_handler_t)(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Sends a message; on this node it calls the handler. */
void sfd_coordinator_client_send(sfd_server_t *server, int32_t node, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message);

/* The coordinator if no node is lost, the same on all nodes; it has position 0, and the node after it, which takes its
 * place, position 1. */
int32_t sfd_coordinator_client_first_node(const sfd_server_t *server, uint32_t uid, const char *name);
int32_t sfd_coordinator_client_position(const sfd_server_t *server, uint32_t uid, const char *name, int32_t node);

/* Whether one more rank may be reported to the coordinator. SF_ERR_LIMIT: see coordinator_quota.h. */
sf_status_t sfd_coordinator_client_check_quota(const sfd_server_t *server, uint32_t uid, const char *name);

/* JobWithdraw: the coordinator refuses the job with that status; SF_OK: the job runs, with all ranks on this node.
 * incarnation: see proto/sf_peer.proto. */
void sfd_coordinator_client_send_withdraw(sfd_server_t *server, int32_t coordinator_node, uint32_t uid,
                                          const char *name, sf_status_t status, const char *detail,
                                          const uint64_t *incarnation);

/* A rank has come to this node, and others are missing here. */
void sfd_coordinator_client_rank_came(sfd_rank_t *rank, int64_t timeout_ms);

/* All ranks have come to this node. */
void sfd_coordinator_client_all_here(sfd_job_t *job);

/* A joining job has failed here (job->detail): the coordinator refuses it with that status. */
void sfd_coordinator_client_withdraw(sfd_job_t *job, sf_status_t status);

/* This node accepts no ranks of the job (SF_ERR_STATE): ranks on other nodes are told. */
void sfd_coordinator_client_refuse(sfd_server_t *server, uid_t uid, const char *name, const char *detail);

/* A node is lost: the jobs that it coordinates turn to the next node. */
void sfd_coordinator_client_node_lost(sfd_server_t *server, int32_t node, const char *detail);

sf_status_t sfd_coordinator_client_handle_refuse(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_coordinator_client_handle_start(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* JobFail, which may arrive before the job's start. */
sf_status_t sfd_coordinator_client_handle_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* JobMoved, for the jobs of this node. */
sf_status_t sfd_coordinator_client_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

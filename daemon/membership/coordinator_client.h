/* The home of a job that joins, as seen by the nodes to which its ranks come. It is a node chosen by user and name, or,
 * if that is lost, the next one that is not. What the home does is in coordinator.h.
 *
 * A job all of whose ranks come to one node starts there, whatever its home does. */
#ifndef SFD_MEMBERSHIP_COORDINATOR_CLIENT_H
#define SFD_MEMBERSHIP_COORDINATOR_CLIENT_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/jobs.h"
#include "proto/sf_peer.pb-c.h"

#define SFD_COORDINATOR_DIGEST_BYTES 32
#define SFD_COORDINATOR_ANSWERS_MS 1000 /* after the deadline of those who wait */

typedef sf_status_t (*sfd_coordinator_handler_t)(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Sends a message; to this node itself it goes without a channel, straight to its handler. */
void sfd_coordinator_client_send(sfd_server_t *server, int32_t node, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message);

/* The node that assembles the job if none is lost; the same on all nodes. Others take its place in turn: the one behind
 * it is at position 1. */
int32_t sfd_coordinator_client_first_node(const sfd_server_t *server, uint32_t uid, const char *name);
int32_t sfd_coordinator_client_position(const sfd_server_t *server, uint32_t uid, const char *name, int32_t node);

/* Whether the home of the job may be told of one more rank: SF_ERR_LIMIT if too much of what it is to be told of the
 * user's jobs has not gone yet. */
sf_status_t sfd_coordinator_client_check_quota(const sfd_server_t *server, uint32_t uid, const char *name);

/* The home refuses the job with that status; SF_OK: it runs, with all its ranks on this node. incarnation: see
 * proto/sf_peer.proto. */
void sfd_coordinator_client_send_withdraw(sfd_server_t *server, int32_t coordinator_node, uint32_t uid,
                                          const char *name, sf_status_t status, const char *detail,
                                          const uint64_t *incarnation);

/* A rank has come to this node, others are missing here. */
void sfd_coordinator_client_rank_came(sfd_rank_t *rank, int64_t timeout_ms);

/* All ranks have come, to this node: the home need not wait for anybody. */
void sfd_coordinator_client_all_here(sfd_job_t *job);

/* A job that is joining has failed here, for the reason in its detail: the home refuses it with that status. */
void sfd_coordinator_client_withdraw(sfd_job_t *job, sf_status_t status);

/* This node takes nobody of that job in (SF_ERR_STATE): those who wait for it at other nodes are told. */
void sfd_coordinator_client_refuse(sfd_server_t *server, uid_t uid, const char *name, const char *detail);

/* A node is lost: jobs of which it was the home turn to another one. */
void sfd_coordinator_client_node_lost(sfd_server_t *server, int32_t node, const char *detail);

sf_status_t sfd_coordinator_client_handle_refuse(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);
sf_status_t sfd_coordinator_client_handle_start(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* A job has failed, perhaps before its start has come to this node. */
sf_status_t sfd_coordinator_client_handle_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Who still asks this home is to turn to another one. */
sf_status_t sfd_coordinator_client_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif

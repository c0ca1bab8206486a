/* Quota of messages to coordinators. Clients that come and go cause two messages each, however long the coordinator
 * does not receive them, on the channel of all jobs, which ends when too much waits (channel.h). Therefore messages
 * that have not been given to the fabric are counted by user, and a user with too many can't begin further jobs with
 * that coordinator. The daemon's thread. */
#ifndef SFD_MEMBERSHIP_COORDINATOR_QUOTA_H
#define SFD_MEMBERSHIP_COORDINATOR_QUOTA_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/net.h"
#include "proto/sf_peer.pb-c.h"

/* Bytes to one node, with their memory here: 50,000 ranks. Messages of clients that go are bounded by the number of
 * clients. */
#define SFD_COORDINATOR_QUOTA_OF_USER (SFD_CHANNEL_QUEUE_MAX / 8)
#define SFD_COORDINATOR_QUOTA_OF_ALL (SFD_CHANNEL_QUEUE_MAX / 2)

/* SF_ERR_LIMIT: the user, or all together, have reached the limit for the node. */
sf_status_t sfd_coordinator_quota_check(const sfd_server_t *server, uint32_t uid, int32_t node);

/* sfd_network_send, counted for the user. */
void sfd_coordinator_quota_send(sfd_server_t *server, uint32_t uid, int32_t node, const Sfpeer__Message *message);

#endif

/* What clients have a node tell the homes of jobs that join: two messages for each that comes and goes at once, however
 * long the home does not take them. The channel is that of all jobs, and ends when too much waits for it (channel.h);
 * so it is counted by user what has not been handed to the fabric, and who has much of it begins no further job that
 * has to be told there. The daemon's thread. */
#ifndef SFD_MEMBERSHIP_COORDINATOR_QUOTA_H
#define SFD_MEMBERSHIP_COORDINATOR_QUOTA_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/net.h"
#include "proto/sf_peer.pb-c.h"

/* Bytes to one node, with the memory that they take here: 50,000 ranks that come. What comes behind it, when clients
 * go, is bounded by their number. */
#define SFD_COORDINATOR_QUOTA_OF_USER (SFD_CHANNEL_QUEUE_MAX / 8)
#define SFD_COORDINATOR_QUOTA_OF_ALL (SFD_CHANNEL_QUEUE_MAX / 2)

/* SF_ERR_LIMIT: the user, or all together, have that much for the node. */
sf_status_t sfd_coordinator_quota_check(const sfd_server_t *server, uint32_t uid, int32_t node);

/* sfd_network_send, counted for the user. */
void sfd_coordinator_quota_send(sfd_server_t *server, uint32_t uid, int32_t node, const Sfpeer__Message *message);

#endif

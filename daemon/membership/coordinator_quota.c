/* Quota of messages to coordinators: see coordinator_quota.h. The daemon's thread. */
#include "daemon/membership/coordinator_quota.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "daemon/membership/membership.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* One user's messages to one node; freed when none waits. */
struct sfd_coordinator_quota {
  LIST_ENTRY(sfd_coordinator_quota) entry;
  uint32_t uid;
  int32_t node;
  size_t bytes;
};

typedef struct letter {
  struct sfd_coordinator_quota *quota;
  size_t bytes;
  uint8_t packed[];
} letter_t;

static struct sfd_coordinator_quota *find(const sfd_server_t *server, uint32_t uid, int32_t node)
{
  struct sfd_coordinator_quota *quota;
  LIST_FOREACH (quota, &server->membership->quotas, entry)
    if (quota->uid == uid && quota->node == node)
      break;
  return quota;
}

sf_status_t sfd_coordinator_quota_check(const sfd_server_t *server, uint32_t uid, int32_t node)
{
  const struct sfd_coordinator_quota *quota;
  size_t own = 0, all = 0;
  LIST_FOREACH (quota, &server->membership->quotas, entry) {
    if (quota->node != node)
      continue;
    all += quota->bytes;
    if (quota->uid == uid)
      own = quota->bytes;
  }
  if (own < SFD_COORDINATOR_QUOTA_OF_USER && all < SFD_COORDINATOR_QUOTA_OF_ALL)
    return SF_OK;
  return sfshm_error(
      SF_ERR_LIMIT,
      "node %d does not take what it is told of jobs that join: %zu bytes wait, %zu of them of uid %u, at "
      "most %u and %u expected",
      node, all, own, uid, SFD_COORDINATOR_QUOTA_OF_ALL, SFD_COORDINATOR_QUOTA_OF_USER);
}

/* The message has been sent, or can't be. */
static void on_sent(void *context, sf_status_t status)
{
  letter_t *letter = context;
  struct sfd_coordinator_quota *quota = letter->quota;
  (void)status;
  quota->bytes -= letter->bytes;
  free(letter);
  if (quota->bytes > 0)
    return;
  LIST_REMOVE(quota, entry);
  free(quota);
}

static struct sfd_coordinator_quota *find_or_begin(sfd_server_t *server, uint32_t uid, int32_t node)
{
  struct sfd_coordinator_quota *quota = find(server, uid, node);
  if (quota != NULL)
    return quota;
  quota = calloc(1, sizeof *quota);
  if (quota == NULL)
    return NULL;
  quota->uid = uid;
  quota->node = node;
  LIST_INSERT_HEAD(&server->membership->quotas, quota, entry);
  return quota;
}

void sfd_coordinator_quota_send(sfd_server_t *server, uint32_t uid, int32_t node, const Sfpeer__Message *message)
{
  size_t length = sfpeer__message__get_packed_size(message);
  const sfd_message_head_t head = {.kind = SFD_PEER_CONTROL, .payload_bytes = length};
  letter_t *letter = length <= SFD_CHANNEL_CONTROL_MAX ? malloc(sizeof *letter + length) : NULL;
  struct sfd_coordinator_quota *quota = letter != NULL ? find_or_begin(server, uid, node) : NULL;
  if (quota == NULL) {
    free(letter);
    sfd_network_send(server, node, message); /* uncounted; or fails there */
    return;
  }
  letter->quota = quota;
  letter->bytes = sizeof *letter + sizeof head + length;
  quota->bytes += letter->bytes;
  sfpeer__message__pack(message, letter->packed);
  sfd_network_send_payload(server, node, &head, letter->packed, on_sent, letter);
}

/* Early messages: see early_messages.h. The daemon's thread. */
#include "daemon/net/early_messages.h"

#include <stdlib.h>

#include "daemon/base.h"
#include "shm/base/error.h"

#define KEEP_MS 60000
#define MAX_BYTES ((size_t)1 << 30)

void sfd_early_messages_init(sfd_early_messages_t *early)
{
  *early = (sfd_early_messages_t){.begun = false};
  TAILQ_INIT(&early->messages);
}

static size_t size_of(const sfd_early_message_t *message)
{
  return sizeof *message + message->head.payload_bytes;
}

/* Takes a message off the list; the payload is the caller's. */
static void take(sfd_early_messages_t *early, sfd_early_message_t *message)
{
  TAILQ_REMOVE(&early->messages, message, entry);
  early->bytes -= size_of(message);
}

static void drop(sfd_early_messages_t *early, sfd_early_message_t *message)
{
  take(early, message);
  free(message->payload);
  free(message);
}

void sfd_early_messages_free(sfd_early_messages_t *early)
{
  while (!TAILQ_EMPTY(&early->messages))
    drop(early, TAILQ_FIRST(&early->messages));
}

void sfd_early_messages_forget(sfd_early_messages_t *early, int32_t node)
{
  SFD_FOREACH_SAFE (sfd_early_message_t, message, &early->messages, entry)
    if (message->node == node)
      drop(early, message);
}

static void drop_old(sfd_early_messages_t *early, uint64_t now_ms)
{
  for (sfd_early_message_t *first; (first = TAILQ_FIRST(&early->messages)) != NULL;) {
    if (now_ms - first->since_ms < KEEP_MS)
      return;
    drop(early, first);
  }
}

sf_status_t sfd_early_messages_keep(sfd_early_messages_t *early, uint64_t now_ms, int32_t node,
                                    const sfd_message_head_t *head, void *payload)
{
  drop_old(early, now_ms);
  if (early->bytes + head->payload_bytes > MAX_BYTES)
    return sfshm_error(SF_ERR_LIMIT, "node %d has sent too much about jobs or groups that are not known here", node);
  sfd_early_message_t *message = malloc(sizeof *message);
  if (message == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a message of node %d", node);
  *message = (sfd_early_message_t){.since_ms = now_ms, .node = node, .head = *head, .payload = payload};
  TAILQ_INSERT_TAIL(&early->messages, message, entry);
  early->bytes += size_of(message);
  return SF_OK;
}

bool sfd_early_messages_attend(sfd_early_messages_t *early, sfd_early_deliver_t deliver, void *context)
{
  bool delivered = false;
  if (!early->begun)
    return false;
  early->begun = false;
  SFD_FOREACH_SAFE (sfd_early_message_t, message, &early->messages, entry) {
    if (deliver(context, message->node, &message->head, message->payload) == SF_ERR_NOT_FOUND)
      continue;
    take(early, message);
    free(message);
    delivered = true;
  }
  return delivered;
}

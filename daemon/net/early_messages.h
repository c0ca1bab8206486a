/* Early messages: when a third node tells two nodes of a new job or group, one may send messages about it before the
 * other knows it. They are kept until something has begun here, and then handled again. Messages that find no job or
 * group for a while are about something that has ended. */
#ifndef SFD_NET_EARLY_MESSAGES_H
#define SFD_NET_EARLY_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <sf/sf_status.h>

#include "daemon/net/channel.h"

typedef struct sfd_early_message {
  TAILQ_ENTRY(sfd_early_message) entry;
  uint64_t since_ms;
  int32_t node;
  sfd_message_head_t head;
  void *payload; /* from malloc */
} sfd_early_message_t;

TAILQ_HEAD(sfd_early_list, sfd_early_message);

typedef struct sfd_early_messages {
  struct sfd_early_list messages;
  size_t bytes;
  bool begun; /* something has begun since the last attempt */
} sfd_early_messages_t;

void sfd_early_messages_init(sfd_early_messages_t *early);
void sfd_early_messages_free(sfd_early_messages_t *early);

/* Keeps a message and takes over the payload. SF_ERR_LIMIT, SF_ERR_NOMEM: it does not. */
sf_status_t sfd_early_messages_keep(sfd_early_messages_t *early, uint64_t now_ms, int32_t node,
                                    const sfd_message_head_t *head, void *payload);

/* Drops the messages of a lost node. */
void sfd_early_messages_forget(sfd_early_messages_t *early, int32_t node);

/* SF_ERR_NOT_FOUND: still early, and kept; otherwise the payload has been taken over. */
typedef sf_status_t (*sfd_early_deliver_t)(void *context, int32_t node, const sfd_message_head_t *head, void *payload);

/* Delivers messages if something has begun. Returns whether there were any. */
bool sfd_early_messages_attend(sfd_early_messages_t *early, sfd_early_deliver_t deliver, void *context);

#endif

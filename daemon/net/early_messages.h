/* Messages that came too early: two nodes may be told of a new job, or group, by a third one, and one of them may act
 * upon that before the other has been told. What it sends then is kept until something has begun here, and is handed to
 * its handler again. What has not found its job or group after a while is about something that is over. */
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
  bool begun; /* something, since they were looked at */
} sfd_early_messages_t;

void sfd_early_messages_init(sfd_early_messages_t *early);
void sfd_early_messages_free(sfd_early_messages_t *early);

/* Keeps a message, and takes the payload over. SF_ERR_LIMIT, SF_ERR_NOMEM: neither. */
sf_status_t sfd_early_messages_keep(sfd_early_messages_t *early, uint64_t now_ms, int32_t node,
                                    const sfd_message_head_t *head, void *payload);

/* Drops what a node has sent that is lost. */
void sfd_early_messages_forget(sfd_early_messages_t *early, int32_t node);

/* SF_ERR_NOT_FOUND: it is still too early, and the payload is kept; otherwise it has been taken over. */
typedef sf_status_t (*sfd_early_deliver_t)(void *context, int32_t node, const sfd_message_head_t *head, void *payload);

/* Delivers what can be delivered, if something has begun. Whether there was something. */
bool sfd_early_messages_attend(sfd_early_messages_t *early, sfd_early_deliver_t deliver, void *context);

#endif

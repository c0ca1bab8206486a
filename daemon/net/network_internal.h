/* What the files of the network share: what it holds, and what its channels do with messages. The daemon's thread. */
#ifndef SFD_NETWORK_INTERNAL_H
#define SFD_NETWORK_INTERNAL_H

#include "daemon/net/early_messages.h"
#include "daemon/net/network.h"

/* A done that sfd_channel_send did not accept. */
typedef struct sfd_refused_send {
  struct sfd_refused_send *next;
  sfd_channel_done_t done;
  void *context;
  sf_status_t status;
} sfd_refused_send_t;

#define SFD_CAUSES 32

/* A node that was lost, or can't be talked to. */
typedef struct sfd_loss {
  uint64_t ms;                 /* when, the last time; 0: never */
  char *detail;                /* why; NULL: never, or there was no memory for it */
  uint64_t causes[SFD_CAUSES]; /* of who said to be the node and was refused: refusal.h; 0: none */
  unsigned ncauses;            /* so far; the latest replace the oldest */
  uint64_t told;               /* what the present attempt to connect is for */
  uint64_t warned_ms;          /* when the log told of somebody who said so; 0: never */
} sfd_loss_t;

struct sfd_network {
  sfd_server_t *server;
  sfd_fabric_t *fabric; /* the channels' */
  sfd_channels_t *channels;
  bool deferred;
  sfd_early_t early;
  sfd_refused_send_t *refused;
  void (*closed)(sfd_server_t *server);
  uint64_t lazy_since_ns; /* 0: nothing waits to go with something else */
  bool tells_causes;      /* the fabric tells other nodes what it connects for: refusal.h */
  uint64_t claimed_ms;    /* when somebody was last refused, refusal.h; 0: never */
  sfd_loss_t losses[];    /* by node */
};

/* Handlers of the channels, see channel.h; owner is the network. */
sfd_placing_t sfd_network_place(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_network_arrived(void *owner, int32_t node, const sfd_message_head_t *head, void *payload);
void sfd_network_message_lost(void *owner, int32_t node, const sfd_message_head_t *head);

/* For what came too early, see sfd_early_deliver_t. */
sf_status_t sfd_network_deliver_again(void *context, int32_t node, const sfd_message_head_t *head, void *payload);

#endif

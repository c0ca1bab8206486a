/* State of the network, and its handlers of channels. The daemon's thread. */
#ifndef SFD_NET_NETWORK_INTERNAL_H
#define SFD_NET_NETWORK_INTERNAL_H

#include "daemon/net/early_messages.h"
#include "daemon/net/network.h"

/* A done of a message that was not sent. */
typedef struct sfd_refused_send {
  struct sfd_refused_send *next;
  sfd_channel_done_t done;
  void *context;
  sf_status_t status;
} sfd_refused_send_t;

/* Loss of a node. */
typedef struct sfd_loss {
  uint64_t ms;  /* of the last one; 0: never */
  char *detail; /* reason; NULL: never, or without memory */
} sfd_loss_t;

struct sfd_network {
  sfd_server_t *server;
  const sfd_network_ops_t *ops;
  sfd_fabric_t *fabric; /* of the channels */
  sfd_channels_t *channels;
  bool deferred;
  sfd_early_messages_t early;
  sfd_refused_send_t *refused;
  void (*closed)(sfd_server_t *server);
  uint64_t lazy_since_ns; /* 0: nothing waits */
  sfd_loss_t losses[];    /* by node */
};

#endif

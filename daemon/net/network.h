/* The daemon among others: its channels to the daemons of other nodes, and what comes through them. A daemon that was
 * not told of others is alone: it has no network, and is node 0 of 1. */
#ifndef SFD_NET_NETWORK_H
#define SFD_NET_NETWORK_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/net/channel.h"
#include "proto/sf_peer.pb-c.h"

/* Kinds of messages on channels. */
typedef enum sfd_peer_kind {
  SFD_PEER_CONTROL = 0, /* payload: a packed Sfpeer__Message */
  SFD_PEER_WANTS = 1,   /* a root image for the graph creation number desc of group object; setup.h */
  SFD_PEER_DATA = 2,    /* units of message b on a trunk's side (flags: the receiver's role), of a bytes each; object:
                           graph; desc: the operation's descriptor; trunks.h */
  SFD_PEER_CREDIT = 3,  /* messages up to b of that side (flags: the receiver's role) have been consumed */
  SFD_PEER_AWAIT = 4,   /* the sender waits for a message for desc, which the receiver's side would send */
  SFD_PEER_KINDS
} sfd_peer_kind_t;

/* Initializer of a control message with that body, as SFPROTO_MESSAGE. */
#define SFPEER_MESSAGE(body_, field_, value_)                                                                          \
  {                                                                                                                    \
    .base = PROTOBUF_C_MESSAGE_INIT(&sfpeer__message__descriptor), .body_case = SFPEER__MESSAGE__BODY_##body_,         \
    .field_ = (value_)                                                                                                 \
  }

typedef struct sfd_network sfd_network_t;

/* What the daemon does with messages of other nodes, and when nodes come and go. One table for the daemon's rooms
 * (peer_messages.h), others for tests. */
typedef struct sfd_network_ops {
  /* The network is made, of so many nodes; and gone. */
  sf_status_t (*begin)(sfd_server_t *server, int32_t nnodes);
  void (*end)(sfd_server_t *server);
  /* place, arrived and message_lost: see sfd_channel_handlers_t. */
  sfd_placing_t (*place)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
  sf_status_t (*arrived)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);
  void (*message_lost)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
  /* A message that sfd_network_keep kept, see sfd_early_deliver_t; other errors than SF_ERR_NOT_FOUND end the channel.
   */
  sf_status_t (*deliver)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);
  /* A channel is being lost, and is; refused: because the daemons do not agree. They return whether a job needed it. */
  bool (*node_failing)(sfd_server_t *server, int32_t node, const char *detail);
  bool (*node_lost)(sfd_server_t *server, int32_t node, sf_status_t status, bool refused, const char *detail);
  /* See sfd_channel_handlers_t. */
  void (*refused)(sfd_server_t *server, int32_t node, uint64_t cause, const char *detail);
  uint64_t (*cause)(sfd_server_t *server, int32_t node);
} sfd_network_ops_t;

/* Makes the fabric that the options name and the channels over it. *network_p is NULL if the daemon is to be alone. */
sf_status_t sfd_network_create(sfd_server_t *server, const sfd_network_ops_t *ops, sfd_network_t **network_p);

/* A fabric over which no network could be made is closed while the loop ends; then it is to be destroyed. */
void sfd_network_destroy_abandoned(sfd_server_t *server);

/* The same over a fabric that the caller made (tests): it is destroyed with the network, or stays the caller's. */
sf_status_t sfd_network_create_over(sfd_server_t *server, sfd_fabric_t *fabric, const sfd_network_ops_t *ops,
                                    sfd_network_t **network_p);

/* Ends all channels; closed is called when that is done, and then sfd_network_destroy is allowed. NULL is accepted. */
void sfd_network_close(sfd_network_t *network, void (*closed)(sfd_server_t *server));
void sfd_network_destroy(sfd_network_t *network);

/* Keeps a message that came too early, with its payload, which sfd_network_ops_t.deliver gets later. On failure the
 * payload stays the caller's. */
sf_status_t sfd_network_keep(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);

/* A job, group or graph has begun here: messages about it that came too early are delivered, soon. */
void sfd_network_begun(sfd_server_t *server);

/* What has to be done before the loop sleeps; whether there was something. NULL is accepted. */
bool sfd_network_attend(sfd_network_t *network);

/* Messages that came too early, in bytes. */
size_t sfd_network_kept_bytes(const sfd_server_t *server);

/* Whether a node was lost in the last minute and is not back, as far as this one knows. */
bool sfd_network_is_lost(const sfd_server_t *server, int32_t node);

/* Why it was last lost, with its name; "never lost" if it was not. */
const char *sfd_network_why_lost(const sfd_server_t *server, int32_t node);

/* The fabric if it takes memory of devices, which is told of what will be sent from there or received into; NULL: it
 * does not, or may not. */
sfd_fabric_t *sfd_network_device_fabric(const sfd_server_t *server);

/* Opens the channel to a node if it is closed. */
void sfd_network_open(sfd_server_t *server, int32_t node);

/* NULL if the daemon is alone. */
const sfd_channels_t *sfd_network_channels(const sfd_server_t *server);

int32_t sfd_network_node(const sfd_server_t *server);
int32_t sfd_network_nnodes(const sfd_server_t *server);

/* An id that no daemon of the cluster has used: for jobs, groups and graphs. */
uint64_t sfd_network_new_id(sfd_server_t *server);

/* Sends a control message. A node that can't be sent to is lost: jobs that are there are failed later, from the loop;
 * the caller need not care. */
void sfd_network_send(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Sends a head alone, which need not go at once: see sfd_channel_send_lazily. */
void sfd_network_send_lazily(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Lets it go if it has waited for a while, or now; whether something goes. NULL is accepted. */
bool sfd_network_flush(sfd_network_t *network, bool now);

/* From on to off what is sent gathers in frames, which then go: what belongs together travels together. */
void sfd_network_gather(sfd_server_t *server, bool on);

/* Sends a head with payload; see sfd_channel_send, except that errors are treated as above, after which done is called
 * from the loop. */
void sfd_network_send_payload(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, const void *payload,
                              sfd_channel_done_t done, void *context);

#endif

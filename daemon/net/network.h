/* Network: the channels to daemons of other nodes, and their messages. A daemon without other daemons has no network,
 * and is node 0 of 1. */
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
  SFD_PEER_WANTS = 1,   /* a root image for graph number desc of group object; setup.h */
  SFD_PEER_DATA = 2, /* message b on a side of a trunk (flags: the receiver's role and the part), of units with a bytes;
                        object: graph; desc: descriptor of the operation; trunks.h */
  SFD_PEER_CREDIT = 3, /* messages up to b on that side (flags: the receiver's role) are consumed */
  SFD_PEER_AWAIT = 4,  /* the sender waits for a message for operation desc from that side */
  SFD_PEER_ARRAY = 5,  /* a rank's request on an array (object: graph; desc: rank and slot; number: the request's), and
                          its data if they are short; onesided/target.h */
  SFD_PEER_ARRAY_DATA = 6, /* the data of the last SFD_PEER_ARRAY, of the same desc and number */
  SFD_PEER_ARRAY_DONE = 7, /* the answer to one: what it returns, or an error */
  SFD_PEER_KINDS
} sfd_peer_kind_t;

/* Initializes a control message with a body, as SFPROTO_MESSAGE and SFPROTO_MESSAGE_OF. */
#define SFPEER_MESSAGE(body_, field_, value_)                                                                          \
  {                                                                                                                    \
    .base = PROTOBUF_C_MESSAGE_INIT(&sfpeer__message__descriptor), .body_case = SFPEER__MESSAGE__BODY_##body_,         \
    .field_ = (value_)                                                                                                 \
  }
#define SFPEER_BODY(name_, ...)                                                                                        \
  {                                                                                                                    \
    .base = PROTOBUF_C_MESSAGE_INIT(&sfpeer__##name_##__descriptor), __VA_ARGS__                                       \
  }
#define SFPEER_MESSAGE_OF(body_, field_, ...)                                                                          \
  SFPEER_MESSAGE(body_, field_, (&(__typeof__(*((Sfpeer__Message *)NULL)->field_))SFPEER_BODY(field_, __VA_ARGS__)))

typedef struct sfd_network sfd_network_t;

/* Handlers of messages of other nodes, and of nodes that come and go: peer_messages.h, or a test's. */
typedef struct sfd_network_ops {
  /* The network of so many nodes begins, and ends. */
  sf_status_t (*begin)(sfd_server_t *server, int32_t nnodes);
  void (*end)(sfd_server_t *server);
  /* See sfd_channel_handlers_t. */
  sfd_placing_t (*place)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
  sf_status_t (*arrived)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);
  void (*message_lost)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
  /* A message kept by sfd_network_keep, see sfd_early_deliver_t. Other errors end the channel. */
  sf_status_t (*deliver)(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);
  /* A channel is being lost; and is lost, refused: because the daemons disagree. Return whether a job needed it. */
  bool (*node_failing)(sfd_server_t *server, int32_t node, const char *detail);
  bool (*node_lost)(sfd_server_t *server, int32_t node, sf_status_t status, bool refused, const char *detail);
  /* See sfd_channel_handlers_t. */
  void (*refused)(sfd_server_t *server, int32_t node, uint64_t cause, const char *detail);
  uint64_t (*cause)(sfd_server_t *server, int32_t node);
} sfd_network_ops_t;

/* Creates the fabric and channels of the options. *network_p NULL: the daemon is alone. */
sf_status_t sfd_network_create(sfd_server_t *server, const sfd_network_ops_t *ops, sfd_network_t **network_p);

/* Destroys a fabric for which no network could be made, after the loop has closed it. */
void sfd_network_destroy_abandoned(sfd_server_t *server);

/* The same over a fabric of the caller (tests), which is destroyed with the network, or on failure stays the caller's.
 * */
sf_status_t sfd_network_create_over(sfd_server_t *server, sfd_fabric_t *fabric, const sfd_network_ops_t *ops,
                                    sfd_network_t **network_p);

/* Ends all channels, then calls closed; then sfd_network_destroy is allowed. NULL is accepted. */
void sfd_network_close(sfd_network_t *network, void (*closed)(sfd_server_t *server));
void sfd_network_destroy(sfd_network_t *network);

/* Keeps a message that came early; ops->deliver gets it later. On failure the payload stays the caller's. */
sf_status_t sfd_network_keep(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload);

/* A job, group or graph has begun here: early messages are delivered soon. */
void sfd_network_begun(sfd_server_t *server);

/* Before the loop sleeps. Returns whether there was anything to do. NULL is accepted. */
bool sfd_network_attend(sfd_network_t *network);

/* Bytes of early messages. */
size_t sfd_network_kept_bytes(const sfd_server_t *server);

/* Whether the node was lost in the last minute, and has not come back. */
bool sfd_network_is_lost(const sfd_server_t *server, int32_t node);

/* Reason and name of the node's last loss, unless it is connected again; NULL: none. */
const char *sfd_network_why_away(const sfd_server_t *server, int32_t node);

/* Reason and name of the node's last loss; "never lost". */
const char *sfd_network_why_lost(const sfd_server_t *server, int32_t node);

/* Opens the channel to a node. */
void sfd_network_open(sfd_server_t *server, int32_t node);

/* NULL: alone. */
const sfd_channels_t *sfd_network_channels(const sfd_server_t *server);

int32_t sfd_network_node(const sfd_server_t *server);
int32_t sfd_network_nnodes(const sfd_server_t *server);

/* An id for a job, group or graph that no daemon of the cluster has used. */
uint64_t sfd_network_new_id(sfd_server_t *server);

/* Sends a control message. If that fails the node is lost, and its jobs fail later, from the loop. */
void sfd_network_send(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* Sends a head without urgency: see sfd_channel_send_lazily. */
void sfd_network_send_lazily(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Sends these if they have waited for a while, or now. Returns whether something was sent. NULL is accepted. */
bool sfd_network_flush(sfd_network_t *network, bool now);

/* While on, messages gather in frames; off sends them. */
void sfd_network_gather(sfd_server_t *server, bool on);

/* Sends a head with payload: see sfd_channel_send; but errors are handled as above, with done called from the loop. */
void sfd_network_send_payload(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, const void *payload,
                              sfd_channel_done_t done, void *context);

#endif

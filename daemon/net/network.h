/* The daemon among others: its channels to the daemons of other nodes, and what comes through them. A daemon that was
 * not told of others is alone: it has no network, and is node 0 of 1. */
#ifndef SFD_NETWORK_H
#define SFD_NETWORK_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base/daemon.h"
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

typedef struct sfd_network sfd_network_t;

/* What is arriving from a node, one message at a time, and needs to be let go of if it is lost. */
typedef struct sfd_arrival {
  struct sfd_trunks *trunks;
  void *image;
  uint64_t impossible; /* the last job of which it was told that this node can't start it */
} sfd_arrival_t;

/* Makes the fabric that the options name and the channels over it. *network_p is NULL if the daemon is to be alone. */
sf_status_t sfd_network_create(sfd_server_t *server, sfd_network_t **network_p);

/* A fabric over which no network could be made is closed while the loop ends; then it is to be destroyed. */
void sfd_network_destroy_abandoned(sfd_server_t *server);

/* The same over a fabric that the caller made (tests): it is destroyed with the network, or stays the caller's. */
sf_status_t sfd_network_create_over(sfd_server_t *server, sfd_fabric_t *fabric, sfd_network_t **network_p);

/* Ends all channels; closed is called when that is done, and then sfd_network_destroy is allowed. NULL is accepted. */
void sfd_network_close(sfd_network_t *network, void (*closed)(sfd_server_t *server));
void sfd_network_destroy(sfd_network_t *network);

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

/* For sfctl; NULL if the daemon is alone. */
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

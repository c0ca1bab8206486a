/* Channels: messages between daemons, over a fabric's streams. One channel per other node, opened when it is first sent
 * to or when the other node does so.
 *
 * Messages of one channel arrive in the order in which they were sent. While no send is under way a message goes at
 * once, in a frame of its own; while one is, further messages gather and go together in the next frame: coalescing
 * under load, with no timer and no added latency. Payloads are sent from, and received into, memory that the users
 * name: they are not copied, except small ones, which the sender copies into the frame.
 *
 * One thread, that of the loop. Handlers may send; they are never called from within a function of the channels. */
#ifndef SFD_NET_CHANNEL_H
#define SFD_NET_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/net/fabric.h"

/* The fixed part of a message. What the fields mean is said where the kind is defined; the channels only look at
 * payload_bytes, and count messages by kind. */
typedef struct sfd_message_head {
  uint16_t kind; /* below SFD_MESSAGE_KINDS */
  uint16_t flags;
  uint32_t number;
  uint64_t payload_bytes; /* at most SFD_PAYLOAD_MAX */
  uint64_t job;
  uint64_t object; /* group or graph */
  uint64_t desc;
} sfd_message_head_t;
_Static_assert(sizeof(sfd_message_head_t) == 40, "frame version 2");

#define SFD_PAYLOAD_MAX (UINT64_C(1) << 46)

#define SFD_MESSAGE_KINDS 16

/* Payload up to this size that the receiver wants from the channel's own memory; see place. */
#define SFD_CHANNEL_CONTROL_MAX (1u << 20)

typedef struct sfd_channels sfd_channels_t;

/* Answers of place. */
typedef enum sfd_placing {
  SFD_PLACE_HERE,    /* at *buffer_p, which stays valid until arrived, or lost */
  SFD_PLACE_DEVICE,  /* the same in memory of a device, which the fabric takes; a payload of more than
                        SFD_FABRIC_DEVICE_ABOVE bytes. One that comes otherwise than by itself closes the channel */
  SFD_PLACE_CHANNEL, /* in the channel's memory, valid while arrived is called; at most SFD_CHANNEL_CONTROL_MAX */
  SFD_PLACE_NOWHERE, /* the payload is thrown away, arrived is not called */
  SFD_PLACE_REFUSE,  /* malformed: the channel is closed with SF_ERR_PROTO and the thread's detail */
} sfd_placing_t;

typedef struct sfd_channel_handlers {
  /* A message with a payload begins to arrive. */
  sfd_placing_t (*place)(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p);

  /* A message is complete. payload is NULL if it has none. SF_OK, or an error that closes the channel. */
  sf_status_t (*arrived)(void *owner, int32_t node, const sfd_message_head_t *head, void *payload);

  /* The channel ended while a payload was arriving at a buffer that place gave. Comes before down. */
  void (*lost)(void *owner, int32_t node, const sfd_message_head_t *head);

  /* The channel has ended: everything queued is lost, and every done has been called with the status. The detail names
   * the node and the reason. What is sent to the node from now on opens the channel anew. */
  void (*down)(void *owner, int32_t node, sf_status_t status, const char *detail);

  /* The node is lost, and down will say so, but that can take long: see daemon/net/fabric/fabric.h. Nothing has changed
   * yet. May be NULL. */
  void (*failing)(void *owner, int32_t node, const char *detail);

  /* As the fabric's events of these names: see daemon/net/fabric/fabric.h. May be NULL. */
  void (*refused)(void *owner, int32_t node, uint64_t cause, const char *detail);
  uint64_t (*cause)(void *owner, int32_t node);

  /* sfd_channels_close has come to its end. */
  void (*closed)(void *owner);

  /* Something is to be told that cannot be told now, because a function of the channels is on the stack: call
   * sfd_channels_run_deferred soon, from the loop. The only handler that is called from within functions. */
  void (*deferred)(void *owner);
} sfd_channel_handlers_t;

/* The message's payload can be reused: it has been handed to the fabric (SF_OK), or is lost. May send other messages.
 */
typedef void (*sfd_channel_done_t)(void *context, sf_status_t status);

/* What sfctl shows of a channel. */
typedef struct sfd_channel_counts {
  uint64_t messages_sent[SFD_MESSAGE_KINDS];
  uint64_t messages_received[SFD_MESSAGE_KINDS];
  uint64_t payload_sent[SFD_MESSAGE_KINDS]; /* bytes, headers apart */
  uint64_t payload_received[SFD_MESSAGE_KINDS];
  uint64_t frames_sent; /* hellos apart */
  uint64_t frames_received;
  uint64_t bytes_sent; /* everything */
  uint64_t bytes_received;
  uint64_t queued_messages; /* now, with those under way */
  uint64_t queued_bytes;    /* their payload */
} sfd_channel_counts_t;

typedef enum sfd_channel_state { SFD_CHANNEL_CLOSED, SFD_CHANNEL_OPENING, SFD_CHANNEL_OPEN } sfd_channel_state_t;

/* Takes the fabric's events over; the fabric is destroyed with the channels. SF_ERR_NOMEM: it stays the caller's. */
sf_status_t sfd_channels_create(sfd_fabric_t *fabric, const sfd_channel_handlers_t *handlers, void *owner,
                                sfd_channels_t **channels_p);

/* What the daemons at both ends of a channel must agree on: the software and the name of the cluster, of at most 63
 * printable characters each; "" at first. Before the first channel is opened. SF_ERR_ARG, SF_ERR_STATE. */
sf_status_t sfd_channels_set_greeting(sfd_channels_t *channels, const char *software, const char *cluster);

/* Tells what handlers->deferred was called for. From the loop, not from within a handler or done. */
void sfd_channels_run_deferred(sfd_channels_t *channels);

/* Frees channels none of which has been opened; the fabric is the caller's again, without anybody to take its events.
 */
void sfd_channels_release_fabric(sfd_channels_t *channels);

/* Ends all channels: every done is called and every lost, but no down; closed follows, then destroy is allowed. */
void sfd_channels_close(sfd_channels_t *channels);
void sfd_channels_destroy(sfd_channels_t *channels); /* NULL is accepted */

int32_t sfd_channels_node(const sfd_channels_t *channels);
int32_t sfd_channels_nnodes(const sfd_channels_t *channels);

/* For people: the fabric's name, and its text about a node. */
const char *sfd_channels_fabric(const sfd_channels_t *channels);
void sfd_channels_describe(const sfd_channels_t *channels, int32_t node, char *text, size_t text_size);

/* What the fabric knows of the stream to a node; false: nothing. */
bool sfd_channels_link(const sfd_channels_t *channels, int32_t node, sfd_fabric_link_t *link_p);

/* Memory that a channel may take for what waits to be sent: frames and copied payloads. */
#define SFD_CHANNEL_QUEUE_MAX (64u << 20)

/* Opens the channel without a message, unless it is open or opening: to see whether that can be done. */
void sfd_channel_open(sfd_channels_t *channels, int32_t node);

/* Queues a message of head->payload_bytes bytes of payload, opening the channel if need be. With done the payload must
 * stay as it is until done is called, from the loop; without, it is copied. SF_ERR_LIMIT: SFD_CHANNEL_QUEUE_MAX is
 * reached (the other node does not take what is sent). SF_ERR_NOMEM. Between the end of a channel and its down: the
 * status that down will have. On an error done is not called. */
sf_status_t sfd_channel_send(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head,
                             const void *payload, sfd_channel_done_t done, void *context);

/* The same for a head without payload that need not go at once: it goes with the next message, or by
 * sfd_channels_flush. A second one goes at once, with the first. */
sf_status_t sfd_channel_send_lazily(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head);

/* Lets go what was sent lazily; whether there was anything. */
bool sfd_channels_flush(sfd_channels_t *channels);

/* From on to off nothing goes, then all does: what is sent together travels in few frames. */
void sfd_channels_gather(sfd_channels_t *channels, bool on);

/* Ends a channel because of what arrived on it; down follows, from the loop. What ends already keeps its reason. */
void sfd_channel_fail(sfd_channels_t *channels, int32_t node, sf_status_t status, const char *detail);

sfd_channel_state_t sfd_channel_state(const sfd_channels_t *channels, int32_t node);
const sfd_channel_counts_t *sfd_channel_counts(const sfd_channels_t *channels, int32_t node);

/* Holds back all sends of a channel, so that messages gather, or lets them go again. For tests. */
void sfd_channel_hold(sfd_channels_t *channels, int32_t node, bool hold);

#endif

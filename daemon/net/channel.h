/* Channels: ordered messages between daemons over the streams of a fabric. There is one channel per other node; the
 * first send of either node opens it.
 *
 * While no send is under way a message goes at once, in a frame of its own; otherwise messages gather and go together
 * in the next frame: coalescing under load, without timer or added latency. Payloads are sent from and received into
 * memory of the users without a copy, except small ones, which the sender copies into the frame.
 *
 * One thread, the loop's. Handlers may send; they are never called from within a function of the channels. */
#ifndef SFD_NET_CHANNEL_H
#define SFD_NET_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/net/fabric.h"

/* Head of a message. Each kind defines the meaning of its fields; channels use payload_bytes, and count messages by
 * kind. */
typedef struct sfd_message_head {
  uint16_t kind;  /* below SFD_MESSAGE_KINDS */
  uint16_t flags; /* the highest bit: SFD_MESSAGE_CONTINUES */
  uint32_t number;
  uint64_t payload_bytes; /* at most SFD_PAYLOAD_MAX */
  uint64_t job;
  uint64_t object; /* group or graph */
  uint64_t desc;
} sfd_message_head_t;
_Static_assert(sizeof(sfd_message_head_t) == 40, "frame version 2");

#define SFD_PAYLOAD_MAX (UINT64_C(1) << 46)

#define SFD_MESSAGE_KINDS 16

/* Flag: a part of a message, of which more parts follow. The parts count as one message. */
#define SFD_MESSAGE_CONTINUES (1u << 15)

/* Limit of payloads that are received into memory of the channel; see place. */
#define SFD_CHANNEL_CONTROL_MAX (1u << 20)

typedef struct sfd_channels sfd_channels_t;

/* Results of place. */
typedef enum sfd_placing {
  SFD_PLACE_HERE,    /* at *buffer_p, which stays valid until arrived or lost */
  SFD_PLACE_CHANNEL, /* in memory of the channel, valid during arrived; at most SFD_CHANNEL_CONTROL_MAX */
  SFD_PLACE_NOWHERE, /* the payload is dropped, and arrived is not called */
  SFD_PLACE_REFUSE,  /* malformed: ends the channel with SF_ERR_PROTO and sfshm_error_detail() */
} sfd_placing_t;

typedef struct sfd_channel_handlers {
  /* A message with payload begins to arrive. */
  sfd_placing_t (*place)(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p);

  /* A message is complete; payload NULL: none. An error ends the channel. */
  sf_status_t (*arrived)(void *owner, int32_t node, const sfd_message_head_t *head, void *payload);

  /* The channel ended while a payload arrived at a buffer of place. Before down. */
  void (*lost)(void *owner, int32_t node, const sfd_message_head_t *head);

  /* The channel has ended: queued messages are lost, and each done has been called with the status. detail names node
   * and reason. The next send opens the channel again. */
  void (*down)(void *owner, int32_t node, sf_status_t status, const char *detail);

  /* The node is lost; down follows, perhaps much later: see daemon/net/fabric/fabric.h. The channel is unchanged. May
   * be NULL. */
  void (*failing)(void *owner, int32_t node, const char *detail);

  /* Events of the fabric: see daemon/net/fabric/fabric.h. May be NULL. */
  void (*refused)(void *owner, int32_t node, uint64_t cause, const char *detail);
  void (*denied)(void *owner, const char *detail);
  uint64_t (*cause)(void *owner, int32_t node);

  /* sfd_channels_close has ended. */
  void (*closed)(void *owner);

  /* Handlers have to be called, but a function of the channels is on the stack: the loop must call
   * sfd_channels_run_deferred soon. Only this handler is called from within functions. */
  void (*deferred)(void *owner);
} sfd_channel_handlers_t;

/* The payload can be reused: the fabric has it (SF_OK), or it is lost. May send messages. */
typedef void (*sfd_channel_done_t)(void *context, sf_status_t status);

/* Counters of a channel for sfctl. */
typedef struct sfd_channel_counts {
  uint64_t messages_sent[SFD_MESSAGE_KINDS];
  uint64_t messages_received[SFD_MESSAGE_KINDS];
  uint64_t payload_sent[SFD_MESSAGE_KINDS]; /* bytes, without headers */
  uint64_t payload_received[SFD_MESSAGE_KINDS];
  uint64_t frames_sent; /* without hellos */
  uint64_t frames_received;
  uint64_t bytes_sent; /* with headers */
  uint64_t bytes_received;
  uint64_t queued_messages; /* now, with those under way */
  uint64_t queued_bytes;    /* of their payloads */
} sfd_channel_counts_t;

typedef enum sfd_channel_state { SFD_CHANNEL_CLOSED, SFD_CHANNEL_OPENING, SFD_CHANNEL_OPEN } sfd_channel_state_t;

/* Takes over the fabric. SF_ERR_NOMEM: it stays the caller's. */
sf_status_t sfd_channels_create(sfd_fabric_t *fabric, const sfd_channel_handlers_t *handlers, void *owner,
                                sfd_channels_t **channels_p);

/* Software and cluster name, at most 63 printable characters each, which must be the same at both ends of a channel.
 * Before the first channel. SF_ERR_ARG, SF_ERR_STATE. */
sf_status_t sfd_channels_set_greeting(sfd_channels_t *channels, const char *software, const char *cluster);

/* Calls the handlers that were deferred. From the loop, not from a handler or done. */
void sfd_channels_run_deferred(sfd_channels_t *channels);

/* Frees channels of which none has been opened. The fabric, without events, is the caller's again. */
void sfd_channels_release_fabric(sfd_channels_t *channels);

/* Ends all channels: calls each done and lost, no down, then closed; then destroy is allowed. */
void sfd_channels_close(sfd_channels_t *channels);
void sfd_channels_destroy(sfd_channels_t *channels); /* NULL is accepted */

int32_t sfd_channels_node(const sfd_channels_t *channels);
int32_t sfd_channels_nnodes(const sfd_channels_t *channels);

/* Name of the fabric, and its text about a node. */
const char *sfd_channels_fabric(const sfd_channels_t *channels);
void sfd_channels_describe(const sfd_channels_t *channels, int32_t node, char *text, size_t text_size);

/* State of the stream to a node; false: not known. */
bool sfd_channels_link(const sfd_channels_t *channels, int32_t node, sfd_fabric_link_t *link_p);

/* Limit of memory for a channel's frames and copied payloads. */
#define SFD_CHANNEL_QUEUE_MAX (64u << 20)

/* Opens the channel without a message, to see whether that is possible. */
void sfd_channel_open(sfd_channels_t *channels, int32_t node);

/* Queues a message; opens the channel if needed. With done, the payload must be unchanged until done is called, from
 * the loop; without, it is copied. SF_ERR_LIMIT: SFD_CHANNEL_QUEUE_MAX is reached; SF_ERR_NOMEM; between the end of a
 * channel and down: the status of down. On an error done is not called. */
sf_status_t sfd_channel_send(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head,
                             const void *payload, sfd_channel_done_t done, void *context);

/* The same for a head without payload that can wait for the next message, or for sfd_channels_flush. The second such
 * head sends both. */
sf_status_t sfd_channel_send_lazily(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head);

/* Sends what waits. Returns whether there was anything. */
bool sfd_channels_flush(sfd_channels_t *channels);

/* While on, messages wait; off sends them in few frames. */
void sfd_channels_gather(sfd_channels_t *channels, bool on);

/* Ends a channel because of what arrived; down follows, from the loop. The first reason stays. */
void sfd_channel_fail(sfd_channels_t *channels, int32_t node, sf_status_t status, const char *detail);

sfd_channel_state_t sfd_channel_state(const sfd_channels_t *channels, int32_t node);
const sfd_channel_counts_t *sfd_channel_counts(const sfd_channels_t *channels, int32_t node);

/* Holds all sends of a channel, or releases them. For tests. */
void sfd_channel_hold(sfd_channels_t *channels, int32_t node, bool hold);

#endif

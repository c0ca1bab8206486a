/* Shared by the files of the channels: channel.c (begin and end), channel_send.c, channel_receive.c. The loop's thread.
 *
 *   CLOSED ──send──▶ OPENING ──up──▶ OPEN      up in CLOSED: the other node opened it
 *     ▲ ▲               │             │
 *     │ └─ down event ──┴─────────────┤        handlers are called at once, in the fabric's event
 *     └─ run_deferred ── ENDING ◀─────┘        sfd_channel_end, also within functions of the channels */
#ifndef SFD_NET_CHANNEL_INTERNAL_H
#define SFD_NET_CHANNEL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "daemon/base.h"
#include "daemon/net/channel.h"
#include "daemon/net/frame.h"

/* A frame with so many bytes of payload is full. */
#define SFD_CHANNEL_GATHER_MAX (4u << 20)

/* Memory for bytes that are not placed yet: at least two tables with headers, see channel_receive.c. */
#define SFD_CHANNEL_STAGING (64u << 10)

/* A payload behind the table, or a done. */
typedef struct sfd_part {
  const void *payload; /* of a message that is not inline */
  void *copy;          /* payload, if the channel owns it */
  uint64_t nbytes;
  sfd_channel_done_t done; /* may be NULL */
  void *context;
} sfd_part_t;

/* Messages that are sent together. The first frame of a channel may be under way; the last one takes more messages. */
typedef struct sfd_frame {
  TAILQ_ENTRY(sfd_frame) next;
  uint32_t nparts;
  uint64_t copied_bytes;
  uint64_t payload_bytes; /* with inline ones, without padding */
  sfd_frame_header_t header;
  uint8_t table[SFD_FRAME_TABLE_MAX];
  sfd_part_t parts[SFD_FRAME_MESSAGES_MAX];
} sfd_frame_t;
TAILQ_HEAD(sfd_frame_list, sfd_frame);

_Static_assert(offsetof(sfd_frame_t, table) == offsetof(sfd_frame_t, header) + SFD_FRAME_HEADER_BYTES,
               "header and table are sent as one piece");

typedef struct sfd_sending {
  struct sfd_frame_list frames;
  sfd_frame_t *flying; /* with the fabric: the first of frames */
  bool greeting;       /* the hello is with the fabric */
  bool greeted;        /* it has been sent */
  bool held;
  bool lazy;                /* frames may wait */
  uint32_t number;          /* of the next frame */
  uint64_t flying_since_ns; /* for tracing, else 0 */
  size_t memory;            /* of frames and copies */
} sfd_sending_t;

typedef enum sfd_receive_phase {
  SFD_RECEIVE_HEADER,
  SFD_RECEIVE_TABLE,
  SFD_RECEIVE_MESSAGES, /* the table is complete, and read up to cursor */
} sfd_receive_phase_t;

/* A message with a placed payload that is not complete. */
typedef struct sfd_arriving {
  bool active;
  sfd_placing_t placing;
  sfd_message_head_t head;
  uint8_t *payload; /* NULL: SFD_PLACE_NOWHERE */
  uint64_t nbytes;  /* arrived so far */
} sfd_arriving_t;

typedef struct sfd_receiving {
  uint8_t *staging; /* while the channel is open */
  size_t begin;     /* staging[begin..end) has arrived and is not used yet */
  size_t end;
  size_t asked;      /* result of the last want */
  bool direct;       /* the last want was for the payload's own memory */
  bool filled;       /* the last want was filled */
  uint64_t position; /* of begin, in the stream */
  uint32_t number;   /* of the frame that arrives or is next */
  sfd_receive_phase_t phase;
  sfd_frame_header_t header;
  size_t table;  /* offset in staging, in phase MESSAGES */
  size_t cursor; /* offset of the next head in the table */
  uint32_t skip; /* bytes of padding to come */
  sfd_arriving_t arriving;
  uint8_t *control; /* memory for SFD_PLACE_CHANNEL */
  size_t control_size;
} sfd_receiving_t;

typedef struct sfd_channel {
  LIST_ENTRY(sfd_channel) ending; /* in channels->ending, if is_ending */
  LIST_ENTRY(sfd_channel) lazy;   /* in channels->lazy, if sending.lazy */
  sfd_channels_t *channels;
  int32_t node;
  sfd_channel_state_t state;
  bool is_ending;
  bool has_stream;    /* exists or is being made */
  sf_status_t status; /* reason of the end */
  char detail[SFD_TEXT_SIZE];
  sfd_sending_t sending;
  sfd_receiving_t receiving;
  sfd_channel_counts_t counts;
} sfd_channel_t;

LIST_HEAD(sfd_ending_list, sfd_channel);
LIST_HEAD(sfd_lazy_list, sfd_channel);

struct sfd_channels {
  sfd_fabric_t *fabric;
  const sfd_channel_handlers_t *handlers;
  void *owner;
  bool closing;
  struct sfd_ending_list ending;
  struct sfd_lazy_list lazy;
  bool gathering; /* sends wait: sfd_channels_gather */
  struct sfd_frame_list spare;
  unsigned nspare;
  struct { /* first frame of all channels; constant while there is one */
    sfd_frame_header_t header;
    sfd_hello_t hello;
  } greeting;
  sfd_channel_t *channels[]; /* by node; NULL: not used yet */
};

/* Created at first use; NULL without memory. */
sfd_channel_t *sfd_channel_get(sfd_channels_t *channels, int32_t node);

/* Ends the stream with sfshm_error_detail(); handlers are called later. */
void sfd_channel_end(sfd_channel_t *channel, sf_status_t status);

/* ---- channel_send.c ---- */

/* Gives waiting frames to the fabric, if it is free. */
void sfd_channel_send_advance(sfd_channel_t *channel);
void sfd_channel_send_sent(sfd_channel_t *channel);

/* Drops everything queued, and calls each done. */
void sfd_channel_send_end(sfd_channel_t *channel, sf_status_t status);
void sfd_channel_free_frames(struct sfd_frame_list *frames);

/* ---- channel_receive.c ---- */

size_t sfd_channel_receive_want(sfd_channel_t *channel, void **buffer_p);
void sfd_channel_receive_got(sfd_channel_t *channel, size_t nbytes);

/* Bytes of the arriving payload still to come. */
size_t sfd_channel_receive_due(const sfd_channel_t *channel);

/* Ends receiving; calls lost if needed. */
void sfd_channel_receive_end(sfd_channel_t *channel);

#endif

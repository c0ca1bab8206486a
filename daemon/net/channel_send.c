/* Sending: messages gather in frames, one frame is sent at a time. The loop's thread. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/channel_internal.h"
#include "daemon/net/event_ring.h"
#include "shm/base/error.h"

/* Free frames that are kept, of all channels. */
#define SPARE_FRAMES 8

/* ---- Frames ---- */

static sfd_frame_t *take_frame(sfd_channels_t *channels)
{
  sfd_frame_t *frame = TAILQ_FIRST(&channels->spare);
  if (frame != NULL) {
    TAILQ_REMOVE(&channels->spare, frame, next);
    channels->nspare--;
  } else {
    frame = malloc(sizeof *frame);
    if (frame == NULL)
      return NULL;
  }
  frame->nparts = 0;
  frame->copied_bytes = 0;
  frame->payload_bytes = 0;
  frame->header = (sfd_frame_header_t){.type = SFD_FRAME_MESSAGES};
  return frame;
}

static void give_frame(sfd_channels_t *channels, sfd_frame_t *frame)
{
  if (channels->nspare == SPARE_FRAMES) {
    free(frame);
    return;
  }
  TAILQ_INSERT_HEAD(&channels->spare, frame, next);
  channels->nspare++;
}

void sfd_channel_free_frames(struct sfd_frame_list *frames)
{
  while (!TAILQ_EMPTY(frames)) {
    sfd_frame_t *frame = TAILQ_FIRST(frames);
    TAILQ_REMOVE(frames, frame, next);
    free(frame);
  }
}

/* Does not use the state of the channel, which a done may change. */
static void finish_frame(sfd_channels_t *channels, sfd_frame_t *frame, sf_status_t status)
{
  for (uint32_t i = 0; i < frame->nparts; i++) {
    sfd_part_t part = frame->parts[i];
    free(part.copy);
    if (part.done != NULL)
      part.done(part.context, status);
  }
  give_frame(channels, frame);
}

/* The frame that can take the message; NULL: a new one is needed. */
static sfd_frame_t *open_frame(const sfd_channel_t *channel, const sfd_message_head_t *head)
{
  sfd_frame_t *frame = TAILQ_LAST(&channel->sending.frames, sfd_frame_list);
  if (frame == NULL || frame == channel->sending.flying)
    return NULL;
  if (frame->header.messages == SFD_FRAME_MESSAGES_MAX ||
      frame->header.table_bytes + sfd_frame_table_bytes(head) > SFD_FRAME_TABLE_MAX ||
      frame->payload_bytes + head->payload_bytes > SFD_CHANNEL_GATHER_MAX)
    return NULL;
  return frame;
}

/* ---- Handing frames to the fabric ---- */

static void send_hello(sfd_channel_t *channel)
{
  sfd_channels_t *channels = channel->channels;
  const struct iovec iov = {.iov_base = &channels->greeting, .iov_len = sizeof channels->greeting};
  _Static_assert(sizeof channels->greeting == SFD_FRAME_HEADER_BYTES + sizeof(sfd_hello_t), "one piece");
  channel->sending.greeting = true;
  channel->sending.number = 1;
  channel->counts.bytes_sent += iov.iov_len;
  channels->fabric->functions->send(channels->fabric, channel->node, &iov, 1);
}

static struct iovec piece(const void *bytes, size_t nbytes)
{
  return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = nbytes};
}

static int list_pieces(const sfd_frame_t *frame, struct iovec iov[])
{
  static const uint8_t zeros[8];
  int n = 0;
  iov[n++] = piece(&frame->header, SFD_FRAME_HEADER_BYTES + frame->header.table_bytes);
  for (uint32_t i = 0; i < frame->nparts; i++) {
    const sfd_part_t *part = &frame->parts[i];
    size_t filling = sfd_frame_padded(part->nbytes) - part->nbytes;
    if (part->nbytes > 0)
      iov[n++] = piece(part->payload, part->nbytes);
    if (filling > 0)
      iov[n++] = piece(zeros, filling);
  }
  return n;
}

static void count_frame(sfd_channel_counts_t *counts, const sfd_frame_t *frame)
{
  size_t offset = 0;
  for (unsigned i = 0; i < frame->header.messages; i++) {
    sfd_message_head_t head;
    memcpy(&head, frame->table + offset, sizeof head);
    offset += sfd_frame_table_bytes(&head);
    counts->messages_sent[head.kind] += (head.flags & SFD_MESSAGE_CONTINUES) == 0;
    counts->payload_sent[head.kind] += head.payload_bytes;
  }
  counts->frames_sent++;
  counts->bytes_sent += SFD_FRAME_HEADER_BYTES + frame->header.table_bytes + frame->header.payload_bytes;
}

static void send_frame(sfd_channel_t *channel, sfd_frame_t *frame)
{
  struct iovec iov[1 + 2 * SFD_FRAME_MESSAGES_MAX];
  sfd_fabric_t *fabric = channel->channels->fabric;
  frame->header.number = channel->sending.number++;
  sfd_frame_seal(&frame->header, frame->table);
  channel->sending.flying = frame;
  count_frame(&channel->counts, frame);
  channel->sending.flying_since_ns = sfd_event_ring_now_ns();
  fabric->functions->send(fabric, channel->node, iov, list_pieces(frame, iov));
}

static void end_laziness(sfd_channel_t *channel)
{
  if (channel->sending.lazy)
    LIST_REMOVE(channel, lazy);
  channel->sending.lazy = false;
}

static void begin_laziness(sfd_channel_t *channel)
{
  if (!channel->sending.lazy)
    LIST_INSERT_HEAD(&channel->channels->lazy, channel, lazy);
  channel->sending.lazy = true;
}

void sfd_channel_send_advance(sfd_channel_t *channel)
{
  sfd_sending_t *sending = &channel->sending;
  end_laziness(channel);
  if (channel->state != SFD_CHANNEL_OPEN || channel->is_ending || channel->channels->closing)
    return;
  if (sending->held || sending->greeting || sending->flying != NULL)
    return;
  if (channel->channels->gathering) {
    begin_laziness(channel);
    return;
  }
  if (!sending->greeted)
    send_hello(channel);
  else if (!TAILQ_EMPTY(&sending->frames))
    send_frame(channel, TAILQ_FIRST(&sending->frames));
}

/* The next frame goes first, so that the fabric does not wait for the users. */
void sfd_channel_send_sent(sfd_channel_t *channel)
{
  sfd_sending_t *sending = &channel->sending;
  sfd_frame_t *frame = sending->flying;
  if (frame != NULL) {
    if (sfd_event_ring != NULL)
      sfd_event_ring_add_frame(SFSHM_TRACE_FRAME_OUT, channel->node, frame->header.number, frame->header.messages,
                               frame->header.payload_bytes, sending->flying_since_ns);
    TAILQ_REMOVE(&sending->frames, frame, next);
    sending->flying = NULL;
    sending->memory -= sizeof *frame + frame->copied_bytes;
    channel->counts.queued_messages -= frame->header.messages;
    channel->counts.queued_bytes -= frame->payload_bytes;
  } else {
    sending->greeting = false;
    sending->greeted = true;
  }
  sfd_channel_send_advance(channel);
  if (frame != NULL)
    finish_frame(channel->channels, frame, SF_OK);
}

void sfd_channel_send_end(sfd_channel_t *channel, sf_status_t status)
{
  struct sfd_frame_list lost = TAILQ_HEAD_INITIALIZER(lost);
  end_laziness(channel);
  TAILQ_CONCAT(&lost, &channel->sending.frames, next);
  channel->sending = (sfd_sending_t){.held = channel->sending.held};
  TAILQ_INIT(&channel->sending.frames);
  channel->counts.queued_messages = 0;
  channel->counts.queued_bytes = 0;
  while (!TAILQ_EMPTY(&lost)) {
    sfd_frame_t *frame = TAILQ_FIRST(&lost);
    TAILQ_REMOVE(&lost, frame, next);
    finish_frame(channel->channels, frame, status);
  }
}

/* ---- Queueing ---- */

/* Whether the message's memory is within the limit. */
static sf_status_t check_limit(const sfd_channel_t *channel, size_t memory)
{
  if (channel->sending.memory + memory <= SFD_CHANNEL_QUEUE_MAX)
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT,
                     "node %d does not take what is sent to it: %zu bytes wait, a message that needs %zu more would "
                     "exceed %u",
                     channel->node, channel->sending.memory, memory, SFD_CHANNEL_QUEUE_MAX);
}

/* Adds a message to the table, and its payload or done. */
static void append(sfd_frame_t *frame, const sfd_message_head_t *head, const sfd_part_t *part)
{
  uint8_t *to = frame->table + frame->header.table_bytes;
  bool is_inline = sfd_frame_is_inline(head);
  memcpy(to, head, sizeof *head);
  if (is_inline && head->payload_bytes > 0) {
    size_t filling = sfd_frame_padded(head->payload_bytes) - head->payload_bytes;
    memcpy(to + sizeof *head, part->payload, head->payload_bytes);
    memset(to + sizeof *head + head->payload_bytes, 0, filling);
  }
  frame->header.messages++;
  frame->header.table_bytes = (uint16_t)(frame->header.table_bytes + sfd_frame_table_bytes(head));
  frame->payload_bytes += head->payload_bytes;
  if (is_inline && part->done == NULL)
    return;
  frame->parts[frame->nparts] = *part;
  frame->parts[frame->nparts++].nbytes = is_inline ? 0 : head->payload_bytes;
  frame->header.payload_bytes += is_inline ? 0 : sfd_frame_padded(head->payload_bytes);
  frame->copied_bytes += part->copy != NULL ? head->payload_bytes : 0;
}

static sf_status_t queue(sfd_channel_t *channel, const sfd_message_head_t *head, sfd_part_t part)
{
  sfd_sending_t *sending = &channel->sending;
  sfd_frame_t *frame = open_frame(channel, head);
  bool copies = part.done == NULL && !sfd_frame_is_inline(head);
  size_t memory = (copies ? head->payload_bytes : 0) + (frame == NULL ? sizeof *frame : 0);
  sf_status_t status = check_limit(channel, memory);
  if (status != SF_OK)
    return status;
  if (copies) {
    part.copy = malloc(head->payload_bytes);
    if (part.copy == NULL)
      return sfshm_error(SF_ERR_NOMEM, "no memory for a payload of %" PRIu64 " bytes", head->payload_bytes);
    memcpy(part.copy, part.payload, head->payload_bytes);
    part.payload = part.copy;
  }
  if (frame == NULL) {
    frame = take_frame(channel->channels);
    if (frame == NULL) {
      free(part.copy);
      return sfshm_error(SF_ERR_NOMEM, "no memory for a frame to node %d", channel->node);
    }
    TAILQ_INSERT_TAIL(&sending->frames, frame, next);
  }
  append(frame, head, &part);
  sending->memory += memory;
  channel->counts.queued_messages++;
  channel->counts.queued_bytes += head->payload_bytes;
  return SF_OK;
}

static void open_channel(sfd_channel_t *channel)
{
  sfd_fabric_t *fabric = channel->channels->fabric;
  channel->state = SFD_CHANNEL_OPENING;
  /* the other node made the stream while the end of the last one was reported */
  if (channel->has_stream)
    return;
  channel->has_stream = true;
  fabric->functions->connect(fabric, channel->node);
}

void sfd_channel_open(sfd_channels_t *channels, int32_t node)
{
  sfd_channel_t *channel = channels->closing ? NULL : sfd_channel_get(channels, node);
  if (channel != NULL && !channel->is_ending && channel->state == SFD_CHANNEL_CLOSED)
    open_channel(channel);
}

sf_status_t sfd_channel_send(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head,
                             const void *payload, sfd_channel_done_t done, void *context)
{
  assert(head->kind < SFD_MESSAGE_KINDS);
  if (channels->closing)
    return sfshm_error(SF_ERR_STATE, "no message to node %d: the channels are being closed", node);
  sfd_channel_t *channel = sfd_channel_get(channels, node);
  if (channel == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a channel to node %d", node);
  if (channel->is_ending)
    return sfshm_error(channel->status, "%s", channel->detail);
  sf_status_t status = queue(channel, head, (sfd_part_t){.payload = payload, .done = done, .context = context});
  if (status != SF_OK)
    return status;
  if (channel->state == SFD_CHANNEL_CLOSED)
    open_channel(channel);
  else
    sfd_channel_send_advance(channel);
  return SF_OK;
}

sf_status_t sfd_channel_send_lazily(sfd_channels_t *channels, int32_t node, const sfd_message_head_t *head)
{
  sfd_channel_t *channel = channels->channels[node];
  assert(head->payload_bytes == 0);
  if (channels->closing || channel == NULL || channel->is_ending || channel->state != SFD_CHANNEL_OPEN ||
      !TAILQ_EMPTY(&channel->sending.frames))
    return sfd_channel_send(channels, node, head, NULL, NULL, NULL);
  sf_status_t status = queue(channel, head, (sfd_part_t){.payload = NULL});
  if (status != SF_OK)
    return status;
  begin_laziness(channel);
  return SF_OK;
}

bool sfd_channels_flush(sfd_channels_t *channels)
{
  bool any = false;
  for (sfd_channel_t *channel; (channel = LIST_FIRST(&channels->lazy)) != NULL; any = true)
    sfd_channel_send_advance(channel);
  return any;
}

void sfd_channels_gather(sfd_channels_t *channels, bool on)
{
  channels->gathering = on;
  if (!on)
    (void)sfd_channels_flush(channels);
}

void sfd_channel_hold(sfd_channels_t *channels, int32_t node, bool hold)
{
  sfd_channel_t *channel = sfd_channel_get(channels, node);
  if (channel == NULL)
    return;
  channel->sending.held = hold;
  sfd_channel_send_advance(channel);
}

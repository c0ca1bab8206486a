/* Receiving: frames are assembled in a staging buffer, large payloads are received into memory of the users. The loop's
 * thread. While payloads of a frame arrive, its table stays in staging. Frames, tables and heads begin at multiples of
 * 8, in the stream and in staging (place_in_staging). */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/channel_internal.h"
#include "daemon/net/event_ring.h"
#include "shm/base/error.h"

/* Size of a read after an incomplete one: more could be the beginning of a large payload, which would be copied. */
#define FIRST_READ 4096u

/* A payload of that size is read by itself. */
#define DIRECT_MIN (16u << 10)

/* Latest begin of data in staging, so that a whole table fits behind it. */
#define STAGING_BEGIN_MAX (SFD_CHANNEL_STAGING / 2)
_Static_assert(STAGING_BEGIN_MAX + SFD_FRAME_HEADER_BYTES + SFD_FRAME_TABLE_MAX + FIRST_READ <= SFD_CHANNEL_STAGING,
               "there is always room for the next read");

static bool is_over(const sfd_channel_t *channel)
{
  return channel->is_ending || channel->channels->closing;
}

static size_t available(const sfd_receiving_t *receiving)
{
  return receiving->end - receiving->begin;
}

static void take(sfd_receiving_t *receiving, size_t nbytes)
{
  receiving->begin += nbytes;
  receiving->position += nbytes;
}

/* ---- Messages ---- */

static void deliver(sfd_channel_t *channel)
{
  sfd_channels_t *channels = channel->channels;
  sfd_arriving_t *arriving = &channel->receiving.arriving;
  const sfd_message_head_t *head = &arriving->head;
  arriving->active = false;
  channel->counts.messages_received[head->kind] += (head->flags & SFD_MESSAGE_CONTINUES) == 0;
  channel->counts.payload_received[head->kind] += head->payload_bytes;
  if (head->payload_bytes > 0 && arriving->placing == SFD_PLACE_NOWHERE)
    return;
  sf_status_t status = channels->handlers->arrived(channels->owner, channel->node, head, arriving->payload);
  if (status != SF_OK)
    sfd_channel_end(channel, status);
}

/* Memory for a payload outside the table. */
static uint8_t *control_memory(sfd_channel_t *channel, size_t nbytes)
{
  sfd_receiving_t *receiving = &channel->receiving;
  if (nbytes <= receiving->control_size)
    return receiving->control;
  free(receiving->control);
  receiving->control_size = 0;
  receiving->control = malloc(nbytes);
  if (receiving->control == NULL)
    sfd_channel_end(channel, sfshm_error(SF_ERR_NOMEM, "no memory for a payload of %zu bytes", nbytes));
  else
    receiving->control_size = nbytes;
  return receiving->control;
}

/* inlined: the payload in the table, or NULL. */
static void place_in_channel(sfd_channel_t *channel, uint8_t *inlined)
{
  sfd_arriving_t *arriving = &channel->receiving.arriving;
  uint64_t nbytes = arriving->head.payload_bytes;
  if (nbytes > SFD_CHANNEL_CONTROL_MAX)
    sfd_channel_end(channel, sfshm_error(SF_ERR_PROTO,
                                         "message of kind %u with a payload of %" PRIu64 " bytes, expected at most %u",
                                         arriving->head.kind, nbytes, SFD_CHANNEL_CONTROL_MAX));
  else
    arriving->payload = inlined != NULL ? inlined : control_memory(channel, nbytes);
}

static void place(sfd_channel_t *channel, uint8_t *inlined)
{
  sfd_channels_t *channels = channel->channels;
  sfd_arriving_t *arriving = &channel->receiving.arriving;
  void *buffer = NULL;
  arriving->placing = channels->handlers->place(channels->owner, channel->node, &arriving->head, &buffer);
  arriving->active = true; /* a buffer of the handler is given back by arrived or lost */
  switch (arriving->placing) {
  case SFD_PLACE_HERE:
    assert(buffer != NULL);
    arriving->payload = buffer;
    break;
  case SFD_PLACE_CHANNEL:
    place_in_channel(channel, inlined);
    break;
  case SFD_PLACE_NOWHERE:
    break;
  case SFD_PLACE_REFUSE:
    sfd_channel_end(channel, SF_ERR_PROTO);
    break;
  }
}

/* Reads the next head of the table, and an inline payload. */
static void next_message(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  sfd_arriving_t *arriving = &receiving->arriving;
  uint8_t *entry = receiving->staging + receiving->table + receiving->cursor;
  *arriving = (sfd_arriving_t){.active = false};
  memcpy(&arriving->head, entry, sizeof arriving->head);
  receiving->cursor += sfd_frame_table_bytes(&arriving->head);
  if (arriving->head.payload_bytes == 0) {
    deliver(channel);
    return;
  }
  uint8_t *inlined = sfd_frame_is_inline(&arriving->head) ? entry + sizeof arriving->head : NULL;
  place(channel, inlined);
  if (is_over(channel) || inlined == NULL)
    return;
  if (arriving->placing == SFD_PLACE_HERE)
    memcpy(arriving->payload, inlined, arriving->head.payload_bytes);
  deliver(channel);
}

static void payload_complete(sfd_channel_t *channel)
{
  uint64_t nbytes = channel->receiving.arriving.head.payload_bytes;
  channel->receiving.skip = (uint32_t)(sfd_frame_padded(nbytes) - nbytes);
  deliver(channel);
}

/* ---- What lies in staging ---- */

static size_t at_most(size_t nbytes, size_t limit)
{
  return nbytes < limit ? nbytes : limit;
}

/* These functions return whether there may be more to do. */
static bool skip_filling(sfd_receiving_t *receiving)
{
  size_t nbytes = at_most(receiving->skip, available(receiving));
  take(receiving, nbytes);
  receiving->skip -= (uint32_t)nbytes;
  return receiving->skip == 0;
}

static bool take_payload(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  sfd_arriving_t *arriving = &receiving->arriving;
  size_t nbytes = at_most(sfd_channel_receive_due(channel), available(receiving));
  if (arriving->payload != NULL && nbytes > 0)
    memcpy(arriving->payload + arriving->nbytes, receiving->staging + receiving->begin, nbytes);
  arriving->nbytes += nbytes;
  take(receiving, nbytes);
  if (arriving->nbytes < arriving->head.payload_bytes)
    return false;
  payload_complete(channel);
  return true;
}

static bool take_header(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  sf_status_t status = sfd_frame_check_header(receiving->staging + receiving->begin, available(receiving),
                                              receiving->position, receiving->number, &receiving->header);
  if (status != SF_OK)
    sfd_channel_end(channel, status);
  if (status != SF_OK || available(receiving) < SFD_FRAME_HEADER_BYTES)
    return false;
  receiving->phase = SFD_RECEIVE_TABLE;
  return true;
}

static void next_frame(sfd_receiving_t *receiving)
{
  receiving->number++;
  receiving->phase = SFD_RECEIVE_HEADER;
}

static sf_status_t check_table(const sfd_channel_t *channel, const uint8_t *table)
{
  sf_status_t status = sfd_frame_check_table(&channel->receiving.header, table);
  if (status == SF_OK && channel->receiving.header.type == SFD_FRAME_HELLO) {
    sfd_hello_t hello;
    memcpy(&hello, table, sizeof hello);
    status = sfd_frame_check_hello(&hello, channel->node, &channel->channels->greeting.hello);
  }
  return status;
}

static bool take_table(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  size_t nbytes = SFD_FRAME_HEADER_BYTES + receiving->header.table_bytes;
  if (available(receiving) < nbytes)
    return false;
  receiving->table = receiving->begin + SFD_FRAME_HEADER_BYTES;
  receiving->cursor = 0;
  sf_status_t status = check_table(channel, receiving->staging + receiving->table);
  if (status != SF_OK) {
    sfd_channel_end(channel, status);
    return false;
  }
  take(receiving, nbytes);
  if (receiving->header.type == SFD_FRAME_HELLO)
    next_frame(receiving);
  else
    receiving->phase = SFD_RECEIVE_MESSAGES;
  return true;
}

static bool take_messages(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  if (receiving->arriving.active)
    return take_payload(channel);
  if (receiving->cursor < receiving->header.table_bytes) {
    next_message(channel);
  } else {
    channel->counts.frames_received++;
    if (sfd_event_ring != NULL)
      sfd_event_ring_add_frame(SFSHM_TRACE_FRAME_IN, channel->node, receiving->header.number,
                               receiving->header.messages, receiving->header.payload_bytes, 0);
    next_frame(receiving);
  }
  return true;
}

static bool take_next(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  if (receiving->skip > 0)
    return skip_filling(receiving);
  switch (receiving->phase) {
  case SFD_RECEIVE_HEADER:
    return take_header(channel);
  case SFD_RECEIVE_TABLE:
    return take_table(channel);
  case SFD_RECEIVE_MESSAGES:
    break;
  }
  return take_messages(channel);
}

/* ---- Reading ---- */

/* Makes room behind what must stay: the arriving frame, or the table in use. */
static void place_in_staging(sfd_receiving_t *receiving)
{
  bool has_table = receiving->phase == SFD_RECEIVE_MESSAGES;
  if (receiving->begin == receiving->end) {
    size_t after = has_table ? receiving->table + receiving->header.table_bytes : 0;
    receiving->begin = receiving->end = after + receiving->position % 8;
  }
  size_t base = has_table ? receiving->table : receiving->begin;
  if (base <= STAGING_BEGIN_MAX)
    return;
  memmove(receiving->staging, receiving->staging + base, receiving->end - base);
  receiving->begin -= base;
  receiving->end -= base;
  receiving->table -= has_table ? base : 0;
}

size_t sfd_channel_receive_due(const sfd_channel_t *channel)
{
  const sfd_arriving_t *arriving = &channel->receiving.arriving;
  return arriving->active ? arriving->head.payload_bytes - arriving->nbytes : 0;
}

/* Memory of the payload itself, if it is large enough. */
static size_t want_payload(sfd_channel_t *channel, void **buffer_p)
{
  const sfd_arriving_t *arriving = &channel->receiving.arriving;
  size_t left = sfd_channel_receive_due(channel);
  if (left == 0 || arriving->payload == NULL || left < DIRECT_MIN)
    return 0;
  *buffer_p = arriving->payload + arriving->nbytes;
  return left;
}

static size_t want_staging(sfd_channel_t *channel, void **buffer_p)
{
  sfd_receiving_t *receiving = &channel->receiving;
  place_in_staging(receiving);
  size_t left = sfd_channel_receive_due(channel);
  size_t room = SFD_CHANNEL_STAGING - receiving->end;
  *buffer_p = receiving->staging + receiving->end;
  return receiving->filled ? room : at_most(left + FIRST_READ, room);
}

size_t sfd_channel_receive_want(sfd_channel_t *channel, void **buffer_p)
{
  sfd_receiving_t *receiving = &channel->receiving;
  if (receiving->staging == NULL) {
    receiving->staging = malloc(SFD_CHANNEL_STAGING);
    if (receiving->staging == NULL) {
      sfd_channel_end(channel, sfshm_error(SF_ERR_NOMEM, "no memory for %u bytes of staging", SFD_CHANNEL_STAGING));
      return 0;
    }
  }
  receiving->asked = want_payload(channel, buffer_p);
  receiving->direct = receiving->asked > 0;
  if (!receiving->direct)
    receiving->asked = want_staging(channel, buffer_p);
  return receiving->asked;
}

static void got_payload(sfd_channel_t *channel, size_t nbytes)
{
  sfd_receiving_t *receiving = &channel->receiving;
  receiving->arriving.nbytes += nbytes;
  receiving->position += nbytes;
  receiving->filled = false;
  if (receiving->arriving.nbytes == receiving->arriving.head.payload_bytes)
    payload_complete(channel);
}

void sfd_channel_receive_got(sfd_channel_t *channel, size_t nbytes)
{
  sfd_receiving_t *receiving = &channel->receiving;
  assert(nbytes <= receiving->asked);
  channel->counts.bytes_received += nbytes;
  if (receiving->direct) {
    got_payload(channel, nbytes);
  } else {
    receiving->end += nbytes;
    receiving->filled = nbytes == receiving->asked;
  }
  while (!is_over(channel) && take_next(channel)) {
  }
}

void sfd_channel_receive_end(sfd_channel_t *channel)
{
  sfd_receiving_t *receiving = &channel->receiving;
  sfd_channels_t *channels = channel->channels;
  sfd_arriving_t arriving = receiving->arriving;
  free(receiving->staging);
  free(receiving->control);
  *receiving = (sfd_receiving_t){.staging = NULL};
  if (arriving.active && arriving.placing == SFD_PLACE_HERE)
    channels->handlers->lost(channels->owner, channel->node, &arriving.head);
}

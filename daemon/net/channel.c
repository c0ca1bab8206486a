/* Channels: begin and end, and events of the fabric. The loop's thread. */
#include "daemon/net/channel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/channel_internal.h"
#include "shm/base/error.h"

/* ---- The end of a channel ---- */

/* Until the end of this function all sends are refused, so that a done that sends again does not keep it going. */
static void finish(sfd_channel_t *channel)
{
  channel->is_ending = true;
  channel->state = SFD_CHANNEL_CLOSED;
  sfd_channel_receive_end(channel);
  sfd_channel_send_end(channel, channel->status);
  channel->is_ending = false;
}

/* The handler may open the channel again and end it, so it gets a copy of the detail. */
static void finish_and_notify(sfd_channel_t *channel)
{
  sfd_channels_t *channels = channel->channels;
  char detail[sizeof channel->detail];
  finish(channel);
  memcpy(detail, channel->detail, sizeof detail);
  if (!channels->closing)
    channels->handlers->down(channels->owner, channel->node, channel->status, detail);
}

static void end_because(sfd_channel_t *channel, sf_status_t status, const char *reason)
{
  sfd_channels_t *channels = channel->channels;
  char node[SFD_TEXT_SIZE / 4];
  bool first = LIST_EMPTY(&channels->ending);
  if (channel->is_ending || channel->state == SFD_CHANNEL_CLOSED || channels->closing)
    return;
  channel->is_ending = true;
  channel->status = status;
  channels->fabric->functions->describe(channels->fabric, channel->node, node, sizeof node);
  snprintf(channel->detail, sizeof channel->detail, "%s: %s", node, reason);
  channel->has_stream = false;
  channels->fabric->functions->disconnect(channels->fabric, channel->node);
  LIST_INSERT_HEAD(&channels->ending, channel, ending);
  if (first)
    channels->handlers->deferred(channels->owner);
}

void sfd_channel_end(sfd_channel_t *channel, sf_status_t status)
{
  end_because(channel, status, sfshm_error_detail());
}

void sfd_channel_fail(sfd_channels_t *channels, int32_t node, sf_status_t status, const char *detail)
{
  if (channels->channels[node] != NULL)
    end_because(channels->channels[node], status, detail);
}

void sfd_channels_run_deferred(sfd_channels_t *channels)
{
  while (!LIST_EMPTY(&channels->ending) && !channels->closing) {
    sfd_channel_t *channel = LIST_FIRST(&channels->ending);
    LIST_REMOVE(channel, ending);
    finish_and_notify(channel);
  }
}

/* ---- The fabric's events ---- */

/* The other node may be back before the handlers hear of the end of the last stream. */
static void on_up(void *owner, int32_t node)
{
  sfd_channels_t *channels = owner;
  sfd_channel_t *channel = sfd_channel_get(channels, node);
  if (channel == NULL) {
    channels->fabric->functions->disconnect(channels->fabric, node);
    return;
  }
  channel->has_stream = true;
  if (channel->is_ending) {
    LIST_REMOVE(channel, ending);
    finish_and_notify(channel);
  }
  if (!channel->has_stream || channels->closing)
    return;
  channel->state = SFD_CHANNEL_OPEN;
  sfd_channel_send_advance(channel);
}

static void on_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  sfd_channels_t *channels = owner;
  sfd_channel_t *channel = channels->channels[node];
  if (channel == NULL || !channel->has_stream)
    return;
  channel->has_stream = false;
  channel->status = status;
  snprintf(channel->detail, sizeof channel->detail, "%s", detail);
  finish_and_notify(channel);
}

static void on_failing(void *owner, int32_t node, const char *detail)
{
  const sfd_channels_t *channels = owner;
  const sfd_channel_t *channel = channels->channels[node];
  if (channel != NULL && channel->has_stream && !channels->closing && channels->handlers->failing != NULL)
    channels->handlers->failing(channels->owner, node, detail);
}

static void on_denied(void *owner, const char *detail)
{
  const sfd_channels_t *channels = owner;
  if (channels->handlers->denied != NULL)
    channels->handlers->denied(channels->owner, detail);
}

static void on_refused(void *owner, int32_t node, uint64_t cause, const char *detail)
{
  const sfd_channels_t *channels = owner;
  if (!channels->closing && channels->handlers->refused != NULL)
    channels->handlers->refused(channels->owner, node, cause, detail);
}

static uint64_t on_cause(void *owner, int32_t node)
{
  const sfd_channels_t *channels = owner;
  return channels->handlers->cause != NULL ? channels->handlers->cause(channels->owner, node) : 0;
}

static void on_sent(void *owner, int32_t node)
{
  sfd_channels_t *channels = owner;
  sfd_channel_t *channel = channels->channels[node];
  if (channel != NULL && channel->has_stream)
    sfd_channel_send_sent(channel);
}

static size_t on_want(void *owner, int32_t node, void **buffer_p)
{
  sfd_channels_t *channels = owner;
  sfd_channel_t *channel = channels->channels[node];
  *buffer_p = NULL;
  return channel != NULL && channel->has_stream ? sfd_channel_receive_want(channel, buffer_p) : 0;
}

static void on_got(void *owner, int32_t node, size_t nbytes)
{
  sfd_channels_t *channels = owner;
  sfd_channel_t *channel = channels->channels[node];
  if (channel != NULL && channel->has_stream)
    sfd_channel_receive_got(channel, nbytes);
}

static size_t on_due(void *owner, int32_t node)
{
  const sfd_channels_t *channels = owner;
  const sfd_channel_t *channel = channels->channels[node];
  return channel != NULL && channel->has_stream ? sfd_channel_receive_due(channel) : 0;
}

static void on_closed(void *owner)
{
  sfd_channels_t *channels = owner;
  for (int32_t node = 0; node < channels->fabric->nnodes; node++) {
    sfd_channel_t *channel = channels->channels[node];
    if (channel == NULL)
      continue;
    channel->status = SF_ERR_DAEMON_LOST;
    channel->has_stream = false;
    finish(channel);
  }
  channels->handlers->closed(channels->owner);
}

static const sfd_fabric_events_t fabric_events = {.up = on_up,
                                                  .down = on_down,
                                                  .failing = on_failing,
                                                  .refused = on_refused,
                                                  .denied = on_denied,
                                                  .cause = on_cause,
                                                  .sent = on_sent,
                                                  .want = on_want,
                                                  .got = on_got,
                                                  .due = on_due,
                                                  .closed = on_closed};

/* ---- All channels ---- */

static void seal_greeting(sfd_channels_t *channels)
{
  channels->greeting.header = (sfd_frame_header_t){.type = SFD_FRAME_HELLO, .table_bytes = sizeof(sfd_hello_t)};
  sfd_frame_seal(&channels->greeting.header, &channels->greeting.hello);
}

sf_status_t sfd_channels_create(sfd_fabric_t *fabric, const sfd_channel_handlers_t *handlers, void *owner,
                                sfd_channels_t **channels_p)
{
  size_t pointers = (size_t)fabric->nnodes * sizeof(sfd_channel_t *);
  sfd_channels_t *channels = calloc(1, sizeof *channels + pointers);
  if (channels == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for channels to %d nodes", fabric->nnodes);
  channels->fabric = fabric;
  channels->handlers = handlers;
  channels->owner = owner;
  LIST_INIT(&channels->ending);
  LIST_INIT(&channels->lazy);
  TAILQ_INIT(&channels->spare);
  channels->greeting.hello.node = fabric->node;
  channels->greeting.hello.nnodes = fabric->nnodes;
  seal_greeting(channels);
  fabric->events = &fabric_events;
  fabric->owner = channels;
  *channels_p = channels;
  return SF_OK;
}

static sf_status_t set_text(char to[SFD_HELLO_TEXT_SIZE], const char *text, const char *what)
{
  if (text[0] != '\0' && !sfd_text_is_name(text))
    return sfshm_error(SF_ERR_ARG, "%s: expected printable characters", what);
  if (strlen(text) >= SFD_HELLO_TEXT_SIZE)
    return sfshm_error(SF_ERR_ARG, "%s \"%s\": %zu characters, at most %d", what, text, strlen(text),
                       SFD_HELLO_TEXT_SIZE - 1);
  memset(to, 0, SFD_HELLO_TEXT_SIZE);
  memcpy(to, text, strlen(text));
  return SF_OK;
}

sf_status_t sfd_channels_set_greeting(sfd_channels_t *channels, const char *software, const char *cluster)
{
  for (int32_t node = 0; node < channels->fabric->nnodes; node++)
    if (channels->channels[node] != NULL)
      return sfshm_error(SF_ERR_STATE, "the greeting cannot change: there is a channel to node %d", node);
  sf_status_t status = set_text(channels->greeting.hello.software, software, "name of the software");
  if (status == SF_OK)
    status = set_text(channels->greeting.hello.cluster, cluster, "name of the cluster");
  seal_greeting(channels);
  return status;
}

void sfd_channels_close(sfd_channels_t *channels)
{
  if (channels->closing)
    return;
  channels->closing = true;
  channels->fabric->functions->close(channels->fabric);
}

void sfd_channels_release_fabric(sfd_channels_t *channels)
{
  channels->fabric->events = NULL;
  channels->fabric->owner = NULL;
  free(channels);
}

void sfd_channels_destroy(sfd_channels_t *channels)
{
  if (channels == NULL)
    return;
  for (int32_t node = 0; node < channels->fabric->nnodes; node++)
    free(channels->channels[node]);
  channels->fabric->functions->destroy(channels->fabric);
  sfd_channel_free_frames(&channels->spare);
  free(channels);
}

int32_t sfd_channels_node(const sfd_channels_t *channels)
{
  return channels->fabric->node;
}

int32_t sfd_channels_nnodes(const sfd_channels_t *channels)
{
  return channels->fabric->nnodes;
}

const char *sfd_channels_fabric(const sfd_channels_t *channels)
{
  return channels->fabric->functions->name;
}

void sfd_channels_describe(const sfd_channels_t *channels, int32_t node, char *text, size_t text_size)
{
  channels->fabric->functions->describe(channels->fabric, node, text, text_size);
}

bool sfd_channels_link(const sfd_channels_t *channels, int32_t node, sfd_fabric_link_t *link_p)
{
  const sfd_fabric_t *fabric = channels->fabric;
  return fabric->functions->link != NULL && fabric->functions->link(fabric, node, link_p);
}

/* ---- One channel ---- */

sfd_channel_t *sfd_channel_get(sfd_channels_t *channels, int32_t node)
{
  assert(node >= 0 && node < channels->fabric->nnodes && node != channels->fabric->node);
  sfd_channel_t *channel = channels->channels[node];
  if (channel != NULL)
    return channel;
  channel = calloc(1, sizeof *channel);
  if (channel == NULL)
    return NULL;
  channel->channels = channels;
  channel->node = node;
  TAILQ_INIT(&channel->sending.frames);
  channels->channels[node] = channel;
  return channel;
}

sfd_channel_state_t sfd_channel_state(const sfd_channels_t *channels, int32_t node)
{
  const sfd_channel_t *channel = channels->channels[node];
  return channel == NULL || channel->is_ending ? SFD_CHANNEL_CLOSED : channel->state;
}

const sfd_channel_counts_t *sfd_channel_counts(const sfd_channels_t *channels, int32_t node)
{
  static const sfd_channel_counts_t none;
  return channels->channels[node] == NULL ? &none : &channels->channels[node]->counts;
}

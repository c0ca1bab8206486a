/* Network: see network.h. The daemon's thread. */
#include "daemon/net/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/base.h"
#include "daemon/net/early_messages.h"
#include "daemon/net/fabric.h"
#include "daemon/net/network_internal.h"
#include "shm/base/error.h"

/* how long messages without urgency wait: less than a round trip */
#define LAZY_NS 20000

/* how long a lost node counts as lost, unless it is heard of */
#define LOST_FOR_MS 60000

/* ---- Channels ---------------------------------------------------------------------------------------------------- */

static void note_loss(sfd_loss_t *loss, uint64_t now_ms, const char *detail)
{
  loss->ms = now_ms;
  free(loss->detail);
  loss->detail = strdup(detail);
}

/* Whether the daemons disagree; else the node is lost. */
static bool is_refusal(sf_status_t status)
{
  return status == SF_ERR_ARG || status == SF_ERR_PERM || status == SF_ERR_VERSION;
}

static void on_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  sfd_network_t *network = owner;
  bool refused = is_refusal(status);
  note_loss(&network->losses[node], uv_now(network->server->loop), detail);
  if (refused)
    network->losses[node].ms = 0; /* the node is there, and still coordinates jobs */
  sfd_early_messages_forget(&network->early, node);
  bool needed = network->ops->node_lost(network->server, node, status, refused, detail);
  sfd_log(SFD_LOG_NETWORK, needed ? SFD_WARN : SFD_INFO, "lost node %d: %s (%s)", node, detail, sfshm_strerror(status));
}

/* The rest is done at the end of the channel. */
static void on_failing(void *owner, int32_t node, const char *detail)
{
  const sfd_network_t *network = owner;
  if (network->ops->node_failing(network->server, node, detail))
    sfd_log(SFD_LOG_NETWORK, SFD_WARN, "node %d is being lost: %s", node, detail);
}

static sfd_placing_t on_place(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  const sfd_network_t *network = owner;
  return network->ops->place(network->server, node, head, buffer_p);
}

static sf_status_t on_arrived(void *owner, int32_t node, const sfd_message_head_t *head, void *payload)
{
  const sfd_network_t *network = owner;
  return network->ops->arrived(network->server, node, head, payload);
}

static void on_lost(void *owner, int32_t node, const sfd_message_head_t *head)
{
  const sfd_network_t *network = owner;
  network->ops->message_lost(network->server, node, head);
}

static void on_denied(void *owner, const char *detail)
{
  const sfd_network_t *network = owner;
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "ends, as it cannot accept connections of other nodes: accept4: %s", detail);
  sfd_server_fail(network->server, text);
}

static void on_refused(void *owner, int32_t node, uint64_t cause, const char *detail)
{
  const sfd_network_t *network = owner;
  network->ops->refused(network->server, node, cause, detail);
}

static uint64_t on_cause(void *owner, int32_t node)
{
  const sfd_network_t *network = owner;
  return network->ops->cause(network->server, node);
}

static void on_closed(void *owner)
{
  const sfd_network_t *network = owner;
  network->closed(network->server);
}

static void on_deferred(void *owner)
{
  ((sfd_network_t *)owner)->deferred = true;
}

static const sfd_channel_handlers_t channel_handlers = {
    .place = on_place,
    .arrived = on_arrived,
    .lost = on_lost,
    .down = on_down,
    .failing = on_failing,
    .refused = on_refused,
    .denied = on_denied,
    .cause = on_cause,
    .closed = on_closed,
    .deferred = on_deferred,
};

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Reports an unsent message to the caller, from the loop. */
static void refuse_send(sfd_network_t *network, sf_status_t status, sfd_channel_done_t done, void *context)
{
  sfd_refused_send_t *refused = malloc(sizeof *refused);
  if (refused == NULL)
    abort(); /* the memory could never be freed */
  *refused = (sfd_refused_send_t){network->refused, done, context, status};
  network->refused = refused;
}

static void run_refused(sfd_network_t *network)
{
  while (network->refused != NULL) {
    sfd_refused_send_t *refused = network->refused;
    network->refused = refused->next;
    refused->done(refused->context, refused->status);
    free(refused);
  }
}

void sfd_network_send_payload(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, const void *payload,
                              sfd_channel_done_t done, void *context)
{
  sfd_network_t *network = server->network;
  sf_status_t status = sfd_channel_send(network->channels, node, head, payload, done, context);
  if (status == SF_OK)
    return;
  sfd_channel_fail(network->channels, node, status, sfshm_error_detail());
  if (done != NULL)
    refuse_send(network, status, done, context);
}

void sfd_network_send_lazily(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  sfd_network_t *network = server->network;
  sf_status_t status = sfd_channel_send_lazily(network->channels, node, head);
  if (status != SF_OK)
    sfd_channel_fail(network->channels, node, status, sfshm_error_detail());
  if (network->lazy_since_ns == 0)
    network->lazy_since_ns = uv_hrtime();
}

bool sfd_network_flush(sfd_network_t *network, bool now)
{
  if (network == NULL || network->lazy_since_ns == 0 || (!now && uv_hrtime() - network->lazy_since_ns < LAZY_NS))
    return false;
  network->lazy_since_ns = 0;
  return sfd_channels_flush(network->channels);
}

void sfd_network_gather(sfd_server_t *server, bool on)
{
  sfd_channels_gather(server->network->channels, on);
}

void sfd_network_send(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  size_t bytes = sfpeer__message__get_packed_size(message);
  sfd_message_head_t head = {.kind = SFD_PEER_CONTROL, .payload_bytes = bytes};
  uint8_t small[1024];
  uint8_t *packed = bytes <= sizeof small ? small : malloc(bytes);
  if (packed == NULL || bytes > SFD_CHANNEL_CONTROL_MAX) {
    char detail[SFD_TEXT_SIZE];
    snprintf(detail, sizeof detail, "a control message of %zu bytes can't be sent", bytes);
    sfd_channel_fail(server->network->channels, node, SF_ERR_LIMIT, detail);
  } else {
    sfpeer__message__pack(message, packed);
    sfd_network_send_payload(server, node, &head, packed, NULL, NULL);
  }
  if (packed != small)
    free(packed);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

int32_t sfd_network_node(const sfd_server_t *server)
{
  return server->network != NULL ? sfd_channels_node(server->network->channels) : 0;
}

int32_t sfd_network_nnodes(const sfd_server_t *server)
{
  return server->network != NULL ? sfd_channels_nnodes(server->network->channels) : 1;
}

uint64_t sfd_network_new_id(sfd_server_t *server)
{
  return ++server->last_id * (uint64_t)sfd_network_nnodes(server) + (uint64_t)sfd_network_node(server);
}

bool sfd_network_is_lost(const sfd_server_t *server, int32_t node)
{
  const sfd_network_t *network = server->network;
  return network != NULL && network->losses[node].ms != 0 &&
         uv_now(server->loop) - network->losses[node].ms < LOST_FOR_MS &&
         sfd_channel_state(network->channels, node) != SFD_CHANNEL_OPEN;
}

const char *sfd_network_why_away(const sfd_server_t *server, int32_t node)
{
  const sfd_network_t *network = server->network;
  bool connected = network == NULL || sfd_channel_state(network->channels, node) == SFD_CHANNEL_OPEN;
  return connected || network->losses[node].ms == 0 ? NULL : network->losses[node].detail;
}

const char *sfd_network_why_lost(const sfd_server_t *server, int32_t node)
{
  const char *detail = server->network != NULL ? server->network->losses[node].detail : NULL;
  return detail != NULL ? detail : "never lost";
}

size_t sfd_network_kept_bytes(const sfd_server_t *server)
{
  return server->network != NULL ? server->network->early.bytes : 0;
}

void sfd_network_open(sfd_server_t *server, int32_t node)
{
  sfd_channel_open(server->network->channels, node);
}

const sfd_channels_t *sfd_network_channels(const sfd_server_t *server)
{
  return server->network != NULL ? server->network->channels : NULL;
}

/* Other daemons may know ids of an earlier daemon here, which made less than one per microsecond. */
static uint64_t first_id(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

sf_status_t sfd_network_create_over(sfd_server_t *server, sfd_fabric_t *fabric, const sfd_network_ops_t *ops,
                                    sfd_network_t **network_p)
{
  sfd_network_t *network = calloc(1, sizeof *network + (size_t)fabric->nnodes * sizeof network->losses[0]);
  if (network == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a network of %d nodes", fabric->nnodes);
  sf_status_t status = ops->begin(server, fabric->nnodes);
  if (status != SF_OK)
    goto err_free;
  network->server = server;
  network->ops = ops;
  network->fabric = fabric;
  server->last_id = first_id();
  sfd_early_messages_init(&network->early);
  status = sfd_channels_create(fabric, &channel_handlers, network, &network->channels);
  if (status != SF_OK)
    goto err_end;
  status = sfd_channels_set_greeting(network->channels, SFD_SOFTWARE, server->options->cluster);
  if (status != SF_OK)
    goto err_channels;
  *network_p = network;
  return SF_OK;
err_channels:
  sfd_channels_release_fabric(network->channels);
err_end:
  ops->end(server);
err_free:
  free(network);
  return status;
}

static void on_abandoned(void *owner)
{
  (void)owner; /* destroyed with the server */
}

/* Closes a fabric without user, whose handles would keep the loop from ending. */
static void abandon(sfd_server_t *server, sfd_fabric_t *fabric)
{
  static const sfd_fabric_events_t events = {.closed = on_abandoned};
  fabric->events = &events;
  fabric->owner = NULL;
  server->abandoned = fabric;
  fabric->functions->close(fabric);
}

sf_status_t sfd_network_create(sfd_server_t *server, const sfd_network_ops_t *ops, sfd_network_t **network_p)
{
  sfd_fabric_t *fabric;
  *network_p = NULL;
  if (strcmp(server->options->fabric, "none") == 0)
    return SF_OK;
  sf_status_t status = sfd_fabric_choose(server->options, server->loop, &fabric);
  if (status != SF_OK)
    return status;
  status = sfd_network_create_over(server, fabric, ops, network_p);
  if (status != SF_OK) {
    abandon(server, fabric);
    return status;
  }
  sfd_log(SFD_LOG_NETWORK, SFD_INFO, "node %d of %d, fabric %s", fabric->node, fabric->nnodes,
          sfd_channels_fabric((*network_p)->channels));
  return SF_OK;
}

void sfd_network_begun(sfd_server_t *server)
{
  if (server->network != NULL)
    server->network->early.begun = true;
}

sf_status_t sfd_network_keep(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload)
{
  return sfd_early_messages_keep(&server->network->early, uv_now(server->loop), node, head, payload);
}

static sf_status_t deliver(void *context, int32_t node, const sfd_message_head_t *head, void *payload)
{
  sfd_network_t *network = context;
  sf_status_t status = network->ops->deliver(network->server, node, head, payload);
  if (status == SF_OK || status == SF_ERR_NOT_FOUND)
    return status;
  sfd_channel_fail(network->channels, node, status, sfshm_error_detail());
  return SF_OK;
}

bool sfd_network_attend(sfd_network_t *network)
{
  if (network == NULL)
    return false;
  bool delivered = sfd_early_messages_attend(&network->early, deliver, network);
  if (!network->deferred && network->refused == NULL)
    return delivered;
  run_refused(network);
  if (network->deferred) {
    network->deferred = false;
    sfd_channels_run_deferred(network->channels);
  }
  return true;
}

void sfd_network_close(sfd_network_t *network, void (*closed)(sfd_server_t *server))
{
  network->closed = closed;
  sfd_channels_close(network->channels);
}

void sfd_network_destroy_abandoned(sfd_server_t *server)
{
  if (server->abandoned != NULL)
    server->abandoned->functions->destroy(server->abandoned);
  server->abandoned = NULL;
}

void sfd_network_destroy(sfd_network_t *network)
{
  if (network == NULL)
    return;
  run_refused(network);
  for (int32_t node = 0; node < sfd_channels_nnodes(network->channels); node++)
    free(network->losses[node].detail);
  sfd_early_messages_free(&network->early);
  sfd_channels_destroy(network->channels);
  network->ops->end(network->server);
  free(network);
}

/* The network: see network.h. The daemon's thread. */
#include "daemon/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/agreement.h"
#include "daemon/ask.h"
#include "daemon/assembly.h"
#include "daemon/calls.h"
#include "daemon/early.h"
#include "daemon/ended.h"
#include "daemon/fabric/choose.h"
#include "daemon/group.h"
#include "daemon/home.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/meeting.h"
#include "daemon/parts.h"
#include "daemon/remote.h"
#include "daemon/trunks.h"
#include "daemon/wants.h"
#include "shm/error.h"

/* So long messages that need not go at once wait for others: a round trip's answer comes sooner. */
#define LAZY_NS 20000

/* So long nobody waits for a node that was lost, unless it is heard of again. */
#define LOST_FOR_MS 60000

/* A done that sfd_channel_send did not accept. */
typedef struct sfd_refused_send {
  struct sfd_refused_send *next;
  sfd_channel_done_t done;
  void *context;
  sf_status_t status;
} sfd_refused_send_t;

/* A node that was lost. */
typedef struct sfd_loss {
  uint64_t ms;  /* when, the last time; 0: never */
  char *detail; /* why; NULL: never, or there was no memory for it */
} sfd_loss_t;

struct sfd_network {
  sfd_server_t *server;
  sfd_fabric_t *fabric; /* the channels' */
  sfd_channels_t *channels;
  bool deferred;
  sfd_early_t early;
  sfd_refused_send_t *refused;
  void (*closed)(sfd_server_t *server);
  uint64_t lazy_since_ns; /* 0: nothing waits to go with something else */
  sfd_loss_t losses[];    /* by node */
};

/* ---- Control messages -------------------------------------------------------------------------------------------- */

/* SF_ERR_NOT_FOUND: what it is about has not begun here, see early.h. Other errors end the channel. */
typedef sf_status_t (*handler_t)(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#define BODY(name) [SFPEER__MESSAGE__BODY_##name]

/* clang-format off */
static const handler_t handlers[] = {
    BODY(JOB_JOIN) = sfd_assembly_handle_join,
    BODY(JOB_WITHDRAW) = sfd_assembly_handle_withdraw,
    BODY(JOB_REFUSE) = sfd_home_handle_refuse,
    BODY(JOB_START) = sfd_home_handle_start,
    BODY(JOB_MOVED) = sfd_assembly_handle_moved,
    BODY(JOB_RUNS) = sfd_assembly_handle_runs,
    BODY(JOB_OVER) = sfd_assembly_handle_over,
    BODY(JOB_FAIL) = sfd_job_handle_peer_fail,
    BODY(JOB_LEFT) = sfd_job_handle_peer_left,
    BODY(ARRIVE) = sfd_agreement_handle_arrive,
    BODY(RELEASE) = sfd_agreement_handle_release,
    BODY(GROUP_LEFT) = sfd_group_handle_peer_left,
    BODY(WANTED) = sfd_wants_handle_wanted,
    BODY(GRAPH_FAIL) = sfd_graph_handle_peer_fail,
    BODY(GRAPH_CALLS) = sfd_calls_handle,
    BODY(GRAPH_MEET) = sfd_meeting_handle_peer_meet,
    BODY(GRAPH_MET) = sfd_meeting_handle_peer_met,
    BODY(GRAPH_AWAITED) = sfd_meeting_handle_peer_awaited,
    BODY(GRAPH_GONE) = sfd_meeting_handle_peer_gone,
    BODY(ASK) = sfd_ask_handle,
    BODY(TOLD) = sfd_remote_handle_told,
};
/* clang-format on */

static sf_status_t handle_control(sfd_server_t *server, int32_t node, const void *payload, size_t bytes)
{
  Sfpeer__Message *message = sfpeer__message__unpack(NULL, bytes, payload);
  if (message == NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d sent %zu bytes that are no control message", node, bytes);
  size_t body = (size_t)message->body_case;
  sf_status_t status = SF_OK;
  if (body < sizeof handlers / sizeof handlers[0] && handlers[body] != NULL)
    status = handlers[body](server, node, message);
  else
    status = sfshm_error(SF_ERR_PROTO, "node %d sent a control message with field %zu", node, body);
  sfpeer__message__free_unpacked(message, NULL);
  return status;
}

/* ---- Channels ---------------------------------------------------------------------------------------------------- */

/* Whether the payload belongs to set-up, which takes it over. */
static bool is_of_setup(const sfd_message_head_t *head)
{
  return head->kind == SFD_PEER_WANTS || head->kind == SFD_PEER_REMAINS;
}

static sfd_placing_t place_of_setup(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  *buffer_p = malloc(head->payload_bytes);
  if (*buffer_p != NULL) {
    server->arriving[node].image = *buffer_p;
    return SFD_PLACE_HERE;
  }
  sfshm_error(SF_ERR_NOMEM, "no memory for %" PRIu64 " bytes about a graph from node %d", head->payload_bytes, node);
  return SFD_PLACE_REFUSE;
}

static void lost_of_setup(sfd_server_t *server, int32_t node)
{
  free(server->arriving[node].image);
  server->arriving[node].image = NULL;
}

static sfd_placing_t on_place(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  sfd_network_t *network = owner;
  switch (head->kind) {
  case SFD_PEER_CONTROL:
    return SFD_PLACE_CHANNEL;
  case SFD_PEER_WANTS:
  case SFD_PEER_REMAINS:
    return place_of_setup(network->server, node, head, buffer_p);
  case SFD_PEER_DATA:
    return sfd_trunks_place(network->server, node, head, buffer_p);
  default:
    sfshm_error(SF_ERR_PROTO, "node %d sent a message of kind %u with a payload", node, head->kind);
    return SFD_PLACE_REFUSE;
  }
}

/* The channel's memory is not to be kept. */
static sf_status_t keep_control(sfd_network_t *network, int32_t node, const sfd_message_head_t *head,
                                const void *payload)
{
  void *copy = malloc((size_t)head->payload_bytes + 1);
  if (copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a message of node %d", node);
  memcpy(copy, payload, head->payload_bytes);
  sf_status_t status = sfd_early_keep(&network->early, uv_now(network->server->loop), node, head, copy);
  if (status != SF_OK)
    free(copy);
  return status;
}

static sf_status_t control_arrived(sfd_network_t *network, int32_t node, const sfd_message_head_t *head,
                                   const void *payload)
{
  sf_status_t status = handle_control(network->server, node, payload, head->payload_bytes);
  return status == SF_ERR_NOT_FOUND ? keep_control(network, node, head, payload) : status;
}

/* The group whose set-up it is about, NULL: that is over here. SF_ERR_NOT_FOUND: job or group are not known here yet.
 */
static sf_status_t find_group(sfd_server_t *server, const sfd_message_head_t *head, sfd_group_t **group_p)
{
  sfd_job_t *job = sfd_job_find_id(server, head->job);
  *group_p = NULL;
  if (job == NULL)
    return sfd_ended_answer(&server->ended, head->job);
  if (job->state != SFD_JOB_RUNNING)
    return SF_OK;
  *group_p = sfd_group_find(job, head->object);
  return *group_p == NULL ? SF_ERR_NOT_FOUND : SF_OK;
}

/* Takes the payload over unless the status is SF_ERR_NOT_FOUND. */
static sf_status_t handle_of_setup(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload)
{
  sfd_group_t *group;
  sf_status_t status = find_group(server, head, &group);
  if (status != SF_OK)
    return status;
  if (group == NULL) {
    free(payload);
    return SF_OK;
  }
  return head->kind == SFD_PEER_WANTS ? sfd_wants_arrived(group, node, head, payload)
                                      : sfd_parts_arrived(group, node, head, payload);
}

static sf_status_t of_setup_arrived(sfd_network_t *network, int32_t node, const sfd_message_head_t *head, void *image)
{
  network->server->arriving[node].image = NULL;
  sf_status_t status = handle_of_setup(network->server, node, head, image);
  if (status != SF_ERR_NOT_FOUND)
    return status;
  status = sfd_early_keep(&network->early, uv_now(network->server->loop), node, head, image);
  if (status != SF_OK)
    free(image);
  return status;
}

static sf_status_t deliver_again(void *context, int32_t node, const sfd_message_head_t *head, void *payload)
{
  sfd_network_t *network = context;
  sf_status_t status = is_of_setup(head) ? handle_of_setup(network->server, node, head, payload)
                                         : handle_control(network->server, node, payload, head->payload_bytes);
  if (status == SF_ERR_NOT_FOUND)
    return status;
  if (status != SF_OK)
    sfd_channel_fail(network->channels, node, status, sfshm_error_detail());
  if (!is_of_setup(head))
    free(payload);
  return SF_OK;
}

static sf_status_t on_arrived(void *owner, int32_t node, const sfd_message_head_t *head, void *payload)
{
  sfd_network_t *network = owner;
  sfd_server_t *server = network->server;
  switch (head->kind) {
  case SFD_PEER_CONTROL:
    return control_arrived(network, node, head, payload);
  case SFD_PEER_WANTS:
  case SFD_PEER_REMAINS:
    return of_setup_arrived(network, node, head, payload);
  case SFD_PEER_DATA:
    sfd_server_moved(server);
    return sfd_trunks_data(server, node, head);
  case SFD_PEER_CREDIT:
    return sfd_trunks_credit(server, node, head);
  case SFD_PEER_AWAIT:
    return sfd_trunks_awaited(server, node, head);
  default:
    return sfshm_error(SF_ERR_PROTO, "node %d sent a message of kind %u", node, head->kind);
  }
}

static void on_lost(void *owner, int32_t node, const sfd_message_head_t *head)
{
  sfd_server_t *server = ((sfd_network_t *)owner)->server;
  if (is_of_setup(head))
    lost_of_setup(server, node);
  else if (head->kind == SFD_PEER_DATA)
    sfd_trunks_data_lost(server, node);
}

static void note_loss(sfd_loss_t *loss, uint64_t now_ms, const char *detail)
{
  loss->ms = now_ms;
  free(loss->detail);
  loss->detail = strdup(detail);
}

static void on_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  sfd_network_t *network = owner;
  note_loss(&network->losses[node], uv_now(network->server->loop), detail);
  sfd_early_forget(&network->early, node);
  sfd_remotes_node_lost(network->server, node, detail);
  bool needed = sfd_jobs_node_lost(network->server, node, detail);
  sfd_log(SFD_LOG_NETWORK, needed ? SFD_WARN : SFD_INFO, "lost node %d: %s (%s)", node, detail, sfshm_strerror(status));
}

/* What else there is to do can wait for the end of the channel. */
static void on_failing(void *owner, int32_t node, const char *detail)
{
  const sfd_network_t *network = owner;
  if (sfd_jobs_fail_on(network->server, node, detail))
    sfd_log(SFD_LOG_NETWORK, SFD_WARN, "node %d is being lost: %s", node, detail);
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
    .closed = on_closed,
    .deferred = on_deferred,
};

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* The caller learns from the loop that the message did not go. */
static void refuse_send(sfd_network_t *network, sf_status_t status, sfd_channel_done_t done, void *context)
{
  sfd_refused_send_t *refused = malloc(sizeof *refused);
  if (refused == NULL)
    abort(); /* memory that nobody would ever give back */
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

bool sfd_network_is_lost(const sfd_server_t *server, int32_t node)
{
  const sfd_network_t *network = server->network;
  return network != NULL && network->losses[node].ms != 0 &&
         uv_now(server->loop) - network->losses[node].ms < LOST_FOR_MS &&
         sfd_channel_state(network->channels, node) != SFD_CHANNEL_OPEN;
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

const sfd_channels_t *sfd_network_channels(const sfd_server_t *server)
{
  return server->network != NULL ? server->network->channels : NULL;
}

/* Other daemons may still know ids of one that was here before, which has made less than one per microsecond. */
static uint64_t first_id(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

sf_status_t sfd_network_create_over(sfd_server_t *server, sfd_fabric_t *fabric, sfd_network_t **network_p)
{
  sf_status_t status = SF_ERR_NOMEM;
  sfd_network_t *network = calloc(1, sizeof *network + (size_t)fabric->nnodes * sizeof network->losses[0]);
  server->arriving = calloc((size_t)fabric->nnodes, sizeof *server->arriving);
  if (network == NULL || server->arriving == NULL) {
    sfshm_error(SF_ERR_NOMEM, "no memory for a network of %d nodes", fabric->nnodes);
    goto err_free;
  }
  network->server = server;
  network->fabric = fabric;
  server->last_id = first_id();
  sfd_early_init(&network->early);
  status = sfd_channels_create(fabric, &channel_handlers, network, &network->channels);
  if (status == SF_OK)
    status = sfd_channels_set_greeting(network->channels, SFD_SOFTWARE, server->options->cluster);
  if (status != SF_OK)
    goto err_free;
  *network_p = network;
  return SF_OK;
err_free:
  free(server->arriving);
  server->arriving = NULL;
  free(network);
  return status;
}

sf_status_t sfd_network_create(sfd_server_t *server, sfd_network_t **network_p)
{
  sfd_fabric_t *fabric;
  *network_p = NULL;
  if (strcmp(server->options->fabric, "none") == 0)
    return SF_OK;
  sf_status_t status = sfd_fabric_choose(server->options, server->loop, &fabric);
  if (status != SF_OK)
    return status;
  bool could = fabric->takes_devices;
  fabric->takes_devices = could && server->options->device_mpi;
  status = sfd_network_create_over(server, fabric, network_p);
  if (status == SF_OK)
    sfd_log(SFD_LOG_NETWORK, SFD_INFO,
            "node %d of %d, fabric %s: values on devices go to other nodes through pinned memory of the host%s",
            fabric->node, fabric->nnodes, sfd_channels_fabric((*network_p)->channels),
            fabric->takes_devices ? ", but those of streams by device-aware MPI"
            : could               ? "; device-aware MPI is there, and switched off"
                                  : "; there is no device-aware MPI");
  return status;
}

sfd_fabric_t *sfd_network_device_fabric(const sfd_server_t *server)
{
  return server->network != NULL && server->network->fabric->takes_devices ? server->network->fabric : NULL;
}

void sfd_network_begun(sfd_server_t *server)
{
  if (server->network != NULL)
    server->network->early.begun = true;
}

bool sfd_network_attend(sfd_network_t *network)
{
  if (network == NULL)
    return false;
  bool delivered = sfd_early_attend(&network->early, deliver_again, network);
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

void sfd_network_destroy(sfd_network_t *network)
{
  if (network == NULL)
    return;
  run_refused(network);
  for (int32_t node = 0; node < sfd_channels_nnodes(network->channels); node++)
    free(network->losses[node].detail);
  sfd_early_free(&network->early);
  sfd_channels_destroy(network->channels);
  free(network->server->arriving);
  network->server->arriving = NULL;
  free(network);
}

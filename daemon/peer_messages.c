/* Messages of other daemons: see peer_messages.h. */
#include "daemon/peer_messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admin.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/membership.h"
#include "daemon/onesided.h"
#include "daemon/setup.h"
#include "proto/unpack.h"
#include "shm/base/error.h"
#include "shm/region/region.h"

/* ---- Control messages -------------------------------------------------------------------------------------------- */

/* SF_ERR_NOT_FOUND: the object has not begun here, see early_messages.h. Other errors end the channel. */
typedef sf_status_t (*handler_t)(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#define BODY(name) [SFPEER__MESSAGE__BODY_##name]

/* clang-format off */
static const handler_t handlers[] = {
    BODY(JOB_JOIN) = sfd_coordinator_handle_join,
    BODY(JOB_WITHDRAW) = sfd_coordinator_handle_withdraw,
    BODY(JOB_REFUSE) = sfd_coordinator_client_handle_refuse,
    BODY(JOB_START) = sfd_coordinator_client_handle_start,
    BODY(JOB_MOVED) = sfd_coordinator_handle_moved,
    BODY(JOB_RUNS) = sfd_coordinator_handle_runs,
    BODY(JOB_FAIL) = sfd_coordinator_client_handle_fail,
    BODY(JOB_LEFT) = sfd_leave_handle_peer_left,
    BODY(ARRIVE) = sfd_agreement_handle_arrive,
    BODY(RELEASE) = sfd_agreement_handle_release,
    BODY(GROUP_LEFT) = sfd_group_handle_peer_left,
    BODY(WANTED) = sfd_root_requests_handle_wanted,
    BODY(GRAPH_FAIL) = sfd_graph_handle_peer_fail,
    BODY(GRAPH_CALLS) = sfd_calls_handle,
    BODY(GRAPH_MEET) = sfd_barrier_handle_peer_enter,
    BODY(GRAPH_MET) = sfd_barrier_handle_peer_release,
    BODY(GRAPH_GONE) = sfd_calls_handle_gone,
    BODY(ASK) = sfd_remote_answer_handle,
    BODY(TOLD) = sfd_remote_query_handle_told,
};
/* clang-format on */

static sf_status_t handle_control(sfd_server_t *server, int32_t node, const void *payload, size_t bytes)
{
  ProtobufCMessage *unpacked;
  sf_status_t status = sfproto_unpack(&sfpeer__message__descriptor, bytes, payload, &unpacked);
  if (status == SF_ERR_NOMEM)
    return sfshm_error(status, "no memory for a control message of %zu bytes of node %d", bytes, node);
  if (status != SF_OK)
    return sfshm_error(status, "node %d sent %zu bytes that are no control message", node, bytes);
  Sfpeer__Message *message = (Sfpeer__Message *)unpacked;
  size_t body = (size_t)message->body_case;
  if (body < sizeof handlers / sizeof handlers[0] && handlers[body] != NULL)
    status = handlers[body](server, node, message);
  else
    status = sfshm_error(SF_ERR_PROTO, "node %d sent a control message with field %zu", node, body);
  sfpeer__message__free_unpacked(message, NULL);
  return status;
}

/* Keeps a copy, as the memory is the channel's. */
static sf_status_t keep_control(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, const void *payload)
{
  void *copy = malloc((size_t)head->payload_bytes + 1);
  if (copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a message of node %d", node);
  memcpy(copy, payload, head->payload_bytes);
  sf_status_t status = sfd_network_keep(server, node, head, copy);
  if (status != SF_OK)
    free(copy);
  return status;
}

static sf_status_t control_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                   const void *payload)
{
  sf_status_t status = handle_control(server, node, payload, head->payload_bytes);
  return status == SF_ERR_NOT_FOUND ? keep_control(server, node, head, payload) : status;
}

/* ---- Of set-up --------------------------------------------------------------------------------------------------- */

/* Whether set-up takes over the payload. */
static bool is_of_setup(const sfd_message_head_t *head)
{
  return head->kind == SFD_PEER_WANTS;
}

/* More than the machine has is refused before any of it arrives: malloc may promise what there isn't. */
static sfd_placing_t place_of_setup(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  *buffer_p = head->payload_bytes <= sfshm_memory_bytes() ? malloc(head->payload_bytes) : NULL;
  if (*buffer_p != NULL) {
    server->images[node] = *buffer_p;
    return SFD_PLACE_HERE;
  }
  sfshm_error(SF_ERR_NOMEM, "no memory for %" PRIu64 " bytes about a graph from node %d", head->payload_bytes, node);
  return SFD_PLACE_REFUSE;
}

static void lost_of_setup(sfd_server_t *server, int32_t node)
{
  free(server->images[node]);
  server->images[node] = NULL;
}

/* The group of the set-up; NULL: it has ended. SF_ERR_NOT_FOUND: job or group may still begin. */
static sf_status_t find_group(sfd_server_t *server, const sfd_message_head_t *head, sfd_group_t **group_p)
{
  sfd_job_t *job = sfd_job_find_id(server, head->job);
  *group_p = NULL;
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, head->job);
  if (job->state != SFD_JOB_RUNNING)
    return SF_OK;
  *group_p = sfd_group_find(job, head->object);
  return *group_p == NULL ? SF_ERR_NOT_FOUND : SF_OK;
}

/* Takes the payload over unless it returns SF_ERR_NOT_FOUND. */
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
  return sfd_root_requests_arrived(group, node, head, payload);
}

static sf_status_t of_setup_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *image)
{
  server->images[node] = NULL;
  sf_status_t status = handle_of_setup(server, node, head, image);
  if (status != SF_ERR_NOT_FOUND)
    return status;
  status = sfd_network_keep(server, node, head, image);
  if (status != SF_OK)
    free(image);
  return status;
}

/* ---- From the channels ------------------------------------------------------------------------------------------- */

static sfd_placing_t place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  if (sfd_onesided_is_message(head))
    return sfd_onesided_place(server, node, head, buffer_p);
  switch (head->kind) {
  case SFD_PEER_CONTROL:
    return SFD_PLACE_CHANNEL;
  case SFD_PEER_WANTS:
    return place_of_setup(server, node, head, buffer_p);
  case SFD_PEER_DATA:
    return sfd_trunks_place(server, node, head, buffer_p);
  default:
    sfshm_error(SF_ERR_PROTO, "node %d sent a message of kind %u with a payload", node, head->kind);
    return SFD_PLACE_REFUSE;
  }
}

/* Without payload, place was not called, and has nothing held. */
static bool lacks_payload(const sfd_message_head_t *head)
{
  return head->payload_bytes == 0 && (is_of_setup(head) || head->kind == SFD_PEER_DATA);
}

static sf_status_t arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload)
{
  if (lacks_payload(head))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a message of kind %u without a payload", node, head->kind);
  if (sfd_onesided_is_message(head))
    return sfd_onesided_arrived(server, node, head, payload);
  switch (head->kind) {
  case SFD_PEER_CONTROL:
    return control_arrived(server, node, head, payload);
  case SFD_PEER_WANTS:
    return of_setup_arrived(server, node, head, payload);
  case SFD_PEER_DATA:
    sfd_idle_moved(&server->idle);
    return sfd_trunks_data(server, node, head);
  case SFD_PEER_CREDIT:
    return sfd_trunks_credit(server, node, head);
  case SFD_PEER_AWAIT:
    return sfd_trunks_awaited(server, node, head);
  default:
    return sfshm_error(SF_ERR_PROTO, "node %d sent a message of kind %u", node, head->kind);
  }
}

static void message_lost(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  if (is_of_setup(head))
    lost_of_setup(server, node);
  else if (head->kind == SFD_PEER_DATA)
    sfd_trunks_data_lost(server, node);
  else if (sfd_onesided_is_message(head))
    sfd_onesided_lost(server, node, head);
}

static sf_status_t deliver(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void *payload)
{
  if (is_of_setup(head))
    return handle_of_setup(server, node, head, payload);
  sf_status_t status = handle_control(server, node, payload, head->payload_bytes);
  if (status != SF_ERR_NOT_FOUND)
    free(payload);
  return status;
}

/* ---- Nodes that come and go -------------------------------------------------------------------------------------- */

static bool node_lost(sfd_server_t *server, int32_t node, sf_status_t status, bool refused, const char *detail)
{
  sfd_remote_queries_node_lost(server, node, refused ? status : SF_ERR_DAEMON_LOST, detail);
  sfd_onesided_node_lost(server, node);
  if (refused)
    return sfd_refusal_handle(server, node, status, detail);
  sfd_coordinators_node_lost(server, node, detail);
  sfd_coordinator_client_node_lost(server, node, detail);
  bool needed = sfd_jobs_fail_on(server, node, detail);
  sfd_windows_node_lost(server, node);
  return needed;
}

static void end(sfd_server_t *server)
{
  free(server->data->arriving);
  sfd_onesided_destroy(server);
  free(server->images);
  free(server->refusals);
  server->data->arriving = NULL;
  server->images = NULL;
  server->refusals = NULL;
}

static sf_status_t begin(sfd_server_t *server, int32_t nnodes)
{
  server->data->arriving = calloc((size_t)nnodes, sizeof(sfd_trunks_t *));
  server->images = calloc((size_t)nnodes, sizeof(void *));
  server->refusals = sfd_refusals_create(nnodes);
  if (server->data->arriving != NULL && server->images != NULL && server->refusals != NULL &&
      sfd_onesided_create(server, nnodes) == SF_OK)
    return SF_OK;
  end(server);
  return sfshm_error(SF_ERR_NOMEM, "no memory for a network of %d nodes", nnodes);
}

const sfd_network_ops_t sfd_peer_ops = {
    .begin = begin,
    .end = end,
    .place = place,
    .arrived = arrived,
    .message_lost = message_lost,
    .deliver = deliver,
    .node_failing = sfd_jobs_fail_on,
    .node_lost = node_lost,
    .refused = sfd_refusal_heard,
    .cause = sfd_refusal_cause,
};

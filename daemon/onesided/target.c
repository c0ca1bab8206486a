/* Receives requests of other nodes: see target.h. */
#include "daemon/onesided/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/onesided/task.h"
#include "daemon/onesided/window.h"
#include "shm/base/error.h"

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Finds array and queue. The origin gets a fault of the request as its answer. An error means that the other daemon is
 * at fault, and ends the channel. */
static sf_status_t find_target(sfd_array_task_t *task)
{
  const sfd_message_head_t *head = &task->head;
  const sfd_job_t *job = sfd_job_find_id(task->server, head->job);
  const sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, head->object) : NULL;
  uint64_t rank = head->desc >> 32;
  if (job == NULL || graph == NULL || graph->array == NULL || graph->array->nmapped < graph->array->nparts) {
    sfd_array_task_refuse(task, SF_ERR_STATE,
                          job == NULL ? "all ranks there have left the job"
                                      : "the array has ended, or has not begun, at the target");
    return SF_OK;
  }
  int32_t member = rank < (uint64_t)job->size ? sfd_group_rank_of(graph->group, (int32_t)rank) : -1;
  if (member < 0 || sfd_job_node_of(job, (int32_t)rank) != task->node)
    return sfshm_error(SF_ERR_PROTO, "node %d sends a request of rank %" PRIu64 " on the array of graph %" PRIu64,
                       task->node, rank, head->object);
  task->queue = sfd_array_find_queue(graph->array, member);
  if (task->queue == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for operations of node %d on an array", task->node);
  if (task->queue->ntasks >= SFSHM_WINDOW_SLOTS)
    return sfshm_error(SF_ERR_PROTO, "node %d sends more requests of rank %" PRIu64 " than the rank has slots",
                       task->node, rank);
  task->array = graph->array;
  sfd_array_hold(task->array);
  sf_status_t status = sfd_array_check(task->array, &task->request, &task->needs);
  if (status == SF_OK && task->request.returned != task->needs.returned_bytes)
    status = sfshm_error(SF_ERR_PROTO, "%" PRIu64 " bytes to be returned, the request returns %" PRIu64,
                         task->request.returned, task->needs.returned_bytes);
  if (status != SF_OK)
    sfd_array_task_refuse(task, status, sfshm_error_detail());
  return SF_OK;
}

static void check_data_bytes(sfd_array_task_t *task, uint64_t bytes)
{
  char text[SFSHM_WINDOW_TEXT];
  if (task->status != SF_OK || bytes == task->needs.data_bytes)
    return;
  snprintf(text, sizeof text, "%" PRIu64 " bytes of data, the request needs %" PRIu64, bytes, task->needs.data_bytes);
  sfd_array_task_refuse(task, SF_ERR_PROTO, text);
}

static sf_status_t request_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                   const char *payload)
{
  uint64_t bytes = head->payload_bytes - sizeof(sfshm_array_request_t);
  bool follow = (head->flags & SFD_ARRAY_DATA_FOLLOW) != 0;
  sfd_array_arrival_t *arrival = &server->onesided->arrivals[node];
  if (payload == NULL || bytes > (follow ? 0 : SFD_ARRAY_INLINE) || arrival->task != NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d sends a request on an array of %" PRIu64 " bytes%s", node,
                       head->payload_bytes, arrival->task != NULL ? " before the data of the last one" : "");
  sfd_array_task_t *task = calloc(1, sizeof *task);
  if (task == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a request of node %d on an array", node);
  task->server = server;
  task->node = node;
  task->head = *head;
  memcpy(&task->request, payload, sizeof task->request);
  task->data = task->inline_data;
  memcpy(task->inline_data, payload + sizeof task->request, bytes);
  sf_status_t status = find_target(task);
  if (status != SF_OK) {
    sfd_array_task_free(task);
    return status;
  }
  if (follow) {
    arrival->task = task;
    return SF_OK;
  }
  check_data_bytes(task, bytes);
  sfd_array_task_begin(task);
  return SF_OK;
}

/* Receives data of a put directly into the array if the queue is empty. */
static sfd_placing_t place_data(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  sfd_array_arrival_t *arrival = &server->onesided->arrivals[node];
  sfd_array_task_t *task = arrival->task;
  if (task == NULL || task->data != task->inline_data || head->desc != task->head.desc ||
      head->number != task->head.number || head->payload_bytes > SFSHM_ARRAY_MAX_DATA) {
    (void)sfshm_error(SF_ERR_PROTO, "node %d sends %" PRIu64 " bytes for an array without a request", node,
                      head->payload_bytes);
    return SFD_PLACE_REFUSE;
  }
  check_data_bytes(task, head->payload_bytes);
  if (task->status == SF_OK && !task->queue->busy && task->queue->ntasks == 0 && task->array->graph != NULL &&
      task->array->graph->state == SFD_GRAPH_READY && task->request.kind == SFSHM_ARRAY_PATCH_PUT)
    *buffer_p = sfd_array_find_run(task->array, &task->request);
  else
    *buffer_p = NULL;
  task->in_place = *buffer_p != NULL;
  task->data = NULL;
  if (task->status == SF_OK && !task->in_place) {
    *buffer_p = task->data = malloc(head->payload_bytes);
    if (task->data == NULL)
      sfd_array_task_refuse(task, SF_ERR_NOMEM, "no memory for the data at the target");
  }
  if (task->status == SF_OK)
    return SFD_PLACE_HERE;
  arrival->task = NULL;
  sfd_array_task_begin(task);
  return SFD_PLACE_NOWHERE;
}

static void lose_data(sfd_server_t *server, int32_t node)
{
  sfd_array_arrival_t *arrival = &server->onesided->arrivals[node];
  sfd_array_task_free(arrival->task);
  arrival->task = NULL;
}

static sf_status_t data_arrived(sfd_server_t *server, int32_t node)
{
  sfd_array_arrival_t *arrival = &server->onesided->arrivals[node];
  sfd_array_task_t *task = arrival->task;
  if (task == NULL || task->data == task->inline_data)
    return sfshm_error(SF_ERR_PROTO, "node %d sends no data of a request on an array", node);
  arrival->task = NULL;
  sfd_array_task_begin(task);
  return SF_OK;
}

/* ---- From the channels ------------------------------------------------------------------------------------------- */

bool sfd_onesided_is_message(const sfd_message_head_t *head)
{
  return head->kind == SFD_PEER_ARRAY || head->kind == SFD_PEER_ARRAY_DATA || head->kind == SFD_PEER_ARRAY_DONE;
}

sfd_placing_t sfd_onesided_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  if (head->kind == SFD_PEER_ARRAY_DATA)
    return place_data(server, node, head, buffer_p);
  if (head->kind == SFD_PEER_ARRAY_DONE)
    return sfd_window_place(server, node, head, buffer_p);
  if (head->payload_bytes <= sizeof(sfshm_array_request_t) + SFD_ARRAY_INLINE)
    return SFD_PLACE_CHANNEL;
  (void)sfshm_error(SF_ERR_PROTO, "node %d sends a request on an array of %" PRIu64 " bytes", node,
                    head->payload_bytes);
  return SFD_PLACE_REFUSE;
}

sf_status_t sfd_onesided_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                 const void *payload)
{
  sfd_idle_moved(&server->idle);
  if (head->kind == SFD_PEER_ARRAY_DATA)
    return data_arrived(server, node);
  if (head->kind == SFD_PEER_ARRAY_DONE)
    return sfd_window_answered(server, node, head, payload);
  return request_arrived(server, node, head, payload);
}

void sfd_onesided_lost(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  if (head->kind == SFD_PEER_ARRAY_DATA)
    lose_data(server, node);
  else
    sfd_window_answer_lost(server, node);
}

void sfd_onesided_node_lost(sfd_server_t *server, int32_t node)
{
  lose_data(server, node);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

sf_status_t sfd_onesided_create(sfd_server_t *server, int32_t nnodes)
{
  server->onesided = calloc(1, sizeof *server->onesided + (size_t)nnodes * sizeof server->onesided->arrivals[0]);
  if (server->onesided == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for operations between %d nodes", nnodes);
  TAILQ_INIT(&server->onesided->ready);
  server->onesided->nnodes = nnodes;
  return SF_OK;
}

void sfd_onesided_destroy(sfd_server_t *server)
{
  for (int32_t node = 0; server->onesided != NULL && node < server->onesided->nnodes; node++)
    lose_data(server, node);
  free(server->onesided);
  server->onesided = NULL;
}

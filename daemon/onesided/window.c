/* Windows, and requests to other nodes: see window.h. An invalid request can only fail the graph that it names, which
 * belongs to the rank's own job. */
#include "daemon/onesided/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/memory.h"
#include "daemon/onesided/array.h"
#include "daemon/onesided/messages.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

/* A request in flight. */
typedef struct request {
  uint64_t number; /* 0: the slot is free */
  uint64_t graph;
  uint64_t since_ms; /* begin, by the loop's clock */
  int32_t node;
  uint64_t returned_at; /* offset of the result in the window */
  uint64_t returned_bytes;
} request_t;

struct sfd_window {
  int64_t uses;     /* references: one of the rank, and one of each message that is being sent or received */
  sfd_rank_t *rank; /* NULL: it has left */
  sfshm_region_t region;
  request_t requests[SFSHM_WINDOW_SLOTS];
};

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static void release(sfd_window_t *window)
{
  if (--window->uses > 0)
    return;
  sfshm_region_destroy(&window->region);
  free(window);
}

void sfd_window_close(sfd_window_t *window)
{
  if (window == NULL)
    return;
  window->rank->window = NULL;
  window->rank = NULL;
  release(window);
}

int32_t sfd_window_waits(const sfd_window_t *window, sfd_window_wait_t waits[SFSHM_WINDOW_SLOTS])
{
  int32_t n = 0, k;
  for (uint32_t i = 0; window != NULL && i < SFSHM_WINDOW_SLOTS; i++) {
    const request_t *request = &window->requests[i];
    if (request->number == 0)
      continue;
    for (k = 0; k < n && (waits[k].graph != request->graph || waits[k].node != request->node); k++)
      ;
    if (k == n)
      waits[n++] = (sfd_window_wait_t){request->graph, request->node, 0, request->since_ms};
    waits[k].requests++;
    if (request->since_ms < waits[k].since_ms)
      waits[k].since_ms = request->since_ms;
  }
  return n;
}

static sf_status_t open_window(sfd_rank_t *rank, int fd)
{
  if (rank->window != NULL)
    return sfshm_error(SF_ERR_PROTO, "second WindowOpen of rank %d", rank->number);
  sf_status_t status = sfd_segment_find_wake(rank);
  if (status != SF_OK)
    return status;
  sfd_window_t *window = calloc(1, sizeof *window);
  if (window == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a window");
  /* The client rounds lengths up to pages of any size: so the limit is twice the size. */
  status = sfshm_region_map(fd, SFSHM_REGION_WINDOW, 2 * sizeof(sfshm_window_t), SFSHM_READ_WRITE, &window->region);
  if (status == SF_OK && window->region.length_bytes < sizeof(sfshm_window_t)) {
    status = sfshm_error(SF_ERR_PROTO, "window of %zu bytes, %zu expected", window->region.length_bytes,
                         sizeof(sfshm_window_t));
    sfshm_region_destroy(&window->region);
  }
  if (status != SF_OK) {
    free(window);
    return status;
  }
  window->uses = 1;
  window->rank = rank;
  rank->window = window;
  return SF_OK;
}

void sfd_window_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  (void)nfds;
  sf_status_t status = open_window(session->rank, fds[0]);
  if (status == SF_OK)
    sfd_session_send_done(session, message->request);
  else
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

static void complete(sfd_window_t *window, uint32_t number, uint64_t request, sf_status_t status, const char *text)
{
  sfshm_window_slot_t *slot = &((sfshm_window_t *)window->region.base)->slots[number];
  slot->status = status;
  if (status != SF_OK)
    snprintf(slot->text, sizeof slot->text, "%s", text);
  /* Pairs with the acquire of the rank's threads that wait for the request. */
  atomic_store_explicit(&slot->done, request, memory_order_release);
  sfshm_publish_barrier();
  if (window->rank->wake != NULL)
    sfshm_wake(window->rank->wake);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void on_sent(void *context, sf_status_t status)
{
  (void)status; /* the channel's end fails the job */
  release(context);
}

/* Sends request and data in one frame, and in one message if the data are short. */
static void send_request(sfd_window_t *window, const sfd_graph_t *graph, const sfshm_ring_entry_t *entry)
{
  sfd_server_t *server = graph->group->job->server;
  const sfshm_window_t *memory = window->region.base;
  const char *data = (const char *)memory + entry->more[0];
  struct {
    sfshm_array_request_t request;
    char data[SFD_ARRAY_INLINE];
  } message;
  bool follow = entry->size > SFD_ARRAY_INLINE;
  sfd_message_head_t head = {
      .kind = SFD_PEER_ARRAY,
      .flags = follow ? SFD_ARRAY_DATA_FOLLOW : 0,
      .number = (uint32_t)entry->message,
      .payload_bytes = sizeof message.request + (follow ? 0 : entry->size),
      .job = graph->group->job->id,
      .object = graph->id,
      .desc = sfd_array_origin(window->rank->number, entry->a),
  };
  message.request = memory->slots[entry->a].request;
  message.request.returned = entry->more[1];
  if (!follow) {
    memcpy(message.data, data, entry->size);
    sfd_network_send_payload(server, (int32_t)entry->b, &head, &message, NULL, NULL);
    return;
  }
  sfd_network_gather(server, true);
  sfd_network_send_payload(server, (int32_t)entry->b, &head, &message.request, NULL, NULL);
  head.kind = SFD_PEER_ARRAY_DATA;
  head.flags = 0;
  head.payload_bytes = entry->size;
  window->uses++;
  sfd_network_send_payload(server, (int32_t)entry->b, &head, data, on_sent, window);
  sfd_network_gather(server, false);
}

/* ---- From the rings ---------------------------------------------------------------------------------------------- */

static bool is_within(uint64_t offset, uint64_t bytes)
{
  return bytes <= SFSHM_ARRAY_MAX_DATA && offset >= offsetof(sfshm_window_t, slots) &&
         offset <= sizeof(sfshm_window_t) - bytes;
}

/* Whether the group has ranks on the other node. */
static bool has_node(const sfd_group_t *group, int32_t node)
{
  return node != group->nodes[group->node_position] &&
         bsearch(&node, group->nodes, (size_t)group->nnodes, sizeof node, sfshm_compare_int32) != NULL;
}

/* Returns the fault of an entry as text, or NULL if it is valid; *value_p: the faulty value. */
static const char *find_fault(const sfd_window_t *window, const sfd_graph_t *graph, const sfshm_ring_entry_t *entry,
                              uint64_t *value_p)
{
  *value_p = entry->a;
  if (window == NULL)
    return "without a window, slot";
  if (entry->a >= SFSHM_WINDOW_SLOTS)
    return "in slot";
  if (window->requests[entry->a].number != 0)
    return "in the busy slot";
  *value_p = entry->message;
  if (entry->message == 0)
    return "with number";
  *value_p = entry->more[0];
  if (!is_within(entry->more[0], entry->size) || !is_within(entry->more[0], entry->more[1]))
    return "with data beyond the window, at";
  *value_p = entry->b;
  return graph == NULL || has_node(graph->group, (int32_t)entry->b) ? NULL : "to node";
}

void sfd_window_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  sfd_graph_t *graph = sfd_graph_find(rank->job, entry->graph);
  sfd_window_t *window = rank->window;
  char text[SFD_TEXT_SIZE];
  uint64_t value;
  if (graph != NULL && (graph->array == NULL || sfd_group_rank_of(graph->group, rank->number) < 0))
    graph = NULL; /* the rank is not a member of the graph's group */
  const char *fault = find_fault(window, graph, entry, &value);
  if (fault != NULL) {
    snprintf(text, sizeof text, "rank %d submitted a request on an array %s %" PRIu64, rank->number, fault, value);
    if (graph != NULL)
      sfd_graph_fail(graph, SF_ERR_PROTO, text);
    return;
  }
  if (rank->job->state != SFD_JOB_RUNNING)
    return; /* the alert ends all waits, with the reason */
  if (graph == NULL || graph->state != SFD_GRAPH_READY) {
    complete(window, entry->a, entry->message, SF_ERR_STATE, "the array has ended or failed");
    return;
  }
  window->requests[entry->a] = (request_t){.number = entry->message,
                                           .graph = graph->id,
                                           .since_ms = uv_now(rank->job->server->loop),
                                           .node = (int32_t)entry->b,
                                           .returned_at = entry->more[0],
                                           .returned_bytes = entry->more[1]};
  send_request(window, graph, entry);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* Finds the request of an answer. *window_p: NULL if the rank has left or its job has ended. SF_ERR_PROTO: the rank has
 * sent no such request. */
static sf_status_t find_request(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                sfd_window_t **window_p, uint32_t *slot_p)
{
  const sfd_job_t *job = sfd_job_find_id(server, head->job);
  uint64_t number = head->desc >> 32;
  uint32_t slot = (uint32_t)head->desc;
  *window_p = NULL;
  *slot_p = slot;
  if (job == NULL)
    return SF_OK;
  if (number >= (uint64_t)job->size || sfd_job_node_of(job, (int32_t)number) != sfd_network_node(server))
    return sfshm_error(SF_ERR_PROTO, "node %d answers a request of rank %" PRIu64 ", which is not here", node, number);
  const sfd_rank_t *rank = job->ranks[number];
  sfd_window_t *window = rank != NULL ? rank->window : NULL;
  if (window == NULL)
    return SF_OK;
  const request_t *request = slot < SFSHM_WINDOW_SLOTS ? &window->requests[slot] : NULL;
  bool failed = (head->flags & SFD_ARRAY_FAILED) != 0;
  if (request == NULL || request->number == 0 || request->node != node || (uint32_t)request->number != head->number ||
      (failed ? head->payload_bytes < sizeof(int32_t) : head->payload_bytes != request->returned_bytes)) {
    if (!sfd_job_needs(job, node))
      return SF_OK; /* given up when the node was lost */
    return sfshm_error(SF_ERR_PROTO,
                       "node %d answers request %u in slot %u of rank %" PRIu64 " with %" PRIu64
                       " bytes, which no request expects",
                       node, head->number, slot, number, head->payload_bytes);
  }
  *window_p = window;
  return SF_OK;
}

sfd_placing_t sfd_window_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  sfd_window_t *window;
  uint32_t slot;
  if (find_request(server, node, head, &window, &slot) != SF_OK)
    return SFD_PLACE_REFUSE;
  if (window == NULL)
    return SFD_PLACE_NOWHERE;
  if ((head->flags & SFD_ARRAY_FAILED) != 0)
    return head->payload_bytes <= SFD_CHANNEL_CONTROL_MAX ? SFD_PLACE_CHANNEL : SFD_PLACE_REFUSE;
  window->uses++;
  server->onesided->arrivals[node].window = window;
  *buffer_p = (char *)window->region.base + window->requests[slot].returned_at;
  return SFD_PLACE_HERE;
}

sf_status_t sfd_window_answered(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, const void *payload)
{
  sfd_window_t *window;
  uint32_t slot;
  char text[SFSHM_WINDOW_TEXT] = "";
  int32_t error = SF_OK;
  sf_status_t status = find_request(server, node, head, &window, &slot);
  if (status == SF_OK && window != NULL) {
    uint64_t number = window->requests[slot].number;
    if ((head->flags & SFD_ARRAY_FAILED) != 0) {
      memcpy(&error, payload, sizeof error);
      snprintf(text, sizeof text, "%.*s", (int)(head->payload_bytes - sizeof error),
               (const char *)payload + sizeof error);
      error = error < SF_OK ? error : SF_ERR_PROTO;
    }
    window->requests[slot].number = 0;
    complete(window, slot, number, (sf_status_t)error, text);
  }
  sfd_window_answer_lost(server, node);
  return status;
}

void sfd_windows_node_lost(sfd_server_t *server, int32_t node)
{
  const sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry) {
    for (int32_t r = 0; job->state == SFD_JOB_RUNNING && r < job->size; r++) {
      sfd_window_t *window = job->ranks[r] != NULL ? job->ranks[r]->window : NULL;
      for (uint32_t slot = 0; window != NULL && slot < SFSHM_WINDOW_SLOTS; slot++) {
        uint64_t number = window->requests[slot].number;
        if (number == 0 || window->requests[slot].node != node)
          continue;
        window->requests[slot].number = 0;
        complete(window, slot, number, SF_ERR_STATE, "all ranks there have left the job, and the node is lost");
      }
    }
  }
}

void sfd_window_answer_lost(sfd_server_t *server, int32_t node)
{
  sfd_array_arrival_t *arrival = &server->onesided->arrivals[node];
  if (arrival->window != NULL)
    release(arrival->window);
  arrival->window = NULL;
}

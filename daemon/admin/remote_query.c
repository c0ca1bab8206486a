/* Queries to other nodes: see remote_query.h. The daemon's thread. */
#include "daemon/admin/remote_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/admin/admin.h"
#include "daemon/admin/query.h"
#include "daemon/admin/remote_answer.h"
#include "daemon/admin/tool.h"
#include "daemon/net.h"
#include "proto/unpack.h"
#include "shm/base/error.h"

#define ASKS_MAX 16 /* nodes asked at the same time */
#define TIMEOUT_DEFAULT_MS 2000
#define TIMEOUT_MAX_MS 3600000

/* Limit of a question, whose names are shorter. A question that did not fit into a message would end the channel, which
 * other jobs use too. */
#define QUESTION_MAX 4096u

/* Limit of questions that a node has not answered. Without it, tools could fill the channel until it ends. */
#define UNANSWERED_MAX 32

/* A question to one node:
 *
 *   FREE ---next node---> READY ---asked---> WAITING ---told, there is more---> READY
 *                                               \------told, that was all---> FREE
 *
 * READY also lasts while it has too many questions to answer. */
typedef enum ask_state { FREE = 0, READY, WAITING } ask_state_t;

typedef struct ask {
  ask_state_t state;
  int32_t node;
  uint64_t request; /* of the last question */
  bool has_cursor;  /* where to continue */
  Sfpeer__Cursor cursor;
} ask_t;

struct sfd_remote_query {
  LIST_ENTRY(sfd_remote_query) entry;
  sfd_session_t *session;
  int32_t next_node, end_node; /* next to be asked; this node comes last, as it may end */
  bool here;                   /* this node has not been asked */
  int64_t timeout_ms;
  ask_t asks[ASKS_MAX];
  size_t question_bytes;
  uint8_t question[];
};

static uint64_t last_request;

/* ---- Telling the tool -------------------------------------------------------------------------------------------- */

static void send_to_tool(sfd_remote_query_t *remote, int32_t node, Sfproto__Message *message)
{
  sfd_query_t *query = remote->session->query;
  message->request = query->request;
  message->has_told_by = true;
  message->told_by = node;
  query->count++;
  sfd_session_send(remote->session, message, NULL, 0);
}

static void send_missing(sfd_remote_query_t *remote, int32_t node, sf_status_t status, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  sfd_text_printable(text, sizeof text, detail);
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(NODE_MISSING, node_missing, .node = node, .status = status, .detail = text);
  send_to_tool(remote, node, &message);
}

static void pass_on(sfd_remote_query_t *remote, int32_t node, const Sfpeer__Told *told)
{
  for (size_t i = 0; i < told->n_messages; i++) {
    ProtobufCMessage *unpacked;
    sf_status_t status =
        sfproto_unpack(&sfproto__message__descriptor, told->messages[i].len, told->messages[i].data, &unpacked);
    if (status != SF_OK) {
      send_missing(remote, node, status,
                   status == SF_ERR_NOMEM ? "no memory for its answer" : "its answer can't be understood");
      return;
    }
    send_to_tool(remote, node, (Sfproto__Message *)unpacked);
    protobuf_c_message_free_unpacked(unpacked, NULL);
  }
}

static void end(sfd_remote_query_t *remote)
{
  sfd_session_t *session = remote->session;
  uv_timer_stop(&session->timer);
  session->query->remote = NULL;
  sfd_tool_send_end(session);
  sfd_remote_query_free(remote);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static void take_answer(sfd_remote_query_t *remote, ask_t *ask, const Sfpeer__Told *told)
{
  pass_on(remote, ask->node, told);
  if (told->has_status && told->status < SF_OK)
    send_missing(remote, ask->node, (sf_status_t)told->status, told->detail != NULL ? told->detail : "");
  ask->state = told->next != NULL ? READY : FREE;
  ask->has_cursor = told->next != NULL;
  if (ask->has_cursor) {
    ask->cursor = (Sfpeer__Cursor)SFPEER_BODY(cursor, .job = told->next->job, .graph = told->next->graph,
                                              .rank = told->next->rank, .count = told->next->count);
  }
  sfd_session_mark(remote->session);
}

typedef struct here {
  sfd_remote_query_t *remote;
  ask_t *ask;
} here_t;

static void take_own_answer(void *context, const Sfpeer__Told *told)
{
  const here_t *here = context;
  take_answer(here->remote, here->ask, told);
}

static bool has_many(const sfd_server_t *server, int32_t node)
{
  return server->admin->unanswered[node] >= UNANSWERED_MAX; /* this node answers at once */
}

static void send_ask(sfd_remote_query_t *remote, ask_t *ask)
{
  const sfd_session_t *session = remote->session;
  sfd_server_t *server = session->server;
  ask->request = ++last_request;
  ask->state = WAITING;
  Sfpeer__Ask question = SFPEER_BODY(ask, .request = ask->request, .uid = session->uid, .pid = (int32_t)session->pid,
                                     .question = (ProtobufCBinaryData){remote->question_bytes, remote->question},
                                     .from = ask->has_cursor ? &ask->cursor : NULL);
  Sfpeer__Message message = SFPEER_MESSAGE(ASK, ask, &question);
  if (ask->node == sfd_network_node(server)) {
    sfd_remote_answer_here(server, &question, take_own_answer, &(here_t){remote, ask});
    return;
  }
  server->admin->unanswered[ask->node]++;
  sfd_network_send(server, ask->node, &message);
}

/* -1: none, or not its turn. */
static int32_t next_node(sfd_remote_query_t *remote, bool others_done)
{
  int32_t here = sfd_network_node(remote->session->server);
  if (remote->next_node == here && remote->next_node < remote->end_node) {
    remote->next_node++;
    remote->here = true;
  }
  if (remote->next_node < remote->end_node)
    return remote->next_node++;
  if (!remote->here || !others_done)
    return -1;
  remote->here = false;
  return here;
}

static bool is_idle(const sfd_remote_query_t *remote)
{
  for (int i = 0; i < ASKS_MAX; i++)
    if (remote->asks[i].state != FREE)
      return false;
  return true;
}

static void fill_places(sfd_remote_query_t *remote)
{
  for (int i = 0; i < ASKS_MAX; i++) {
    ask_t *ask = &remote->asks[i];
    if (ask->state != FREE)
      continue;
    int32_t node = next_node(remote, is_idle(remote));
    if (node < 0)
      return;
    *ask = (ask_t){.state = READY, .node = node};
  }
}

void sfd_remote_query_continue(sfd_remote_query_t *remote)
{
  fill_places(remote);
  if (is_idle(remote)) {
    end(remote);
    return;
  }
  for (int i = 0; i < ASKS_MAX; i++)
    if (remote->asks[i].state == READY && !has_many(remote->session->server, remote->asks[i].node))
      send_ask(remote, &remote->asks[i]);
}

bool sfd_remote_query_waits(const sfd_remote_query_t *remote)
{
  bool waits = false;
  for (int i = 0; remote != NULL && i < ASKS_MAX; i++) {
    const ask_t *ask = &remote->asks[i];
    if (ask->state == READY && !has_many(remote->session->server, ask->node))
      return false;
    waits = waits || ask->state != FREE;
  }
  return waits;
}

/* ---- Answers, and none ------------------------------------------------------------------------------------------- */

/* Sets the number of unanswered questions; asks for tools that have waited for that. */
static void set_unanswered(sfd_server_t *server, int32_t node, uint8_t n)
{
  sfd_remote_query_t *remote;
  bool had_many = server->admin->unanswered != NULL && has_many(server, node);
  if (server->admin->unanswered != NULL)
    server->admin->unanswered[node] = n;
  if (!had_many)
    return;
  LIST_FOREACH (remote, &server->admin->remotes, entry)
    for (int i = 0; i < ASKS_MAX; i++)
      if (remote->asks[i].state == READY && remote->asks[i].node == node)
        sfd_session_mark(remote->session);
}

sf_status_t sfd_remote_query_handle_told(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  sfd_remote_query_t *remote;
  if (server->admin->unanswered != NULL && server->admin->unanswered[node] > 0)
    set_unanswered(server, node, server->admin->unanswered[node] - 1);
  LIST_FOREACH (remote, &server->admin->remotes, entry) {
    for (int i = 0; i < ASKS_MAX; i++) {
      ask_t *ask = &remote->asks[i];
      if (ask->state != WAITING || ask->node != node || ask->request != message->told->request)
        continue;
      take_answer(remote, ask, message->told);
      return SF_OK;
    }
  }
  return SF_OK; /* the tool is gone, or has given up */
}

void sfd_remote_queries_node_lost(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail)
{
  sfd_remote_query_t *remote;
  set_unanswered(server, node, 0);
  LIST_FOREACH (remote, &server->admin->remotes, entry) {
    for (int i = 0; i < ASKS_MAX; i++) {
      ask_t *ask = &remote->asks[i];
      if (ask->state != WAITING || ask->node != node)
        continue;
      ask->state = FREE;
      send_missing(remote, node, status, detail);
      sfd_session_mark(remote->session);
    }
  }
}

static void send_late(sfd_remote_query_t *remote, const ask_t *ask)
{
  char text[SFD_TEXT_SIZE];
  double limit_s = (double)remote->timeout_ms / 1000;
  if (ask->state == WAITING)
    snprintf(text, sizeof text, "it has not answered within %g s", limit_s);
  else if (has_many(remote->session->server, ask->node))
    snprintf(text, sizeof text, "it has %d other questions to answer, and has not come to this one within %g s",
             UNANSWERED_MAX, limit_s);
  else
    snprintf(text, sizeof text, "the tool was too slow to read its answer");
  send_missing(remote, ask->node, SF_ERR_TIMEOUT, text);
}

static void on_timeout(uv_timer_t *timer)
{
  sfd_session_t *session = timer->data;
  sfd_remote_query_t *remote = session->query != NULL ? session->query->remote : NULL;
  if (remote == NULL)
    return;
  for (int i = 0; i < ASKS_MAX; i++)
    if (remote->asks[i].state != FREE)
      send_late(remote, &remote->asks[i]);
  memset(remote->asks, 0, sizeof remote->asks);
  for (int32_t node; (node = next_node(remote, false)) >= 0;)
    send_missing(remote, node, SF_ERR_TIMEOUT, "it was not asked any more, as others took too long");
  sfd_session_mark(session); /* this node answers at once */
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

typedef struct target {
  bool all;
  int32_t node;
  int64_t timeout_ms;
} target_t;

static target_t target_of(const Sfproto__Message *message)
{
  const Sfproto__Query *query = message->query;
  const Sfproto__Control *control = message->control;
  if (message->body_case == SFPROTO__MESSAGE__BODY_QUERY)
    return (target_t){query->all_nodes, query->node, query->has_nodes_timeout_ms ? query->nodes_timeout_ms : 0};
  return (target_t){control->all_nodes, control->node, control->has_nodes_timeout_ms ? control->nodes_timeout_ms : 0};
}

static sf_status_t check_target(const sfd_server_t *server, const target_t *target)
{
  int32_t nnodes = sfd_network_nnodes(server);
  if (target->all || (target->node >= 0 && target->node < nnodes))
    return SF_OK;
  if (nnodes == 1)
    return sfshm_error(SF_ERR_NOT_FOUND, "there is no node %d: this sfd is alone, as node 0", target->node);
  return sfshm_error(SF_ERR_NOT_FOUND, "there is no node %d: the nodes are 0 to %d", target->node, nnodes - 1);
}

sf_status_t sfd_remote_query_begin(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_server_t *server = session->server;
  target_t target = target_of(message);
  sf_status_t status = check_target(server, &target);
  if (status != SF_OK)
    return status;
  size_t bytes = sfproto__message__get_packed_size(message);
  if (bytes > QUESTION_MAX)
    return sfshm_error(SF_ERR_LIMIT, "a question of %zu bytes is not passed on to other nodes; at most %u expected",
                       bytes, QUESTION_MAX);
  if (server->admin->unanswered == NULL)
    server->admin->unanswered = calloc((size_t)sfd_network_nnodes(server), sizeof server->admin->unanswered[0]);
  sfd_remote_query_t *remote = server->admin->unanswered != NULL ? calloc(1, sizeof *remote + bytes) : NULL;
  if (remote == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a question to other nodes");
  sfproto__message__pack(message, remote->question);
  remote->question_bytes = bytes;
  remote->session = session;
  remote->next_node = target.all ? 0 : target.node;
  remote->end_node = target.all ? sfd_network_nnodes(server) : target.node + 1;
  remote->timeout_ms = target.timeout_ms > 0 ? target.timeout_ms : TIMEOUT_DEFAULT_MS;
  remote->timeout_ms = remote->timeout_ms < TIMEOUT_MAX_MS ? remote->timeout_ms : TIMEOUT_MAX_MS;
  status = sfd_tool_begin(session, message->request, remote);
  if (status != SF_OK) {
    free(remote);
    return status;
  }
  LIST_INSERT_HEAD(&server->admin->remotes, remote, entry);
  uv_timer_start(&session->timer, on_timeout, (uint64_t)remote->timeout_ms, 0);
  sfd_session_mark(session);
  return SF_OK;
}

void sfd_remote_query_free(sfd_remote_query_t *remote)
{
  if (remote == NULL)
    return;
  LIST_REMOVE(remote, entry);
  free(remote);
}

/* Answers to tools on other nodes: see remote_answer.h. The daemon's thread. */
#include "daemon/admin/remote_answer.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/admin/control.h"
#include "daemon/admin/query.h"
#include "daemon/admin/trace.h"
#include "daemon/net.h"
#include "proto/unpack.h"
#include "shm/base/error.h"

/* A portion ends with the message that exceeds a limit. A message is at most a frame of a tool's connection. */
#define PORTION_MESSAGES 256
#define PORTION_BYTES (64u << 10)

/* more than there can be of anything, and without overflow */
#define CURSOR_MAX (INT32_MAX / 2)

typedef struct portion {
  size_t n, bytes;
  ProtobufCBinaryData messages[PORTION_MESSAGES];
  bool lost; /* a message could not be kept */
} portion_t;

typedef struct answer {
  Sfpeer__Told told;
  Sfpeer__Cursor next;
  portion_t portion;
  char detail[SFD_TEXT_SIZE];
  bool ends; /* the daemon ends after the answer */
} answer_t;

static void take(void *context, const Sfproto__Message *message, const int fds[], int nfds)
{
  portion_t *portion = context;
  size_t length = sfproto__message__get_packed_size(message);
  uint8_t *packed = malloc(length);
  (void)fds;
  (void)nfds;
  if (packed == NULL) {
    portion->lost = true;
    return;
  }
  sfproto__message__pack(message, packed);
  portion->messages[portion->n++] = (ProtobufCBinaryData){length, packed};
  portion->bytes += length;
}

static sf_status_t answer_query(sfd_server_t *server, const Sfpeer__Ask *ask, const Sfproto__Query *asked,
                                answer_t *answer)
{
  sfd_query_t query = {
      .server = server, .uid = ask->uid, .send = take, .context = &answer->portion, .self_contained = true};
  sf_status_t status = sfd_query_begin(&query, asked);
  bool more = true;
  if (status != SF_OK)
    return status;
  int32_t least = asked->what == SFPROTO__QUERY__WHAT__TRACE ? -SFD_TRACES_KEPT : 0; /* see daemon/admin/trace.c */
  if (ask->from != NULL && (ask->from->rank < least || ask->from->rank > CURSOR_MAX || ask->from->count < 0 ||
                            ask->from->count > CURSOR_MAX))
    return sfshm_error(SF_ERR_PROTO, "a question of another node goes on at rank %d", ask->from->rank);
  if (ask->from != NULL) {
    query.next_job = ask->from->job;
    query.next_graph = ask->from->graph;
    query.next_rank = ask->from->rank;
    query.count = ask->from->count;
  }
  while (more && answer->portion.n < PORTION_MESSAGES && answer->portion.bytes < PORTION_BYTES)
    more = sfd_query_send_next(&query);
  if (answer->portion.lost)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an answer");
  answer->next = (Sfpeer__Cursor)SFPEER_BODY(cursor, .job = query.next_job, .graph = query.next_graph,
                                             .rank = query.next_rank, .count = query.count);
  answer->told.next = more ? &answer->next : NULL;
  return SF_OK;
}

static sf_status_t answer_control(sfd_server_t *server, const Sfpeer__Ask *ask, int32_t node,
                                  const Sfproto__Control *control, answer_t *answer)
{
  char text[SFD_TEXT_SIZE];
  Sfproto__Controlled controlled;
  const sfd_requester_t asker = {.uid = ask->uid, .pid = ask->pid, .node = node};
  sf_status_t status = sfd_control_apply(server, &asker, control, text);
  if (status != SF_OK)
    return status;
  sfd_control_answer(server, text, &controlled);
  Sfproto__Message message = SFPROTO_MESSAGE(CONTROLLED, controlled, &controlled);
  take(&answer->portion, &message, NULL, 0);
  answer->ends = sfd_control_ends(control);
  return SF_OK;
}

static sf_status_t find_answer(sfd_server_t *server, const Sfpeer__Ask *ask, int32_t node, answer_t *answer)
{
  ProtobufCMessage *unpacked;
  sf_status_t status = sfproto_unpack(&sfproto__message__descriptor, ask->question.len, ask->question.data, &unpacked);
  if (status == SF_ERR_NOMEM)
    return sfshm_error(status, "no memory for a question of another node");
  const Sfproto__Message *question = status == SF_OK ? (const Sfproto__Message *)unpacked : NULL;
  if (question != NULL && question->body_case == SFPROTO__MESSAGE__BODY_QUERY)
    status = answer_query(server, ask, question->query, answer);
  else if (question != NULL && question->body_case == SFPROTO__MESSAGE__BODY_CONTROL)
    status = answer_control(server, ask, node, question->control, answer);
  else
    status = sfshm_error(SF_ERR_PROTO, "a question of another node is neither a query nor a control");
  if (question != NULL)
    protobuf_c_message_free_unpacked(unpacked, NULL);
  return status;
}

static void clear(portion_t *portion)
{
  for (size_t i = 0; i < portion->n; i++)
    free(portion->messages[i].data);
  portion->n = 0;
}

/* node: of the tool; -1: this one. */
static void make_answer(sfd_server_t *server, const Sfpeer__Ask *ask, int32_t node, answer_t *answer)
{
  memset(answer, 0, sizeof *answer);
  answer->told = (Sfpeer__Told)SFPEER_BODY(told, .request = ask->request);
  sf_status_t status = find_answer(server, ask, node, answer);
  if (status != SF_OK) {
    clear(&answer->portion);
    sfd_text_printable(answer->detail, sizeof answer->detail, sfshm_error_detail());
    answer->told.has_status = true;
    answer->told.status = status;
    answer->told.detail = answer->detail;
  }
  answer->told.messages = answer->portion.messages;
  answer->told.n_messages = answer->portion.n;
}

void sfd_remote_answer_here(sfd_server_t *server, const Sfpeer__Ask *ask,
                            void (*told)(void *context, const Sfpeer__Told *told), void *context)
{
  answer_t *answer = malloc(sizeof *answer);
  if (answer == NULL) {
    char detail[] = "no memory for an answer";
    Sfpeer__Told failed =
        SFPEER_BODY(told, .request = ask->request, SFPROTO_HAS(status, SF_ERR_NOMEM), .detail = detail);
    told(context, &failed);
    return;
  }
  make_answer(server, ask, -1, answer);
  bool ends = answer->ends;
  told(context, &answer->told);
  clear(&answer->portion);
  free(answer);
  if (ends)
    sfd_server_end(server);
}

/* ---- For other nodes ---- */

typedef struct last_word {
  sfd_server_t *server;
  uint8_t packed[];
} last_word_t;

/* It has been sent, or can't be. */
static void on_last_word_sent(void *context, sf_status_t status)
{
  last_word_t *word = context;
  (void)status;
  sfd_server_end(word->server);
  free(word);
}

static void send_last_word(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  size_t length = sfpeer__message__get_packed_size(message);
  const sfd_message_head_t head = {.kind = SFD_PEER_CONTROL, .payload_bytes = length};
  last_word_t *word = malloc(sizeof *word + length);
  if (word == NULL) {
    sfd_server_end(server);
    return;
  }
  word->server = server;
  sfpeer__message__pack(message, word->packed);
  sfd_network_send_payload(server, node, &head, word->packed, on_last_word_sent, word);
}

sf_status_t sfd_remote_answer_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  answer_t *answer = malloc(sizeof *answer);
  if (answer == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an answer");
  make_answer(server, message->ask, node, answer);
  Sfpeer__Message out = SFPEER_MESSAGE(TOLD, told, &answer->told);
  if (answer->ends)
    send_last_word(server, node, &out);
  else
    sfd_network_send(server, node, &out);
  clear(&answer->portion);
  free(answer);
  return SF_OK;
}

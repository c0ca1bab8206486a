/* Connection of a tool to the daemon: see connection.h. The one thread of sfctl. */
#include "tools/sfctl/connection.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sf/sf.h>

#include "proto/address.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"

/* Stores the path at which the daemon listens. */
static void note_path(sfctl_connection_t *connection, int fd)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length = sizeof address;
  (void)getpeername(fd, (struct sockaddr *)&address, &length);
  snprintf(connection->path, sizeof connection->path, "%.*s", (int)sizeof address.sun_path, address.sun_path);
}

/* ---- Messages ---- */

/* A daemon that refuses a connection sends the reason and closes it, perhaps before it reads anything: a failed send is
 * an error only if nothing can be read. */
static sf_status_t send_request(sfctl_connection_t *connection, Sfproto__Message *message)
{
  message->request = ++connection->last_request;
  sf_status_t status = sfproto_conn_send(connection->conn, message, NULL, 0);
  return status == SF_ERR_DAEMON_LOST ? SF_OK : status;
}

static sf_status_t error_from_daemon(const Sfproto__Error *error)
{
  sf_status_t status = error->status < 0 ? (sf_status_t)error->status : SF_ERR_PROTO;
  return sfshm_error(status, "sfd answers: %s", error->detail[0] != '\0' ? error->detail : sfshm_strerror(status));
}

/* Receives the next message of the answer. */
static sf_status_t receive(sfctl_connection_t *connection, sfproto_incoming_t *incoming)
{
  int64_t left_ms = connection->deadline_ms - sfshm_now_ms();
  sf_status_t status = sfproto_conn_receive(connection->conn, left_ms > 0 ? left_ms : 0, incoming);
  if (status == SF_ERR_TIMEOUT)
    return sfshm_error(status, "the sfd at %s has not answered within %g s (--timeout)", connection->path,
                       (double)connection->timeout_ms / 1000);
  if (status == SF_ERR_DAEMON_LOST)
    return sfshm_error(status, "the sfd at %s has ended or closed the connection", connection->path);
  if (status != SF_OK)
    return status;
  const Sfproto__Message *message = incoming->message;
  if (message->body_case == SFPROTO__MESSAGE__BODY_ERROR)
    status = error_from_daemon(message->error);
  else if (message->request != connection->last_request)
    status = sfshm_error(SF_ERR_PROTO, "sfd answers request %llu, expected %llu", (unsigned long long)message->request,
                         (unsigned long long)connection->last_request);
  if (status != SF_OK)
    sfproto_incoming_free(incoming);
  return status;
}

static sf_status_t unexpected(const Sfproto__Message *message, int expected)
{
  return sfshm_error(SF_ERR_PROTO, "sfd answers with message %d, expected %d (field numbers of sfproto.Message)",
                     (int)message->body_case, expected);
}

/* ---- Joining ---- */

static sf_status_t say_hello(sfctl_connection_t *connection)
{
  char software[32];
  snprintf(software, sizeof software, "sfctl %d.%d.%d", SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(HELLO, hello, .role = SFPROTO__HELLO__ROLE__TOOL, .software = software);
  sfproto_incoming_t incoming;
  sf_status_t status = send_request(connection, &message);
  if (status == SF_OK)
    status = receive(connection, &incoming);
  if (status != SF_OK)
    return status;
  if (incoming.message->body_case != SFPROTO__MESSAGE__BODY_WELCOME)
    status = unexpected(incoming.message, SFPROTO__MESSAGE__BODY_WELCOME);
  sfproto_incoming_free(&incoming);
  return status;
}

sf_status_t sfctl_connect(const char *socket_path, int64_t timeout_ms, sfctl_connection_t *connection_p)
{
  sfctl_connection_t connection = {.timeout_ms = timeout_ms, .deadline_ms = sfshm_now_ms() + timeout_ms};
  int fd;
  sf_status_t status = sfproto_connect(socket_path, &fd);
  if (status != SF_OK)
    return status;
  note_path(&connection, fd);
  status = sfproto_conn_create(fd, &connection.conn);
  if (status != SF_OK) {
    close(fd);
    return status;
  }
  status = say_hello(&connection);
  if (status != SF_OK) {
    sfctl_disconnect(&connection);
    return status;
  }
  *connection_p = connection;
  return SF_OK;
}

sfctl_target_t sfctl_target(const sfctl_options_t *options)
{
  return (sfctl_target_t){
      .named = options->node >= 0, .node = options->node >= 0 ? (int32_t)options->node : 0, .all = options->all_nodes};
}

void sfctl_renew(sfctl_connection_t *connection)
{
  connection->deadline_ms = sfshm_now_ms() + connection->timeout_ms;
  sfreport_list_clear(&connection->missing);
}

void sfctl_disconnect(sfctl_connection_t *connection)
{
  sfproto_conn_destroy(connection->conn);
  connection->conn = NULL;
  sfreport_list_clear(&connection->missing);
}

/* ---- Queries ---- */

static Sfproto__Message__BodyCase body_of(Sfproto__Query__What what)
{
  switch (what) {
  case SFPROTO__QUERY__WHAT__JOBS:
    return SFPROTO__MESSAGE__BODY_JOB_INFO;
  case SFPROTO__QUERY__WHAT__RANKS:
    return SFPROTO__MESSAGE__BODY_RANK_INFO;
  case SFPROTO__QUERY__WHAT__GRAPHS:
    return SFPROTO__MESSAGE__BODY_GRAPH_INFO;
  case SFPROTO__QUERY__WHAT__ARRAYS:
    return SFPROTO__MESSAGE__BODY_ARRAY_INFO;
  case SFPROTO__QUERY__WHAT__STATES:
    return SFPROTO__MESSAGE__BODY_RANK_STATE;
  case SFPROTO__QUERY__WHAT__TRACE:
    return SFPROTO__MESSAGE__BODY_TRACE_INFO;
  case SFPROTO__QUERY__WHAT__CLOCK:
    return SFPROTO__MESSAGE__BODY_CLOCK_INFO;
  case SFPROTO__QUERY__WHAT__PEERS:
    return SFPROTO__MESSAGE__BODY_PEER_INFO;
  case SFPROTO__QUERY__WHAT__PLAN:
    return SFPROTO__MESSAGE__BODY_PLAN_INFO;
  case SFPROTO__QUERY__WHAT__CONFIG:
    return SFPROTO__MESSAGE__BODY_CONFIG_INFO;
  default:
    return SFPROTO__MESSAGE__BODY_STATUS_INFO;
  }
}

static sf_status_t error_of_node(const Sfproto__NodeMissing *missing, const char *others)
{
  sf_status_t status = missing->status < 0 ? (sf_status_t)missing->status : SF_ERR_PROTO;
  return sfshm_error(status, "node %d: %s%s", missing->node,
                     missing->detail[0] != '\0' ? missing->detail : sfshm_strerror(status), others);
}

/* The error of a single node is the answer. */
static sf_status_t take_missing(sfctl_connection_t *connection, sfproto_incoming_t *incoming)
{
  sfreport_item_t *item;
  if (!connection->target.all)
    return error_of_node(incoming->message->node_missing, "");
  for (size_t i = 0; i < connection->missing.count; i++)
    if (connection->missing.items[i].message->node_missing->node == incoming->message->node_missing->node)
      return SF_OK; /* known from an earlier query */
  sf_status_t status = sfreport_list_add(&connection->missing, incoming->message, &item);
  if (status == SF_OK)
    incoming->message = NULL;
  return status;
}

/* A job or graph that only some nodes know is no error. */
sf_status_t sfctl_check_missing(const sfctl_connection_t *connection, size_t nanswers)
{
  char others[40] = "";
  const Sfproto__NodeMissing *first = NULL;
  size_t count = 0;
  for (size_t i = 0; i < connection->missing.count; i++) {
    const Sfproto__NodeMissing *missing = connection->missing.items[i].message->node_missing;
    if (missing->status == SF_ERR_NOT_FOUND && nanswers > 0)
      continue;
    first = first != NULL ? first : missing;
    count++;
  }
  if (first == NULL)
    return SF_OK;
  if (count > 1)
    snprintf(others, sizeof others, " (and %zu more node%s)", count - 1, count == 2 ? "" : "s");
  return error_of_node(first, others);
}

/* Time for other nodes, which leaves this node time to name the missing ones. A node may be missing in each of several
 * queries. */
static int64_t nodes_timeout_ms(const sfctl_connection_t *connection)
{
  int64_t timeout_ms = connection->timeout_ms / 4 * 3 / (connection->questions > 0 ? connection->questions : 1);
  return timeout_ms > 0 ? timeout_ms : 1;
}

void sfctl_will_ask(sfctl_connection_t *connection, int questions)
{
  if (connection->questions < questions)
    connection->questions = questions;
}

/* Receives the messages of the answer, and its end with their number. */
static sf_status_t take_answer(sfctl_connection_t *connection, Sfproto__Message__BodyCase expected, sfctl_take_t take,
                               void *context)
{
  for (int32_t count = 0;; count++) {
    sfproto_incoming_t incoming;
    sf_status_t status = receive(connection, &incoming);
    if (status != SF_OK)
      return status;
    Sfproto__Message__BodyCase body = incoming.message->body_case;
    if (body == expected)
      status = take(context, &incoming);
    else if (body == SFPROTO__MESSAGE__BODY_NODE_MISSING)
      status = take_missing(connection, &incoming);
    else if (body != SFPROTO__MESSAGE__BODY_QUERY_END)
      status = unexpected(incoming.message, (int)expected);
    else if (incoming.message->query_end->count != count)
      status = sfshm_error(SF_ERR_PROTO, "sfd answers with %d messages, and says that they are %d", count,
                           incoming.message->query_end->count);
    sfproto_incoming_free(&incoming);
    if (status != SF_OK || body == SFPROTO__MESSAGE__BODY_QUERY_END)
      return status;
  }
}

sf_status_t sfctl_query(sfctl_connection_t *connection, Sfproto__Query *query, sfctl_take_t take, void *context)
{
  Sfproto__Message message = SFPROTO_MESSAGE(QUERY, query, query);
  query->has_node = connection->target.named;
  query->node = connection->target.node;
  query->has_all_nodes = query->all_nodes = connection->target.all;
  query->has_nodes_timeout_ms = query->has_node || query->all_nodes;
  query->nodes_timeout_ms = nodes_timeout_ms(connection);
  sf_status_t status = send_request(connection, &message);
  return status == SF_OK ? take_answer(connection, body_of(query->what), take, context) : status;
}

/* ---- Control ---- */

static sf_status_t take_one(sfctl_connection_t *connection, sfctl_take_t take, void *context)
{
  sfproto_incoming_t incoming;
  sf_status_t status = receive(connection, &incoming);
  if (status != SF_OK)
    return status;
  if (incoming.message->body_case == SFPROTO__MESSAGE__BODY_CONTROLLED)
    status = take(context, &incoming);
  else
    status = unexpected(incoming.message, SFPROTO__MESSAGE__BODY_CONTROLLED);
  sfproto_incoming_free(&incoming);
  return status;
}

sf_status_t sfctl_request(sfctl_connection_t *connection, Sfproto__Control *control, sfctl_take_t take, void *context)
{
  Sfproto__Message message = SFPROTO_MESSAGE(CONTROL, control, control);
  bool elsewhere = connection->target.named || connection->target.all;
  control->has_node = connection->target.named;
  control->node = connection->target.node;
  control->has_all_nodes = control->all_nodes = connection->target.all;
  control->has_nodes_timeout_ms = elsewhere;
  control->nodes_timeout_ms = nodes_timeout_ms(connection);
  sf_status_t status = send_request(connection, &message);
  if (status != SF_OK)
    return status;
  return elsewhere ? take_answer(connection, SFPROTO__MESSAGE__BODY_CONTROLLED, take, context)
                   : take_one(connection, take, context);
}

/* Control connection of a client: see daemon_conn.h. */
#include "client/core/daemon_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/core/idle.h"
#include "proto/address.h"
#include "shm/base/error.h"

/* An answer received by another thread than the request's. */
struct sfc_daemon_answer {
  sfc_daemon_answer_t *next;
  sfproto_incoming_t incoming;
};

sf_status_t sfc_daemon_open(sfc_daemon_conn_t *control, const char *socket_path)
{
  int fd;
  *control = (sfc_daemon_conn_t){0};
  sf_status_t status = sfproto_connect(socket_path, &fd);
  if (status != SF_OK)
    return status;
  status = sfproto_conn_create(fd, &control->conn);
  if (status != SF_OK) {
    close(fd);
    return status;
  }
  pthread_mutex_init(&control->lock, NULL);
  pthread_cond_init(&control->changed, NULL);
  return SF_OK;
}

void sfc_daemon_close(sfc_daemon_conn_t *control)
{
  if (control->conn == NULL)
    return;
  while (control->answers != NULL) {
    sfc_daemon_answer_t *answer = control->answers;
    control->answers = answer->next;
    sfproto_incoming_free(&answer->incoming);
    free(answer);
  }
  sfproto_conn_destroy(control->conn);
  free(control->broken_detail);
  pthread_cond_destroy(&control->changed);
  pthread_mutex_destroy(&control->lock);
  *control = (sfc_daemon_conn_t){0};
}

static sf_status_t broken_status(const sfc_daemon_conn_t *control)
{
  return sfshm_error(control->broken, "%s", control->broken_detail != NULL ? control->broken_detail : "");
}

sf_status_t sfc_daemon_failure(sfc_daemon_conn_t *control)
{
  pthread_mutex_lock(&control->lock);
  sf_status_t status = control->broken == SF_OK ? SF_OK : broken_status(control);
  pthread_mutex_unlock(&control->lock);
  return status;
}

/* Tells the daemon the reason, if possible. */
static void say_final(const sfc_daemon_conn_t *control)
{
  if (control->broken == SF_ERR_DAEMON_LOST)
    return;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(ERROR, error, .status = control->broken,
                                                .detail = control->broken_detail != NULL ? control->broken_detail : "");
  (void)sfproto_conn_send(control->conn, &message, NULL, 0); /* the end of the connection says it too */
}

/* Other ranks may depend on a lost answer or an unsendable request, so this rank fails for all: the daemon sees the
 * connection end and closes the alert socket, and the listener fails the context. */
static void break_connection(sfc_daemon_conn_t *control, sf_status_t status)
{
  if (control->broken != SF_OK)
    return;
  control->broken = status;
  control->broken_detail = strdup(sfshm_error_detail());
  say_final(control);
  shutdown(sfproto_conn_fd(control->conn), SHUT_RDWR);
}

sf_status_t sfc_daemon_give_up(sfc_daemon_conn_t *control, sf_status_t status)
{
  pthread_mutex_lock(&control->lock);
  break_connection(control, status);
  pthread_mutex_unlock(&control->lock);
  return status;
}

/* Whether other ranks wait for the request. */
static bool is_awaited(const Sfproto__Message *message)
{
  switch (message->body_case) {
  case SFPROTO__MESSAGE__BODY_GROUP_CREATE:
  case SFPROTO__MESSAGE__BODY_GROUP_DESTROY: /* ranks that create a graph there wait until the daemon knows */
  case SFPROTO__MESSAGE__BODY_GRAPH_CREATE:
  case SFPROTO__MESSAGE__BODY_GRAPH_COMMIT:
  case SFPROTO__MESSAGE__BODY_GRAPH_MEET:
  case SFPROTO__MESSAGE__BODY_GRAPH_FAIL:
  case SFPROTO__MESSAGE__BODY_REGION_CLOSED:
    return true;
  default:
    return false;
  }
}

/* Whether the sender has a shorter form of the message. */
static bool can_be_put_otherwise(const Sfproto__Message *message)
{
  return (message->body_case == SFPROTO__MESSAGE__BODY_GRAPH_CREATE && message->graph_create->error == NULL) ||
         (message->body_case == SFPROTO__MESSAGE__BODY_GRAPH_COMMIT && message->graph_commit->error == NULL);
}

/* A message sent in part stays in the queue: its fate is unknown. */
static void after_failed_send(sfc_daemon_conn_t *control, const Sfproto__Message *message, sf_status_t status)
{
  bool begun = sfproto_conn_queued_bytes(control->conn) > 0;
  if (is_awaited(message) && (begun || !can_be_put_otherwise(message)))
    break_connection(control, status);
}

sf_status_t sfc_daemon_send(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds)
{
  pthread_mutex_lock(&control->lock);
  sf_status_t status;
  if (control->broken != SF_OK) {
    status = broken_status(control);
  } else {
    message->request = ++control->last_request;
    status = sfproto_conn_send(control->conn, message, fds, nfds);
    /* A refusing daemon sends a reason before it closes: leave it to be received. */
    if (status == SF_ERR_DAEMON_LOST)
      status = SF_OK;
    if (status != SF_OK)
      after_failed_send(control, message, status);
  }
  pthread_mutex_unlock(&control->lock);
  return status;
}

/* Takes the answer to a request out of the list. */
static bool take_answer(sfc_daemon_conn_t *control, uint64_t request, sfproto_incoming_t *incoming)
{
  for (sfc_daemon_answer_t **link = &control->answers; *link != NULL; link = &(*link)->next) {
    sfc_daemon_answer_t *answer = *link;
    if (answer->incoming.message->request != request)
      continue;
    *incoming = answer->incoming;
    *link = answer->next;
    free(answer);
    return true;
  }
  return false;
}

/* Appends, so that answers to one request keep their order. Request 0 concerns all: a final Error. */
static sf_status_t keep_answer(sfc_daemon_conn_t *control, sfproto_incoming_t *incoming)
{
  const Sfproto__Message *message = incoming->message;
  if (message->request == 0 && message->body_case == SFPROTO__MESSAGE__BODY_ERROR) {
    sf_status_t status = sfshm_error((sf_status_t)message->error->status, "%s", message->error->detail);
    sfproto_incoming_free(incoming);
    return status;
  }
  sfc_daemon_answer_t *answer = malloc(sizeof *answer);
  if (answer == NULL) {
    sfproto_incoming_free(incoming);
    return sfshm_error(SF_ERR_NOMEM, "keeping an answer of the daemon");
  }
  *answer = (sfc_daemon_answer_t){.incoming = *incoming};
  sfc_daemon_answer_t **link = &control->answers;
  while (*link != NULL)
    link = &(*link)->next;
  *link = answer;
  return SF_OK;
}

static sf_status_t receive_in_time(const sfc_daemon_conn_t *control, sfproto_incoming_t *incoming)
{
  int64_t patience_ms = control->patience_ms;
  sf_status_t status = sfproto_conn_receive(control->conn, patience_ms > 0 ? patience_ms : -1, incoming);
  if (status == SF_ERR_TIMEOUT)
    return sfshm_error(status, "sfd has not answered within %lld ms: it is stopped, or has no core",
                       (long long)patience_ms);
  return status;
}

/* Receives one message. The daemon answers most requests soon: yielding to it is faster than being woken. */
static sf_status_t receive_soon(const sfc_daemon_conn_t *control, int64_t look_ns, sfproto_incoming_t *incoming)
{
  sfc_idle_t idle = {0};
  do {
    if (sfproto_conn_read(control->conn) != SF_OK)
      break; /* sfproto_conn_receive returns earlier messages, then the error */
    if (sfproto_conn_next(control->conn, incoming))
      return SF_OK;
  } while (sfc_idle_step(&idle) || sfc_now_ns() - idle.since_ns < look_ns);
  return receive_in_time(control, incoming);
}

/* Reads one message for any request, without the lock. */
static void read_for_all(sfc_daemon_conn_t *control, int64_t look_ns)
{
  sfproto_incoming_t incoming;
  control->reading = true;
  pthread_mutex_unlock(&control->lock);
  sf_status_t status = look_ns == 0 ? receive_in_time(control, &incoming) : receive_soon(control, look_ns, &incoming);
  pthread_mutex_lock(&control->lock);
  control->reading = false;
  if (status == SF_OK)
    status = keep_answer(control, &incoming);
  if (status != SF_OK)
    break_connection(control, status);
  pthread_cond_broadcast(&control->changed);
}

static sf_status_t await_answer(sfc_daemon_conn_t *control, uint64_t request, int64_t look_ns,
                                sfproto_incoming_t *incoming)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&control->lock);
  while (!take_answer(control, request, incoming)) {
    if (control->broken != SF_OK) {
      status = broken_status(control);
      break;
    }
    if (control->reading)
      pthread_cond_wait(&control->changed, &control->lock);
    else
      read_for_all(control, look_ns);
  }
  pthread_mutex_unlock(&control->lock);
  return status;
}

sf_status_t sfc_daemon_receive(sfc_daemon_conn_t *control, uint64_t request, int64_t look_ns,
                               Sfproto__Message__BodyCase expected, sfproto_incoming_t *incoming)
{
  sf_status_t status = await_answer(control, request, look_ns, incoming);
  if (status != SF_OK)
    return status;
  const Sfproto__Message *message = incoming->message;
  if (message->body_case == expected)
    return SF_OK;
  if (message->body_case == SFPROTO__MESSAGE__BODY_ERROR)
    status = sfshm_error((sf_status_t)message->error->status, "%s", message->error->detail);
  else
    status = sfshm_error(SF_ERR_PROTO, "the daemon answered with message %d where %d was expected",
                         (int)message->body_case, (int)expected);
  sfproto_incoming_free(incoming);
  return status == SF_OK ? SF_ERR_INTERNAL : status;
}

sf_status_t sfc_daemon_call(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds,
                            Sfproto__Message__BodyCase expected, sfproto_incoming_t *incoming)
{
  sf_status_t status = sfc_daemon_send(control, message, fds, nfds);
  return status == SF_OK ? sfc_daemon_receive(control, message->request, SFC_DAEMON_LOOK_NS, expected, incoming)
                         : status;
}

sf_status_t sfc_daemon_tell(sfc_daemon_conn_t *control, Sfproto__Message *message, const int fds[], int nfds)
{
  sfproto_incoming_t incoming;
  sf_status_t status = sfc_daemon_call(control, message, fds, nfds, SFPROTO__MESSAGE__BODY_DONE, &incoming);
  if (status == SF_OK)
    sfproto_incoming_free(&incoming);
  return status;
}

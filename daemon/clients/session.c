/* Sessions: handles, input, end. The daemon's thread. */
#include "daemon/clients/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/clients/accept.h"
#include "daemon/clients/credentials.h"
#include "daemon/clients/session_internal.h"
#include "shm/base/error.h"

#define LINGER_MS 1000
#define MAX_CLOSING ((size_t)1024)
#define CLIENT_FDS 3 /* of Hello; other messages have fewer */
#define MAX_QUEUED_BYTES ((size_t)8 << 20)
#define MAX_QUEUED_ALERT_BYTES ((size_t)1 << 20)
#define MAX_QUEUED_FDS (4 * SFPROTO_MAX_FDS)

/* full reads that a dead process may have left in its socket, the last with its Goodbye */
#define LAST_READS 32

/* ---- Ending ---- */

static void free_session(sfd_session_t *session)
{
  sfd_server_t *server = session->server;
  sfd_deferred_close_charge(session->uid);
  sfproto_conn_destroy(session->conn);
  sfproto_conn_destroy(session->alerts);
  if (session->pidfd >= 0)
    close(session->pidfd);
  free(session);
  sfd_clients_session_freed(server);
}

static void on_handle_closed(uv_handle_t *handle)
{
  sfd_session_t *session = handle->data;
  if (--session->nhandles == 0)
    free_session(session);
}

static void close_handle(uv_handle_t *handle)
{
  uv_close(handle, on_handle_closed);
}

void sfd_session_close(sfd_session_t *session)
{
  sfd_server_t *server = session->server;
  if (session->role != NULL && session->role->closed != NULL)
    session->role->closed(session);
  sfd_log(SFD_LOG_SESSION, SFD_DEBUG, "connection of pid %d closed", (int)session->pid);
  session->state = SFD_SESSION_CLOSED;
  if (session->attention)
    TAILQ_REMOVE(&server->clients->attention, session, attention_entry);
  TAILQ_REMOVE(&server->clients->sessions, session, entry);
  sfd_admission_remove(session);
  close_handle((uv_handle_t *)&session->poll);
  close_handle((uv_handle_t *)&session->timer);
  close_handle((uv_handle_t *)&session->retry);
  if (session->alerts != NULL)
    close_handle((uv_handle_t *)&session->alert_poll);
  if (session->pidfd >= 0)
    close_handle((uv_handle_t *)&session->process_poll);
}

void sfd_session_lose_for(sfd_session_t *session, const char *reason)
{
  if (session->state >= SFD_SESSION_LOST)
    return;
  if (sfd_session_serves(session))
    sfd_text_printable(session->reason, sizeof session->reason, reason);
  session->state = SFD_SESSION_LOST;
  sfd_session_mark(session);
}

static void lose(sfd_session_t *session)
{
  sfd_session_lose_for(session, "");
}

static void on_timeout(uv_timer_t *timer)
{
  sfd_session_t *session = timer->data;
  if (session->state == SFD_SESSION_NEW)
    sfd_session_refuse(session, 0, SF_ERR_TIMEOUT, "no Hello came within %g s",
                       (double)session->server->options->hello_timeout_ms / 1000);
  else if (session->state == SFD_SESSION_ENDING)
    lose(session);
}

void sfd_session_dismiss(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail)
{
  if (!sfd_session_serves(session))
    return;
  sfd_session_send_error(session, request, status, detail);
  if (!sfd_session_serves(session))
    return;
  sfd_text_printable(session->reason, sizeof session->reason, detail);
  session->state = SFD_SESSION_ENDING;
  shutdown(sfproto_conn_fd(session->conn), SHUT_RD); /* a client blocked in sending goes on to read the last message */
  uv_update_time(session->timer.loop);               /* this turn of the loop may have taken longer than the time-out */
  uv_timer_start(&session->timer, on_timeout, LINGER_MS, 0);
  sfd_session_mark(session);
}

void sfd_session_refuse(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
{
  char detail[SFD_TEXT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(detail, sizeof detail, format, args);
  va_end(args);
  if (!sfd_session_serves(session))
    return;
  session->server->statistics.refused++;
  sfd_log(SFD_LOG_SESSION, SFD_WARN, "refused pid %d, uid %u: %s (%s)", (int)session->pid, session->uid, detail,
          sfshm_strerror(status));
  sfd_session_dismiss(session, request, status, detail);
}

/* ---- Input ---- */

/* Whether nothing more is received for now, as the user sent too many descriptors that close slowly. Members of jobs
 * may send more, so that unadmitted connections do not stop them. */
static bool must_pause(sfd_session_t *session)
{
  size_t most = session->state == SFD_SESSION_NEW ? MAX_CLOSING : 4 * MAX_CLOSING;
  session->paused = sfd_deferred_close_waiting(session->uid) >= most;
  if (!session->paused)
    return false;
  sfd_session_retry_in(session, SFPROTO_CROWDED_MS);
  if (sfd_deferred_close_is_stuck())
    sfd_session_refuse(session, 0, SF_ERR_LIMIT, "more than %zu descriptors that uid %u has sent cannot be closed",
                       most - 1, session->uid);
  return true;
}

static void receive(sfd_session_t *session)
{
  char detail[SFD_TEXT_SIZE] = "";
  if (!sfd_session_serves(session) || must_pause(session))
    return;
  sfd_deferred_close_charge(session->uid);
  sfproto_conn_look_first(session->conn, sfd_clients_lack_fds(session->server));
  sf_status_t status = sfproto_conn_read(session->conn);
  if (status != SF_OK)
    sfd_text_printable(detail, sizeof detail, sfshm_error_detail());
  sfproto_incoming_t incoming;
  while (sfproto_conn_next(session->conn, &incoming)) {
    if (sfd_session_serves(session))
      session->server->clients->received(session, &incoming);
    sfproto_incoming_free(&incoming);
  }
  if (status == SF_ERR_DAEMON_LOST)
    lose(session);
  else if (status != SF_OK)
    sfd_session_refuse(session, 0, status, "%s", detail);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
  sfd_session_t *session = poll->data;
  bool broken = status < 0; /* libuv has stopped the handle; received data is still there */
  for (int i = 0; i < (broken ? LAST_READS : 1) && session->state < SFD_SESSION_LOST; i++)
    if (broken || (events & UV_READABLE))
      receive(session);
  if (broken)
    lose(session);
  sfd_session_mark(session);
}

static void on_alert_poll(uv_poll_t *poll, int status, int events)
{
  sfd_session_t *session = poll->data;
  (void)events;
  if (status < 0)
    lose(session);
  sfd_session_mark(session);
}

static void on_process_ended(uv_poll_t *poll, int status, int events)
{
  sfd_session_t *session = poll->data;
  (void)status;
  (void)events;
  uv_poll_stop(poll);
  for (int i = 0; i < LAST_READS && sfd_session_serves(session); i++)
    receive(session);
  lose(session);
}

/* ---- Attention ---- */

void sfd_session_mark(sfd_session_t *session)
{
  if (session->attention)
    return;
  session->attention = true;
  TAILQ_INSERT_TAIL(&session->server->clients->attention, session, attention_entry);
}

bool sfd_sessions_need_attention(const sfd_server_t *server)
{
  return !TAILQ_EMPTY(&server->clients->attention);
}

/* Writes what is possible, and waits for the rest. */
static void flush(sfd_session_t *session, sfproto_conn_t *conn, size_t max_bytes, const char *name)
{
  if (session->state >= SFD_SESSION_LOST)
    return;
  sf_status_t status = sfproto_conn_flush(conn);
  if (status == SF_ERR_DAEMON_LOST)
    lose(session);
  else if (status != SF_OK)
    sfd_session_lose_for(session, sfshm_error_detail());
  if (sfproto_conn_queued_bytes(conn) <= max_bytes && sfproto_conn_queued_fds(conn) <= MAX_QUEUED_FDS)
    return;
  char reason[SFD_TEXT_SIZE];
  snprintf(reason, sizeof reason, "it does not read its %s: %zu bytes and %lld descriptors are waiting", name,
           sfproto_conn_queued_bytes(conn), (long long)sfproto_conn_queued_fds(conn));
  sfd_session_lose_for(session, reason);
}

/* Whether to wait until the socket is writable. */
static bool has_output(const sfproto_conn_t *conn)
{
  return sfproto_conn_queued_bytes(conn) > 0 && !sfproto_conn_crowded(conn);
}

static bool has_more(const sfd_session_t *session)
{
  return session->role != NULL && session->role->has_more != NULL && session->role->has_more(session);
}

static void retry_later(sfd_session_t *session)
{
  bool crowded =
      sfproto_conn_crowded(session->conn) || (session->alerts != NULL && sfproto_conn_crowded(session->alerts));
  if (crowded)
    sfd_session_retry_in(session, SFPROTO_CROWDED_MS);
}

static void wait_for_events(sfd_session_t *session)
{
  bool output = has_output(session->conn) || has_more(session);
  int events = (sfd_session_serves(session) && !session->paused ? UV_READABLE : 0) | (output ? UV_WRITABLE : 0);
  retry_later(session);
  if (events == 0)
    uv_poll_stop(&session->poll);
  else if (events != session->events)
    uv_poll_start(&session->poll, events, on_poll);
  session->events = events;
  if (session->alerts == NULL)
    return;
  int alert_events = session->nheld == 0 && has_output(session->alerts) ? UV_WRITABLE : 0;
  if (alert_events == session->alert_events)
    return;
  if (alert_events != 0)
    uv_poll_start(&session->alert_poll, alert_events, on_alert_poll);
  else
    uv_poll_stop(&session->alert_poll);
  session->alert_events = alert_events;
}

static void attend(sfd_session_t *session)
{
  const sfd_session_role_t *role = session->role;
  if (role != NULL && role->writable != NULL && sfproto_conn_queued_bytes(session->conn) == 0)
    role->writable(session);
  flush(session, session->conn, MAX_QUEUED_BYTES, "answers");
  if (session->alerts != NULL && session->nheld == 0)
    flush(session, session->alerts, MAX_QUEUED_ALERT_BYTES, "alerts");
  if (!sfd_session_serves(session) && role != NULL && role->lost != NULL)
    role->lost(session);
  if (session->state == SFD_SESSION_ENDING && sfproto_conn_queued_bytes(session->conn) == 0)
    lose(session);
  if (session->state == SFD_SESSION_LOST) {
    sfd_session_close(session);
    return;
  }
  wait_for_events(session);
}

void sfd_sessions_attend(sfd_server_t *server)
{
  sfd_session_t *session;
  while ((session = TAILQ_FIRST(&server->clients->attention)) != NULL) {
    TAILQ_REMOVE(&server->clients->attention, session, attention_entry);
    session->attention = false;
    attend(session);
  }
}

/* ---- Beginning ---- */

static sf_status_t init_poll(sfd_session_t *session, uv_poll_t *poll, int fd, const char *name)
{
  int error = uv_poll_init(session->server->loop, poll, fd);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "cannot wait for %s: %s", name, uv_strerror(error));
  poll->data = session;
  session->nhandles++;
  return SF_OK;
}

/* Ends an unadmitted connection, with a message but no time to read it. Not logged, as there may be thousands a second.
 * */
static void crowd_out(sfd_session_t *session)
{
  sfd_log(SFD_LOG_SESSION, SFD_DEBUG, "no room for pid %d, uid %u, which says no Hello", (int)session->pid,
          session->uid);
  if (sfd_session_serves(session)) {
    session->server->statistics.refused++;
    sfd_session_send_error(session, 0, SF_ERR_LIMIT, "too many connections have not said Hello");
    (void)sfproto_conn_flush(session->conn);
  }
  lose(session);
}

sf_status_t sfd_session_create(sfd_server_t *server, int fd, sfd_session_t **session_p)
{
  sfd_session_t *session = calloc(1, sizeof *session);
  if (session == NULL) {
    sfd_deferred_close_connection(fd);
    return sfshm_error(SF_ERR_NOMEM, "no memory for a connection");
  }
  *session = (sfd_session_t){.server = server, .pidfd = -1};
  sf_status_t status = sfproto_conn_create(fd, &session->conn);
  if (status != SF_OK) {
    sfd_deferred_close_connection(fd);
    goto err_free;
  }
  sfproto_conn_limit_fds(session->conn, CLIENT_FDS);
  status = init_poll(session, &session->poll, fd, "a connection");
  if (status != SF_OK)
    goto err_conn;
  uv_timer_init(server->loop, &session->timer);
  uv_timer_init(server->loop, &session->retry);
  session->timer.data = session->retry.data = session;
  session->nhandles += 2;
  uv_timer_start(&session->timer, on_timeout, (uint64_t)server->options->hello_timeout_ms, 0);
  sfd_credentials_read(fd, &session->uid, &session->pid);
  TAILQ_INSERT_TAIL(&server->clients->sessions, session, entry);
  server->clients->nsessions++;
  sfd_session_mark(session);
  sfd_session_t *surplus = sfd_admission_add(session);
  if (surplus != NULL)
    crowd_out(surplus);
  *session_p = session;
  return SF_OK;
err_conn:
  sfproto_conn_destroy(session->conn);
err_free:
  free(session);
  return status;
}

/* Without pidfd (other pid namespaces, old kernels) the socket shows the process's end. */
static void watch_process(sfd_session_t *session)
{
  int fd = sfd_credentials_pidfd(session->pid);
  if (fd < 0) {
    sfd_log(SFD_LOG_SESSION, SFD_INFO, "no pidfd for pid %d: only its connection will tell of its death",
            (int)session->pid);
    return;
  }
  if (init_poll(session, &session->process_poll, fd, "a process") != SF_OK) {
    close(fd);
    return;
  }
  session->pidfd = fd;
  uv_poll_start(&session->process_poll, UV_READABLE, on_process_ended);
}

sf_status_t sfd_session_watch_client(sfd_session_t *session, int alert_fd)
{
  if (!sfd_credentials_is_unix_stream(alert_fd)) {
    sfd_deferred_close_received(alert_fd);
    return sfshm_error(SF_ERR_ARG, "the first descriptor of Hello, for alerts, is not a Unix stream socket");
  }
  sfproto_conn_t *alerts;
  sf_status_t status = sfproto_conn_create(alert_fd, &alerts);
  if (status != SF_OK) {
    sfd_deferred_close_received(alert_fd);
    return status;
  }
  status = init_poll(session, &session->alert_poll, alert_fd, "an alert socket");
  if (status != SF_OK) {
    sfproto_conn_destroy(alerts);
    return status;
  }
  session->alerts = alerts;
  watch_process(session);
  uv_timer_stop(&session->timer);
  return SF_OK;
}

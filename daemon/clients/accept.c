/* Accepting connections: see accept.h. The daemon's thread. */
#include "daemon/clients/accept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/base.h"
#include "daemon/clients/session.h"
#include "shm/base/error.h"

#define ACCEPTS_AT_ONCE 16
#define TOOLS_RESERVE 32 /* connections */
#define ACCEPT_RETRY_MS 1000

#define SESSION_FDS 8        /* of a session, at most */
#define LARGEST_READ_FDS 256 /* received by one read */

/* ---- Descriptors ---- */

/* The kernel hands out the lowest free descriptor, so all below are in use. */
bool sfd_session_is_out_of_fds(const sfd_session_t *session)
{
  const sfd_server_t *server = session->server;
  int64_t reserve = server->max_fds / 8 < 2 * TOOLS_RESERVE ? server->max_fds / 8 : 2 * TOOLS_RESERVE;
  return sfproto_conn_fd(session->conn) >= server->max_fds - reserve;
}

bool sfd_clients_lack_fds(const sfd_server_t *server)
{
  return server->nheld_fds + SESSION_FDS * server->clients->nsessions + LARGEST_READ_FDS > server->max_fds / 2;
}

/* ---- Accepting ---- */

static void on_listen(uv_poll_t *poll, int status, int events);

static void resume_accepting(sfd_server_t *server)
{
  sfd_clients_t *clients = server->clients;
  if (server->stopping || clients->accepting)
    return;
  clients->accepting = true;
  uv_timer_stop(&clients->retry);
  uv_poll_start(&clients->listen_poll, UV_READABLE, on_listen);
}

static void on_accept_retry(uv_timer_t *timer)
{
  resume_accepting(timer->data);
}

/* Pauses accepting until a connection closes, or for a second. */
static void out_of_resources(sfd_clients_t *clients)
{
  sfd_log(SFD_LOG_SESSION, SFD_WARN, "cannot accept connections for now: %s", strerror(errno));
  clients->accepting = false;
  uv_poll_stop(&clients->listen_poll);
  uv_timer_start(&clients->retry, on_accept_retry, ACCEPT_RETRY_MS, 0);
}

/* A lack of descriptors or memory passes. What else refuses the call, such as a filter of system calls, stays, and
 * clients would wait for their time-outs. */
static void on_refused(sfd_server_t *server)
{
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    out_of_resources(server->clients);
    return;
  }
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "ends, as it cannot accept clients: accept4: %s", strerror(errno));
  sfd_server_fail(server, text);
  server->clients->accepting = false;
  uv_poll_stop(&server->clients->listen_poll);
}

static int64_t count_sessions(const sfd_server_t *server, uid_t uid)
{
  const sfd_session_t *session;
  int64_t count = 0;
  TAILQ_FOREACH (session, &server->clients->sessions, entry)
    count += session->uid == uid;
  return count;
}

/* Some connections above max-clients are for tools of root and of the daemon's user. The session is counted already. */
static void check_room(sfd_server_t *server, sfd_session_t *session)
{
  int64_t most = server->options->max_clients, others = server->clients->nsessions - 1;
  bool is_free = sfd_fair_share_is_exempt(server, session->uid);
  if (!is_free && sfd_session_is_out_of_fds(session)) {
    sfd_session_refuse(session, 0, SF_ERR_LIMIT, SFD_TOO_MANY_FILES, (long long)server->max_fds);
    return;
  }
  if (server->clients->nsessions > most + (is_free ? TOOLS_RESERVE : 0)) {
    sfd_session_refuse(session, 0, SF_ERR_LIMIT, SFD_TOO_MANY_CLIENTS, (long long)most);
    return;
  }
  if (is_free || sfd_fair_share_allows(others, others, most))
    return;
  int64_t has = count_sessions(server, session->uid) - 1;
  if (!sfd_fair_share_allows(has, others, most))
    sfd_session_refuse(session, 0, SF_ERR_LIMIT,
                       "uid %u has %lld of %lld connections (option max-clients), the rest is for other users",
                       session->uid, (long long)has, (long long)most);
}

static void begin_session(sfd_server_t *server, int fd)
{
  sfd_session_t *session;
  if (sfd_session_create(server, fd, &session) != SF_OK) {
    sfd_log(SFD_LOG_SESSION, SFD_WARN, "connection closed: %s", sfshm_error_detail());
    return;
  }
  sfd_log(SFD_LOG_SESSION, SFD_DEBUG, "connection of pid %d, uid %u", (int)session->pid, session->uid);
  check_room(server, session);
}

/* Returns whether more connections may wait. */
static bool accept_one(sfd_server_t *server)
{
  int fd = accept4(server->clients->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    if (server->stopping)
      sfd_deferred_close_connection(fd); /* the daemon is about to end */
    else
      begin_session(server, fd);
    return true;
  }
  if (errno == ECONNABORTED || errno == EINTR)
    return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK)
    on_refused(server);
  return false;
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
  sfd_server_t *server = poll->data;
  (void)events;
  if (status < 0) { /* libuv has stopped the handle */
    server->clients->accepting = false;
    uv_timer_start(&server->clients->retry, on_accept_retry, ACCEPT_RETRY_MS, 0);
    return;
  }
  for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(server); i++)
    ;
}

void sfd_clients_session_freed(sfd_server_t *server)
{
  server->clients->nsessions--;
  resume_accepting(server);
}

/* ---- Beginning and end ---- */

sf_status_t sfd_clients_create(sfd_server_t *server, int listen_fd,
                               void (*received)(struct sfd_session *session, sfproto_incoming_t *incoming))
{
  sfd_clients_t *clients = calloc(1, sizeof *clients);
  if (clients == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for connections");
  int error = uv_poll_init(server->loop, &clients->listen_poll, listen_fd);
  if (error != 0) {
    free(clients);
    return sfshm_error(SF_ERR_SYS, "cannot wait for connections: %s", uv_strerror(error));
  }
  clients->received = received;
  clients->listen_fd = listen_fd;
  uv_timer_init(server->loop, &clients->retry);
  TAILQ_INIT(&clients->sessions);
  TAILQ_INIT(&clients->attention);
  LIST_INIT(&clients->unadmitted);
  clients->listen_poll.data = clients->retry.data = server;
  server->clients = clients;
  return SF_OK;
}

void sfd_clients_start(sfd_server_t *server)
{
  resume_accepting(server);
}

void sfd_clients_close(sfd_server_t *server)
{
  uv_close((uv_handle_t *)&server->clients->listen_poll, NULL);
  uv_close((uv_handle_t *)&server->clients->retry, NULL);
}

void sfd_clients_destroy(sfd_server_t *server)
{
  free(server->clients);
  server->clients = NULL;
}

/* TCP connections of the fabric. The loop's thread. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/net/fabric/tcp/internal.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 */
#endif

/* Keep-alive probes each second, and retransmission of at most a second, or, by older kernels, with growing pauses.
 * watch.c decides about loss, as the kernel would do so too early or too late. TCP_USER_TIMEOUT is not used: it also
 * ends connections to healthy peers that receive nothing for that time. Options that the kernel lacks are skipped. */
static void set_options(int fd)
{
  static const struct {
    int level, name, value;
  } options[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1},
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, 1},
      {IPPROTO_TCP, TCP_KEEPINTVL, 1},
      {IPPROTO_TCP, TCP_KEEPCNT, 20},
      {IPPROTO_TCP, TCP_RTO_MAX_MS, 1000},
      {IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

void sfd_tcp_conn_release(sfd_tcp_conn_t *conn)
{
  if (--conn->nhandles > 0)
    return;
  sfd_tcp_t *tcp = conn->tcp;
  sfd_tcp_key_wipe(&conn->key);
  free(conn->pieces);
  free(conn);
  sfd_tcp_released(tcp);
}

static void on_closed(uv_handle_t *handle)
{
  sfd_tcp_conn_release(handle->data);
}

sfd_tcp_conn_t *sfd_tcp_conn_create(sfd_tcp_t *tcp, int fd, int32_t node, sfd_tcp_state_t state)
{
  sfd_tcp_conn_t *conn = calloc(1, sizeof *conn);
  if (conn == NULL || uv_poll_init(tcp->loop, &conn->poll, fd) != 0) {
    free(conn);
    close(fd);
    return NULL;
  }
  uv_timer_init(tcp->loop, &conn->timer);
  conn->nhandles = 2;
  conn->poll.data = conn->timer.data = conn;
  conn->tcp = tcp;
  conn->fd = fd;
  conn->node = node;
  conn->state = state;
  conn->outgoing = state == SFD_TCP_CONNECTING;
  tcp->nopen++;
  set_options(fd);
  sfd_tcp_conn_poll(conn);
  return conn;
}

void sfd_tcp_conn_drop(sfd_tcp_conn_t *conn)
{
  if (conn->state == SFD_TCP_CLOSED)
    return;
  sfd_tcp_peer_forget(conn);
  sfd_tcp_unwatch(conn);
  sfd_tcp_ticket_drop(conn);
  conn->state = SFD_TCP_CLOSED;
  uv_close((uv_handle_t *)&conn->poll, on_closed);
  uv_close((uv_handle_t *)&conn->timer, on_closed);
  close(conn->fd);
}

/* ---- What happens on it ---- */

/* The poll handle also reports errors, and has stopped then. Reading or writing returns the error. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
  sfd_tcp_conn_t *conn = poll->data;
  if (status != 0) {
    conn->events = 0;
    events = UV_READABLE | UV_WRITABLE;
  }
  if (conn->state == SFD_TCP_UP)
    sfd_tcp_stream_ready(conn, events);
  else if (conn->state == SFD_TCP_CONNECTING)
    sfd_tcp_handshake_connected(conn);
  else if (conn->state != SFD_TCP_CLOSED)
    sfd_tcp_handshake_readable(conn);
  sfd_tcp_conn_poll(conn);
}

static bool waits_for_munge(const sfd_tcp_conn_t *conn)
{
  return conn->state == SFD_TCP_SEALING || conn->state == SFD_TCP_OPENING;
}

static int wanted_events(const sfd_tcp_conn_t *conn)
{
  if (conn->state == SFD_TCP_CLOSED || conn->error != 0 || waits_for_munge(conn))
    return 0;
  if (conn->state == SFD_TCP_CONNECTING)
    return UV_WRITABLE;
  return (conn->refused ? 0 : UV_READABLE) | (conn->npieces > 0 ? UV_WRITABLE : 0);
}

void sfd_tcp_conn_poll(sfd_tcp_conn_t *conn)
{
  int events = wanted_events(conn);
  if (conn->state == SFD_TCP_CLOSED || events == conn->events)
    return;
  conn->events = events;
  if (events == 0)
    uv_poll_stop(&conn->poll);
  else
    uv_poll_start(&conn->poll, events, on_poll);
}

/* If the loop was busy, the answer may have come: it counts. */
static void on_timeout(uv_timer_t *timer)
{
  sfd_tcp_conn_t *conn = timer->data;
  sfd_tcp_state_t state = conn->state;
  if (state == SFD_TCP_CLOSED)
    return;
  if (state != SFD_TCP_CONNECTING && !waits_for_munge(conn))
    sfd_tcp_handshake_readable(conn);
  if (conn->state == state)
    sfd_tcp_handshake_timeout(conn);
}

void sfd_tcp_conn_limit(sfd_tcp_conn_t *conn, uint64_t timeout_ms)
{
  uv_update_time(conn->tcp->loop);
  uv_timer_start(&conn->timer, on_timeout, timeout_ms, 0);
}

/* Notices links that became silent while something was being sent: the kernel would try for a quarter of an hour. The
 * loop's thread.
 *
 * A stream is watched from a send until the peer's host has acknowledged everything; an idle fabric has no timer. It is
 * lost if nothing at all has been heard for a while although something was repeated or asked for, twice in a row: the
 * question of a moment ago may just not have been answered yet. A healthy connection hears something each second, even
 * before the send, because of the kernel's keepalive. So what counts is when the link went silent, not when the send
 * began. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "daemon/fabric/tcp_internal.h"

#define TICK_MS 250
#define SILENCE_MS 2000

static bool is_quiet(const sfd_tcp_conn_t *conn)
{
  int unacknowledged = 0;
  return conn->npieces == 0 && ioctl(conn->fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0;
}

static bool is_silent(const sfd_tcp_conn_t *conn)
{
  struct tcp_info info = {.tcpi_state = 0};
  socklen_t size = sizeof info;
  return getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_last_ack_recv >= SILENCE_MS &&
         (info.tcpi_retransmits > 0 || info.tcpi_probes > 0);
}

static void look(sfd_tcp_conn_t *conn)
{
  if (is_quiet(conn)) {
    sfd_tcp_unwatch(conn);
    return;
  }
  bool silent = is_silent(conn);
  if (silent && conn->suspect)
    sfd_tcp_stream_fail(conn, ETIMEDOUT);
  conn->suspect = silent;
}

static void on_tick(uv_timer_t *timer)
{
  sfd_tcp_t *tcp = timer->data;
  sfd_tcp_conn_t *next;
  for (sfd_tcp_conn_t *conn = TAILQ_FIRST(&tcp->watched); conn != NULL; conn = next) {
    next = TAILQ_NEXT(conn, watch_entry);
    look(conn);
  }
}

void sfd_tcp_watch(sfd_tcp_conn_t *conn)
{
  sfd_tcp_t *tcp = conn->tcp;
  if (conn->watched)
    return;
  conn->watched = true;
  conn->suspect = false;
  if (TAILQ_EMPTY(&tcp->watched))
    uv_timer_start(&tcp->watch, on_tick, TICK_MS, TICK_MS);
  TAILQ_INSERT_TAIL(&tcp->watched, conn, watch_entry);
}

void sfd_tcp_unwatch(sfd_tcp_conn_t *conn)
{
  sfd_tcp_t *tcp = conn->tcp;
  if (!conn->watched)
    return;
  conn->watched = false;
  TAILQ_REMOVE(&tcp->watched, conn, watch_entry);
  if (TAILQ_EMPTY(&tcp->watched))
    uv_timer_stop(&tcp->watch);
}

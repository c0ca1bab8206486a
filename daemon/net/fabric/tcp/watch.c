/* Detection of silent links, for which the kernel would take a quarter of an hour. The loop's thread. Keep-alive probes
 * each second (conn.c) make a healthy stream hear something each second. A timer looks at all streams once per second.
 * A stream that has heard nothing for a while is suspected: new connections then test the peer's host, ten per second,
 * as the kernel repeats data ever more rarely, perhaps seconds after the link is back. Any answer of the host, also a
 * refusal, is a sign of life and ends the suspicion. Without one the stream is lost SILENCE_MS after the last. If
 * nothing was under way, the link may have been cut up to a second later, at the next probe or send: such a stream has
 * a second more, as a host without link may need a second for ARP. So interruptions of two and a half seconds are
 * survived. If the host answers but the stream does not go on, something on the way has lost its state: the stream ends
 * after STALL_MS; the kernel repeats before that, as its pauses at most double. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/net/fabric/tcp/internal.h"

#define TICK_MS 1000
#define SUSPECT_TICK_MS 100
#define SUSPECT_MS 1400
#define SILENCE_MS 3750
#define UNANSWERED_MS 3600 /* since the first question that may have met a cut link */
#define KEEPALIVE_MS 1000
#define STALL_MS 10000

/* ---- Asking the host ---- */

/* Connects to the peer's listening port, at the address of the stream. */
static int begin_probe(const sfd_tcp_conn_t *conn)
{
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address;
  socklen_t size = sizeof address;
  uint16_t port = htons(conn->tcp->list.peers[conn->node].port);
  if (getpeername(conn->fd, &address.any, &size) != 0)
    return -1;
  if (address.any.sa_family == AF_INET)
    address.v4.sin_port = port;
  else
    address.v6.sin6_port = port;
  int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0 || connect(fd, &address.any, size) == 0 || errno == EINPROGRESS)
    return fd;
  close(fd);
  return -1;
}

static void end_probe(int *fd)
{
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

/* Whether the host has answered. A failed one is closed. */
static bool is_answered(int *fd)
{
  struct pollfd events = {.fd = *fd, .events = POLLOUT};
  int error = 0;
  socklen_t size = sizeof error;
  if (*fd < 0 || poll(&events, 1, 0) != 1)
    return false;
  bool known = getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0;
  end_probe(fd);
  return known && (error == 0 || error == ECONNREFUSED);
}

static void end_probes(sfd_tcp_conn_t *conn)
{
  for (int i = 0; i < SFD_TCP_PROBES; i++)
    end_probe(&conn->probes[i]);
  conn->nprobes = 0;
}

/* Whether a recent test was answered; replaces the oldest by a new one. */
static bool ask_host(sfd_tcp_conn_t *conn)
{
  for (int i = 0; i < SFD_TCP_PROBES; i++)
    if (is_answered(&conn->probes[i]))
      return true;
  int *oldest = &conn->probes[conn->nprobes++ % SFD_TCP_PROBES];
  end_probe(oldest);
  *oldest = begin_probe(conn);
  return false;
}

/* ---- Judging ---- */

/* How long the stream has heard nothing; *asked_p: something sent has no answer. Records whether anything is under way.
 * */
static uint32_t silence_ms(sfd_tcp_conn_t *conn, bool *asked_p)
{
  struct tcp_info info = {.tcpi_state = 0};
  socklen_t size = sizeof info;
  if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return 0;
  *asked_p = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
  conn->quiet = conn->npieces == 0 && info.tcpi_unacked == 0;
  return info.tcpi_last_ack_recv < info.tcpi_last_data_recv ? info.tcpi_last_ack_recv : info.tcpi_last_data_recv;
}

/* The host has been heard of again. By the kernel's clock and the loop's the same sign of life may seem a little later
 * at another look: that is nothing to tell. */
static void tell_silence(const sfd_tcp_conn_t *conn, uint64_t now_ms)
{
  char name[SFD_TCP_NODE_TEXT_SIZE];
  if (conn->nprobes == 0 || now_ms < conn->heard_ms + SUSPECT_MS)
    return;
  sfd_tcp_describe(conn->tcp, conn->node, name);
  sfd_log(SFD_LOG_NETWORK, SFD_INFO, "%s was silent for %.1f s", name, 1e-3 * (double)(now_ms - conn->heard_ms));
}

/* About when the host was first asked something that it has not answered. */
static uint64_t asked_since_ms(const sfd_tcp_conn_t *conn)
{
  if (conn->quiet)
    return conn->heard_ms + KEEPALIVE_MS;
  return conn->sent_ms > conn->heard_ms ? conn->sent_ms : conn->heard_ms;
}

/* Whether the stream is suspected. What was sent a moment ago may just be unanswered: two looks in a row count. */
static bool look(sfd_tcp_conn_t *conn, uint64_t now_ms)
{
  bool asked = false, still = conn->asked;
  uint32_t silent_ms = silence_ms(conn, &asked);
  conn->asked = asked;
  if (now_ms - silent_ms > conn->heard_ms) {
    tell_silence(conn, now_ms - silent_ms);
    conn->heard_ms = now_ms - silent_ms;
  }
  if (now_ms - conn->heard_ms < SUSPECT_MS) {
    end_probes(conn);
    return false;
  }
  if (ask_host(conn)) {
    tell_silence(conn, now_ms);
    conn->heard_ms = now_ms;
  }
  bool silent = now_ms >= conn->heard_ms + SILENCE_MS && now_ms >= asked_since_ms(conn) + UNANSWERED_MS &&
                conn->nprobes > SFD_TCP_PROBES;
  if (asked && still && (silent || silent_ms >= STALL_MS))
    sfd_tcp_stream_fail(conn, ETIMEDOUT);
  return true;
}

static void on_tick(uv_timer_t *timer)
{
  sfd_tcp_t *tcp = timer->data;
  uint64_t now_ms = uv_now(tcp->loop);
  bool suspect = false;
  for (sfd_tcp_conn_t *conn = TAILQ_FIRST(&tcp->watched); conn != NULL; conn = TAILQ_NEXT(conn, watch_entry))
    suspect |= look(conn, now_ms);
  uint64_t period_ms = suspect ? SUSPECT_TICK_MS : TICK_MS;
  if (uv_timer_get_repeat(timer) != period_ms)
    uv_timer_start(timer, on_tick, period_ms, period_ms);
}

void sfd_tcp_watch_sent(sfd_tcp_conn_t *conn)
{
  conn->quiet = false;
  conn->sent_ms = uv_now(conn->tcp->loop);
}

void sfd_tcp_watch(sfd_tcp_conn_t *conn)
{
  sfd_tcp_t *tcp = conn->tcp;
  conn->watched = true;
  conn->heard_ms = uv_now(tcp->loop);
  for (int i = 0; i < SFD_TCP_PROBES; i++)
    conn->probes[i] = -1;
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
  end_probes(conn);
  TAILQ_REMOVE(&tcp->watched, conn, watch_entry);
  if (TAILQ_EMPTY(&tcp->watched))
    uv_timer_stop(&tcp->watch);
}

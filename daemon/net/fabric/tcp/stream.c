/* Stream with a peer: bytes to and from memory of the user. The loop's thread. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/net/fabric/tcp/internal.h"

#define ROUNDS_PER_TURN 16 /* system calls per turn and stream */

/* bytes worth a wake-up */
#define GATHER_MIN (64u << 10)
#define GATHER_MAX (512u << 10)

/* ---- The end ---- */

void sfd_tcp_stream_fail(sfd_tcp_conn_t *conn, int error)
{
  if (conn->error != 0)
    return;
  conn->error = error;
  sfd_tcp_conn_poll(conn);
  sfd_tcp_attend(conn->tcp, conn->node);
}

void sfd_tcp_stream_lost(sfd_tcp_conn_t *conn, sf_status_t status, const char *reason)
{
  const sfd_fabric_t *fabric = &conn->tcp->fabric;
  char detail[SFD_TCP_DETAIL_SIZE], name[SFD_TCP_NODE_TEXT_SIZE];
  sfd_tcp_describe(conn->tcp, conn->node, name);
  snprintf(detail, sizeof detail, "%s %s", name, reason);
  sfd_tcp_conn_drop(conn);
  fabric->events->down(fabric->owner, conn->node, status, detail);
}

/* Aborts the connection, so that the peer hears of it at once even if only its way to this host is cut; otherwise the
 * kernel would first repeat what is not acknowledged. */
static void reset(const sfd_tcp_conn_t *conn)
{
  const struct linger at_once = {.l_onoff = 1};
  (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void lost_errno(sfd_tcp_conn_t *conn, int error)
{
  char reason[128];
  reset(conn);
  if (error == ENOMEM)
    sfd_tcp_stream_lost(conn, SF_ERR_NOMEM, "can't be sent to: no memory");
  else if (error == ETIMEDOUT)
    sfd_tcp_stream_lost(conn, SF_ERR_DAEMON_LOST, "has become silent: the host or the link to it is down");
  else {
    snprintf(reason, sizeof reason, "is lost: %s", strerror(error));
    sfd_tcp_stream_lost(conn, SF_ERR_DAEMON_LOST, reason);
  }
}

/* ---- Sending ---- */

static size_t total(const struct iovec iov[], int niov)
{
  size_t nbytes = 0;
  for (int i = 0; i < niov; i++)
    nbytes += iov[i].iov_len;
  return nbytes;
}

/* Returns the bytes that the kernel took; -1: error. */
static ssize_t transmit(sfd_tcp_conn_t *conn, const struct iovec iov[], int niov)
{
  const struct msghdr message = {.msg_iov = (struct iovec *)iov,
                                 .msg_iovlen = (size_t)(niov < IOV_MAX ? niov : IOV_MAX)};
  ssize_t n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
  if (n >= 0) {
    if (conn->quiet)
      sfd_tcp_watch_sent(conn);
    return n;
  }
  if (errno == EAGAIN || errno == EINTR)
    return 0;
  sfd_tcp_stream_fail(conn, errno);
  return -1;
}

/* Skips what has been sent. */
static void advance(sfd_tcp_conn_t *conn, size_t nbytes)
{
  while (conn->npieces > 0) {
    struct iovec *piece = &conn->pieces[conn->first_piece];
    if (nbytes < piece->iov_len) {
      piece->iov_base = (uint8_t *)piece->iov_base + nbytes;
      piece->iov_len -= nbytes;
      return;
    }
    nbytes -= piece->iov_len;
    conn->first_piece++;
    conn->npieces--;
  }
}

/* Keeps what the kernel did not take. */
static void keep(sfd_tcp_conn_t *conn, const struct iovec iov[], int niov, size_t nsent)
{
  if (niov > conn->capacity) {
    struct iovec *grown = reallocarray(conn->pieces, (size_t)niov, sizeof *grown);
    if (grown == NULL) {
      sfd_tcp_stream_fail(conn, ENOMEM);
      return;
    }
    conn->pieces = grown;
    conn->capacity = niov;
  }
  memcpy(conn->pieces, iov, (size_t)niov * sizeof *iov);
  conn->first_piece = 0;
  conn->npieces = niov;
  advance(conn, nsent);
  sfd_tcp_conn_poll(conn);
}

void sfd_tcp_stream_send(sfd_tcp_conn_t *conn, const struct iovec iov[], int niov)
{
  conn->sending = true;
  if (conn->error != 0)
    return;
  size_t nbytes = total(iov, niov);
  ssize_t n = nbytes > 0 ? transmit(conn, iov, niov) : 0;
  if (n < 0)
    return;
  if ((size_t)n < nbytes) {
    keep(conn, iov, niov, (size_t)n);
    return;
  }
  conn->sent_due = true;
  sfd_tcp_attend(conn->tcp, conn->node);
}

static void report_sent(sfd_tcp_conn_t *conn)
{
  const sfd_fabric_t *fabric = &conn->tcp->fabric;
  conn->sent_due = false;
  conn->sending = false;
  fabric->events->sent(fabric->owner, conn->node);
}

/* A partial write means that the kernel's buffer is full. */
static void writable(sfd_tcp_conn_t *conn)
{
  for (int round = 0; round < ROUNDS_PER_TURN && conn->npieces > 0; round++) {
    const struct iovec *pieces = &conn->pieces[conn->first_piece];
    size_t offered = total(pieces, conn->npieces < IOV_MAX ? conn->npieces : IOV_MAX);
    ssize_t n = transmit(conn, pieces, conn->npieces);
    if (n < 0)
      return;
    advance(conn, (size_t)n);
    if ((size_t)n < offered)
      return;
  }
  if (conn->npieces == 0)
    report_sent(conn);
}

/* ---- Receiving ---- */

static void ended(sfd_tcp_conn_t *conn, ssize_t n)
{
  if (n == 0)
    sfd_tcp_stream_lost(conn, SF_ERR_DAEMON_LOST, "has closed the connection");
  else if (errno != EAGAIN && errno != EINTR)
    lost_errno(conn, errno);
}

/* Bytes that the kernel gathers before it wakes the loop: a wake-up costs a context switch, perhaps on the core of a
 * rank that computes, and on slow links comes every few KiB. The kernel reports earlier if its buffer is full, or at
 * the end. As bytes are copied while more arrive, and only the copy of the last part adds latency, each part is half of
 * the rest. */
static size_t patience_for(size_t due)
{
  size_t half = due / 2;
  if (half < GATHER_MIN)
    return due;
  return half < GATHER_MAX ? half : GATHER_MAX;
}

static void gather(sfd_tcp_conn_t *conn)
{
  const sfd_fabric_t *fabric = &conn->tcp->fabric;
  size_t due = fabric->events->due != NULL ? fabric->events->due(fabric->owner, conn->node) : 0;
  size_t patience = patience_for(due);
  if (patience == conn->patience)
    return;
  int least = patience > 0 ? (int)patience : 1;
  conn->patience = patience;
  setsockopt(conn->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

/* A partial read has emptied the kernel's buffer. */
static void receive(sfd_tcp_conn_t *conn)
{
  const sfd_fabric_t *fabric = &conn->tcp->fabric;
  for (int round = 0; round < ROUNDS_PER_TURN; round++) {
    void *buffer = NULL;
    size_t size = fabric->events->want(fabric->owner, conn->node, &buffer);
    if (conn->state != SFD_TCP_UP || conn->error != 0)
      return;
    if (buffer == NULL) {
      conn->refused = true;
      return;
    }
    ssize_t n = recv(conn->fd, buffer, size, 0);
    if (n <= 0) {
      ended(conn, n);
      return;
    }
    fabric->events->got(fabric->owner, conn->node, (size_t)n);
    if (conn->state != SFD_TCP_UP || conn->error != 0 || (size_t)n < size)
      return;
  }
}

static void readable(sfd_tcp_conn_t *conn)
{
  receive(conn);
  if (conn->state == SFD_TCP_UP && conn->error == 0 && !conn->refused)
    gather(conn);
}

/* ---- From the loop ---- */

void sfd_tcp_stream_ready(sfd_tcp_conn_t *conn, int events)
{
  if ((events & UV_WRITABLE) && conn->npieces > 0)
    writable(conn);
  if ((events & UV_READABLE) && !conn->refused && conn->state == SFD_TCP_UP && conn->error == 0)
    readable(conn);
}

void sfd_tcp_stream_settle(sfd_tcp_conn_t *conn)
{
  if (conn->error != 0)
    lost_errno(conn, conn->error);
  else if (conn->sent_due)
    report_sent(conn);
}

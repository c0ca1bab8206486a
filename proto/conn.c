/* Control connections: see conn.h. Reader and writer fail separately: after a refused frame an Error can still be sent,
 * and after the other end has closed its messages can still be read. One thread at a time. */
#include "proto/conn.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/reader.h"
#include "proto/writer.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"

#define CROWDED_LIMIT_MS 10000

struct sfproto_conn {
  int fd;
  sfproto_reader_t reader;
  sfproto_writer_t writer;
};

static const sfproto_closer_t *closer; /* NULL: close(2) */

void sfproto_close_by(const sfproto_closer_t *other)
{
  closer = other;
}

void sfproto_close_received(int fd)
{
  if (closer != NULL)
    closer->received(fd);
  else
    close(fd);
}

sf_status_t sfproto_conn_create(int fd, sfproto_conn_t **conn_p)
{
  sfproto_conn_t *conn = calloc(1, sizeof *conn);
  if (conn == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a control connection");
  conn->fd = fd;
  *conn_p = conn;
  return SF_OK;
}

void sfproto_conn_destroy(sfproto_conn_t *conn)
{
  if (conn == NULL)
    return;
  sfproto_reader_release(&conn->reader);
  sfproto_writer_release(&conn->writer);
  if (closer != NULL)
    closer->connection(conn->fd);
  else
    close(conn->fd);
  free(conn);
}

int sfproto_conn_fd(const sfproto_conn_t *conn)
{
  return conn->fd;
}

void sfproto_conn_look_first(sfproto_conn_t *conn, bool look_first)
{
  conn->reader.look_first = look_first;
}

void sfproto_conn_limit_fds(sfproto_conn_t *conn, int max_fds)
{
  conn->reader.max_fds = max_fds;
}

sf_status_t sfproto_conn_queue(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds)
{
  return sfproto_writer_queue(&conn->writer, message, fds, nfds);
}

sf_status_t sfproto_conn_flush(sfproto_conn_t *conn)
{
  return sfproto_writer_flush(&conn->writer, conn->fd);
}

size_t sfproto_conn_queued_bytes(const sfproto_conn_t *conn)
{
  return conn->writer.queued_bytes;
}

int64_t sfproto_conn_queued_fds(const sfproto_conn_t *conn)
{
  return conn->writer.queued_fds;
}

bool sfproto_conn_crowded(const sfproto_conn_t *conn)
{
  return conn->writer.crowded;
}

sf_status_t sfproto_conn_read(sfproto_conn_t *conn)
{
  return sfproto_reader_read(&conn->reader, conn->fd, false);
}

bool sfproto_conn_next(sfproto_conn_t *conn, sfproto_incoming_t *incoming)
{
  return sfproto_reader_next(&conn->reader, incoming);
}

void sfproto_incoming_free(sfproto_incoming_t *incoming)
{
  if (incoming->message != NULL)
    sfproto__message__free_unpacked(incoming->message, NULL);
  for (int i = 0; i < incoming->nfds; i++)
    if (incoming->fds[i] >= 0)
      sfproto_close_received(incoming->fds[i]);
  incoming->message = NULL;
  incoming->nfds = 0;
}

/* ---- Blocking forms ---- */

/* Waits until deadline_ms at most; INT64_MAX: no limit. SF_OK also after a signal or the deadline. */
static sf_status_t wait_for(int fd, short events, int64_t deadline_ms)
{
  int timeout = -1;
  if (deadline_ms != INT64_MAX) {
    int64_t left = deadline_ms - sfshm_now_ms();
    timeout = left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
  }
  struct pollfd pollfd = {.fd = fd, .events = events};
  if (poll(&pollfd, 1, timeout) < 0 && errno != EINTR)
    return sfshm_error_errno(SF_ERR_SYS, "cannot wait for the control connection");
  return SF_OK;
}

/* Waits until flushing can succeed. */
static sf_status_t wait_to_flush(const sfproto_conn_t *conn, int64_t crowded_until_ms)
{
  if (!sfproto_conn_crowded(conn))
    return wait_for(conn->fd, POLLOUT, INT64_MAX);
  if (sfshm_now_ms() >= crowded_until_ms)
    return sfshm_error(SF_ERR_LIMIT, "too many descriptors of this user are under way in sockets (limit: ulimit -n)");
  poll(NULL, 0, SFPROTO_CROWDED_MS);
  return SF_OK;
}

static sf_status_t flush_all(sfproto_conn_t *conn)
{
  int64_t crowded_until_ms = sfshm_now_ms() + CROWDED_LIMIT_MS;
  for (;;) {
    sf_status_t status = sfproto_conn_flush(conn);
    if (status != SF_OK || sfproto_conn_queued_bytes(conn) == 0)
      return status;
    status = wait_to_flush(conn, crowded_until_ms);
    if (status != SF_OK)
      return status;
  }
}

/* An unsent message must not be sent after its sender was told that it failed, so it is withdrawn. A partly sent
 * message is completed before the next one. */
sf_status_t sfproto_conn_send(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds)
{
  sf_status_t status = sfproto_conn_queue(conn, message, fds, nfds);
  if (status != SF_OK)
    return status;
  status = flush_all(conn);
  if (status != SF_OK)
    sfproto_writer_withdraw(&conn->writer);
  return status;
}

sf_status_t sfproto_conn_receive(sfproto_conn_t *conn, int64_t timeout_ms, sfproto_incoming_t *incoming)
{
  int64_t start_ms = sfshm_now_ms();
  int64_t deadline_ms = timeout_ms < 0 || timeout_ms > INT64_MAX - start_ms ? INT64_MAX : start_ms + timeout_ms;
  for (;;) {
    if (sfproto_conn_next(conn, incoming))
      return SF_OK;
    sf_status_t status = sfproto_reader_read(&conn->reader, conn->fd, timeout_ms < 0);
    if (sfproto_conn_next(conn, incoming))
      return SF_OK;
    if (status != SF_OK)
      return status;
    if (sfshm_now_ms() >= deadline_ms)
      return sfshm_error(SF_ERR_TIMEOUT, "no message came within %lld ms", (long long)timeout_ms);
    status = wait_for(conn->fd, POLLIN, deadline_ms);
    if (status != SF_OK)
      return status;
  }
}

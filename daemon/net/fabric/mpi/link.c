/* Link of a stream: the TCP connection, and records on it. The progress thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"

sfd_mpi_link_t *sfd_mpi_link_new(void)
{
  sfd_mpi_link_t *link = calloc(1, sizeof *link);
  if (link == NULL)
    return NULL;
  link->up = (sfd_mpi_event_t){.kind = SFD_MPI_UP, .of = link};
  link->down = (sfd_mpi_event_t){.kind = SFD_MPI_DOWN, .of = link};
  link->fd = link->watch_fd = -1;
  return link;
}

void sfd_mpi_link_add(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  link->of_progress = true;
  link->next = mpi->links;
  mpi->links = link;
}

/* The loop's thread may have a duplicate of the descriptor, so that closing this one ends nothing. */
void sfd_mpi_link_close(const sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  if (link->fd >= 0) {
    epoll_ctl(mpi->epoll_fd, EPOLL_CTL_DEL, link->fd, NULL);
    shutdown(link->fd, SHUT_RDWR);
    close(link->fd);
  }
  link->fd = -1;
}

void sfd_mpi_link_release(sfd_mpi_link_t *link, bool *of_whom)
{
  *of_whom = false;
  if (link->of_loop || link->of_progress)
    return;
  if (link->watch_fd >= 0)
    close(link->watch_fd);
  free(link);
}

void sfd_mpi_link_remove(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  sfd_mpi_link_close(mpi, link);
  sfd_mpi_link_t **place = &mpi->links;
  while (*place != link)
    place = &(*place)->next;
  *place = link->next;
  pthread_mutex_lock(&mpi->lock);
  sfd_mpi_link_release(link, &link->of_progress);
  pthread_mutex_unlock(&mpi->lock);
}

bool sfd_mpi_link_watch(sfd_mpi_t *mpi, sfd_mpi_link_t *link, bool connecting)
{
  struct epoll_event event = {.events = connecting ? EPOLLOUT : EPOLLIN, .data.ptr = link};
  return epoll_ctl(mpi->epoll_fd, EPOLL_CTL_ADD, link->fd, &event) == 0 ||
         (errno == EEXIST && epoll_ctl(mpi->epoll_fd, EPOLL_CTL_MOD, link->fd, &event) == 0);
}

bool sfd_mpi_link_write(sfd_mpi_link_t *link, const void *bytes, size_t len)
{
  return link->fd >= 0 && send(link->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

void sfd_mpi_say(sfd_mpi_link_t *link, sfd_mpi_record_kind_t kind, uint64_t count, uint64_t taken)
{
  sfd_mpi_record_t record = {.kind = kind, .count = count, .taken = taken};
  if (link->fd >= 0 && !sfd_mpi_link_write(link, &record, sizeof record))
    shutdown(link->fd, SHUT_RDWR); /* read as the end */
}

/* ---- What the peer says ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static void hear_taken(sfd_mpi_t *mpi, sfd_mpi_link_t *link, uint64_t taken)
{
  sfd_mpi_peer_t *peer = link->peer;
  peer->acked = larger(peer->acked, taken < peer->posted ? taken : peer->posted);
  if (peer->link == link)
    sfd_mpi_post(mpi, peer);
}

static void hear_sleep(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_record_t *record)
{
  sfd_mpi_peer_t *peer = link->peer;
  link->peer_sleeps = true;
  hear_taken(mpi, link, record->taken); /* may send and wake */
  if (link->state == SFD_MPI_OPEN && link->peer_sleeps && record->count < peer->posted) {
    link->peer_sleeps = false;
    sfd_mpi_say(link, SFD_MPI_WAKE, peer->posted, 0);
  }
}

static void hear_bye(sfd_mpi_t *mpi, sfd_mpi_link_t *link, uint64_t count)
{
  link->bye = true;
  link->last = count;
  link->peer->told = larger(link->peer->told, count);
  sfd_mpi_stream_fail(mpi, link, SF_ERR_DAEMON_LOST, "it has ended the connection");
  sfd_mpi_stream_check(mpi, link->peer);
}

/* False: not understood. */
static bool hear(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_record_t *record)
{
  switch (record->kind) {
  case SFD_MPI_READY:
    link->ready = true;
    sfd_mpi_post(mpi, link->peer);
    return true;
  case SFD_MPI_SLEEP:
    hear_sleep(mpi, link, record);
    return true;
  case SFD_MPI_WAKE:
    link->told_sleep = false;
    link->peer->told = larger(link->peer->told, record->count);
    return true;
  case SFD_MPI_TAKEN:
    hear_taken(mpi, link, record->taken);
    return true;
  case SFD_MPI_BYE:
    hear_bye(mpi, link, record->count);
    return true;
  default:
    return false;
  }
}

static void lost(sfd_mpi_t *mpi, sfd_mpi_link_t *link, sf_status_t status, const char *why)
{
  if (link->state == SFD_MPI_GUEST || link->state == SFD_MPI_WAITING) {
    if (link->peer != NULL)
      link->peer->waiting = NULL;
    sfd_mpi_link_remove(mpi, link);
    return;
  }
  if (link->state == SFD_MPI_GREETING) {
    snprintf(link->detail, sizeof link->detail, "%s", why);
    sfd_mpi_connect_next(mpi, link);
    return;
  }
  link->ended = true;
  if (link->bye && !link->shut)
    epoll_ctl(mpi->epoll_fd, EPOLL_CTL_DEL, link->fd, NULL); /* this direction still has to be ended */
  else
    sfd_mpi_link_close(mpi, link);
  sfd_mpi_stream_fail(mpi, link, status, "%s", why);
}

/* Handles one whole hello or record: returns its length; 0: incomplete; -1: the link is gone or must be closed. */
static int consume(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const uint8_t *bytes, size_t len)
{
  if (link->state == SFD_MPI_GUEST || link->state == SFD_MPI_GREETING) {
    sfd_mpi_hello_t hello;
    if (len < sizeof hello)
      return 0;
    memcpy(&hello, bytes, sizeof hello);
    return sfd_mpi_greeted(mpi, link, &hello) ? (int)sizeof hello : -1;
  }
  sfd_mpi_record_t record;
  if (len < sizeof record || link->state == SFD_MPI_WAITING)
    return 0;
  memcpy(&record, bytes, sizeof record);
  if (hear(mpi, link, &record))
    return (int)sizeof record;
  lost(mpi, link, SF_ERR_PROTO, "malformed record");
  return -1;
}

static void consume_all(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  size_t done = 0;
  for (;;) {
    int n = consume(mpi, link, link->in + done, link->nin - done);
    if (n < 0)
      return;
    if (n == 0)
      break;
    done += (size_t)n;
  }
  memmove(link->in, link->in + done, link->nin - done);
  link->nin -= done;
}

void sfd_mpi_link_event(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  if (link->state == SFD_MPI_CONNECTING) {
    sfd_mpi_connected(mpi, link);
    return;
  }
  ssize_t n = recv(link->fd, link->in + link->nin, sizeof link->in - link->nin, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0) {
    lost(mpi, link, SF_ERR_DAEMON_LOST, n == 0 ? "the connection has ended" : strerror(errno));
    return;
  }
  link->nin += (size_t)n;
  consume_all(mpi, link);
}

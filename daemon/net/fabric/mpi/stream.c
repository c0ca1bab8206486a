/* Begin and end of streams. The progress thread. At the end both sides tell how many messages they sent, and receive
 * until they have all: otherwise the sends, from memory of the user, would not complete. None of this waits for the
 * user, so ending a stream may wait for it. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "daemon/net/fabric/mpi/internal.h"

void sfd_mpi_stream_open(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  sfd_mpi_peer_t *peer = link->peer;
  peer->link = link;
  link->state = SFD_MPI_OPEN;
  link->deadline = 0;
  mpi->last_ns = mpi->now_ns; /* messages will come */
  link->watch_fd = fcntl(link->fd, F_DUPFD_CLOEXEC, 0);
  pthread_mutex_lock(&mpi->lock);
  link->of_loop = true;
  sfd_mpi_append(peer, &link->up);
  sfd_mpi_notify(mpi, peer);
  pthread_mutex_unlock(&mpi->lock);
}

static void begin_end(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  pthread_mutex_lock(&mpi->lock);
  link->quits = !link->ended;
  pthread_mutex_unlock(&mpi->lock);
  link->state = SFD_MPI_ENDING;
  link->deadline = mpi->now_ns + SFD_MPI_END_NS;
  link->peer->sending = false;
  mpi->last_ns = mpi->now_ns;
  sfd_mpi_say(link, SFD_MPI_BYE, link->peer->posted, 0);
}

/* No memory of the user is in use. */
static void finish(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  sfd_mpi_link_t *link = peer->link;
  peer->link = NULL;
  peer->acked = peer->posted; /* messages that the peer did not take are dropped */
  link->over = true;
  pthread_mutex_lock(&mpi->lock);
  if (!link->silent) {
    link->of_loop = true;
    sfd_mpi_append(peer, &link->down);
    sfd_mpi_notify(mpi, peer);
  } else if (link->of_loop) {
    sfd_mpi_link_release(link, &link->of_loop);
  }
  pthread_mutex_unlock(&mpi->lock);
}

/* Ends an attempt to connect. */
static void end_attempt(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  finish(mpi, link->peer);
  sfd_mpi_link_remove(mpi, link);
}

static bool is_attempt(const sfd_mpi_link_t *link)
{
  return link->state == SFD_MPI_CONNECTING || link->state == SFD_MPI_GREETING;
}

void sfd_mpi_stream_quit(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  link->silent = true;
  if (is_attempt(link))
    end_attempt(mpi, link);
  else if (link->state == SFD_MPI_OPEN)
    begin_end(mpi, link);
}

void sfd_mpi_stream_fail(sfd_mpi_t *mpi, sfd_mpi_link_t *link, sf_status_t status, const char *format, ...)
{
  sfd_mpi_peer_t *peer = link->peer;
  char node[160], text[sizeof link->detail - sizeof node - 2];
  va_list args;
  if (link->state == SFD_MPI_ENDING)
    return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sfd_mpi_describe(&mpi->fabric, peer->node, node, sizeof node);
  snprintf(link->detail, sizeof link->detail, "%s: %s", node, text);
  link->status = status;
  if (is_attempt(link)) {
    end_attempt(mpi, link);
    return;
  }
  sfd_mpi_cut(mpi, peer, false);
  begin_end(mpi, link);
  sfd_mpi_stream_check(mpi, peer);
}

/* Whether all messages for the user are in the queue of events. */
static bool has_all(const sfd_mpi_peer_t *peer, const sfd_mpi_link_t *link)
{
  return link->silent || link->cut || !link->bye || peer->matched >= link->last;
}

static void check_over(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  sfd_mpi_link_t *link = peer->link;
  bool late = mpi->now_ns > link->deadline;
  bool used = peer->nrequests > 0 || peer->ndirect > 0;
  if (!used && (late || has_all(peer, link))) {
    finish(mpi, peer);
  } else if (used && late) {
    char node[160];
    sfd_mpi_describe(&mpi->fabric, peer->node, node, sizeof node);
    fprintf(stderr, "sfd: %s hangs: MPI has not ended a transfer for %u s after the end of its stream\n", node,
            (unsigned)(SFD_MPI_END_NS / 1000000000u));
    MPI_Abort(mpi->comm, 1); /* MPI may still write to the user's memory */
  }
}

void sfd_mpi_stream_check(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (peer->link != NULL && peer->link->state == SFD_MPI_ENDING)
    check_over(mpi, peer);
  if (peer->link != NULL)
    return;
  if (peer->quitting) {
    peer->quitting = false;
    pthread_mutex_lock(&mpi->lock);
    peer->disconnect = false;
    pthread_cond_broadcast(&mpi->obeyed);
    pthread_mutex_unlock(&mpi->lock);
  }
  sfd_mpi_link_t *waiting = peer->waiting;
  if (waiting == NULL)
    return;
  peer->waiting = NULL;
  if (sfd_mpi_welcome(mpi, waiting))
    sfd_mpi_stream_open(mpi, waiting);
  else
    sfd_mpi_link_remove(mpi, waiting);
}

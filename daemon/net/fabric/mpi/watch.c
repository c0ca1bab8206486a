/* Watch for ends of links, while MPI may block the progress thread. The loop's thread. A second descriptor of the
 * link's socket is watched from up to the end of the stream. An end counts if neither side has sent BYE: the peer ends
 * its direction only after it has read this side's (progress.c). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"

static void on_closed(uv_handle_t *handle)
{
  sfd_mpi_watch_t *watch = handle->data;
  close(watch->fd);
  free(watch);
}

/* Errors come as status. Called once. */
static void on_end(uv_poll_t *poll, int status, int events)
{
  const sfd_mpi_watch_t *watch = poll->data;
  sfd_mpi_t *mpi = watch->mpi;
  const sfd_mpi_link_t *link = watch->peer->current;
  char node[160], detail[320];
  (void)status;
  (void)events;
  uv_poll_stop(poll);
  pthread_mutex_lock(&mpi->lock);
  bool expected = link->quits;
  pthread_mutex_unlock(&mpi->lock);
  if (expected || mpi->fabric.events->failing == NULL)
    return;
  sfd_mpi_describe(&mpi->fabric, watch->peer->node, node, sizeof node);
  snprintf(detail, sizeof detail, "%s: the connection has ended", node);
  mpi->fabric.events->failing(mpi->fabric.owner, watch->peer->node, detail);
}

void sfd_mpi_watch(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  int fd = peer->current->watch_fd;
  peer->current->watch_fd = -1;
  if (fd < 0)
    return;
  sfd_mpi_watch_t *watch = calloc(1, sizeof *watch);
  if (watch == NULL || uv_poll_init(mpi->async.loop, &watch->poll, fd) != 0) {
    free(watch);
    close(fd);
    return;
  }
  watch->poll.data = watch;
  watch->mpi = mpi;
  watch->peer = peer;
  watch->fd = fd;
  peer->watch = watch;
  uv_poll_start(&watch->poll, UV_DISCONNECT, on_end);
}

void sfd_mpi_unwatch(sfd_mpi_peer_t *peer)
{
  if (peer->watch != NULL)
    uv_close((uv_handle_t *)&peer->watch->poll, on_closed);
  peer->watch = NULL;
}

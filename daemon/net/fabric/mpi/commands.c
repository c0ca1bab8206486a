/* Commands and notices between the two threads: lists of peers under one lock. Both threads; the progress thread
 * executes commands. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"

#define UNUSED_MAX (2 * SFD_MPI_WINDOW) /* kept for reuse */

void sfd_mpi_command(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (peer != NULL && !peer->commanded) {
    peer->commanded = true;
    peer->next_command = mpi->commands;
    mpi->commands = peer;
  }
  atomic_store(&mpi->commanded, true);
  sfd_mpi_wake(mpi);
}

void sfd_mpi_notify(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (peer != NULL && !peer->noticed) {
    peer->noticed = true;
    peer->next_notice = NULL;
    *mpi->notices_end = peer;
    mpi->notices_end = &peer->next_notice;
  }
  uv_async_send(&mpi->async);
}

void sfd_mpi_append(sfd_mpi_peer_t *peer, sfd_mpi_event_t *event)
{
  event->next = NULL;
  *peer->events_end = event;
  peer->events_end = &event->next;
}

sfd_mpi_item_t *sfd_mpi_item_new(sfd_mpi_t *mpi)
{
  pthread_mutex_lock(&mpi->lock);
  sfd_mpi_item_t *item = mpi->unused;
  if (item != NULL) {
    mpi->unused = item->next;
    mpi->nunused--;
  }
  pthread_mutex_unlock(&mpi->lock);
  if (item == NULL)
    item = malloc(sizeof *item);
  if (item == NULL)
    return NULL;
  item->event = (sfd_mpi_event_t){.kind = SFD_MPI_DATA, .of = item};
  item->direct = false;
  item->dropped = false;
  item->bounce = NULL;
  return item;
}

void sfd_mpi_item_free(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  free(item->bounce);
  item->bounce = NULL;
  if (mpi->nunused >= UNUSED_MAX) {
    free(item);
    return;
  }
  item->next = mpi->unused;
  mpi->unused = item;
  mpi->nunused++;
}

/* Commands about one peer. */
typedef struct asked {
  sfd_mpi_link_t *connect, *send, *fail;
  sfd_mpi_item_t *placed;
  bool disconnect, close;
} asked_t;

static sfd_mpi_item_t *placed_item(const sfd_mpi_peer_t *peer)
{
  const sfd_mpi_event_t *event = peer->events;
  if (event == NULL || event->kind != SFD_MPI_DATA)
    return NULL;
  sfd_mpi_item_t *item = event->of;
  return item->state == SFD_MPI_PLACED ? item : NULL;
}

static sfd_mpi_peer_t *take_commands(sfd_mpi_t *mpi, asked_t *asked)
{
  pthread_mutex_lock(&mpi->lock);
  sfd_mpi_peer_t *peer = mpi->commands;
  *asked = (asked_t){.close = mpi->close};
  if (peer != NULL) {
    mpi->commands = peer->next_command;
    peer->commanded = false;
    asked->connect = peer->connect;
    asked->send = peer->send;
    asked->fail = peer->fail;
    asked->disconnect = peer->disconnect;
    peer->connect = peer->send = peer->fail = NULL;
    asked->placed = placed_item(peer);
    if (asked->placed != NULL && !asked->disconnect)
      asked->placed->state = SFD_MPI_RECEIVING;
  }
  pthread_mutex_unlock(&mpi->lock);
  return peer;
}

/* Drops undelivered events. */
static void purge(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  sfd_mpi_cut(mpi, peer, true);
  pthread_mutex_lock(&mpi->lock);
  while (peer->events != NULL) {
    sfd_mpi_event_t *event = peer->events;
    sfd_mpi_link_t *link = event->of;
    peer->events = event->next;
    if (event->kind == SFD_MPI_DOWN)
      sfd_mpi_link_release(link, &link->of_loop);
  }
  peer->events_end = &peer->events;
  peer->sent = NULL;
  pthread_mutex_unlock(&mpi->lock);
}

/* The user disconnects the peer. */
static void quit(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  purge(mpi, peer);
  if (peer->link != NULL)
    sfd_mpi_stream_quit(mpi, peer->link);
  sfd_mpi_stream_check(mpi, peer);
}

static void begin_connect(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, sfd_mpi_link_t *link)
{
  if (peer->link != NULL || mpi->ending) { /* the peer was faster: up is on its way */
    free(link);
    return;
  }
  link->peer = peer;
  peer->link = link;
  sfd_mpi_link_add(mpi, link);
  sfd_mpi_connect_next(mpi, link);
}

static void obey_peer(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, const asked_t *asked)
{
  if (asked->disconnect) {
    free(asked->connect);
    peer->quitting = true;
    quit(mpi, peer);
    return;
  }
  if (asked->connect != NULL)
    begin_connect(mpi, peer, asked->connect);
  if (asked->placed != NULL)
    sfd_mpi_receive(mpi, asked->placed);
  if (peer->link != NULL && peer->link->state == SFD_MPI_OPEN &&
      atomic_load(&peer->taken) - peer->told_taken >= SFD_MPI_WINDOW / 2)
    sfd_mpi_say_taken(peer); /* half of the peer's window is used */
  if (asked->fail != NULL && asked->fail == peer->link)
    sfd_mpi_stream_fail(mpi, peer->link, SF_ERR_NOMEM, "no memory for the next message");
  if (asked->send != NULL && asked->send == peer->link && peer->link->state == SFD_MPI_OPEN) {
    peer->sending = true;
    peer->next_outgoing = 0;
    sfd_mpi_post(mpi, peer);
  }
}

static void begin_close(sfd_mpi_t *mpi)
{
  mpi->ending = true;
  close(mpi->listen_fd);
  mpi->listen_fd = -1;
  for (sfd_mpi_link_t *next, *link = mpi->links; link != NULL; link = next) {
    next = link->next;
    if (link->state != SFD_MPI_GUEST && link->state != SFD_MPI_WAITING)
      continue;
    if (link->peer != NULL)
      link->peer->waiting = NULL;
    sfd_mpi_link_remove(mpi, link);
  }
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++)
    quit(mpi, &mpi->peers[node]);
}

bool sfd_mpi_obey(sfd_mpi_t *mpi)
{
  asked_t asked;
  if (!atomic_load_explicit(&mpi->commanded, memory_order_relaxed))
    return false;
  atomic_store(&mpi->commanded, false); /* before reading the lists, which are under the lock */
  for (;;) {
    sfd_mpi_peer_t *peer = take_commands(mpi, &asked);
    if (peer == NULL)
      break;
    obey_peer(mpi, peer, &asked);
  }
  if (asked.close && !mpi->ending)
    begin_close(mpi);
  return true;
}

/* Delivery of the user's events from the peers' queues. The loop's thread. In each call the user may end the stream. */
#include <stdlib.h>
#include <string.h>

#include "daemon/net/fabric/mpi/internal.h"

/* limit per turn: the contents of one window */
#define EVENTS_AT_ONCE (2 * SFD_MPI_WINDOW)

static void lock(sfd_mpi_t *mpi)
{
  pthread_mutex_lock(&mpi->lock);
}

static void unlock(sfd_mpi_t *mpi)
{
  pthread_mutex_unlock(&mpi->lock);
}

/* Whether the user still has and reads this stream. */
static bool is_read(const sfd_mpi_t *mpi, const sfd_mpi_peer_t *peer, const sfd_mpi_link_t *link)
{
  return !mpi->closing && !peer->refused && peer->current == link && link != NULL;
}

/* Asks the user for memory; 0: stop. */
static size_t ask(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, void **buffer_p)
{
  const sfd_mpi_link_t *link = peer->current;
  if (!is_read(mpi, peer, link))
    return 0;
  size_t room = mpi->fabric.events->want(mpi->fabric.owner, peer->node, buffer_p);
  if (!is_read(mpi, peer, link))
    return 0;
  if (*buffer_p != NULL && room > 0)
    return room;
  peer->refused = true;
  return 0;
}

static void fail(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  lock(mpi);
  peer->fail = peer->current;
  sfd_mpi_command(mpi, peer);
  unlock(mpi);
}

/* Copies bytes of the fabric's memory to the user. */
static void feed(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, const uint8_t *bytes, size_t len)
{
  const sfd_mpi_link_t *link = peer->current;
  while (len > 0 && is_read(mpi, peer, link)) {
    void *buffer = NULL;
    size_t room = ask(mpi, peer, &buffer);
    if (room == 0)
      return;
    size_t n = room < len ? room : len;
    memcpy(buffer, bytes, n);
    bytes += n;
    len -= n;
    mpi->fabric.events->got(mpi->fabric.owner, peer->node, n);
  }
}

static void deliver_data(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, sfd_mpi_item_t *item)
{
  if (!item->direct)
    feed(mpi, peer, item->buffer, item->len);
  else if (is_read(mpi, peer, peer->current))
    mpi->fabric.events->got(mpi->fabric.owner, peer->node, item->len);
  lock(mpi);
  sfd_mpi_item_free(mpi, item);
  atomic_fetch_add(&peer->taken, 1);
  peer->taken_unsaid++;
  if (mpi->asleep || peer->taken_unsaid >= SFD_MPI_WINDOW / 2) {
    peer->taken_unsaid = 0;
    sfd_mpi_command(mpi, peer);
  }
  unlock(mpi);
}

/* Memory for a large message: the user's if it takes all of it, else a bounce buffer. */
static void place(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, sfd_mpi_item_t *item, size_t len)
{
  void *buffer = NULL, *bounce = NULL;
  size_t room = ask(mpi, peer, &buffer);
  if (room == 0)
    return;
  if (room < len)
    buffer = bounce = malloc(len);
  if (buffer == NULL) {
    fail(mpi, peer);
    return;
  }
  lock(mpi);
  if (peer->events == &item->event && item->state == SFD_MPI_ASKED) { /* else the stream has ended */
    item->direct = bounce == NULL;
    item->buffer = buffer;
    item->bounce = bounce;
    item->state = SFD_MPI_PLACED;
    bounce = NULL;
    sfd_mpi_command(mpi, peer);
  }
  unlock(mpi);
  free(bounce);
}

static void deliver_up(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, sfd_mpi_link_t *link)
{
  peer->current = link;
  peer->refused = false;
  sfd_mpi_watch(mpi, peer);
  mpi->fabric.events->up(mpi->fabric.owner, peer->node);
}

static void deliver_down(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, sfd_mpi_link_t *link)
{
  peer->current = NULL;
  peer->refused = false;
  sfd_mpi_unwatch(peer);
  mpi->fabric.events->down(mpi->fabric.owner, peer->node, link->status, link->detail);
  lock(mpi);
  peer->send = peer->fail = NULL; /* the next link may have this address */
  sfd_mpi_link_release(link, &link->of_loop);
  unlock(mpi);
}

/* The next event to deliver. Under the lock. */
static sfd_mpi_event_t *take_event(sfd_mpi_peer_t *peer)
{
  sfd_mpi_event_t *event = peer->events;
  if (event == NULL || (event->kind == SFD_MPI_DATA && ((sfd_mpi_item_t *)event->of)->state != SFD_MPI_DONE))
    return NULL;
  peer->events = event->next;
  if (peer->events == NULL)
    peer->events_end = &peer->events;
  return event;
}

/* The first message of the queue if it has no memory yet. Under the lock. */
static sfd_mpi_item_t *unplaced_item(sfd_mpi_peer_t *peer, size_t *len_p)
{
  sfd_mpi_event_t *event = peer->events;
  if (event == NULL || event->kind != SFD_MPI_DATA)
    return NULL;
  sfd_mpi_item_t *item = event->of;
  if (item->state != SFD_MPI_ARRIVED)
    return NULL;
  item->state = SFD_MPI_ASKED;
  *len_p = item->len;
  return item;
}

static void deliver_event(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, const sfd_mpi_event_t *event)
{
  switch (event->kind) {
  case SFD_MPI_UP:
    deliver_up(mpi, peer, event->of);
    break;
  case SFD_MPI_DOWN:
    deliver_down(mpi, peer, event->of);
    break;
  case SFD_MPI_DATA:
    deliver_data(mpi, peer, event->of);
    break;
  }
}

/* One step. Returns whether there may be more. */
static bool deliver_one(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  size_t len = 0;
  sfd_mpi_item_t *homeless = NULL;
  lock(mpi);
  const sfd_mpi_link_t *sent = peer->sent;
  peer->sent = NULL;
  sfd_mpi_event_t *event = sent == NULL ? take_event(peer) : NULL;
  if (sent == NULL && event == NULL)
    homeless = unplaced_item(peer, &len);
  unlock(mpi);
  if (sent != NULL && sent == peer->current)
    mpi->fabric.events->sent(mpi->fabric.owner, peer->node);
  else if (event != NULL)
    deliver_event(mpi, peer, event);
  else if (homeless != NULL)
    place(mpi, peer, homeless, len);
  return sent != NULL || event != NULL || homeless != NULL;
}

static void deliver_to(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (peer->no_memory && !mpi->closing) {
    peer->no_memory = false;
    mpi->fabric.events->down(mpi->fabric.owner, peer->node, SF_ERR_NOMEM, "no memory to connect with");
  }
  for (int i = 0; i < EVENTS_AT_ONCE; i++) {
    if (mpi->closing || peer->refused || !deliver_one(mpi, peer))
      return;
  }
  lock(mpi);
  sfd_mpi_notify(mpi, peer);
  unlock(mpi);
}

static void tell_closed(uv_handle_t *handle)
{
  sfd_mpi_t *mpi = handle->data;
  mpi->fabric.events->closed(mpi->fabric.owner);
}

static sfd_mpi_peer_t *next_noticed(sfd_mpi_t *mpi)
{
  lock(mpi);
  sfd_mpi_peer_t *peer = mpi->notices;
  if (peer != NULL) {
    mpi->notices = peer->next_notice;
    if (mpi->notices == NULL)
      mpi->notices_end = &mpi->notices;
    peer->noticed = false;
  }
  unlock(mpi);
  return peer;
}

void sfd_mpi_deliver(uv_async_t *async)
{
  sfd_mpi_t *mpi = async->data;
  for (int32_t i = 0; i < mpi->fabric.nnodes; i++) {
    sfd_mpi_peer_t *peer = next_noticed(mpi);
    if (peer != NULL)
      deliver_to(mpi, peer);
  }
  lock(mpi);
  bool closed = mpi->closed, more = mpi->notices != NULL;
  unlock(mpi);
  if (closed)
    uv_close((uv_handle_t *)&mpi->async, tell_closed);
  else if (more)
    uv_async_send(&mpi->async);
}

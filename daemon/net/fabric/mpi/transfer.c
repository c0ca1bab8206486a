/* MPI messages: sending, matching, receiving, dropping. The progress thread. A failing MPI call ends the process
 * (default error handler), as MPI guarantees nothing after it. */
#include <string.h>

#include "daemon/net/fabric/mpi/internal.h"

#define TAG 0
#define MATCHES_AT_ONCE 16

/* ---- Sending ---- */

static bool has_room(const sfd_mpi_peer_t *peer)
{
  return peer->nrequests < SFD_MPI_WINDOW && peer->posted - peer->acked < SFD_MPI_WINDOW;
}

static void post_one(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  const sfd_mpi_outgoing_t *outgoing = &peer->outgoing[peer->next_outgoing++];
  unsigned slot = (peer->first_request + peer->nrequests++) % SFD_MPI_WINDOW;
  peer->posted++;
  peer->last_sent_ns = mpi->now_ns;
  if (peer->link->peer_sleeps) {
    peer->link->peer_sleeps = false;
    sfd_mpi_say(peer->link, SFD_MPI_WAKE, peer->posted, 0); /* the peer wakes meanwhile */
  }
  MPI_Isend(outgoing->data, (int)outgoing->len, MPI_BYTE, peer->node, TAG, mpi->comm, &peer->requests[slot]);
}

/* The send ends with its messages, and the user is told. */
static void finish_send(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (!peer->sending || peer->next_outgoing < peer->noutgoing || peer->nrequests > 0)
    return;
  peer->sending = false;
  pthread_mutex_lock(&mpi->lock);
  peer->sent = peer->link;
  sfd_mpi_notify(mpi, peer);
  pthread_mutex_unlock(&mpi->lock);
}

static bool test_peer(sfd_mpi_peer_t *peer)
{
  bool did = false;
  while (peer->nrequests > 0) {
    int done = 0;
    MPI_Test(&peer->requests[peer->first_request], &done, MPI_STATUS_IGNORE);
    if (!done)
      break;
    peer->first_request = (peer->first_request + 1) % SFD_MPI_WINDOW;
    peer->nrequests--;
    did = true;
  }
  return did;
}

static void watch_sends(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (peer->active || peer->nrequests == 0)
    return;
  peer->active = true;
  peer->next_active = mpi->active;
  mpi->active = peer;
}

void sfd_mpi_post(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  if (!peer->sending || !peer->link->ready)
    return;
  while (peer->next_outgoing < peer->noutgoing && has_room(peer))
    post_one(mpi, peer);
  test_peer(peer); /* small ones end at once */
  finish_send(mpi, peer);
  watch_sends(mpi, peer);
}

bool sfd_mpi_test_sends(sfd_mpi_t *mpi)
{
  bool did = false;
  sfd_mpi_peer_t **place = &mpi->active;
  while (*place != NULL) {
    sfd_mpi_peer_t *peer = *place;
    if (test_peer(peer)) {
      did = true;
      sfd_mpi_post(mpi, peer);
      sfd_mpi_stream_check(mpi, peer);
    }
    peer->active = peer->nrequests > 0;
    if (peer->active)
      place = &peer->next_active;
    else
      *place = peer->next_active;
  }
  return did;
}

/* ---- Receiving ---- */

static void list_append(sfd_mpi_items_t *list, sfd_mpi_item_t *item)
{
  item->next = NULL;
  *list->end = item;
  list->end = &item->next;
}

static sfd_mpi_item_t *list_remove(sfd_mpi_items_t *list, sfd_mpi_item_t **place)
{
  sfd_mpi_item_t *item = *place;
  *place = item->next;
  if (item->next == NULL)
    list->end = place;
  return item;
}

/* Drops an item that is received or will not be. Under the lock. */
static void drop(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  atomic_fetch_add(&item->peer->taken, 1);
  sfd_mpi_item_free(mpi, item);
}

void sfd_mpi_receive(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  item->peer->ndirect += item->direct;
  MPI_Imrecv(item->buffer, (int)item->len, MPI_BYTE, &item->message, &item->request);
  list_append(&mpi->receiving, item);
}

/* Whether the peer's next message is of a stream that the user reads. */
static bool is_wanted(const sfd_mpi_peer_t *peer, size_t len)
{
  sfd_mpi_link_t *link = peer->link;
  if (link == NULL || peer->matched <= link->first)
    return false;
  if (link->state == SFD_MPI_OPEN)
    return true;
  if (link->state != SFD_MPI_ENDING || link->silent)
    return false;
  if (len > SFD_MPI_SMALL) /* the peer must not wait for the user */
    link->cut = true;
  return !link->cut;
}

static void enqueue(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  bool small = item->len <= SFD_MPI_SMALL;
  item->state = small ? SFD_MPI_RECEIVING : SFD_MPI_ARRIVED;
  item->buffer = item->own;
  pthread_mutex_lock(&mpi->lock);
  sfd_mpi_append(item->peer, &item->event);
  if (!small)
    sfd_mpi_notify(mpi, item->peer);
  pthread_mutex_unlock(&mpi->lock);
  if (small)
    sfd_mpi_receive(mpi, item);
}

static bool match_one(sfd_mpi_t *mpi)
{
  int found = 0, len = 0;
  MPI_Status status;
  if (mpi->spare == NULL)
    mpi->spare = sfd_mpi_item_new(mpi);
  if (mpi->spare == NULL)
    return false; /* until there is memory */
  sfd_mpi_item_t *item = mpi->spare;
  MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->comm, &found, &item->message, &status);
  if (!found)
    return false;
  mpi->spare = NULL;
  MPI_Get_count(&status, MPI_BYTE, &len);
  item->len = (size_t)len;
  item->peer = &mpi->peers[status.MPI_SOURCE];
  item->peer->matched++;
  item->peer->last_seen_ns = mpi->now_ns;
  if (is_wanted(item->peer, item->len))
    enqueue(mpi, item);
  else
    list_append(&mpi->discards, item);
  return true;
}

bool sfd_mpi_match(sfd_mpi_t *mpi)
{
  int n = 0;
  while (n < MATCHES_AT_ONCE && match_one(mpi))
    n++;
  return n > 0;
}

static void finish_receive(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  sfd_mpi_peer_t *peer = item->peer;
  peer->ndirect -= item->direct;
  peer->last_seen_ns = mpi->now_ns;
  pthread_mutex_lock(&mpi->lock);
  item->state = SFD_MPI_DONE;
  if (item->dropped)
    drop(mpi, item);
  else
    sfd_mpi_notify(mpi, peer);
  pthread_mutex_unlock(&mpi->lock);
  sfd_mpi_stream_check(mpi, peer);
}

/* One at a time, into the same memory. */
static bool discard_next(sfd_mpi_t *mpi)
{
  sfd_mpi_item_t *item = mpi->discards.first;
  if (item == NULL)
    return false;
  if (!mpi->discarding) {
    MPI_Imrecv(mpi->scratch, (int)item->len, MPI_BYTE, &item->message, &item->request);
    mpi->discarding = true;
  }
  int done = 0;
  MPI_Test(&item->request, &done, MPI_STATUS_IGNORE);
  if (!done)
    return false;
  mpi->discarding = false;
  list_remove(&mpi->discards, &mpi->discards.first);
  pthread_mutex_lock(&mpi->lock);
  drop(mpi, item);
  pthread_mutex_unlock(&mpi->lock);
  return true;
}

bool sfd_mpi_test_receives(sfd_mpi_t *mpi)
{
  bool did = discard_next(mpi);
  for (sfd_mpi_item_t **place = &mpi->receiving.first; *place != NULL;) {
    int done = 0;
    MPI_Test(&(*place)->request, &done, MPI_STATUS_IGNORE);
    if (!done) {
      place = &(*place)->next;
      continue;
    }
    finish_receive(mpi, list_remove(&mpi->receiving, place));
    did = true;
  }
  return did;
}

/* ---- Ends of streams ---- */

/* Removes an item from the user's queue. Under the lock. */
static void take_away(sfd_mpi_t *mpi, sfd_mpi_item_t *item)
{
  switch (item->state) {
  case SFD_MPI_ARRIVED:
  case SFD_MPI_ASKED:
  case SFD_MPI_PLACED:
    list_append(&mpi->discards, item);
    break;
  case SFD_MPI_RECEIVING:
    item->dropped = true;
    break;
  case SFD_MPI_DONE:
    drop(mpi, item);
    break;
  }
}

static bool needs_user(const sfd_mpi_item_t *item)
{
  return item->state == SFD_MPI_ARRIVED || item->state == SFD_MPI_ASKED || item->state == SFD_MPI_PLACED;
}

void sfd_mpi_cut(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, bool all)
{
  bool cutting = all;
  pthread_mutex_lock(&mpi->lock);
  sfd_mpi_event_t **place = &peer->events;
  while (*place != NULL) {
    sfd_mpi_event_t *event = *place;
    cutting = cutting || (event->kind == SFD_MPI_DATA && needs_user(event->of));
    if (!cutting || event->kind != SFD_MPI_DATA) {
      place = &event->next;
      continue;
    }
    *place = event->next;
    take_away(mpi, event->of);
  }
  peer->events_end = place;
  if (cutting && peer->link != NULL)
    peer->link->cut = true;
  pthread_mutex_unlock(&mpi->lock);
}

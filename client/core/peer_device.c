/* Regions of other ranks' devices, as this process has them open: see peer.h. Any thread.
 *
 * The owner's sf_unregister returns when nobody has the memory open any more: the daemon keeps the account, tells who
 * has it (REGION_REVOKED), and hears that it is closed (RegionClosed). A driver may close memory only when all streams
 * have done what they were given, and that may be to wait for the rank that has just died. So revoked regions are
 * closed by a thread of their own, which is there while there are some: the one that hears of them hears of failures,
 * too, and never waits for the lock of the devices, under which another one may wait for the driver. Only where there
 * is no memory for this, or no thread, it closes them itself. */
#include <stdlib.h>
#include <string.h>

#include "client/core/device.h"
#include "client/core/peer.h"
#include "shm/base/error.h"
#include "shm/base/thread.h"

struct sfc_revoked {
  sfc_revoked_t *next;
  int32_t rank;
  uint64_t region;
};

struct sfc_opened {
  sfc_opened_t *next;
  uint64_t number;
  int32_t reader;   /* device whose kernels reach it */
  void *allocation; /* here */
  char *base;
  size_t length_bytes;
  int32_t pins;
  bool revoked; /* not in the list any more; goes with the last pin */
};

static void tell_closed(sfc_peers_t *peers, int32_t rank, uint64_t number)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(REGION_CLOSED, region_closed, .rank = rank, .region = number);
  (void)sfc_daemon_tell(peers->control, &message, NULL, 0); /* a lost daemon waits for nobody */
}

static void close_opened(sfc_peers_t *peers, int32_t rank, sfc_opened_t *opened)
{
  sfshm_device_loaded()->close_shared(opened->allocation);
  tell_closed(peers, rank, opened->number);
  free(opened);
}

/* Opens what the daemon's answer describes. */
static sf_status_t open_region(const sfproto_incoming_t *incoming, int32_t reader, sfc_opened_t *opened)
{
  const Sfproto__Region *region = incoming->message->region;
  const sfshm_device_ops_t *ops;
  sfshm_device_handle_t handle;
  sfshm_device_range_t range;
  if (region->handle.len != sizeof handle.bytes)
    return sfshm_error(SF_ERR_PROTO, "handle of %zu bytes, %zu expected", region->handle.len, sizeof handle.bytes);
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    return status;
  memcpy(handle.bytes, region->handle.data, sizeof handle.bytes);
  status = ops->open_shared(&handle, incoming->nfds > 0 ? incoming->fds[0] : -1, reader, &range);
  if (status != SF_OK)
    return sfshm_error(status, "%s", ops->detail());
  if (region->offset > range.length_bytes || region->length > range.length_bytes - region->offset) {
    ops->close_shared(range.base);
    return sfshm_error(SF_ERR_PROTO, "region of %llu bytes at %llu in an allocation of %zu",
                       (unsigned long long)region->length, (unsigned long long)region->offset, range.length_bytes);
  }
  opened->allocation = range.base;
  opened->base = (char *)range.base + region->offset;
  opened->length_bytes = (size_t)region->length;
  return SF_OK;
}

static sf_status_t get_region(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t number, int32_t reader,
                              sfc_opened_t **opened_p)
{
  sfproto_incoming_t incoming;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(REGION_GET, region_get, .rank = peer->rank, .region = number);
  sfc_opened_t *opened = calloc(1, sizeof *opened);
  if (opened == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of regions");
  opened->number = number;
  opened->reader = reader;
  sf_status_t status = sfc_daemon_call(peers->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_REGION, &incoming);
  if (status == SF_OK) {
    status = open_region(&incoming, reader, opened);
    sfproto_incoming_free(&incoming);
    if (status != SF_OK)
      tell_closed(peers, peer->rank, number);
  }
  if (status != SF_OK) {
    free(opened);
    return status;
  }
  opened->next = peer->devices;
  peer->devices = opened;
  *opened_p = opened;
  return SF_OK;
}

sf_status_t sfc_peer_pin_device(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t region, int32_t reader,
                                sfc_pinned_device_t *pinned_p)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&peers->devices_lock);
  sfc_opened_t *opened = peer->devices;
  while (opened != NULL && opened->number != region)
    opened = opened->next;
  if (opened == NULL)
    status = get_region(peers, peer, region, reader, &opened);
  else if (reader != SFSHM_DEVICE_ANY && opened->reader != reader)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "the region is open for another device");
  if (status == SF_OK) {
    opened->pins++;
    *pinned_p = (sfc_pinned_device_t){opened, opened->base, opened->length_bytes};
  }
  pthread_mutex_unlock(&peers->devices_lock);
  return status;
}

void sfc_peer_unpin_device(sfc_peers_t *peers, sfc_peer_t *peer, const sfc_pinned_device_t *pinned)
{
  pthread_mutex_lock(&peers->devices_lock);
  bool gone = --pinned->opened->pins == 0 && pinned->opened->revoked;
  pthread_mutex_unlock(&peers->devices_lock);
  if (gone)
    close_opened(peers, peer->rank, pinned->opened);
}

/* With the lock held: that region, which nobody finds any more; NULL: there was none. */
static sfc_opened_t *take_out(sfc_peer_t *peer, uint64_t region)
{
  sfc_opened_t **link = &peer->devices;
  while (*link != NULL && (*link)->number != region)
    link = &(*link)->next;
  sfc_opened_t *opened = *link;
  if (opened != NULL) {
    *link = opened->next;
    opened->revoked = true;
  }
  return opened;
}

static void revoke(sfc_peers_t *peers, int32_t rank, uint64_t region)
{
  sfc_peer_t *peer;
  if (sfc_peers_find(peers, rank, &peer) != SF_OK)
    return;
  pthread_mutex_lock(&peers->devices_lock);
  sfc_opened_t *opened = take_out(peer, region);
  bool gone = opened != NULL && opened->pins == 0;
  pthread_mutex_unlock(&peers->devices_lock);
  if (gone)
    close_opened(peers, rank, opened);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void *revoke_all(void *argument)
{
  sfc_peers_t *peers = argument;
  sfc_closing_t *closing = &peers->closing;
  pthread_mutex_lock(&closing->lock);
  for (sfc_revoked_t *revoked; (revoked = closing->revoked) != NULL;) {
    closing->revoked = revoked->next;
    pthread_mutex_unlock(&closing->lock);
    revoke(peers, revoked->rank, revoked->region);
    free(revoked);
    pthread_mutex_lock(&closing->lock);
  }
  closing->is_running = false;
  pthread_mutex_unlock(&closing->lock);
  return NULL;
}

/* With the lock held: what thread there was is at its end. False: there can be none. */
static bool start_thread(sfc_peers_t *peers)
{
  sfc_closing_t *closing = &peers->closing;
  if (closing->is_running)
    return true;
  if (closing->is_started)
    pthread_join(closing->thread, NULL);
  closing->is_started = closing->is_running = sfshm_thread_start(&closing->thread, 0, revoke_all, peers) == 0;
  return closing->is_running;
}

void sfc_peers_revoke(sfc_peers_t *peers, int32_t rank, uint64_t region)
{
  sfc_closing_t *closing = &peers->closing;
  sfc_revoked_t *revoked = malloc(sizeof *revoked);
  pthread_mutex_lock(&closing->lock);
  bool given = revoked != NULL && start_thread(peers);
  if (given) {
    *revoked = (sfc_revoked_t){closing->revoked, rank, region};
    closing->revoked = revoked;
  }
  pthread_mutex_unlock(&closing->lock);
  if (!given) {
    free(revoked);
    revoke(peers, rank, region);
  }
}

void sfc_peers_end_closing(sfc_peers_t *peers)
{
  sfc_closing_t *closing = &peers->closing;
  pthread_mutex_lock(&closing->lock);
  bool started = closing->is_started;
  closing->is_started = false;
  pthread_t thread = closing->thread;
  pthread_mutex_unlock(&closing->lock);
  if (started)
    pthread_join(thread, NULL);
}

void sfc_peers_close_devices(sfc_peers_t *peers)
{
  for (int32_t i = 0; i < peers->n; i++) {
    sfc_peer_t *peer = &peers->entries[i];
    pthread_mutex_lock(&peers->devices_lock);
    sfc_opened_t *list = peer->devices;
    peer->devices = NULL;
    pthread_mutex_unlock(&peers->devices_lock);
    while (list != NULL) {
      sfc_opened_t *next = list->next;
      close_opened(peers, peer->rank, list);
      list = next;
    }
  }
  sfc_peers_end_closing(peers);
}

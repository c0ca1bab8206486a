/* Peers of this rank on its node: see peer.h. */
#include "client/core/peer.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "shm/base/error.h"
#include "shm/region/inbox.h"

#define MAX_SEGMENT_BYTES ((uint64_t)1 << 46)

struct sfc_mapped {
  sfc_mapped_t *next;
  uint64_t number;
  sfshm_region_t region;
  int32_t pins;
  bool removed; /* removed by its owner; unmapped with the last pin */
};

static int by_rank(const void *a, const void *b)
{
  int32_t x = ((const sfc_peer_t *)a)->rank, y = ((const sfc_peer_t *)b)->rank;
  return (x > y) - (x < y);
}

sf_status_t sfc_peers_init(sfc_peers_t *peers, sfc_daemon_conn_t *control, const Sfproto__Welcome *welcome)
{
  *peers = (sfc_peers_t){.control = control, .n = (int32_t)welcome->n_local_ranks};
  peers->entries = calloc(welcome->n_local_ranks, sizeof *peers->entries);
  if (peers->entries == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %zu ranks", welcome->n_local_ranks);
  for (int32_t i = 0; i < peers->n; i++) {
    const Sfproto__LocalRank *local = welcome->local_ranks[i];
    peers->entries[i] = (sfc_peer_t){.rank = local->rank,
                                     .pid = local->pid,
                                     .probe_address = local->probe_address,
                                     .probe_value = local->probe_value};
  }
  qsort(peers->entries, (size_t)peers->n, sizeof *peers->entries, by_rank);
  pthread_mutex_init(&peers->lock, NULL);
  pthread_mutex_init(&peers->devices_lock, NULL);
  pthread_mutex_init(&peers->closing.lock, NULL);
  return SF_OK;
}

static void free_mapped(sfc_mapped_t *mapped)
{
  sfshm_region_destroy(&mapped->region);
  free(mapped);
}

void sfc_peers_destroy(sfc_peers_t *peers)
{
  if (peers->entries == NULL)
    return;
  sfc_peers_end_closing(peers);
  for (int32_t i = 0; i < peers->n; i++) {
    while (peers->entries[i].segments != NULL) {
      sfc_mapped_t *mapped = peers->entries[i].segments;
      peers->entries[i].segments = mapped->next;
      free_mapped(mapped);
    }
  }
  free(peers->entries);
  pthread_mutex_destroy(&peers->closing.lock);
  pthread_mutex_destroy(&peers->devices_lock);
  pthread_mutex_destroy(&peers->lock);
}

sf_status_t sfc_peers_find(sfc_peers_t *peers, int32_t rank, sfc_peer_t **peer_p)
{
  sfc_peer_t key = {.rank = rank};
  *peer_p = bsearch(&key, peers->entries, (size_t)peers->n, sizeof key, by_rank);
  return *peer_p != NULL ? SF_OK : sfshm_error(SF_ERR_NOT_FOUND, "rank %d is not on this node", rank);
}

bool sfc_peer_can_read(sfc_peers_t *peers, sfc_peer_t *peer)
{
  pthread_mutex_lock(&peers->lock);
  if (!peer->probed) {
    uint64_t value = ~peer->probe_value;
    struct iovec to = {&value, sizeof value};
    struct iovec from = {(void *)(uintptr_t)peer->probe_address, sizeof value};
    peer->can_read =
        process_vm_readv(peer->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof value && value == peer->probe_value;
    peer->probed = true;
  }
  pthread_mutex_unlock(&peers->lock);
  return peer->can_read;
}

static sfshm_region_kind_t kind_of(const Sfproto__Segment *segment)
{
  return segment->inbox ? SFSHM_REGION_INBOX : segment->array ? SFSHM_REGION_ARRAY : SFSHM_REGION_ALLOC;
}

static sf_status_t map_segment(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t number, sfc_mapped_t **mapped_p)
{
  sfproto_incoming_t incoming;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(SEGMENT_GET, segment_get, .rank = peer->rank, .segment = number);
  sfc_mapped_t *mapped = calloc(1, sizeof *mapped);
  if (mapped == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of segments");
  sf_status_t status = sfc_daemon_call(peers->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_SEGMENT, &incoming);
  if (status != SF_OK)
    goto err_free;
  sfshm_region_kind_t kind = kind_of(incoming.message->segment);
  if (incoming.nfds == 1)
    status = sfshm_region_map(incoming.fds[0], kind, MAX_SEGMENT_BYTES,
                              kind != SFSHM_REGION_ALLOC ? SFSHM_READ_WRITE : SFSHM_READ_ONLY, &mapped->region);
  else
    status = sfshm_error(SF_ERR_PROTO, "segment %llu of rank %d: 1 descriptor expected, %d found",
                         (unsigned long long)number, peer->rank, incoming.nfds);
  sfproto_incoming_free(&incoming);
  if (status != SF_OK)
    goto err_free;
  mapped->number = number;
  mapped->next = peer->segments;
  peer->segments = mapped;
  if (number == 0)
    peer->wake = &((sfshm_inbox_t *)mapped->region.base)->wake;
  *mapped_p = mapped;
  return SF_OK;

err_free:
  free(mapped);
  return status;
}

sf_status_t sfc_peer_pin(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, sfc_pinned_t *pinned_p)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&peers->lock);
  sfc_mapped_t *mapped = peer->segments;
  while (mapped != NULL && mapped->number != segment)
    mapped = mapped->next;
  if (mapped == NULL)
    status = map_segment(peers, peer, segment, &mapped);
  if (status == SF_OK) {
    mapped->pins++;
    *pinned_p = (sfc_pinned_t){mapped, mapped->region.base, mapped->region.length_bytes};
  }
  pthread_mutex_unlock(&peers->lock);
  return status;
}

void sfc_peer_unpin(sfc_peers_t *peers, const sfc_pinned_t *pinned)
{
  pthread_mutex_lock(&peers->lock);
  if (--pinned->mapped->pins == 0 && pinned->mapped->removed)
    free_mapped(pinned->mapped);
  pthread_mutex_unlock(&peers->lock);
}

sf_status_t sfc_peer_segment(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, void **base_p, size_t *length_p)
{
  sfc_pinned_t pinned;
  sf_status_t status = sfc_peer_pin(peers, peer, segment, &pinned);
  if (status != SF_OK)
    return status;
  *base_p = pinned.base;
  *length_p = pinned.length_bytes;
  sfc_peer_unpin(peers, &pinned);
  return SF_OK;
}

void sfc_peers_forget(sfc_peers_t *peers, int32_t rank, uint64_t segment)
{
  sfc_peer_t *peer;
  if (sfc_peers_find(peers, rank, &peer) != SF_OK)
    return;
  pthread_mutex_lock(&peers->lock);
  for (sfc_mapped_t **link = &peer->segments; *link != NULL; link = &(*link)->next) {
    sfc_mapped_t *mapped = *link;
    if (mapped->number != segment || segment == 0)
      continue;
    *link = mapped->next;
    mapped->removed = true;
    if (mapped->pins == 0)
      free_mapped(mapped);
    break;
  }
  pthread_mutex_unlock(&peers->lock);
}

/* The submission ring: see submit_ring.h. Any thread. */
#include "client/core/submit_ring.h"

#include <errno.h>
#include <sched.h> /* sched_getcpu */
#include <unistd.h>

#include "client/core/idle.h"
#include "shm/base/error.h"
#include "shm/lane/ring.h"

void sfc_submit_ring_init(sfc_submit_ring_t *submit_ring, sfc_daemon_conn_t *control, const _Atomic int *failed)
{
  *submit_ring = (sfc_submit_ring_t){.control = control, .failed = failed, .doorbell = -1};
  pthread_mutex_init(&submit_ring->lock, NULL);
}

void sfc_submit_ring_destroy(sfc_submit_ring_t *submit_ring)
{
  if (submit_ring->control == NULL)
    return;
  sfshm_region_destroy(&submit_ring->region);
  if (submit_ring->doorbell >= 0)
    close(submit_ring->doorbell);
  pthread_mutex_destroy(&submit_ring->lock);
}

/* Gives the ring to the daemon and receives the doorbell. */
static sf_status_t hand_over(sfc_submit_ring_t *submit_ring, const sfshm_region_t *ring)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(RING_OPEN, ring_open);
  sfproto_incoming_t incoming;
  sf_status_t status =
      sfc_daemon_call(submit_ring->control, &message, &ring->fd, 1, SFPROTO__MESSAGE__BODY_RING_OPENED, &incoming);
  if (status != SF_OK)
    return status;
  if (incoming.nfds == 1) {
    submit_ring->doorbell = incoming.fds[0];
    incoming.fds[0] = -1;
  } else {
    status = sfshm_error(SF_ERR_PROTO, "submission ring: no doorbell came");
  }
  sfproto_incoming_free(&incoming);
  return status;
}

sf_status_t sfc_submit_ring_open(sfc_submit_ring_t *submit_ring, const sfshm_board_t *board)
{
  sf_status_t status = SF_OK;
  sfshm_region_t ring = {.fd = -1};
  pthread_mutex_lock(&submit_ring->lock);
  if (submit_ring->region.base == NULL) {
    status = sfshm_ring_create(SFSHM_RING_CAPACITY, &ring);
    if (status == SF_OK)
      status = hand_over(submit_ring, &ring);
    if (status == SF_OK) {
      submit_ring->region = ring;
      submit_ring->board = board;
    } else {
      sfshm_region_destroy(&ring);
    }
  }
  pthread_mutex_unlock(&submit_ring->lock);
  return status;
}

static void ring_doorbell(const sfc_submit_ring_t *submit_ring)
{
  uint64_t one = 1;
  while (write(submit_ring->doorbell, &one, sizeof one) < 0 && errno == EINTR)
    ;
}

void sfc_submit_ring_write(sfc_submit_ring_t *submit_ring, const sfshm_ring_entry_t *entry, bool lazy)
{
  sfshm_ring_t *ring = submit_ring->region.base;
  uint64_t position;
  sfc_idle_t idle = {0};
  while (!sfshm_ring_claim(ring, 1, &position)) {
    if (sfshm_ring_needs_wake(ring))
      ring_doorbell(submit_ring);
    if (atomic_load_explicit(submit_ring->failed, memory_order_relaxed) != SF_OK)
      return;
    sfc_idle_pause(&idle);
  }
  sfshm_ring_publish(ring, position, entry);
  sfshm_ring_come_from(ring, sched_getcpu());
  if (!lazy)
    sfc_submit_ring_wake(submit_ring);
}

void sfc_submit_ring_wake(const sfc_submit_ring_t *submit_ring)
{
  if (sfshm_ring_needs_wake(submit_ring->region.base))
    ring_doorbell(submit_ring);
  sfc_idle_yield_to_daemon(submit_ring->board);
}

void sfc_submit_ring_write_trunk(sfc_submit_ring_t *submit_ring, sfshm_submission_t kind, uint64_t graph, uint32_t side,
                                 uint64_t message, uint64_t desc, uint64_t size, bool lazy)
{
  sfshm_ring_entry_t entry = {.kind = kind, .graph = graph, .message = message, .desc = desc, .a = side, .size = size};
  sfc_submit_ring_write(submit_ring, &entry, lazy);
}

void sfc_submit_ring_settle(const sfc_submit_ring_t *submit_ring)
{
  const sfshm_ring_t *ring = submit_ring->region.base;
  if (ring == NULL)
    return;
  sfc_idle_t idle = {0};
  uint64_t until = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  while (!sfshm_ring_is_published(ring, until) &&
         atomic_load_explicit(submit_ring->failed, memory_order_relaxed) == SF_OK)
    sfc_idle_pause(&idle);
}

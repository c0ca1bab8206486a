/* Submitting: see submit_ring.h. Any thread. */
#include "client/core/submit_ring.h"

#include <errno.h>
#include <sched.h> /* sched_getcpu */
#include <unistd.h>

#include "client/core/idle.h"
#include "shm/base/error.h"
#include "shm/lane/ring.h"

void sfc_submit_ring_init(sfc_submit_ring_t *submitter, sfc_daemon_conn_t *control, const _Atomic int *failed)
{
  *submitter = (sfc_submit_ring_t){.control = control, .failed = failed, .doorbell = -1};
  pthread_mutex_init(&submitter->lock, NULL);
}

void sfc_submit_ring_destroy(sfc_submit_ring_t *submitter)
{
  if (submitter->control == NULL)
    return;
  sfshm_region_destroy(&submitter->region);
  if (submitter->doorbell >= 0)
    close(submitter->doorbell);
  pthread_mutex_destroy(&submitter->lock);
}

/* Gives the ring to the daemon and takes the doorbell. */
static sf_status_t hand_over(sfc_submit_ring_t *submitter, const sfshm_region_t *ring)
{
  Sfproto__RingOpen open = SFPROTO__RING_OPEN__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfproto_incoming_t incoming;
  message.body_case = SFPROTO__MESSAGE__BODY_RING_OPEN;
  message.ring_open = &open;
  sf_status_t status =
      sfc_daemon_call(submitter->control, &message, &ring->fd, 1, SFPROTO__MESSAGE__BODY_RING_OPENED, &incoming);
  if (status != SF_OK)
    return status;
  if (incoming.nfds == 1) {
    submitter->doorbell = incoming.fds[0];
    incoming.fds[0] = -1;
  } else {
    status = sfshm_error(SF_ERR_PROTO, "submission ring: no doorbell came");
  }
  sfproto_incoming_free(&incoming);
  return status;
}

sf_status_t sfc_submit_ring_open(sfc_submit_ring_t *submitter, const sfshm_board_t *board)
{
  sf_status_t status = SF_OK;
  sfshm_region_t ring = {.fd = -1};
  pthread_mutex_lock(&submitter->lock);
  if (submitter->region.base == NULL) {
    status = sfshm_ring_create(SFSHM_RING_CAPACITY, &ring);
    if (status == SF_OK)
      status = hand_over(submitter, &ring);
    if (status == SF_OK) {
      submitter->region = ring;
      submitter->board = board;
    } else {
      sfshm_region_destroy(&ring);
    }
  }
  pthread_mutex_unlock(&submitter->lock);
  return status;
}

static void ring_doorbell(const sfc_submit_ring_t *submitter)
{
  uint64_t one = 1;
  while (write(submitter->doorbell, &one, sizeof one) < 0 && errno == EINTR)
    ;
}

void sfc_submit_ring_write(sfc_submit_ring_t *submitter, const sfshm_ring_entry_t *entry, bool lazy)
{
  sfshm_ring_t *ring = submitter->region.base;
  uint64_t position;
  sfc_idle_t idle = {0};
  while (!sfshm_ring_claim(ring, 1, &position)) {
    if (sfshm_ring_needs_wake(ring))
      ring_doorbell(submitter);
    if (atomic_load_explicit(submitter->failed, memory_order_relaxed) != SF_OK)
      return;
    sfc_idle_pause(&idle);
  }
  sfshm_ring_publish(ring, position, entry);
  sfshm_ring_come_from(ring, sched_getcpu());
  if (lazy)
    return;
  if (sfshm_ring_needs_wake(ring))
    ring_doorbell(submitter);
  sfc_idle_yield_to_daemon(submitter->board);
}

void sfc_submit_ring_write_trunk(sfc_submit_ring_t *submitter, sfshm_submission_t kind, uint64_t graph, uint32_t side,
                                 uint64_t message, uint64_t desc, uint64_t size, bool lazy)
{
  sfshm_ring_entry_t entry = {.kind = kind, .graph = graph, .message = message, .desc = desc, .a = side, .size = size};
  sfc_submit_ring_write(submitter, &entry, lazy);
}

void sfc_submit_ring_settle(const sfc_submit_ring_t *submitter)
{
  const sfshm_ring_t *ring = submitter->region.base;
  if (ring == NULL)
    return;
  sfc_idle_t idle = {0};
  uint64_t until = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  while (!sfshm_ring_is_published(ring, until) &&
         atomic_load_explicit(submitter->failed, memory_order_relaxed) == SF_OK)
    sfc_idle_pause(&idle);
}

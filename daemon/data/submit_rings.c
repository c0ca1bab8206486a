/* Submission rings: see submit_rings.h. The daemon's thread. */
#include "daemon/data/submit_rings.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/data/data.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"
#include "shm/trunk/trunk.h"

/* It wakes the loop, which reads the rings before it sleeps. */
static void on_doorbell(uv_poll_t *poll, int status, int events)
{
  const sfd_submit_ring_t *submit_ring = poll->data;
  uint64_t rung;
  (void)status;
  (void)events;
  if (read(submit_ring->doorbell, &rung, sizeof rung) < 0)
    return; /* already emptied */
}

static void on_closed(uv_handle_t *handle)
{
  sfd_submit_ring_t *submit_ring = handle->data;
  close(submit_ring->doorbell);
  free(submit_ring);
}

void sfd_submit_ring_close(sfd_submit_ring_t *submit_ring)
{
  if (submit_ring == NULL)
    return;
  TAILQ_REMOVE(&submit_ring->rank->job->server->data->submit_rings, submit_ring, entry);
  sfshm_region_destroy(&submit_ring->region);
  uv_close((uv_handle_t *)&submit_ring->poll, on_closed);
}

static sf_status_t open_ring(sfd_session_t *session, int fd, sfd_submit_ring_t **submission_p)
{
  sfd_submit_ring_t *submit_ring = calloc(1, sizeof *submit_ring);
  if (submit_ring == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a submission ring");
  submit_ring->rank = session->rank;
  sf_status_t status = sfshm_ring_open(fd, &submit_ring->region, &submit_ring->reader);
  if (status != SF_OK)
    goto err_free;
  submit_ring->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (submit_ring->doorbell < 0) {
    status = sfshm_error_errno(SF_ERR_SYS, "doorbell of a submission ring");
    goto err_region;
  }
  if (uv_poll_init(session->server->loop, &submit_ring->poll, submit_ring->doorbell) != 0) {
    status = sfshm_error(SF_ERR_SYS, "doorbell of a submission ring can't be waited for");
    goto err_doorbell;
  }
  submit_ring->poll.data = submit_ring;
  uv_poll_start(&submit_ring->poll, UV_READABLE, on_doorbell);
  TAILQ_INSERT_TAIL(&session->server->data->submit_rings, submit_ring, entry);
  *submission_p = submit_ring;
  return SF_OK;
err_doorbell:
  close(submit_ring->doorbell);
err_region:
  sfshm_region_destroy(&submit_ring->region);
err_free:
  free(submit_ring);
  return status;
}

void sfd_submit_ring_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  (void)nfds;
  if (rank->submit_ring != NULL) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "second RingOpen of rank %d", rank->number);
    return;
  }
  sf_status_t status = open_ring(session, fds[0], &rank->submit_ring);
  if (status != SF_OK) {
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
    return;
  }
  Sfproto__Message answer = SFPROTO_MESSAGE_OF(RING_OPENED, ring_opened);
  answer.request = message->request;
  sfd_session_send(session, &answer, &rank->submit_ring->doorbell, 1);
}

/* Trunks fail the graph that an entry of an unknown kind names. */
static void carry_out(sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  const sfd_life_t *life = rank->job->server->life;
  bool known = entry->kind < SFSHM_SUBMIT_KINDS && life->submitted[entry->kind] != NULL;
  (known ? life->submitted[entry->kind] : sfd_trunks_submit)(rank, entry);
}

void sfd_submit_ring_take_all(sfd_submit_ring_t *submit_ring)
{
  sfshm_ring_entry_t entry;
  uint32_t left = submit_ring != NULL ? sfshm_ring_depth(&submit_ring->reader) : 0;
  if (submit_ring != NULL)
    submit_ring->reader.taken = 0; /* a turn of its own */
  for (; left > 0 && sfshm_ring_take(&submit_ring->reader, &entry); left--)
    carry_out(submit_ring->rank, &entry);
}

bool sfd_submit_rings_take(sfd_server_t *server)
{
  bool taken = false;
  sfd_submit_ring_t *submit_ring;
  sfshm_ring_entry_t entry;
  TAILQ_FOREACH (submit_ring, &server->data->submit_rings, entry)
    for (; sfshm_ring_take(&submit_ring->reader, &entry); taken = true)
      carry_out(submit_ring->rank, &entry);
  return taken;
}

bool sfd_submit_rings_arm(sfd_server_t *server)
{
  bool empty = true;
  sfd_submit_ring_t *submit_ring;
  TAILQ_FOREACH (submit_ring, &server->data->submit_rings, entry) {
    sfshm_ring_arm(&submit_ring->reader);
    empty &= sfshm_ring_is_empty(&submit_ring->reader);
  }
  return empty;
}

static bool is_shared(const sfd_server_t *server, int cpu)
{
  const sfd_submit_ring_t *submit_ring;
  TAILQ_FOREACH (submit_ring, &server->data->submit_rings, entry)
    if (sfshm_ring_cpu(&submit_ring->reader) == cpu)
      return true;
  return false;
}

void sfd_submit_rings_keep_apart(sfd_server_t *server)
{
  sfd_cpus_t taken = {0};
  const sfd_submit_ring_t *submit_ring;
  if (!is_shared(server, sched_getcpu()))
    return;
  TAILQ_FOREACH (submit_ring, &server->data->submit_rings, entry)
    sfd_cpus_add(&taken, sfshm_ring_cpu(&submit_ring->reader));
  sfd_idle_move(&server->idle, &taken);
}

/* Submission rings: see submit_rings.h. The daemon's thread. */
#include "daemon/data/submit_rings.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/data/data.h"
#include "daemon/data/match_offers.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"
#include "shm/trunk/trunk.h"

/* What woke the loop is all that matters; the rings are read before it sleeps again. */
static void on_doorbell(uv_poll_t *poll, int status, int events)
{
  const sfd_submit_ring_t *submission = poll->data;
  uint64_t rung;
  (void)status;
  (void)events;
  if (read(submission->doorbell, &rung, sizeof rung) < 0)
    return; /* somebody else emptied it */
}

static void on_closed(uv_handle_t *handle)
{
  sfd_submit_ring_t *submission = handle->data;
  close(submission->doorbell);
  free(submission);
}

void sfd_submit_ring_close(sfd_submit_ring_t *submission)
{
  if (submission == NULL)
    return;
  TAILQ_REMOVE(&submission->rank->job->server->data->submissions, submission, entry);
  sfshm_region_destroy(&submission->region);
  uv_close((uv_handle_t *)&submission->poll, on_closed);
}

static sf_status_t open_ring(sfd_session_t *session, int fd, sfd_submit_ring_t **submission_p)
{
  sfd_submit_ring_t *submission = calloc(1, sizeof *submission);
  if (submission == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a submission ring");
  submission->rank = session->rank;
  sf_status_t status = sfshm_ring_open(fd, &submission->region, &submission->reader);
  if (status != SF_OK)
    goto err_free;
  submission->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (submission->doorbell < 0) {
    status = sfshm_error_errno(SF_ERR_SYS, "doorbell of a submission ring");
    goto err_region;
  }
  if (uv_poll_init(session->server->loop, &submission->poll, submission->doorbell) != 0) {
    status = sfshm_error(SF_ERR_SYS, "doorbell of a submission ring can't be waited for");
    goto err_doorbell;
  }
  submission->poll.data = submission;
  uv_poll_start(&submission->poll, UV_READABLE, on_doorbell);
  TAILQ_INSERT_TAIL(&session->server->data->submissions, submission, entry);
  *submission_p = submission;
  return SF_OK;
err_doorbell:
  close(submission->doorbell);
err_region:
  sfshm_region_destroy(&submission->region);
err_free:
  free(submission);
  return status;
}

void sfd_submit_ring_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  (void)nfds;
  if (rank->submission != NULL) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "second RingOpen of rank %d", rank->number);
    return;
  }
  sf_status_t status = open_ring(session, fds[0], &rank->submission);
  if (status != SF_OK) {
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
    return;
  }
  Sfproto__RingOpened opened = SFPROTO__RING_OPENED__INIT;
  Sfproto__Message answer = SFPROTO_MESSAGE(RING_OPENED, ring_opened, &opened);
  answer.request = message->request;
  sfd_session_send(session, &answer, &rank->submission->doorbell, 1);
}

static void carry_out(sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  if (entry->kind == SFSHM_SUBMIT_SOURCE || entry->kind == SFSHM_SUBMIT_TARGET)
    sfd_offers_submit(rank, entry);
  else
    sfd_trunks_submit(rank, entry);
}

void sfd_submit_ring_take_all(sfd_submit_ring_t *submission)
{
  sfshm_ring_entry_t entry;
  uint32_t left = submission != NULL ? sfshm_ring_depth(&submission->reader) : 0;
  if (submission != NULL)
    submission->reader.taken = 0; /* a turn of its own */
  for (; left > 0 && sfshm_ring_take(&submission->reader, &entry); left--)
    carry_out(submission->rank, &entry);
}

bool sfd_submit_rings_take(sfd_server_t *server)
{
  bool taken = false;
  sfd_submit_ring_t *submission;
  sfshm_ring_entry_t entry;
  TAILQ_FOREACH (submission, &server->data->submissions, entry)
    for (; sfshm_ring_take(&submission->reader, &entry); taken = true)
      carry_out(submission->rank, &entry);
  return taken;
}

bool sfd_submit_rings_arm(sfd_server_t *server)
{
  bool empty = true;
  sfd_submit_ring_t *submission;
  TAILQ_FOREACH (submission, &server->data->submissions, entry) {
    sfshm_ring_arm(&submission->reader);
    empty &= sfshm_ring_is_empty(&submission->reader);
  }
  return empty;
}

static bool is_shared(const sfd_server_t *server, int cpu)
{
  const sfd_submit_ring_t *submission;
  TAILQ_FOREACH (submission, &server->data->submissions, entry)
    if (sfshm_ring_cpu(&submission->reader) == cpu)
      return true;
  return false;
}

void sfd_submit_rings_keep_apart(sfd_server_t *server)
{
  sfd_cpus_t taken = {0};
  const sfd_submit_ring_t *submission;
  if (!is_shared(server, sched_getcpu()))
    return;
  TAILQ_FOREACH (submission, &server->data->submissions, entry)
    sfd_cpus_add(&taken, sfshm_ring_cpu(&submission->reader));
  sfd_idle_move(&server->idle, &taken);
}

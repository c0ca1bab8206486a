/* Jobs: their tables, ranks, failure and end. The daemon's thread. */
#include "daemon/job.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/graph.h"
#include "daemon/group.h"
#include "daemon/log.h"
#include "daemon/segment.h"
#include "daemon/setup.h"
#include "shm/error.h"

/* ---- The table ---- */

static int compare(const void *a, const void *b)
{
  const sfd_job_t *x = a;
  const sfd_job_t *y = b;
  return x->uid != y->uid ? (x->uid > y->uid) - (x->uid < y->uid) : strcmp(x->name, y->name);
}

sfd_job_t *sfd_job_find(const sfd_server_t *server, uid_t uid, const char *name)
{
  sfd_job_t key = {.uid = uid};
  snprintf(key.name, sizeof key.name, "%s", name);
  void *const *node = tfind(&key, &server->jobs_by_name, compare);
  return node != NULL ? *node : NULL;
}

void sfd_job_forget(sfd_job_t *job)
{
  if (!job->forgotten)
    tdelete(job, &job->server->jobs_by_name, compare);
  job->forgotten = true;
}

/* ---- Beginning ---- */

static sfd_job_t *new_job(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size)
{
  sfd_job_t *job = calloc(1, sizeof *job + (size_t)size * sizeof job->ranks[0]);
  if (job == NULL)
    return NULL;
  job->server = server;
  job->id = sfd_server_new_id(server);
  job->uid = uid;
  snprintf(job->name, sizeof job->name, "%s", name);
  snprintf(job->key, sizeof job->key, "%s", key);
  job->created_ms = uv_now(server->loop);
  job->size = size;
  TAILQ_INIT(&job->groups);
  TAILQ_INIT(&job->forming);
  TAILQ_INIT(&job->graphs);
  return job;
}

sf_status_t sfd_job_create(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size,
                           sfd_job_t **job_p)
{
  sfd_job_t *job = new_job(server, uid, name, key, size);
  if (job == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", size);
  if (sfd_group_create_world(job) != SF_OK)
    goto err_free;
  if (tsearch(job, &server->jobs_by_name, compare) == NULL)
    goto err_groups;
  TAILQ_INSERT_TAIL(&server->jobs, job, entry);
  uv_timer_init(server->loop, &job->join_timer);
  job->join_timer.data = job;
  server->statistics.njobs++;
  server->statistics.jobs_total++;
  *job_p = job;
  return SF_OK;
err_groups:
  sfd_groups_free(job);
err_free:
  free(job);
  return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", size);
}

sf_status_t sfd_job_attach(sfd_job_t *job, int32_t number, sfd_session_t *session, sfd_rank_t **rank_p)
{
  sfd_rank_t *rank = calloc(1, sizeof *rank);
  if (rank == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for rank %d", number);
  rank->job = job;
  rank->number = number;
  rank->session = session;
  rank->pid = session->pid;
  rank->counters_fd = -1;
  TAILQ_INIT(&rank->segments);
  TAILQ_INIT(&rank->regions);
  job->ranks[number] = rank;
  job->njoined++;
  job->nattached++;
  session->rank = rank;
  job->server->statistics.nranks++;
  sfd_board_enter(job->server->board, session->pid, &rank->cpus);
  *rank_p = rank;
  return SF_OK;
}

/* ---- End ---- */

static void free_rank(sfd_rank_t *rank)
{
  sfd_segments_free(rank);
  if (rank->counters_fd >= 0)
    close(rank->counters_fd);
  free(rank);
}

static void on_job_closed(uv_handle_t *handle)
{
  free(handle->data);
}

static void end_job(sfd_job_t *job)
{
  sfd_server_t *server = job->server;
  sfd_log(SFD_LOG_JOB, SFD_INFO, "job \"%s\" (%" PRIu64 ") of uid %u is over", job->name, job->id, job->uid);
  sfd_job_forget(job);
  TAILQ_REMOVE(&server->jobs, job, entry);
  server->statistics.njobs--;
  sfd_graphs_free(job);
  sfd_groups_free(job);
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      free_rank(job->ranks[r]);
  uv_close((uv_handle_t *)&job->join_timer, on_job_closed);
}

/* The rank takes part in nothing any more. */
static void retire_rank(sfd_rank_t *rank, sfd_rank_state_t state)
{
  if (rank->state != SFD_RANK_JOINED)
    return;
  rank->state = state;
  rank->job->server->statistics.nranks--;
  sfd_board_leave(rank->job->server->board, &rank->cpus);
}

void sfd_job_detach(sfd_rank_t *rank)
{
  sfd_job_t *job = rank->job;
  retire_rank(rank, SFD_RANK_FAILED);
  rank->session->rank = NULL;
  rank->session = NULL;
  if (--job->nattached == 0)
    end_job(job);
}

void sfd_job_withdraw(sfd_rank_t *rank)
{
  sfd_job_t *job = rank->job;
  retire_rank(rank, SFD_RANK_FAILED);
  rank->session->rank = NULL;
  job->ranks[rank->number] = NULL;
  job->njoined--;
  free_rank(rank);
  if (--job->nattached == 0)
    end_job(job);
}

/* ---- Descriptors ---- */

sf_status_t sfd_job_hold_fd(sfd_job_t *job)
{
  sfd_server_t *server = job->server;
  if (server->nheld_fds >= server->max_held_fds || job->nheld_fds >= server->max_held_fds / 3 * 2)
    return sfshm_error(
        SF_ERR_LIMIT, "the daemon keeps %lld descriptors for job \"%.64s\" and %lld in all, out of at most %lld",
        (long long)job->nheld_fds, job->name, (long long)server->nheld_fds, (long long)server->max_held_fds);
  server->nheld_fds++;
  job->nheld_fds++;
  return SF_OK;
}

void sfd_job_close_fd(sfd_job_t *job, int fd)
{
  if (fd < 0)
    return;
  close(fd);
  job->server->nheld_fds--;
  job->nheld_fds--;
}

/* ---- Failure ---- */

bool sfd_rank_connected(const sfd_rank_t *rank)
{
  return rank != NULL && rank->session != NULL && rank->state == SFD_RANK_JOINED;
}

void sfd_rank_describe(const sfd_rank_t *rank, char *text, size_t text_size)
{
  snprintf(text, text_size, "rank %d (pid %d%s%.64s) of job \"%.128s\"", rank->number, (int)rank->pid,
           rank->program[0] != '\0' ? ", " : "", rank->program, rank->job->name);
}

bool sfd_job_answer_failed(sfd_rank_t *rank, uint64_t request)
{
  if (rank->job->state != SFD_JOB_FAILED)
    return false;
  sfd_session_send_error(rank->session, request, SF_ERR_RANK_FAILED, rank->job->detail);
  return true;
}

bool sfd_rank_may_wait(sfd_rank_t *rank, uint64_t request)
{
  if (rank->npending < SFD_MAX_PENDING)
    return true;
  sfd_session_answer(rank->session, request, SF_ERR_LIMIT, "%d requests of this rank are waiting for other ranks",
                     SFD_MAX_PENDING);
  return false;
}

static void tell_failed(sfd_job_t *job)
{
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = SFPROTO__ALERT__KIND__JOB_FAILED;
  alert.has_status = true;
  alert.status = SF_ERR_RANK_FAILED;
  alert.detail = job->detail;
  for (int32_t r = 0; r < job->size; r++)
    if (sfd_rank_connected(job->ranks[r]))
      sfd_session_send_alert(job->ranks[r]->session, &alert);
}

static void dismiss_joining(sfd_job_t *job)
{
  for (int32_t r = 0; r < job->size; r++)
    if (sfd_rank_connected(job->ranks[r]))
      sfd_session_dismiss(job->ranks[r]->session, job->ranks[r]->hello_request, SF_ERR_RANK_FAILED, job->detail);
}

static void fail_job(sfd_job_t *job)
{
  bool joining = job->state == SFD_JOB_JOINING;
  job->state = SFD_JOB_FAILED;
  job->server->statistics.jobs_failed++;
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", job->detail);
  uv_timer_stop(&job->join_timer);
  if (joining) {
    dismiss_joining(job);
    return;
  }
  sfd_groups_fail(job, SF_ERR_RANK_FAILED, job->detail);
  sfd_setups_fail(job, SF_ERR_RANK_FAILED, job->detail);
  tell_failed(job);
}

void sfd_job_rank_lost(sfd_rank_t *rank, const char *reason)
{
  sfd_job_t *job = rank->job;
  if (rank->state != SFD_RANK_JOINED)
    return;
  retire_rank(rank, SFD_RANK_FAILED);
  sfd_segments_free(rank);
  if (job->state == SFD_JOB_FAILED)
    return;
  sfd_rank_describe(rank, job->detail, sizeof job->detail);
  if (reason[0] == '\0')
    sfd_text_append(job->detail, sizeof job->detail, " died without sf_finalize");
  else
    sfd_text_append(job->detail, sizeof job->detail, " was disconnected: %s", reason);
  fail_job(job);
}

/* ---- Goodbye ---- */

static void leave(sfd_rank_t *rank)
{
  char text[SFD_TEXT_SIZE];
  sfd_rank_describe(rank, text, sizeof text);
  sfd_log(SFD_LOG_JOB, SFD_DEBUG, "%s leaves", text);
  sfd_text_append(text, sizeof text, " has left");
  rank->job->nleft++;
  rank->session->state = SFD_SESSION_LEFT;
  retire_rank(rank, SFD_RANK_LEFT);
  sfd_segments_leave(rank);
  sfd_groups_leave(rank, text);
  sfd_setups_leave(rank, text);
  sfd_graphs_leave(rank);
}

void sfd_job_handle_goodbye(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  (void)fds;
  (void)nfds;
  if (rank->npending > 0) {
    sfd_session_answer(session, message->request, SF_ERR_STATE, "%d requests of this rank are waiting for other ranks",
                       rank->npending);
    return;
  }
  leave(rank);
  sfd_session_send_done(session, message->request);
}

/* Jobs: tables, ranks, end. The daemon's thread. */
#include "daemon/jobs/job.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/jobs/graph.h"
#include "daemon/jobs/group.h"
#include "daemon/jobs/life.h"
#include "daemon/net.h"
#include "shm/base/error.h"

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
  void *const *node = tfind(&key, &server->jobs->by_name, compare);
  return node != NULL ? *node : NULL;
}

sfd_job_t *sfd_job_find_id(const sfd_server_t *server, uint64_t id)
{
  return sfd_id_map_find(server->jobs->by_id, id);
}

bool sfd_job_goes_well(const sfd_server_t *server, const sfd_job_t *job, uint64_t id)
{
  return job != NULL ? job->state == SFD_JOB_RUNNING : sfd_ended_jobs_ended_well(&server->jobs->ended, id);
}

void sfd_job_forget(sfd_job_t *job)
{
  if (!job->forgotten)
    tdelete(job, &job->server->jobs->by_name, compare);
  job->forgotten = true;
}

/* ---- Beginning ---- */

static sfd_job_t *new_job(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size)
{
  sfd_job_t *job = calloc(1, sizeof *job + (size_t)size * sizeof job->ranks[0]);
  if (job == NULL)
    return NULL;
  job->left = calloc((size_t)size, sizeof job->left[0]);
  if (job->left == NULL) {
    free(job);
    return NULL;
  }
  job->server = server;
  job->serial = sfd_server_new_serial(server);
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

static void free_job(sfd_job_t *job)
{
  SFD_CALL_LISTENERS(job->server->life->job_freed, job);
  free(job->left);
  free(job->rank_nodes);
  free(job->incarnations);
  free(job);
}

sf_status_t sfd_job_create(sfd_server_t *server, uid_t uid, const char *name, const char *key, int32_t size,
                           sfd_job_t **job_p)
{
  sfd_job_t *job = new_job(server, uid, name, key, size);
  if (job == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", size);
  if (tsearch(job, &server->jobs->by_name, compare) == NULL) {
    free_job(job);
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", size);
  }
  TAILQ_INSERT_TAIL(&server->jobs->list, job, entry);
  uv_timer_init(server->loop, &job->timer);
  job->timer.data = job;
  server->statistics.njobs++;
  server->statistics.jobs_total++;
  *job_p = job;
  return SF_OK;
}

sf_status_t sfd_job_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes)
{
  job->id = id;
  job->rank_nodes = rank_nodes;
  uv_timer_stop(&job->timer);
  if (sfd_group_create_world(job) != SF_OK || !sfd_id_map_insert(&job->server->jobs->by_id, job))
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", job->size);
  job->state = SFD_JOB_RUNNING;
  sfd_network_begun(job->server);
  return SF_OK;
}

int32_t sfd_job_node_of(const sfd_job_t *job, int32_t number)
{
  return job->rank_nodes != NULL ? job->rank_nodes[number] : sfd_network_node(job->server);
}

/* The rank's session ends, which fails the job unless the rank has left. reason "": the rank died. */
static void rank_lost(sfd_rank_t *rank, const char *reason)
{
  sfd_job_t *job = rank->job;
  if (rank->state != SFD_RANK_JOINED)
    return;
  sfd_job_retire_rank(rank, SFD_RANK_FAILED);
  SFD_CALL_LISTENERS(job->server->life->rank_lost, rank);
  if (job->state == SFD_JOB_FAILED)
    return;
  sfd_rank_describe(rank, job->detail, sizeof job->detail);
  if (reason[0] == '\0')
    sfd_text_append(job->detail, sizeof job->detail, " died without sf_finalize");
  else
    sfd_text_append(job->detail, sizeof job->detail, " was disconnected: %s", reason);
  sfd_job_fail(job, job->detail);
}

static void on_session_lost(sfd_session_t *session)
{
  if (session->rank != NULL)
    rank_lost(session->rank, session->reason);
}

static void on_session_closed(sfd_session_t *session)
{
  if (session->rank != NULL)
    sfd_job_detach(session->rank);
}

static const sfd_session_role_t rank_role = {.lost = on_session_lost, .closed = on_session_closed};

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
  rank->counters.fd = -1;
  TAILQ_INIT(&rank->segments);
  TAILQ_INIT(&rank->regions);
  job->ranks[number] = rank;
  job->njoined++;
  job->nattached++;
  session->rank = rank;
  session->role = &rank_role;
  job->server->statistics.nranks++;
  sfd_node_board_enter(job->server->board, session->pid, &rank->cpus);
  rank->cache = sfd_node_board_costs(job->server->board)->nontemporal == SFSHM_NONTEMPORAL_APART
                    ? sfd_cpu_cache_of(SFD_CPU_DIRECTORY, &rank->cpus)
                    : -1;
  *rank_p = rank;
  return SF_OK;
}

/* ---- End ---- */

static void free_rank(sfd_rank_t *rank)
{
  SFD_CALL_LISTENERS(rank->job->server->life->rank_freed, rank);
  sfshm_region_destroy(&rank->inbox);
  sfshm_region_destroy(&rank->counters);
  if (rank->counters_fd >= 0)
    sfd_deferred_close_received(rank->counters_fd);
  free(rank);
}

static void on_job_closed(uv_handle_t *handle)
{
  free_job(handle->data);
}

static void end_job(sfd_job_t *job)
{
  sfd_server_t *server = job->server;
  sfd_log(SFD_LOG_JOB, SFD_INFO, "job \"%s\" (%" PRIu64 ") of uid %u is over", job->name, job->id, job->uid);
  sfd_job_forget(job);
  if (sfd_job_find_id(server, job->id) == job) {
    sfd_id_map_remove(&server->jobs->by_id, job);
    sfd_ended_jobs_add(&server->jobs->ended, job->id, job->state == SFD_JOB_FAILED);
  }
  TAILQ_REMOVE(&server->jobs->list, job, entry);
  server->statistics.njobs--;
  sfd_graphs_free(job);
  sfd_groups_free(job);
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      free_rank(job->ranks[r]);
  uv_close((uv_handle_t *)&job->timer, on_job_closed);
}

void sfd_job_retire_rank(sfd_rank_t *rank, sfd_rank_state_t state)
{
  if (rank->state != SFD_RANK_JOINED)
    return;
  rank->state = state;
  rank->job->server->statistics.nranks--;
  sfd_node_board_leave(rank->job->server->board, &rank->cpus);
}

void sfd_job_detach(sfd_rank_t *rank)
{
  sfd_job_t *job = rank->job;
  sfd_job_retire_rank(rank, SFD_RANK_FAILED);
  rank->session->rank = NULL;
  rank->session = NULL;
  if (--job->nattached == 0)
    end_job(job);
}

void sfd_job_withdraw(sfd_rank_t *rank)
{
  sfd_job_t *job = rank->job;
  sfd_job_retire_rank(rank, SFD_RANK_FAILED);
  rank->session->rank = NULL;
  job->ranks[rank->number] = NULL;
  job->njoined--;
  free_rank(rank);
  if (--job->nattached == 0)
    end_job(job);
}

/* ---- Descriptors ---- */

/* Of running and failed jobs. */
static int64_t count_held_fds(const sfd_server_t *server, uid_t uid)
{
  const sfd_job_t *job;
  int64_t count = 0;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    count += job->uid == uid ? job->nheld_fds : 0;
  return count;
}

static sf_status_t check_share(const sfd_server_t *server, uid_t uid)
{
  int64_t most = server->max_held_fds, held = server->nheld_fds;
  if (sfd_fair_share_is_exempt(server, uid) || sfd_fair_share_allows(held, held, most))
    return SF_OK;
  int64_t has = count_held_fds(server, uid);
  if (sfd_fair_share_allows(has, held, most))
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT,
                     "the daemon keeps %lld descriptors for jobs of uid %u and %lld in all, out of at most %lld, and "
                     "the rest is for other users",
                     (long long)has, uid, (long long)held, (long long)most);
}

sf_status_t sfd_job_hold_fd(sfd_job_t *job)
{
  sfd_server_t *server = job->server;
  int64_t most_of_job = server->max_held_fds / 3 * 2;
  if (server->nheld_fds >= server->max_held_fds || job->nheld_fds >= most_of_job)
    return sfshm_error(SF_ERR_LIMIT,
                       "the daemon keeps %lld descriptors for job \"%.64s\" (at most %lld) and %lld in all (at most "
                       "%lld, by its limit of open files and of mappings)",
                       (long long)job->nheld_fds, job->name, (long long)most_of_job, (long long)server->nheld_fds,
                       (long long)server->max_held_fds);
  sf_status_t status = check_share(server, job->uid);
  if (status != SF_OK)
    return status;
  server->nheld_fds++;
  job->nheld_fds++;
  return SF_OK;
}

void sfd_job_drop_fd(sfd_server_t *server, sfd_job_t *job)
{
  server->nheld_fds--;
  if (job != NULL)
    job->nheld_fds--;
}

void sfd_job_close_fd(sfd_job_t *job, int fd)
{
  if (fd < 0)
    return;
  sfd_deferred_close_received(fd);
  sfd_job_drop_fd(job->server, job);
}

/* ---- Failure ---- */

bool sfd_rank_connected(const sfd_rank_t *rank)
{
  return rank != NULL && rank->session != NULL && rank->state == SFD_RANK_JOINED;
}

void sfd_job_describe_rank(const sfd_job_t *job, int32_t number, char *text, size_t text_size)
{
  if (job->ranks[number] != NULL)
    sfd_rank_describe(job->ranks[number], text, text_size);
  else
    snprintf(text, text_size, "rank %d (on node %d) of job \"%.128s\"", number, sfd_job_node_of(job, number),
             job->name);
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
  sfd_session_send_errorf(rank->session, request, SF_ERR_LIMIT, "%d requests of this rank are waiting for other ranks",
                          SFD_MAX_PENDING);
  return false;
}

void sfd_job_send_to_nodes(const sfd_job_t *job, const Sfpeer__Message *message)
{
  const sfd_group_t *world = job->world;
  for (int32_t i = 0; world != NULL && i < world->nnodes; i++)
    if (i != world->node_position)
      sfd_network_send(job->server, world->nodes[i], message);
}

/* Failure of jobs: see job.h. The daemon's thread. */
#include <stdio.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/jobs/ended_jobs.h"
#include "daemon/jobs/graph.h"
#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"
#include "daemon/jobs/life.h"
#include "daemon/net.h"

void sfd_job_alert_failed(sfd_job_t *job)
{
  Sfproto__Alert alert = SFPROTO_BODY(alert, .kind = SFPROTO__ALERT__KIND__JOB_FAILED,
                                      SFPROTO_HAS(status, SF_ERR_RANK_FAILED), .detail = job->detail);
  for (int32_t r = 0; r < job->size; r++)
    if (sfd_rank_connected(job->ranks[r]))
      sfd_session_send_alert(job->ranks[r]->session, &alert);
}

void sfd_job_dismiss_joining(sfd_job_t *job)
{
  for (int32_t r = 0; r < job->size; r++)
    if (sfd_rank_connected(job->ranks[r]))
      sfd_session_dismiss(job->ranks[r]->session, job->ranks[r]->hello_request, SF_ERR_RANK_FAILED, job->detail);
}

/* from: the node that told of the failure; -1: this one noticed it, and sends to all. Nodes that are told forward it
 * over their open channels. A node that waits for another has a channel to it, and either hears of the failure there or
 * notices the channel's loss. */
static void send_failure(const sfd_job_t *job, int32_t from)
{
  const sfd_group_t *world = job->world;
  Sfpeer__JobFail fail = SFPEER_BODY(job_fail, .job = job->id, .status = SF_ERR_RANK_FAILED,
                                     .detail = (char *)(uintptr_t)job->detail /* only read */, .uid = job->uid,
                                     .name = (char *)(uintptr_t)job->name);
  Sfpeer__Message message = SFPEER_MESSAGE(JOB_FAIL, job_fail, &fail);
  for (int32_t i = 0; world != NULL && i < world->nnodes; i++) {
    if (i == world->node_position || world->nodes[i] == from ||
        (from >= 0 && sfd_channel_state(sfd_network_channels(job->server), world->nodes[i]) != SFD_CHANNEL_OPEN))
      continue;
    fail.incarnation = job->incarnations[i];
    sfd_network_send(job->server, world->nodes[i], &message);
  }
}

/* job->detail is set. */
static void fail_here(sfd_job_t *job)
{
  bool joining = job->state == SFD_JOB_JOINING;
  job->state = SFD_JOB_FAILED;
  job->server->statistics.jobs_failed++;
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", job->detail);
  uv_timer_stop(&job->timer);
  if (joining)
    SFD_CALL_LISTENERS(job->server->life->joining_failed, job);
  else
    SFD_CALL_LISTENERS(job->server->life->job_failed, job);
}

void sfd_job_fail(sfd_job_t *job, const char *detail)
{
  if (job->state == SFD_JOB_FAILED)
    return;
  if (detail != job->detail)
    sfd_text_printable(job->detail, sizeof job->detail, detail);
  if (job->state == SFD_JOB_RUNNING)
    send_failure(job, -1);
  fail_here(job);
}

sf_status_t sfd_job_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobFail *fail = message->job_fail;
  sfd_job_t *job = sfd_job_find_id(server, fail->job);
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, fail->job);
  if (job->state != SFD_JOB_RUNNING)
    return SF_OK;
  sfd_text_printable(job->detail, sizeof job->detail, fail->detail);
  send_failure(job, node);
  fail_here(job);
  return SF_OK;
}

static bool has_ranks_on(const sfd_job_t *job, int32_t node)
{
  for (int32_t i = 0; job->world != NULL && i < job->world->nnodes; i++)
    if (job->world->nodes[i] == node)
      return true;
  return false;
}

bool sfd_job_needs(const sfd_job_t *job, int32_t node)
{
  for (int32_t r = 0; r < job->size; r++)
    if (job->rank_nodes[r] == node && !job->left[r])
      return true;
  return false;
}

bool sfd_jobs_fail_on(sfd_server_t *server, int32_t node, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  bool needed = false;
  SFD_FOREACH_SAFE (sfd_job_t, job, &server->jobs->list, entry) {
    if (job->state != SFD_JOB_RUNNING || job->rank_nodes == NULL || !has_ranks_on(job, node) ||
        !sfd_job_needs(job, node))
      continue;
    snprintf(text, sizeof text, "node %d, which has ranks of job \"%.64s\", is lost: %.300s", node, job->name, detail);
    sfd_job_fail(job, text);
    needed = true;
  }
  return needed;
}

/* Groups: members that leave or destroy them, and their end. The daemon's thread. */
#include <inttypes.h>

#include "daemon/jobs/graph.h"
#include "daemon/jobs/group_internal.h"
#include "daemon/jobs/life.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* A local member goes: set-ups that wait for it end. */
static void remove_member(sfd_group_t *group, int32_t group_rank, const char *text)
{
  if (group_rank < 0 || !group->members[group_rank].here)
    return;
  SFD_CALL_LISTENERS(group->job->server->life->member_gone, group, group_rank, text);
  sfd_group_mark_gone(group, group_rank);
}

void sfd_groups_leave(sfd_rank_t *rank, const char *text)
{
  sfd_job_t *job = rank->job;
  SFD_FOREACH_SAFE (sfd_group_t, group, &job->forming, entry)
    if (sfd_group_rank_of(group, rank->number) >= 0)
      sfd_group_fail_forming(group, SF_ERR_STATE, text);
  SFD_FOREACH_SAFE (sfd_group_t, group, &job->groups, entry)
    remove_member(group, sfd_group_rank_of(group, rank->number), text);
}

void sfd_groups_peer_left(sfd_job_t *job, int32_t number)
{
  SFD_FOREACH_SAFE (sfd_group_t, group, &job->groups, entry) {
    int32_t group_rank = sfd_group_rank_of(group, number);
    if (group_rank >= 0 && group->members[group_rank].here)
      sfd_group_mark_gone(group, group_rank);
  }
}

/* -1: none. */
static int32_t find_left(const sfd_group_t *group)
{
  for (int32_t i = 0; i < group->size; i++)
    if (group->job->left[group->members[i].rank])
      return group->members[i].rank;
  return -1;
}

static void sweep(sfd_job_t *job)
{
  char text[SFD_TEXT_SIZE];
  SFD_FOREACH_SAFE (sfd_group_t, group, &job->forming, entry) {
    int32_t left = find_left(group);
    if (left < 0)
      continue;
    sfd_job_describe_rank(job, left, text, sizeof text);
    sfd_text_append(text, sizeof text, " has left");
    sfd_group_fail_forming(group, SF_ERR_STATE, text);
  }
  SFD_FOREACH_SAFE (sfd_group_t, group, &job->groups, entry)
    if (group->nhere < group->size)
      SFD_CALL_LISTENERS(job->server->life->members_swept, group);
}

/* Messages for operations of a rank that left may still arrive. The second pause lets this daemon read them first, even
 * if it had no core for a while. */
#define SWEEP_AFTER_MS 1000
#define SWEEP_READS_MS 50

static void on_sweep(uv_timer_t *timer)
{
  sweep(timer->data);
}

static void on_sweep_due(uv_timer_t *timer)
{
  uv_timer_start(timer, on_sweep, SWEEP_READS_MS, 0);
}

void sfd_groups_sweep_later(sfd_job_t *job)
{
  if (job->state == SFD_JOB_RUNNING)
    uv_timer_start(&job->timer, on_sweep_due, SWEEP_AFTER_MS, 0);
}

sf_status_t sfd_group_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GroupLeft *left = message->group_left;
  sfd_job_t *job = sfd_job_find_id(server, left->job);
  sfd_group_t *group = job != NULL ? sfd_group_find(job, left->group) : NULL;
  int32_t group_rank = group != NULL ? sfd_group_rank_of(group, left->rank) : -1;
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, left->job);
  if (group == NULL && job->state == SFD_JOB_RUNNING)
    return SF_ERR_NOT_FOUND;
  if (group_rank < 0)
    return SF_OK;
  if (left->rank < 0 || left->rank >= job->size || sfd_job_node_of(job, left->rank) != node)
    return sfshm_error(SF_ERR_PROTO, "node %d says that rank %d has destroyed a group, which is not there", node,
                       left->rank);
  if (group->members[group_rank].here)
    sfd_group_mark_gone(group, group_rank);
  sfd_groups_sweep_later(job);
  return SF_OK;
}

static void send_group_left(const sfd_group_t *group, int32_t number)
{
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(GROUP_LEFT, group_left, .job = group->job->id, .group = group->id, .rank = number);
  for (int32_t i = 0; i < group->nnodes; i++)
    if (i != group->node_position)
      sfd_network_send(group->job->server, group->nodes[i], &message);
}

void sfd_groups_fail(sfd_job_t *job, sf_status_t status, const char *detail)
{
  while (!TAILQ_EMPTY(&job->forming))
    sfd_group_fail_forming(TAILQ_FIRST(&job->forming), status, detail);
}

void sfd_groups_free(sfd_job_t *job)
{
  for (sfd_group_t *group; (group = TAILQ_FIRST(&job->forming)) != NULL;) {
    sfd_group_end_forming(group);
    sfd_group_release(group);
  }
  while (!TAILQ_EMPTY(&job->groups))
    sfd_group_unlist(TAILQ_FIRST(&job->groups));
}

void sfd_group_handle_destroy(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->group_destroy->group;
  sfd_group_t *group = sfd_group_find(rank->job, id);
  int32_t group_rank = group != NULL ? sfd_group_rank_of(group, rank->number) : -1;
  if (group_rank < 0 || !group->members[group_rank].here) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no group %" PRIu64, rank->number,
                            id);
    return;
  }
  if (group == rank->job->world) {
    sfd_session_send_errorf(session, message->request, SF_ERR_ARG, "the group of all ranks cannot be destroyed");
    return;
  }
  char text[SFD_TEXT_SIZE];
  sfd_rank_describe(rank, text, sizeof text);
  sfd_text_append(text, sizeof text, " has destroyed the group");
  if (rank->job->state == SFD_JOB_RUNNING) /* else the others hear of the failure first */
    send_group_left(group, rank->number);
  remove_member(group, group_rank, text);
  sfd_session_send_done(session, message->request);
}

/* Ranks that leave their job: Goodbye, and JobLeft between daemons. The daemon's thread. */
#include <stdio.h>

#include "daemon/base.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/membership/join.h"
#include "daemon/memory.h"
#include "daemon/setup.h"
#include "shm/base/error.h"

static void send_left(const sfd_rank_t *rank)
{
  Sfpeer__Message message = SFPEER_MESSAGE_OF(JOB_LEFT, job_left, .job = rank->job->id, .rank = rank->number);
  sfd_job_send_to_nodes(rank->job, &message);
}

sf_status_t sfd_leave_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobLeft *left = message->job_left;
  sfd_job_t *job = sfd_job_find_id(server, left->job);
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, left->job);
  if (job->state != SFD_JOB_RUNNING)
    return SF_OK;
  if (left->rank < 0 || left->rank >= job->size || sfd_job_node_of(job, left->rank) != node || job->left[left->rank])
    return sfshm_error(SF_ERR_PROTO, "node %d says that rank %d has left, which is not there", node, left->rank);
  job->left[left->rank] = true;
  sfd_groups_peer_left(job, left->rank);
  sfd_groups_sweep_later(job);
  return SF_OK;
}

static void leave(sfd_rank_t *rank)
{
  char text[SFD_TEXT_SIZE];
  sfd_rank_describe(rank, text, sizeof text);
  sfd_log(SFD_LOG_JOB, SFD_DEBUG, "%s leaves", text);
  sfd_text_append(text, sizeof text, " has left");
  sfd_job_forget(rank->job);                   /* the rank may join the next job of that name at once */
  sfd_submit_ring_take_all(rank->submit_ring); /* the last messages may still be in the ring */
  rank->job->left[rank->number] = true;
  if (rank->job->state == SFD_JOB_RUNNING) /* else the others hear of the failure first */
    send_left(rank);
  rank->session->state = SFD_SESSION_LEFT;
  sfd_job_retire_rank(rank, SFD_RANK_LEFT);
  sfd_segments_leave(rank);
  sfd_regions_leave(rank);
  sfd_groups_leave(rank, text);
  sfd_setups_leave(rank, text);
  sfd_graphs_leave(rank);
}

void sfd_leave_handle_goodbye(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_rank_t *rank = session->rank;
  if (rank->npending > 0) {
    sfd_session_send_errorf(session, message->request, SF_ERR_STATE,
                            "%d requests of this rank are waiting for other ranks", rank->npending);
    return;
  }
  bool failed = rank->job->state == SFD_JOB_FAILED;
  char detail[SFD_TEXT_SIZE];
  snprintf(detail, sizeof detail, "%s", rank->job->detail);
  leave(rank);
  if (failed) /* the alert may still be on its way */
    sfd_session_send_error(session, message->request, SF_ERR_RANK_FAILED, detail);
  else
    sfd_session_send_done(session, message->request);
}

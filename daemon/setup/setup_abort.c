/* End of set-ups that cannot complete: errors, ranks that leave, jobs that fail. The daemon's thread. */
#include "daemon/setup/setup_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/base.h"
#include "daemon/setup/reply.h"
#include "shm/base/error.h"

/* ---- Errors ---- */

void sfd_setup_answer_failed(const sfd_graph_t *graph)
{
  sfd_setup_answer_error(graph, graph->setup->agreement.error.status, graph->setup->agreement.error.detail);
}

void sfd_setup_end_with_error(sfd_graph_t *graph)
{
  const sfd_agreement_error_t *error = &graph->setup->agreement.error;
  sfd_log(SFD_LOG_GRAPH, SFD_INFO, "graph %" PRIu64 " of job \"%s\" is not set up: %s", graph->id,
          graph->group->job->name, error->detail);
  sfd_setup_answer_error(graph, error->status, error->detail);
  sfd_graph_free(graph);
}

void sfd_setup_fail_unanswered(sfd_graph_t *graph, sf_status_t status)
{
  sfd_setup_note_error(graph->setup, status, -1, -1, sfshm_error_detail());
  sfd_setup_end_with_error(graph);
}

void sfd_setup_fail_ready(sfd_graph_t *graph, sf_status_t status)
{
  const sfd_group_t *group = graph->group;
  char detail[SFD_TEXT_SIZE];
  snprintf(detail, sizeof detail, "node %d can't make its part of the graph: %s", group->nodes[group->node_position],
           sfshm_error_detail());
  if (graph->id == 0) { /* no other node knows the graph */
    sfd_job_fail(group->job, detail);
    return;
  }
  sfd_reply_send_failed(graph, status, detail);
  sfd_graph_fail(graph, status, detail);
  sfd_graph_set_up(graph);
}

/* ---- Ranks that leave ---- */

/* A rank that left goes before errors of input. */
static void note_gone(sfd_graph_t *graph, const char *text)
{
  graph->setup->agreement.error.status = SF_OK;
  sfd_setup_note_error(graph->setup, SF_ERR_STATE, -1, -1, text);
}

void sfd_setups_member_gone(sfd_group_t *group, int32_t group_rank, const char *text)
{
  SFD_FOREACH_SAFE (sfd_graph_t, graph, &group->setups, setups_entry) {
    if (graph->state != SFD_GRAPH_GATHERING || sfd_setup_has_come(sfd_setup_member(graph, group_rank)))
      continue;
    note_gone(graph, text);
    sfd_setup_end_with_error(graph);
  }
}

void sfd_setups_sweep(sfd_group_t *group)
{
  char text[SFD_TEXT_SIZE];
  int32_t gone = 0;
  while (gone < group->size && group->members[gone].here)
    gone++;
  if (gone == group->size)
    return;
  sfd_job_describe_rank(group->job, group->members[gone].rank, text, sizeof text);
  sfd_text_append(text, sizeof text,
                  group->job->left[group->members[gone].rank] ? " has left" : " has destroyed the group");
  SFD_FOREACH_SAFE (sfd_graph_t, graph, &group->setups, setups_entry) {
    if (graph->state != SFD_GRAPH_GATHERING)
      continue;
    note_gone(graph, text);
    sfd_setup_end_with_error(graph);
  }
}

void sfd_setups_leave(sfd_rank_t *rank, const char *text)
{
  SFD_FOREACH_SAFE (sfd_graph_t, graph, &rank->job->graphs, entry) {
    if (graph->state != SFD_GRAPH_COMMITTING)
      continue;
    int32_t group_rank = sfd_group_rank_of(graph->group, rank->number);
    if (group_rank < 0 || sfd_setup_has_come(sfd_setup_member(graph, group_rank)))
      continue;
    sfd_setup_member(graph, group_rank)->state = SFD_MEMBER_ANSWERED;
    if (graph->setup->state == SFD_SETUP_LANES) {
      note_gone(graph, text);
      sfd_setup_enter_failed(graph);
    }
    sfd_setup_answer_failed(graph);
    if (++graph->setup->nhere == graph->group->nlocals)
      sfd_setup_finish_round_2(graph);
  }
}

/* ---- Jobs that fail ---- */

void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail)
{
  SFD_FOREACH_SAFE (sfd_graph_t, graph, &job->graphs, entry) {
    if (graph->setup == NULL)
      continue;
    sfd_setup_answer_error(graph, status, detail);
    sfd_graph_free(graph);
  }
}

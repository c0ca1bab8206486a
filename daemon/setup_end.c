/* The end of set-ups that can't go on: ranks that leave, and jobs that fail. The daemon's thread. */
#include "daemon/setup_internal.h"

#include "daemon/text.h"

/* That it can't be set up comes before what is wrong with it. */
static void note_gone(sfd_graph_t *graph, const char *text)
{
  graph->setup->agreement.error.status = SF_OK;
  sfd_setup_note_error(graph->setup, SF_ERR_STATE, -1, -1, text);
}

void sfd_setups_member_gone(sfd_group_t *group, int32_t place, const char *text)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&group->setups), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, setups_entry);
    if (graph->state != SFD_GRAPH_GATHERING || sfd_setup_member(graph, place)->here)
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
  for (sfd_graph_t *graph = TAILQ_FIRST(&group->setups), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, setups_entry);
    if (graph->state != SFD_GRAPH_GATHERING)
      continue;
    note_gone(graph, text);
    sfd_setup_end_with_error(graph);
  }
}

void sfd_setups_leave(sfd_rank_t *rank, const char *text)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&rank->job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    if (graph->state != SFD_GRAPH_COMMITTING)
      continue;
    int32_t place = sfd_group_rank_of(graph->group, rank->number);
    if (place < 0 || sfd_setup_member(graph, place)->here)
      continue;
    sfd_setup_member(graph, place)->here = true;
    if (!graph->setup->doomed)
      note_gone(graph, text);
    graph->setup->doomed = true;
    sfd_setup_answer_doomed(graph);
    if (++graph->setup->nhere == graph->group->nlocals)
      sfd_setup_finish_round_2(graph);
  }
}

void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    if (graph->setup == NULL)
      continue;
    sfd_setup_answer_error(graph, status, detail);
    sfd_graph_free(graph);
  }
}

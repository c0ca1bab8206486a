/* The life of graphs after and around set-up. The daemon's thread. */
#include "daemon/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/key.h"
#include "daemon/log.h"
#include "daemon/setup.h"

sfd_graph_t *sfd_graph_create(sfd_group_t *group)
{
  sfd_job_t *job = group->job;
  sfd_graph_t *graph = calloc(1, sizeof *graph + (size_t)group->size * sizeof graph->destroyed[0]);
  if (graph == NULL)
    return NULL;
  graph->id = sfd_server_new_id(job->server);
  graph->group = group;
  if (!sfd_key_insert(&job->graphs_by_id, graph)) {
    free(graph);
    return NULL;
  }
  sfd_group_retain(group);
  TAILQ_INSERT_TAIL(&job->graphs, graph, entry);
  TAILQ_INSERT_TAIL(&group->gathering, graph, gathering_entry);
  job->ngraphs++;
  job->server->statistics.ngraphs++;
  return graph;
}

void sfd_graph_free(sfd_graph_t *graph)
{
  sfd_job_t *job = graph->group->job;
  if (graph->state == SFD_GRAPH_GATHERING)
    TAILQ_REMOVE(&graph->group->gathering, graph, gathering_entry);
  TAILQ_REMOVE(&job->graphs, graph, entry);
  sfd_key_remove(&job->graphs_by_id, graph);
  job->ngraphs--;
  job->server->statistics.ngraphs--;
  sfd_setup_free(graph);
  sfd_group_release(graph->group);
  free(graph->detail);
  free(graph);
}

sfd_graph_t *sfd_graph_find(const sfd_job_t *job, uint64_t id)
{
  return sfd_key_find(job->graphs_by_id, id);
}

static void alert_members(const sfd_graph_t *graph, Sfproto__Alert__Kind kind, char *detail)
{
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = kind;
  alert.has_graph = true;
  alert.graph = graph->id;
  alert.detail = detail;
  for (int32_t i = 0; i < graph->group->size; i++) {
    const sfd_rank_t *rank = sfd_group_member(graph->group, i);
    if (sfd_rank_connected(rank))
      sfd_session_send_alert(rank->session, &alert);
  }
}

/* Set-up is over and the member has not destroyed it yet. */
static void destroy_for(sfd_graph_t *graph, int32_t place)
{
  graph->destroyed[place] = true;
  if (++graph->ndestroyed < graph->group->size)
    return;
  alert_members(graph, SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  sfd_graph_free(graph);
}

void sfd_graphs_leave(sfd_rank_t *rank)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&rank->job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    int32_t place = sfd_group_rank_of(graph->group, rank->number);
    if (graph->setup == NULL && place >= 0 && !graph->destroyed[place])
      destroy_for(graph, place);
  }
}

void sfd_graphs_free(sfd_job_t *job)
{
  while (!TAILQ_EMPTY(&job->graphs))
    sfd_graph_free(TAILQ_FIRST(&job->graphs));
}

/* The graph of that id that is set up and that this rank has not destroyed, or NULL: then the request has been
 * answered. */
static sfd_graph_t *find_ready(sfd_session_t *session, uint64_t request, uint64_t id, int32_t *place_p)
{
  sfd_graph_t *graph = sfd_graph_find(session->rank->job, id);
  int32_t place = graph != NULL ? sfd_group_rank_of(graph->group, session->rank->number) : -1;
  if (place < 0 || graph->destroyed[place]) {
    sfd_session_answer(session, request, SF_ERR_NOT_FOUND, "rank %d has no graph %" PRIu64, session->rank->number, id);
    return NULL;
  }
  if (graph->setup != NULL) {
    sfd_session_answer(session, request, SF_ERR_STATE, "graph %" PRIu64 " is being set up", id);
    return NULL;
  }
  *place_p = place;
  return graph;
}

void sfd_graph_handle_destroy(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  int32_t place;
  sfd_graph_t *graph = find_ready(session, message->request, message->graph_destroy->graph, &place);
  (void)fds;
  (void)nfds;
  if (graph == NULL)
    return;
  sfd_session_send_done(session, message->request);
  destroy_for(graph, place);
}

void sfd_graph_handle_fail(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  int32_t place;
  sfd_graph_t *graph = find_ready(session, message->request, message->graph_fail->graph, &place);
  (void)fds;
  (void)nfds;
  if (graph == NULL)
    return;
  if (graph->state != SFD_GRAPH_FAILED) {
    char detail[SFD_TEXT_SIZE];
    sfd_text_printable(detail, sizeof detail, message->graph_fail->detail);
    graph->state = SFD_GRAPH_FAILED;
    graph->detail = strdup(detail); /* without memory sfctl shows none */
    sfd_log(SFD_LOG_GRAPH, SFD_INFO, "graph %" PRIu64 " of job \"%s\" failed: %s", graph->id, session->rank->job->name,
            detail);
    alert_members(graph, SFPROTO__ALERT__KIND__GRAPH_FAILED, detail);
  }
  sfd_session_send_done(session, message->request);
}

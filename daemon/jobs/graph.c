/* Graphs: see graph.h. The daemon's thread. */
#include "daemon/jobs/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/jobs/life.h"
#include "daemon/jobs/node_tree.h"
#include "daemon/net.h"
#include "shm/base/error.h"

sfd_graph_t *sfd_graph_create(sfd_group_t *group)
{
  sfd_job_t *job = group->job;
  sfd_graph_t *graph = calloc(1, sizeof *graph + (size_t)group->nlocals * sizeof graph->destroyed[0]);
  if (graph == NULL)
    return NULL;
  graph->serial = sfd_server_new_serial(job->server);
  graph->group = group;
  sfd_group_retain(group);
  TAILQ_INSERT_TAIL(&job->graphs, graph, entry);
  TAILQ_INSERT_TAIL(&group->setups, graph, setups_entry);
  job->ngraphs++;
  job->server->statistics.ngraphs++;
  return graph;
}

sf_status_t sfd_graph_number(sfd_graph_t *graph, uint64_t id)
{
  graph->id = id;
  if (sfd_id_map_insert(&graph->group->job->graphs_by_id, graph))
    return SF_OK;
  graph->id = 0;
  return sfshm_error(SF_ERR_NOMEM, "no memory for a graph");
}

static void unlist_setup(sfd_graph_t *graph)
{
  if (graph->setup != NULL)
    TAILQ_REMOVE(&graph->group->setups, graph, setups_entry);
}

void sfd_graph_set_up(sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  if (graph->state != SFD_GRAPH_FAILED)
    graph->state = SFD_GRAPH_READY;
  unlist_setup(graph);
  SFD_CALL_LISTENERS(server->life->graph_set_up, graph);
  sfd_network_begun(server);
}

void sfd_graph_free(sfd_graph_t *graph)
{
  sfd_job_t *job = graph->group->job;
  unlist_setup(graph);
  SFD_CALL_LISTENERS(job->server->life->graph_freed, graph);
  TAILQ_REMOVE(&job->graphs, graph, entry);
  if (graph->id != 0)
    sfd_id_map_remove(&job->graphs_by_id, graph);
  job->ngraphs--;
  job->server->statistics.ngraphs--;
  sfd_group_release(graph->group);
  free(graph->detail);
  free(graph);
}

sfd_graph_t *sfd_graph_find(const sfd_job_t *job, uint64_t id)
{
  return sfd_id_map_find(job->graphs_by_id, id);
}

void sfd_graph_alert_members(const sfd_graph_t *graph, Sfproto__Alert *alert,
                             void (*send)(sfd_session_t *session, Sfproto__Alert *alert))
{
  alert->has_graph = true;
  alert->graph = graph->id;
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    const sfd_rank_t *rank = sfd_group_member(graph->group, graph->group->locals[i]);
    if (sfd_rank_connected(rank))
      send(rank->session, alert);
  }
}

void sfd_graphs_free(sfd_job_t *job)
{
  while (!TAILQ_EMPTY(&job->graphs))
    sfd_graph_free(TAILQ_FIRST(&job->graphs));
}

sfd_graph_t *sfd_graph_find_ready(sfd_session_t *session, uint64_t request, uint64_t id, int32_t *local_p)
{
  sfd_graph_t *graph = sfd_graph_find(session->rank->job, id);
  int32_t group_rank = graph != NULL ? sfd_group_rank_of(graph->group, session->rank->number) : -1;
  int32_t local = group_rank >= 0 ? sfd_group_local(graph->group, group_rank) : -1;
  if (local < 0 || graph->destroyed[local]) {
    sfd_session_send_errorf(session, request, SF_ERR_NOT_FOUND, "rank %d has no graph %" PRIu64, session->rank->number,
                            id);
    return NULL;
  }
  if (graph->setup != NULL) {
    sfd_session_send_errorf(session, request, SF_ERR_STATE, "graph %" PRIu64 " is being set up", id);
    return NULL;
  }
  *local_p = local;
  return graph;
}

/* ---- Failing ---- */

void sfd_graph_alert_failed(sfd_graph_t *graph, const char *detail)
{
  Sfproto__Alert alert =
      SFPROTO_BODY(alert, .kind = SFPROTO__ALERT__KIND__GRAPH_FAILED, SFPROTO_HAS(status, graph->failure),
                   .detail = (char *)(uintptr_t)detail /* only read */);
  sfd_graph_alert_members(graph, &alert, sfd_session_send_alert);
}

static void fail_here(sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  const sfd_job_t *job = graph->group->job;
  graph->state = SFD_GRAPH_FAILED;
  graph->failure = status;
  graph->detail = strdup(detail);
  sfd_log(SFD_LOG_GRAPH, SFD_INFO, "graph %" PRIu64 " of job \"%s\" failed: %s", graph->id, job->name, detail);
  SFD_CALL_LISTENERS(job->server->life->graph_failed, graph, detail);
}

static void send_failure(const sfd_graph_t *graph, const int32_t nodes[], int32_t n, sf_status_t status,
                         const char *detail)
{
  const sfd_group_t *group = graph->group;
  Sfpeer__Message message = SFPEER_MESSAGE_OF(GRAPH_FAIL, graph_fail, .job = group->job->id, .graph = graph->id,
                                              .status = status, .detail = (char *)(uintptr_t)detail /* only read */);
  for (int32_t i = 0; i < n; i++)
    if (nodes[i] != group->nodes[group->node_position])
      sfd_network_send(group->job->server, nodes[i], &message);
}

/* text may be a client's, of any length. */
void sfd_graph_fail(sfd_graph_t *graph, sf_status_t status, const char *text)
{
  const sfd_group_t *group = graph->group;
  char detail[SFD_TEXT_SIZE];
  if (graph->state == SFD_GRAPH_FAILED)
    return;
  sfd_text_printable(detail, sizeof detail, text);
  send_failure(graph, group->nodes, group->nnodes, status, detail);
  fail_here(graph, status, detail);
}

/* The node that failed the graph tells all nodes. Neighbours in the tree are told here, too, as messages caused by this
 * failure could reach them first. */
void sfd_graph_hear_failure(sfd_graph_t *graph, sf_status_t status, const char *text)
{
  const sfd_group_t *group = graph->group;
  int32_t parent = sfd_tree_parent(group), nchildren = sfd_tree_nchildren(group);
  char detail[SFD_TEXT_SIZE];
  if (graph->state == SFD_GRAPH_FAILED)
    return;
  sfd_text_printable(detail, sizeof detail, text);
  send_failure(graph, &parent, parent >= 0, status, detail);
  if (nchildren > 0)
    send_failure(graph, group->nodes + sfd_tree_first_child(group), nchildren, status, detail);
  fail_here(graph, status, detail);
}

sf_status_t sfd_graph_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphFail *fail = message->graph_fail;
  const sfd_job_t *job = sfd_job_find_id(server, fail->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, fail->graph) : NULL;
  (void)node;
  if (graph != NULL && graph->state == SFD_GRAPH_COMMITTING)
    return SF_ERR_NOT_FOUND; /* the graph was ready there before */
  if (graph != NULL)
    sfd_graph_hear_failure(graph, fail->status < SF_OK ? (sf_status_t)fail->status : SF_ERR_MISMATCH, fail->detail);
  return SF_OK;
}

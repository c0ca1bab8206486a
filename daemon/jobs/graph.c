/* The life of graphs after and around set-up. The daemon's thread. */
#include "daemon/jobs/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/id_map.h"
#include "daemon/base/log.h"
#include "daemon/data/match_offers.h"
#include "daemon/data/submit_rings.h"
#include "daemon/data/trunks.h"
#include "daemon/jobs/node_tree.h"
#include "daemon/net/network.h"
#include "daemon/setup/barrier.h"
#include "daemon/setup/call_compare.h"
#include "daemon/setup/setup.h"
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
  if (sfd_key_insert(&graph->group->job->graphs_by_id, graph))
    return SF_OK;
  graph->id = 0;
  return sfshm_error(SF_ERR_NOMEM, "no memory for a graph");
}

/* It is no longer among those that are being set up. */
static void end_setup(sfd_graph_t *graph)
{
  if (graph->setup == NULL)
    return;
  TAILQ_REMOVE(&graph->group->setups, graph, setups_entry);
  sfd_setup_free(graph);
}

void sfd_graph_set_up(sfd_graph_t *graph)
{
  if (graph->state != SFD_GRAPH_FAILED)
    graph->state = SFD_GRAPH_READY;
  end_setup(graph);
  sfd_calls_watch(graph);
  sfd_network_begun(graph->group->job->server);
}

void sfd_graph_free(sfd_graph_t *graph)
{
  sfd_job_t *job = graph->group->job;
  end_setup(graph);
  sfd_trunks_free(graph->trunks);
  sfd_offload_free(graph->offload);
  sfd_calls_free(graph->calls);
  sfd_meeting_free(graph);
  TAILQ_REMOVE(&job->graphs, graph, entry);
  if (graph->id != 0)
    sfd_key_remove(&job->graphs_by_id, graph);
  job->ngraphs--;
  job->server->statistics.ngraphs--;
  sfd_group_release(graph->group);
  free(graph->detail);
  free(graph);
}

sfd_graph_t *sfd_graph_find(const sfd_job_t *job, uint64_t id)
{
  return sfd_key_find(job->graphs_by_id, id);
}

static void alert_members(const sfd_graph_t *graph, Sfproto__Alert *alert,
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

/* Set-up is over and the member has not destroyed it yet. Where nobody waits for other nodes, the next graph is sooner
 * made in the memory of this one than beside it. */
static void destroy_for(sfd_graph_t *graph, int32_t local)
{
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = SFPROTO__ALERT__KIND__GRAPH_RETIRED;
  graph->destroyed[local] = true;
  if (++graph->ndestroyed < graph->group->nlocals)
    return;
  sfd_meeting_graph_gone(graph);
  sfd_calls_end_graph(graph);
  alert_members(graph, &alert, graph->group->nnodes > 1 ? sfd_session_hold_alert : sfd_session_send_alert);
  sfd_graph_free(graph);
}

void sfd_graphs_leave(sfd_rank_t *rank)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&rank->job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    int32_t place = sfd_group_rank_of(graph->group, rank->number);
    int32_t local = place >= 0 ? sfd_group_local(graph->group, place) : -1;
    if (graph->setup != NULL || local < 0 || graph->destroyed[local])
      continue;
    sfd_calls_leave(graph, rank);
    destroy_for(graph, local);
  }
}

void sfd_graphs_let_go(const sfd_job_t *job)
{
  const sfd_graph_t *graph;
  TAILQ_FOREACH(graph, &job->graphs, entry)
  {
    sfd_trunks_let_go(graph->trunks);
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
  int32_t place = graph != NULL ? sfd_group_rank_of(graph->group, session->rank->number) : -1;
  int32_t local = place >= 0 ? sfd_group_local(graph->group, place) : -1;
  if (local < 0 || graph->destroyed[local]) {
    sfd_session_answer(session, request, SF_ERR_NOT_FOUND, "rank %d has no graph %" PRIu64, session->rank->number, id);
    return NULL;
  }
  if (graph->setup != NULL) {
    sfd_session_answer(session, request, SF_ERR_STATE, "graph %" PRIu64 " is being set up", id);
    return NULL;
  }
  *local_p = local;
  return graph;
}

void sfd_graph_handle_destroy(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  int32_t local;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, message->graph_destroy->graph, &local);
  (void)fds;
  (void)nfds;
  if (graph == NULL)
    return;
  if (sfd_meeting_has(graph, local)) {
    sfd_session_answer(session, message->request, SF_ERR_STATE, "rank %d waits for the others of graph %" PRIu64,
                       session->rank->number, graph->id);
    return;
  }
  sfd_submission_take_all(session->rank->submission); /* its last messages may still be in the ring */
  sfd_meeting_member_gone(graph, session->rank);
  sfd_session_send_done(session, message->request);
  if (message->graph_destroy->has_operations)
    sfd_calls_end(graph, &(sfd_ended_rank_t){.rank = graph->group->locals[local],
                                             .operations = message->graph_destroy->operations});
  destroy_for(graph, local);
}

/* ---- Failing ---- */

static void fail_here(sfd_graph_t *graph, sf_status_t status, char detail[])
{
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = SFPROTO__ALERT__KIND__GRAPH_FAILED;
  alert.has_status = true;
  alert.status = status;
  alert.detail = detail;
  graph->state = SFD_GRAPH_FAILED;
  sfd_trunks_let_go(graph->trunks);
  graph->failure = status;
  graph->detail = strdup(detail);
  sfd_log(SFD_LOG_GRAPH, SFD_INFO, "graph %" PRIu64 " of job \"%s\" failed: %s", graph->id, graph->group->job->name,
          detail);
  alert_members(graph, &alert, sfd_session_send_alert);
  sfd_meeting_graph_failed(graph);
}

static void tell_nodes(const sfd_graph_t *graph, const int32_t nodes[], int32_t n, sf_status_t status,
                       const char *detail)
{
  const sfd_group_t *group = graph->group;
  Sfpeer__GraphFail fail = SFPEER__GRAPH_FAIL__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  fail.job = group->job->id;
  fail.graph = graph->id;
  fail.status = status;
  fail.detail = (char *)(uintptr_t)detail; /* only read */
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_FAIL;
  message.graph_fail = &fail;
  for (int32_t i = 0; i < n; i++)
    if (nodes[i] != group->nodes[group->node_position])
      sfd_network_send(group->job->server, nodes[i], &message);
}

/* The text may be a client's, of any length. */
void sfd_graph_fail(sfd_graph_t *graph, sf_status_t status, const char *text)
{
  const sfd_group_t *group = graph->group;
  char detail[SFD_TEXT_SIZE];
  if (graph->state == SFD_GRAPH_FAILED)
    return;
  sfd_text_printable(detail, sizeof detail, text);
  tell_nodes(graph, group->nodes, group->nnodes, status, detail);
  fail_here(graph, status, detail);
}

/* Who tells it tells all. But what ranks here do next, having heard of it, their node's neighbours in the tree may hear
 * of sooner than of this. */
void sfd_graph_hear_failure(sfd_graph_t *graph, sf_status_t status, const char *text)
{
  const sfd_group_t *group = graph->group;
  int32_t parent = sfd_tree_parent(group), nchildren = sfd_tree_nchildren(group);
  char detail[SFD_TEXT_SIZE];
  if (graph->state == SFD_GRAPH_FAILED)
    return;
  sfd_text_printable(detail, sizeof detail, text);
  tell_nodes(graph, &parent, parent >= 0, status, detail);
  if (nchildren > 0)
    tell_nodes(graph, group->nodes + sfd_tree_first_child(group), nchildren, status, detail);
  fail_here(graph, status, detail);
}

sf_status_t sfd_graph_handle_peer_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphFail *fail = message->graph_fail;
  const sfd_job_t *job = sfd_job_find_id(server, fail->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, fail->graph) : NULL;
  (void)node;
  if (graph != NULL && graph->state == SFD_GRAPH_COMMITTING)
    return SF_ERR_NOT_FOUND; /* there it was ready before */
  if (graph != NULL)
    sfd_graph_hear_failure(graph, fail->status < SF_OK ? (sf_status_t)fail->status : SF_ERR_MISMATCH, fail->detail);
  return SF_OK;
}

/* That a rank is lost is for daemons to say, who know: what a client says of it concerns its graph, and nothing at all
 * in a job that has failed, of which all hear. */
static sf_status_t believed(const Sfproto__GraphFail *fail)
{
  bool good = fail->has_status && fail->status < SF_OK && fail->status != SF_ERR_RANK_FAILED;
  return good ? (sf_status_t)fail->status : SF_ERR_MISMATCH;
}

void sfd_graph_handle_fail(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__GraphFail *fail = message->graph_fail;
  int32_t local;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, fail->graph, &local);
  (void)fds;
  (void)nfds;
  if (graph == NULL)
    return;
  sfd_trunks_let_go(graph->trunks); /* again, if it failed before a member here had streams */
  if (graph->group->job->state == SFD_JOB_RUNNING)
    sfd_graph_fail(graph, believed(fail), fail->detail);
  sfd_session_send_done(session, message->request);
}

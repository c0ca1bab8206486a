/* Requests about graphs: see graph_requests.h. The daemon's thread. */
#include "daemon/setup/graph_requests.h"

#include <inttypes.h>

#include "daemon/data.h"
#include "daemon/setup/barrier.h"
#include "daemon/setup/call_compare.h"

/* ---- Destroying -------------------------------------------------------------------------------------------------- */

/* Marks a graph that is set up as destroyed by the member. On one node the alert is sent at once, so that the next
 * graph reuses the memory; over nodes it may wait. */
static void destroy_for(sfd_graph_t *graph, int32_t local)
{
  Sfproto__Alert alert = SFPROTO_BODY(alert, .kind = SFPROTO__ALERT__KIND__GRAPH_RETIRED);
  graph->destroyed[local] = true;
  if (++graph->ndestroyed < graph->group->nlocals)
    return;
  sfd_calls_end_graph(graph);
  sfd_graph_alert_members(graph, &alert, graph->group->nnodes > 1 ? sfd_session_hold_alert : sfd_session_send_alert);
  sfd_graph_free(graph);
}

void sfd_graphs_leave(sfd_rank_t *rank)
{
  SFD_FOREACH_SAFE (sfd_graph_t, graph, &rank->job->graphs, entry) {
    int32_t group_rank = sfd_group_rank_of(graph->group, rank->number);
    int32_t local = group_rank >= 0 ? sfd_group_local(graph->group, group_rank) : -1;
    if (graph->setup != NULL || local < 0 || graph->destroyed[local])
      continue;
    sfd_calls_leave(graph, rank);
    destroy_for(graph, local);
  }
}

void sfd_graph_handle_destroy(sfd_session_t *session, const Sfproto__Message *message)
{
  int32_t local;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, message->graph_destroy->graph, &local);
  if (graph == NULL)
    return;
  if (sfd_barrier_has_entered(graph, local)) {
    sfd_session_send_errorf(session, message->request, SF_ERR_STATE, "rank %d waits for the others of graph %" PRIu64,
                            session->rank->number, graph->id);
    return;
  }
  sfd_submit_ring_take_all(session->rank->submit_ring); /* the last messages may still be in the ring */
  sfd_session_send_done(session, message->request);
  if (!message->graph_destroy->apart)
    sfd_calls_end(graph, &(sfd_ended_rank_t){.rank = graph->group->locals[local],
                                             .operations = message->graph_destroy->operations});
  destroy_for(graph, local);
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

/* Only daemons report lost ranks: a client's report fails its graph only. */
static sf_status_t believed(const Sfproto__GraphFail *fail)
{
  bool good = fail->has_status && fail->status < SF_OK && fail->status != SF_ERR_RANK_FAILED;
  return good ? (sf_status_t)fail->status : SF_ERR_MISMATCH;
}

void sfd_graph_handle_fail(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__GraphFail *fail = message->graph_fail;
  int32_t local;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, fail->graph, &local);
  if (graph == NULL)
    return;
  sfd_trunks_let_go(graph->trunks); /* again: a member may have started streams since the graph failed */
  if (graph->group->job->state == SFD_JOB_RUNNING)
    sfd_graph_fail(graph, believed(fail), fail->detail);
  sfd_session_send_done(session, message->request);
}

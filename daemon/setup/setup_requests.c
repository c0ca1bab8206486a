/* GraphCreate and GraphCommit of members. The daemon's thread. */
#include <inttypes.h>

#include "daemon/setup/proposal.h"
#include "daemon/setup/reply.h"
#include "daemon/setup/round1_edges.h"
#include "daemon/setup/round2_lanes.h"
#include "daemon/setup/setup_internal.h"
#include "shm/base/error.h"

/* Records the error of a rank; false: malformed. */
static bool take_error(sfd_graph_t *graph, const Sfproto__SetupError *error)
{
  if (error == NULL)
    return true;
  if (error->status >= SF_OK || error->rank < 0 || error->rank >= graph->group->size)
    return false;
  sfd_setup_note_error(graph->setup, error->status, error->rank, error->leaf, error->detail);
  return true;
}

/* The member waits for the other members. */
static void arrive(sfd_graph_t *graph, int32_t group_rank, uint64_t request)
{
  sfd_setup_member_t *member = sfd_setup_member(graph, group_rank);
  member->state = SFD_MEMBER_WAITING;
  member->request = request;
  graph->setup->nhere++;
  sfd_group_member(graph->group, group_rank)->npending++;
}

/* ---- GraphCreate ---- */

static sf_status_t check_create(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                int32_t group_rank, const int fds[], int nfds)
{
  sf_status_t status = create->has_again ? SF_OK : sfd_setup_edges_check(create, rank, group, group_rank, fds, nfds);
  return status == SF_OK ? sfd_proposal_check(create, rank, group, group_rank, nfds) : status;
}

/* The set-up of the message: the member's next one, or the one for which it was asked for edges. */
static sf_status_t find_round_1(sfd_group_t *group, int32_t group_rank, const Sfproto__GraphCreate *create,
                                sfd_graph_t **graph_p)
{
  if (!create->has_number)
    return sfd_setup_find_gathering(group, group->members[group_rank].ngraphs, graph_p);
  *graph_p = sfd_setup_find(group, create->number);
  if (*graph_p == NULL || sfd_setup_member(*graph_p, group_rank)->state != SFD_MEMBER_ASKED)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: edges of number %" PRIu64 " were not asked for",
                       group_rank, create->number);
  return SF_OK;
}

static sf_status_t store_list(const sfd_graph_t *graph, sfd_setup_member_t *member, int fds[], int nfds)
{
  if (nfds == 0)
    return SF_OK;
  sf_status_t status = sfd_job_hold_fd(graph->group->job);
  if (status != SF_OK)
    return status;
  member->edges_fd = fds[0];
  fds[0] = -1;
  return SF_OK;
}

static sf_status_t store_create(sfd_graph_t *graph, int32_t group_rank, const Sfproto__GraphCreate *create, int fds[],
                                int nfds)
{
  sfd_setup_member_t *member = sfd_setup_member(graph, group_rank);
  sfd_agreement_t *agreement = &graph->setup->agreement;
  if (!take_error(graph, create->error))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: malformed error", group_rank);
  sf_status_t status = sfd_setup_edges_store(create, member);
  if (status == SF_OK)
    status = sfd_proposal_store(create, member);
  if (status == SF_OK)
    status = store_list(graph, member, fds, nfds);
  if (status != SF_OK)
    return status;
  member->nroots = create->nroots;
  member->nleaves = create->nleaves;
  member->flags = create->flags;
  member->wrong = create->error != NULL;
  if (create->has_again)
    return SF_OK; /* the edges may still follow */
  sfd_agreement_add_flags(agreement, group_rank, create->flags);
  if (create->error == NULL)
    sfd_agreement_add_counts(agreement, create->nroots, create->nleaves, member->nblocks);
  return SF_OK;
}

static sf_status_t enter_round_1(sfd_group_t *group, int32_t group_rank, sfd_session_t *session,
                                 const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__GraphCreate *create = message->graph_create;
  sfd_graph_t *graph;
  sf_status_t status = check_create(create, session->rank, group, group_rank, fds, nfds);
  if (status == SF_OK)
    status = find_round_1(group, group_rank, create, &graph);
  if (status != SF_OK)
    return status;
  bool ask = create->has_again && graph->setup->state == SFD_SETUP_EDGES;
  status = ask ? SF_OK : store_create(graph, group_rank, create, fds, nfds);
  if (status != SF_OK)
    return status;
  if (!create->has_number)
    group->members[group_rank].ngraphs++;
  if (ask) {
    sfd_setup_member(graph, group_rank)->state = SFD_MEMBER_ASKED;
    sfd_reply_ask_edges(session, message->request, graph->number);
    return SF_OK;
  }
  arrive(graph, group_rank, message->request);
  if (graph->setup->nhere == group->nlocals)
    sfd_setup_members_came(graph);
  return SF_OK;
}

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS); /* from the other ranks, and in the next round */
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_create->group;
  if (sfd_job_answer_failed(rank, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  sfd_group_t *group = sfd_group_find(rank->job, id);
  int32_t group_rank = group != NULL ? sfd_group_rank_of(group, rank->number) : -1;
  if (group_rank < 0) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no group %" PRIu64, rank->number,
                            id);
    return;
  }
  if (!sfd_group_complete(group, rank, message->request))
    return;
  if (group->nnodes > 1)
    sfd_idle_moved(&session->server->idle); /* programs create several graphs in a row */
  sf_status_t status = enter_round_1(group, group_rank, session, message, fds, nfds);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- GraphCommit ---- */

static sf_status_t enter_round_2(sfd_graph_t *graph, int32_t group_rank, const sfd_rank_t *rank,
                                 const Sfproto__Message *message)
{
  const Sfproto__GraphCommit *commit = message->graph_commit;
  if (commit->error != NULL && commit->n_lanes > 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: lanes beside an error", group_rank);
  sf_status_t status =
      sfd_setup_lanes_check("GraphCommit", commit->lanes, commit->n_lanes, rank, graph->group, group_rank);
  if (status == SF_OK)
    status = sfd_setup_lanes_store(commit->lanes, commit->n_lanes, sfd_setup_member(graph, group_rank));
  if (status != SF_OK)
    return status;
  if (!take_error(graph, commit->error))
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: malformed error", group_rank);
  arrive(graph, group_rank, message->request);
  if (graph->setup->state == SFD_SETUP_FAILED)
    sfd_setup_answer_failed(graph);
  if (graph->setup->nhere == graph->group->nlocals)
    sfd_setup_finish_round_2(graph);
  return SF_OK;
}

void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS); /* from the other ranks, and in the next round */
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_commit->graph;
  if (sfd_job_answer_failed(rank, message->request))
    return;
  sfd_graph_t *graph = sfd_graph_find(rank->job, id);
  int32_t group_rank = graph != NULL ? sfd_group_rank_of(graph->group, rank->number) : -1;
  if (group_rank < 0 || graph->state != SFD_GRAPH_COMMITTING ||
      sfd_setup_has_come(sfd_setup_member(graph, group_rank))) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO,
                       "GraphCommit of rank %d for graph %" PRIu64 ", which does not wait for it", rank->number, id);
    return;
  }
  sf_status_t status = enter_round_2(graph, group_rank, rank, message);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* The rounds of graph set-up: waiting for all, and errors. The daemon's thread. */
#include "daemon/setup/setup_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/data/trunks.h"
#include "daemon/setup/one_round.h"
#include "daemon/setup/reuse.h"
#include "daemon/setup/root_bounds.h"
#include "daemon/setup/root_requests.h"
#include "daemon/setup/round1_edges.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

/* ---- State ---- */

static sf_status_t begin(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p)
{
  sfd_setup_t *setup = calloc(1, sizeof *setup + (size_t)group->nlocals * sizeof setup->members[0]);
  sfd_graph_t *graph = setup != NULL ? sfd_graph_create(group) : NULL;
  if (graph == NULL) {
    free(setup);
    return sfshm_error(SF_ERR_NOMEM, "no memory for a graph of %d ranks", group->size);
  }
  for (int32_t i = 0; i < group->nlocals; i++)
    setup->members[i].edges_fd = -1;
  setup->agreement.lowest = setup->again.lowest = -1;
  graph->setup = setup;
  graph->number = number;
  if (group->job->ngraphs > SFD_MAX_GRAPHS)
    sfd_setup_note_error(setup, SF_ERR_LIMIT, -1, -1, "the job has too many graphs");
  *graph_p = graph;
  return SF_OK;
}

void sfd_setup_free(sfd_graph_t *graph)
{
  if (graph->setup == NULL)
    return;
  sfd_wants_free(graph->setup->wants);
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    sfd_peers_free(graph->group->job, &graph->setup->members[i]);
    sfd_lanes_free(&graph->setup->members[i]);
  }
  free(graph->setup);
  graph->setup = NULL;
}

sfd_setup_member_t *sfd_setup_member(const sfd_graph_t *graph, int32_t place)
{
  return &graph->setup->members[sfd_group_local(graph->group, place)];
}

sfd_graph_t *sfd_setup_find(const sfd_group_t *group, uint64_t number)
{
  sfd_graph_t *graph;
  TAILQ_FOREACH(graph, &group->setups, setups_entry)
  {
    if (graph->number == number)
      return graph;
  }
  return NULL;
}

sf_status_t sfd_setup_find_gathering(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p)
{
  *graph_p = sfd_setup_find(group, number);
  return *graph_p == NULL && group->nhere == group->size ? begin(group, number, graph_p) : SF_OK;
}

/* Of a graph that is in the round to which the kind belongs; NULL: it is not, or there is none. */
static sfd_agreement_t *agreement_of(const sfd_graph_t *graph, Sfpeer__Arrive__Kind kind)
{
  bool lanes = kind == SFPEER__ARRIVE__KIND__GRAPH_LANES;
  if (graph == NULL || graph->state != (lanes ? SFD_GRAPH_COMMITTING : SFD_GRAPH_GATHERING))
    return NULL;
  return kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN ? &graph->setup->again : &graph->setup->agreement;
}

sf_status_t sfd_setup_find_agreement(sfd_group_t *group, uint64_t number, Sfpeer__Arrive__Kind kind,
                                     sfd_agreement_t **agreement_p)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  sf_status_t status = SF_OK;
  if (kind != SFPEER__ARRIVE__KIND__GRAPH_LANES)
    status = sfd_setup_find_gathering(group, number, &graph);
  *agreement_p = status == SF_OK ? agreement_of(graph, kind) : NULL;
  return status;
}

sfd_agreement_t *sfd_setup_find_told(const sfd_group_t *group, uint64_t number, Sfpeer__Arrive__Kind kind)
{
  return agreement_of(sfd_setup_find(group, number), kind);
}

/* ---- Errors ---- */

void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail)
{
  sfd_setup_error_note(&setup->agreement.error, status, rank, leaf, detail);
}

/* What a rank found wrong; false: it is malformed. */
static bool take_error(sfd_graph_t *graph, const Sfproto__SetupError *error)
{
  if (error == NULL)
    return true;
  if (error->status >= SF_OK || error->rank < 0 || error->rank >= graph->group->size)
    return false;
  sfd_setup_note_error(graph->setup, error->status, error->rank, error->leaf, error->detail);
  return true;
}

/* ---- Answering ---- */

/* The member has said its part of this round and waits for the others. */
static void arrive(sfd_graph_t *graph, int32_t place, uint64_t request)
{
  sfd_setup_member_t *member = sfd_setup_member(graph, place);
  member->here = true;
  member->waiting = true;
  member->request = request;
  graph->setup->nhere++;
  sfd_group_member(graph->group, place)->npending++;
}

sfd_session_t *sfd_setup_answered(const sfd_graph_t *graph, int32_t local)
{
  sfd_rank_t *rank = sfd_group_member(graph->group, graph->group->locals[local]);
  if (!graph->setup->members[local].waiting)
    return NULL;
  graph->setup->members[local].waiting = false;
  rank->npending--;
  return sfd_rank_connected(rank) ? rank->session : NULL;
}

void sfd_setup_answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    sfd_session_t *session = sfd_setup_answered(graph, i);
    if (session != NULL)
      sfd_session_send_error(session, graph->setup->members[i].request, status, detail);
  }
}

/* ---- Round 1 ---- */

void sfd_setup_edges_done(sfd_graph_t *graph)
{
  graph->setup->agreement.two_rounds |= !sfd_at_once_is_possible(graph);
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_EDGES, graph->number, &graph->setup->agreement);
}

static void finish_round_1(sfd_graph_t *graph)
{
  sfd_wants_members_came(graph); /* other nodes may have edges to say in any case */
  if (sfd_again_settle(graph))
    return;
  sfd_roots_check_local(graph);
  if (graph->group->nnodes > 1)
    sfd_wants_begin(graph); /* also after an error: another rank may have a lower one */
  else
    sfd_setup_edges_done(graph);
}

static void begin_round_2(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  sfd_wants_free(setup->wants);
  setup->wants = NULL;
  setup->nhere = 0;
  setup->agreement = (sfd_agreement_t){.lowest = -1};
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    setup->members[i].here = false;
    sfd_peers_free(graph->group->job, &setup->members[i]);
    sfd_lanes_free(&setup->members[i]);
  }
}

/* The others go on to round 2, where they will hear of it. */
static void fail_round_2(sfd_graph_t *graph, sf_status_t status)
{
  char detail[SFD_TEXT_SIZE];
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail()); /* telling may have errors of its own */
  sfd_setup_answer_error(graph, status, detail);
  begin_round_2(graph);
  sfd_setup_note_error(graph->setup, status, -1, -1, detail);
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    graph->setup->members[i].here = true;
  graph->setup->nhere = graph->group->nlocals;
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_LANES, graph->number, &graph->setup->agreement);
}

/* Two nodes have said their parts, and with that all by which both see whether roots are wanted that are not there. If
 * so they say them once more, with the errors. */
static bool is_said_once_more(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  if (!sfd_agreement_is_pair(graph->group) || setup->compared)
    return false;
  setup->compared = true;
  if (!sfd_wants_are_bad(graph))
    return false;
  setup->agreement.told = false;
  setup->agreement.children = 0;
  sfd_setup_edges_done(graph);
  return true;
}

void sfd_setup_edges_agreed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  const sfd_agreement_t *agreement = &graph->setup->agreement;
  if (is_said_once_more(graph))
    return;
  if (agreement->error.status != SF_OK) {
    sfd_setup_end_with_error(graph);
    return;
  }
  graph->nroots = agreement->nroots;
  graph->nleaves = agreement->nleaves;
  graph->npairs = agreement->npairs;
  graph->state = SFD_GRAPH_COMMITTING;
  bool ready = !agreement->two_rounds;
  sf_status_t status = sfd_graph_number(graph, id);
  if (status == SF_OK)
    status = sfd_wants_make_trunks(graph);
  if (status == SF_OK)
    status = sfd_peers_send(graph, ready);
  if (status != SF_OK && ready && group->nnodes > 1) {
    sfd_setup_fail_ready(graph, status, SFPROTO__MESSAGE__BODY_GRAPH_PEERS);
    return;
  }
  if (status != SF_OK) {
    fail_round_2(graph, status);
    return;
  }
  begin_round_2(graph);
  sfd_again_keep(graph);
  if (ready)
    sfd_graph_set_up(graph);
}

/* Takes over the edge list's descriptor. */
static sf_status_t store_edges(sfd_graph_t *graph, int32_t place, const Sfproto__GraphCreate *create, int fds[],
                               int nfds)
{
  sfd_setup_member_t *member = sfd_setup_member(graph, place);
  sfd_agreement_t *agreement = &graph->setup->agreement;
  sf_status_t status = sfd_peers_store(create, member);
  if (status == SF_OK)
    status = sfd_at_once_store(create, member);
  if (status != SF_OK)
    return status;
  member->nroots = create->nroots;
  member->wrong = create->error != NULL;
  sfd_agreement_add_flags(agreement, place, create->flags);
  if (create->error == NULL)
    sfd_agreement_add_counts(agreement, create->nroots, create->nleaves, member->nblocks);
  if (nfds == 0)
    return SF_OK;
  status = sfd_job_hold_fd(graph->group->job);
  if (status != SF_OK)
    return status;
  member->edges_fd = fds[0];
  fds[0] = -1;
  return SF_OK;
}

static sf_status_t verify_edges(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                int32_t place, const int fds[], int nfds)
{
  sf_status_t status = sfd_peers_check(create, rank, group, place, fds, nfds);
  return status == SF_OK ? sfd_at_once_check(create, rank, group, place) : status;
}

/* The set-up that the message belongs to. */
static sf_status_t find_round_1(sfd_group_t *group, int32_t place, const Sfproto__GraphCreate *create,
                                sfd_graph_t **graph_p)
{
  if (!create->has_number) /* the group is complete */
    return sfd_setup_find_gathering(group, group->members[place].ngraphs, graph_p);
  *graph_p = sfd_setup_find(group, create->number);
  if (*graph_p == NULL || (*graph_p)->state != SFD_GRAPH_GATHERING || !sfd_setup_member(*graph_p, place)->asked)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: edges of number %" PRIu64 " were not asked for",
                       place, create->number);
  return SF_OK;
}

static sf_status_t store_round_1(sfd_graph_t *graph, int32_t place, const Sfproto__GraphCreate *create, int fds[],
                                 int nfds)
{
  if (create->has_again)
    return sfd_again_store(create, sfd_setup_member(graph, place));
  if (!take_error(graph, create->error))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: malformed error", place);
  return store_edges(graph, place, create, fds, nfds);
}

static sf_status_t enter_round_1(sfd_group_t *group, int32_t place, sfd_session_t *session,
                                 const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__GraphCreate *create = message->graph_create;
  sfd_graph_t *graph;
  sf_status_t status = create->has_again ? sfd_again_check(create, session->rank, group, place, nfds)
                                         : verify_edges(create, session->rank, group, place, fds, nfds);
  if (status == SF_OK)
    status = find_round_1(group, place, create, &graph);
  if (status == SF_OK && (!create->has_again || !graph->setup->refused))
    status = store_round_1(graph, place, create, fds, nfds);
  if (status != SF_OK)
    return status;
  sfd_setup_member_t *member = sfd_setup_member(graph, place);
  if (!create->has_number)
    group->members[place].ngraphs++;
  member->asked = create->has_again && graph->setup->refused;
  if (member->asked) {
    sfd_again_ask(session, message->request, graph->number);
    return SF_OK;
  }
  arrive(graph, place, message->request);
  if (graph->setup->nhere == group->nlocals)
    finish_round_1(graph);
  return SF_OK;
}

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS); /* from the others, and in the next round */
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_create->group;
  if (sfd_job_answer_failed(rank, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  sfd_group_t *group = sfd_group_find(rank->job, id);
  int32_t place = group != NULL ? sfd_group_rank_of(group, rank->number) : -1;
  if (place < 0) {
    sfd_session_answer(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no group %" PRIu64, rank->number, id);
    return;
  }
  if (!sfd_group_complete(group, rank, message->request))
    return;
  sf_status_t status = enter_round_1(group, place, session, message, fds, nfds);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- Round 2 ---- */

void sfd_setup_finish_round_2(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  if (setup->agreement.error.status == SF_OK && sfd_lanes_agree(graph) != SF_OK)
    sfd_setup_note_error(setup, SF_ERR_PROTO, -1, -1, sfshm_error_detail());
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_LANES, graph->number, &setup->agreement);
}

void sfd_setup_begin_commit(sfd_graph_t *graph)
{
  graph->setup->agreement = (sfd_agreement_t){.lowest = -1};
}

void sfd_setup_finish_commit(sfd_graph_t *graph, sf_status_t status)
{
  if (status != SF_OK)
    sfd_setup_note_error(graph->setup, status, -1, -1, sfshm_error_detail());
  sfd_setup_finish_round_2(graph);
}

void sfd_setup_become_ready(sfd_graph_t *graph, sf_status_t status)
{
  if (status == SF_OK)
    status = sfd_lanes_send(graph);
  if (status == SF_OK)
    sfd_graph_set_up(graph);
  else if (graph->group->nnodes > 1)
    sfd_setup_fail_ready(graph, status, SFPROTO__MESSAGE__BODY_GRAPH_READY);
  else
    sfd_setup_fail_untold(graph, status);
}

void sfd_setup_lanes_agreed(sfd_group_t *group, uint64_t number)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  if (graph->setup->agreement.error.status != SF_OK) {
    sfd_setup_end_with_error(graph);
    return;
  }
  sfd_setup_become_ready(graph, SF_OK);
}

void sfd_setup_answer_doomed(const sfd_graph_t *graph)
{
  sfd_setup_answer_error(graph, graph->setup->agreement.error.status, graph->setup->agreement.error.detail);
}

static sf_status_t enter_round_2(sfd_graph_t *graph, int32_t place, const sfd_rank_t *rank,
                                 const Sfproto__Message *message)
{
  const Sfproto__GraphCommit *commit = message->graph_commit;
  if (commit->error != NULL && commit->n_lanes > 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: lanes beside an error", place);
  sf_status_t status = sfd_lanes_check("GraphCommit", commit->lanes, commit->n_lanes, rank, graph->group, place);
  if (status == SF_OK)
    status = sfd_lanes_store(commit->lanes, commit->n_lanes, sfd_setup_member(graph, place));
  if (status != SF_OK)
    return status;
  if (!take_error(graph, commit->error))
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: malformed error", place);
  arrive(graph, place, message->request);
  if (graph->setup->doomed)
    sfd_setup_answer_doomed(graph);
  if (graph->setup->nhere == graph->group->nlocals)
    sfd_setup_finish_round_2(graph);
  return SF_OK;
}

void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS); /* from the others, and in the next round */
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_commit->graph;
  (void)fds;
  (void)nfds;
  if (sfd_job_answer_failed(rank, message->request))
    return;
  sfd_graph_t *graph = sfd_graph_find(rank->job, id);
  int32_t place = graph != NULL ? sfd_group_rank_of(graph->group, rank->number) : -1;
  if (place < 0 || graph->state != SFD_GRAPH_COMMITTING || sfd_setup_member(graph, place)->here) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO,
                       "GraphCommit of rank %d for graph %" PRIu64 ", which does not wait for it", rank->number, id);
    return;
  }
  sf_status_t status = enter_round_2(graph, place, rank, message);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

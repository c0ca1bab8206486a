/* Rounds of graph set-up: see setup.h. The daemon's thread. */
#include "daemon/setup/setup_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/base.h"
#include "daemon/data.h"
#include "daemon/net.h"
#include "daemon/setup/proposal.h"
#include "daemon/setup/reply.h"
#include "daemon/setup/root_bounds.h"
#include "daemon/setup/root_requests.h"
#include "daemon/setup/round1_edges.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

/* ---- State ---- */

static void enter(sfd_graph_t *graph, sfd_setup_state_t to)
{
  static const unsigned next[] = {
      [SFD_SETUP_COLLECTING] = 1u << SFD_SETUP_VOTING | 1u << SFD_SETUP_EDGES,
      [SFD_SETUP_VOTING] = 1u << SFD_SETUP_CONFIRMING | 1u << SFD_SETUP_EDGES,
      [SFD_SETUP_EDGES] = 1u << SFD_SETUP_CONFIRMING | 1u << SFD_SETUP_LANES,
      [SFD_SETUP_CONFIRMING] = 0,
      [SFD_SETUP_LANES] = 1u << SFD_SETUP_FAILED,
      [SFD_SETUP_FAILED] = 0,
  };
  assert((next[graph->setup->state] >> to & 1) != 0);
  graph->setup->state = to;
  graph->state = to < SFD_SETUP_CONFIRMING ? SFD_GRAPH_GATHERING : SFD_GRAPH_COMMITTING;
}

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
  setup->agreement.lowest = setup->vote.lowest = -1;
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
  sfd_root_requests_free(graph->setup->root_requests);
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    sfd_setup_edges_free(graph->group->job, &graph->setup->members[i]);
    sfd_setup_lanes_free(&graph->setup->members[i]);
  }
  free(graph->setup);
  graph->setup = NULL;
}

sfd_setup_member_t *sfd_setup_member(const sfd_graph_t *graph, int32_t group_rank)
{
  return &graph->setup->members[sfd_group_local(graph->group, group_rank)];
}

sfd_graph_t *sfd_setup_find(const sfd_group_t *group, uint64_t number)
{
  sfd_graph_t *graph;
  TAILQ_FOREACH (graph, &group->setups, setups_entry)
    if (graph->number == number)
      return graph;
  return NULL;
}

sf_status_t sfd_setup_find_gathering(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p)
{
  *graph_p = sfd_setup_find(group, number);
  return *graph_p == NULL && group->nhere == group->size ? begin(group, number, graph_p) : SF_OK;
}

/* ---- Errors ---- */

void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail)
{
  sfd_agreement_error_note(&setup->agreement.error, status, rank, leaf, detail);
}

/* ---- Answering ---- */

sfd_session_t *sfd_setup_mark_answered(const sfd_graph_t *graph, int32_t local)
{
  sfd_rank_t *rank = sfd_group_member(graph->group, graph->group->locals[local]);
  if (graph->setup->members[local].state != SFD_MEMBER_WAITING)
    return NULL;
  graph->setup->members[local].state = SFD_MEMBER_ANSWERED;
  rank->npending--;
  return sfd_rank_connected(rank) ? rank->session : NULL;
}

void sfd_setup_answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    sfd_session_t *session = sfd_setup_mark_answered(graph, i);
    if (session != NULL)
      sfd_session_send_error(session, graph->setup->members[i].request, status, detail);
  }
}

/* ---- Ready ---- */

/* If the graph can't be ready here: on one node an error of all ranks, over nodes a graph that fails. */
static void become_ready(sfd_graph_t *graph, sf_status_t status)
{
  const sfd_setup_t *setup = graph->setup;
  bool of_edges = setup->earlier == 0;
  if (status == SF_OK)
    status = sfd_reply_send(graph, of_edges && setup->state == SFD_SETUP_CONFIRMING, true);
  if (status != SF_OK && graph->group->nnodes == 1) {
    sfd_setup_fail_unanswered(graph, status);
  } else if (status != SF_OK) {
    sfd_setup_fail_ready(graph, status);
  } else {
    if (of_edges)
      sfd_proposal_keep_plan(graph);
    sfd_graph_set_up(graph);
  }
}

/* This node's part of round 2 without its members. status: SF_OK, or why this node has no part of the graph. */
static void finish_alone(sfd_graph_t *graph, sf_status_t status)
{
  enter(graph, SFD_SETUP_CONFIRMING);
  graph->setup->agreement = (sfd_agreement_t){.lowest = -1};
  if (status != SF_OK)
    sfd_setup_note_error(graph->setup, status, -1, -1, sfshm_error_detail());
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_LANES, graph->number, &graph->setup->agreement);
}

/* All nodes accepted the proposals. With more than two nodes, each must know that all have the graph before ranks use
 * it. */
static void confirm(sfd_graph_t *graph, sf_status_t status)
{
  if (graph->group->nnodes > 2) {
    finish_alone(graph, status);
    return;
  }
  enter(graph, SFD_SETUP_CONFIRMING);
  become_ready(graph, status);
}

static void take_counts(sfd_graph_t *graph, const sfd_agreement_t *agreement)
{
  graph->nroots = agreement->nroots;
  graph->nleaves = agreement->nleaves;
  graph->npairs = agreement->npairs;
}

/* ---- An earlier graph ---- */

static void ask_member(sfd_graph_t *graph, int32_t local)
{
  sfd_setup_member_t *member = &graph->setup->members[local];
  if (member->state != SFD_MEMBER_WAITING || member->earlier == 0)
    return;
  sfd_session_t *session = sfd_setup_mark_answered(graph, local);
  sfd_setup_lanes_free(member);
  member->state = SFD_MEMBER_ASKED;
  graph->setup->nhere--;
  if (session != NULL)
    sfd_reply_ask_edges(session, member->request, graph->number);
}

/* No plan is reused: asks the members that named a graph for their edges. refuse: answers the votes of child nodes. */
static void need_edges(sfd_graph_t *graph, bool refuse)
{
  if (graph->setup->state == SFD_SETUP_EDGES)
    return;
  enter(graph, SFD_SETUP_EDGES);
  if (refuse)
    sfd_agreement_refuse(graph->group, SFPEER__ARRIVE__KIND__GRAPH_AGAIN, graph->number, &graph->setup->vote);
  sfd_trunks_free(graph->trunks); /* made before the vote */
  graph->trunks = NULL;
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    ask_member(graph, i);
}

/* Whether this node votes for reuse. Two nodes make their trunks before they vote, so that nothing is left to agree on.
 * */
static bool can_reuse(sfd_graph_t *graph)
{
  return sfd_proposal_names_one(graph) && (!sfd_agreement_is_pair(graph->group) ||
                                           sfd_proposal_reuse_plan(graph, graph->setup->members[0].earlier) == SF_OK);
}

static void vote(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  enter(graph, SFD_SETUP_VOTING);
  sfd_proposal_fill_vote(graph, &setup->vote);
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_AGAIN, graph->number, &setup->vote);
}

static void vote_agreed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  const sfd_agreement_t *agreement = &graph->setup->vote;
  if (agreement->error.status != SF_OK) {
    need_edges(graph, false);
    return;
  }
  take_counts(graph, agreement);
  graph->setup->earlier = agreement->again;
  sf_status_t status = sfd_graph_number(graph, id);
  if (status == SF_OK && !sfd_agreement_is_pair(group))
    status = sfd_proposal_reuse_plan(graph, agreement->again);
  sfd_log(SFD_LOG_GRAPH, SFD_DEBUG, "graph %" PRIu64 " of job \"%s\" has the plan of graph %" PRIu64, id,
          group->job->name, agreement->again);
  confirm(graph, status);
}

/* ---- Edges ---- */

void sfd_setup_edges_done(sfd_graph_t *graph)
{
  graph->setup->agreement.two_rounds |= !sfd_proposal_says_all(graph);
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_EDGES, graph->number, &graph->setup->agreement);
}

static void members_came(sfd_graph_t *graph)
{
  sfd_root_requests_members_came(graph); /* other nodes may have edges in any case */
  if (graph->setup->state == SFD_SETUP_COLLECTING) {
    if (can_reuse(graph)) {
      vote(graph);
      return;
    }
    need_edges(graph, true);
  }
  if (graph->setup->nhere < graph->group->nlocals)
    return; /* members are asked for their edges */
  sfd_root_bounds_check_local(graph);
  if (graph->group->nnodes > 1)
    sfd_root_requests_begin(graph); /* also after an error: another rank may have a lower one */
  else
    sfd_setup_edges_done(graph);
}

void sfd_setup_members_came(sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  bool far = graph->group->nnodes > 1;
  if (far)
    sfd_network_gather(server, true);
  members_came(graph);
  if (far)
    sfd_network_gather(server, false);
}

/* Frees edges and lanes of round 1. */
static void begin_round_2(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  enter(graph, SFD_SETUP_LANES);
  sfd_root_requests_free(setup->root_requests);
  setup->root_requests = NULL;
  setup->nhere = 0;
  setup->agreement = (sfd_agreement_t){.lowest = -1};
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    setup->members[i].state = SFD_MEMBER_AWAITED;
    sfd_setup_edges_free(graph->group->job, &setup->members[i]);
    sfd_setup_lanes_free(&setup->members[i]);
  }
}

/* Two nodes have both parts, and check whether all requested roots exist. If not, they repeat the agreement with
 * errors. */
static bool repeat_with_errors(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  if (!sfd_agreement_is_pair(graph->group) || setup->compared)
    return false;
  setup->compared = true;
  if (!sfd_root_requests_are_bad(graph))
    return false;
  setup->agreement.reported = false;
  setup->agreement.children = 0;
  sfd_setup_edges_done(graph);
  return true;
}

static void edges_agreed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  const sfd_agreement_t *agreement = &graph->setup->agreement;
  if (repeat_with_errors(graph))
    return;
  if (agreement->error.status != SF_OK) {
    sfd_setup_end_with_error(graph);
    return;
  }
  take_counts(graph, agreement);
  bool two_rounds = agreement->two_rounds;
  sf_status_t status = sfd_graph_number(graph, id);
  if (status == SF_OK)
    status = sfd_root_requests_make_trunks(graph);
  if (!two_rounds) {
    confirm(graph, status);
    return;
  }
  if (status == SF_OK)
    status = sfd_reply_send(graph, true, false);
  if (status == SF_OK)
    begin_round_2(graph);
  else
    finish_alone(graph, status); /* the other nodes hear of the error in round 2 */
}

/* ---- Lanes ---- */

void sfd_setup_finish_round_2(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  if (setup->agreement.error.status == SF_OK && sfd_setup_lanes_agree(graph) != SF_OK)
    sfd_setup_note_error(setup, SF_ERR_PROTO, -1, -1, sfshm_error_detail());
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_LANES, graph->number, &setup->agreement);
}

void sfd_setup_enter_failed(sfd_graph_t *graph)
{
  enter(graph, SFD_SETUP_FAILED);
}

static void lanes_agreed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  (void)id;
  sfd_graph_t *graph = sfd_setup_find(group, number);
  if (graph->setup->agreement.error.status != SF_OK)
    sfd_setup_end_with_error(graph);
  else
    become_ready(graph, SF_OK);
}

/* ---- Agreements ---- */

/* The graph's agreement of that kind; NULL: there is no graph, or it is in another round. */
static sfd_agreement_t *agreement_of(const sfd_graph_t *graph, Sfpeer__Arrive__Kind kind)
{
  bool lanes = kind == SFPEER__ARRIVE__KIND__GRAPH_LANES;
  if (graph == NULL || graph->state != (lanes ? SFD_GRAPH_COMMITTING : SFD_GRAPH_GATHERING))
    return NULL;
  return kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN ? &graph->setup->vote : &graph->setup->agreement;
}

static sf_status_t find(sfd_job_t *job, int32_t node, const Sfpeer__Arrive *arrive, sfd_group_t **group_p,
                        sfd_agreement_t **agreement_p)
{
  sfd_group_t *group = sfd_group_find(job, arrive->group);
  sf_status_t status = SF_OK;
  sfd_graph_t *graph;
  (void)node;
  *agreement_p = NULL;
  if (group == NULL)
    return SF_OK;
  if (arrive->kind == SFPEER__ARRIVE__KIND__GRAPH_LANES)
    graph = sfd_setup_find(group, arrive->number);
  else
    status = sfd_setup_find_gathering(group, arrive->number, &graph);
  *group_p = group;
  *agreement_p = status == SF_OK ? agreement_of(graph, arrive->kind) : NULL;
  return status;
}

static sfd_agreement_t *find_reported(sfd_job_t *job, const Sfpeer__Release *release, sfd_group_t **group_p)
{
  *group_p = sfd_group_find(job, release->group);
  return *group_p != NULL ? agreement_of(sfd_setup_find(*group_p, release->number), release->kind) : NULL;
}

/* A node has sent edges: no plan is reused. */
static bool edges_added(sfd_group_t *group, uint64_t number)
{
  need_edges(sfd_setup_find(group, number), true);
  return true;
}

static bool vote_added(sfd_group_t *group, uint64_t number)
{
  return sfd_setup_find(group, number)->setup->state != SFD_SETUP_EDGES;
}

const sfd_agreement_ops_t sfd_setup_edges_agreement = {find, find_reported, edges_added, edges_agreed};
const sfd_agreement_ops_t sfd_setup_lanes_agreement = {find, find_reported, NULL, lanes_agreed};
const sfd_agreement_ops_t sfd_setup_vote_agreement = {find, find_reported, vote_added, vote_agreed};

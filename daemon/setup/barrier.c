/* Barriers of graphs: see barrier.h. The daemon's thread. */
#include "daemon/setup/barrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "daemon/setup/call_compare.h"
#include "daemon/setup/setup.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"

typedef struct sfd_barrier_member {
  bool here;
  uint64_t request;
} sfd_barrier_member_t;

struct sfd_barrier {
  TAILQ_ENTRY(sfd_barrier) entry; /* of the group */
  sfd_graph_t *graph;
  sfd_barrier_call_t point; /* of the rank that entered first */
  int32_t nhere;
  uint8_t children;            /* bit i: all below child i have entered, and the child waits for the answer */
  bool reported;               /* to the parent */
  bool other_order;            /* the last check found another order */
  sfd_agreement_error_t error; /* the lowest local error of a rank */
  sfd_barrier_member_t members[];
};

const sfd_barrier_call_t *sfd_barrier_first_call(const sfd_graph_t *graph)
{
  return graph->barrier != NULL ? &graph->barrier->point : NULL;
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static const char *failure_text(const sfd_graph_t *graph)
{
  return graph->detail != NULL ? graph->detail : "the graph has failed";
}

static void send_parent(sfd_barrier_t *barrier, int32_t parent)
{
  const sfd_graph_t *graph = barrier->graph;
  Sfpeer__SetupError error;
  Sfpeer__Message message = SFPEER_MESSAGE_OF(GRAPH_MEET, graph_meet, .job = graph->group->job->id, .graph = graph->id,
                                              .call = barrier->point.call, .rank = barrier->point.rank,
                                              .error = sfd_agreement_error_fill(&error, &barrier->error));
  sfd_network_send(graph->group->job->server, parent, &message);
}

/* Result of a barrier. */
typedef struct end {
  sf_status_t status; /* SF_OK: all have entered; else the graph's failure: */
  const char *detail;
  bool unknown;                 /* the graph is gone there, and the receiver tells all nodes */
  sfd_agreement_error_t *error; /* the lowest local error; NULL: none */
} end_t;

static void release_child(sfd_server_t *server, uint64_t job, uint64_t graph, int32_t node, const end_t *end)
{
  Sfpeer__SetupError error;
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(GRAPH_MET, graph_met, .job = job, .graph = graph, .status = end->status,
                        .detail = (char *)(uintptr_t)end->detail /* only read */, .unknown = end->unknown,
                        .error = end->error != NULL ? sfd_agreement_error_fill(&error, end->error) : NULL);
  sfd_network_send(server, node, &message);
}

static void send_released(sfd_session_t *session, uint64_t request, const sfd_agreement_error_t *error)
{
  Sfproto__SetupError wrong =
      SFPROTO_BODY(setup_error, .status = error->status, .rank = error->rank, .leaf = error->leaf,
                   .detail = (char *)(uintptr_t)error->detail /* only read */);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(GRAPH_MET, graph_met, .error = error->status != SF_OK ? &wrong : NULL);
  message.request = request;
  sfd_session_send(session, &message, NULL, 0);
}

static void answer(const sfd_graph_t *graph, const sfd_barrier_member_t *member, int32_t local, const end_t *end)
{
  sfd_rank_t *rank = sfd_group_member(graph->group, graph->group->locals[local]);
  rank->npending--;
  if (!sfd_rank_connected(rank))
    return;
  if (end->status == SF_OK)
    send_released(rank->session, member->request, end->error);
  else
    sfd_session_send_error(rank->session, member->request, end->status, end->detail);
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

/* Without memory the graph fails. */
static void begin(sfd_graph_t *graph, const sfd_barrier_call_t *point)
{
  sfd_group_t *group = graph->group;
  sfd_barrier_t *barrier = calloc(1, sizeof *barrier + (size_t)group->nlocals * sizeof barrier->members[0]);
  if (barrier == NULL) {
    sfd_graph_fail(graph, SF_ERR_NOMEM, "no memory for a barrier of the graph's ranks");
    return;
  }
  barrier->graph = graph;
  barrier->point = *point;
  graph->barrier = barrier;
  TAILQ_INSERT_TAIL(&group->barriers, barrier, entry);
  sfd_calls_watch(graph);
}

void sfd_barrier_free(sfd_graph_t *graph)
{
  if (graph->barrier == NULL)
    return;
  TAILQ_REMOVE(&graph->group->barriers, graph->barrier, entry);
  free(graph->barrier);
  graph->barrier = NULL;
}

/* Sends all that wait the result. */
static void release(sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  const sfd_group_t *group = graph->group;
  sfd_barrier_t *barrier = graph->barrier;
  const end_t end = {.status = status, .detail = detail, .error = &barrier->error};
  for (int32_t i = 0; i < sfd_tree_nchildren(group); i++)
    if ((barrier->children >> i & 1) != 0)
      release_child(group->job->server, group->job->id, graph->id, group->nodes[sfd_tree_first_child(group) + i], &end);
  for (int32_t k = 0; k < group->nlocals; k++)
    if (barrier->members[k].here)
      answer(graph, &barrier->members[k], k, &end);
  sfd_barrier_free(graph);
}

static void advance(sfd_graph_t *graph)
{
  sfd_barrier_t *barrier = graph->barrier;
  const sfd_group_t *group = graph->group;
  int32_t parent = sfd_tree_parent(group);
  if (barrier->reported || barrier->nhere < group->nlocals || barrier->children != sfd_tree_all_children(group))
    return;
  if (parent < 0) {
    release(graph, SF_OK, "");
    return;
  }
  barrier->reported = true;
  send_parent(barrier, parent);
}

void sfd_barrier_graph_failed(sfd_graph_t *graph)
{
  if (graph->barrier != NULL && !graph->barrier->reported)
    release(graph, graph->failure, failure_text(graph));
}

void sfd_barriers_fail(const sfd_job_t *job, sf_status_t status, const char *detail)
{
  sfd_graph_t *graph;
  TAILQ_FOREACH (graph, &job->graphs, entry) {
    if (graph->barrier == NULL)
      continue;
    graph->barrier->children = 0; /* other nodes hear of the failure by JobFail */
    release(graph, status, detail);
  }
}

bool sfd_barrier_has_entered(const sfd_graph_t *graph, int32_t local)
{
  return graph->barrier != NULL && graph->barrier->members[local].here;
}

/* ---- Coming ------------------------------------------------------------------------------------------------------ */

static void fail_different(sfd_graph_t *graph, const sfd_barrier_call_t *first, const sfd_barrier_call_t *point)
{
  char name[SFD_CALLS_NAME_BYTES], calls[2][64], detail[SFD_TEXT_SIZE];
  sfshm_desc_text(first->call, calls[0], sizeof calls[0]);
  sfshm_desc_text(point->call, calls[1], sizeof calls[1]);
  sfd_calls_graph_text(graph, name, sizeof name);
  snprintf(detail, sizeof detail,
           "%s: rank %d called %s as operation %" PRIu64 ", rank %d called %s as operation %" PRIu64, name, first->rank,
           calls[0], first->call & SFSHM_DESC_SEQUENCE_MASK, point->rank, calls[1],
           point->call & SFSHM_DESC_SEQUENCE_MASK);
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

/* Whether a rank can enter for the call; if not, the graph has failed. */
static bool enter(sfd_graph_t *graph, const sfd_barrier_call_t *point)
{
  if (graph->barrier == NULL)
    begin(graph, point);
  if (graph->barrier != NULL && graph->barrier->point.call != point->call)
    fail_different(graph, &graph->barrier->point, point);
  else if (graph->barrier != NULL)
    sfd_calls_check_barrier(graph);
  return graph->state != SFD_GRAPH_FAILED && graph->barrier != NULL;
}

void sfd_barrier_handle_enter(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__GraphMeet *meet = message->graph_meet;
  sfd_rank_t *rank = session->rank;
  int32_t local;
  sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS); /* the other ranks, and their next requests */
  if (sfd_job_answer_failed(rank, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  sfd_graph_t *graph = sfd_graph_find_ready(session, message->request, meet->graph, &local);
  if (graph == NULL)
    return;
  if (meet->error != NULL && (meet->error->status >= SF_OK || meet->error->rank != graph->group->locals[local])) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "GraphMeet of rank %d: malformed error", rank->number);
    return;
  }
  if (sfd_barrier_has_entered(graph, local)) {
    sfd_session_send_errorf(session, message->request, SF_ERR_STATE,
                            "rank %d waits for the others of graph %" PRIu64 " already", rank->number, graph->id);
    return;
  }
  const sfd_barrier_call_t point = {.call = meet->call, .rank = graph->group->locals[local]};
  if (graph->state == SFD_GRAPH_FAILED || !enter(graph, &point)) {
    sfd_session_send_error(session, message->request, graph->failure, failure_text(graph));
    return;
  }
  if (meet->error != NULL)
    sfd_agreement_error_note(&graph->barrier->error, meet->error->status, point.rank, -1, meet->error->detail);
  graph->barrier->members[local] = (sfd_barrier_member_t){.here = true, .request = message->request};
  graph->barrier->nhere++;
  rank->npending++;
  advance(graph);
}

/* The graph was ready here before any rank could enter. Therefore all members here have destroyed it, or left. */
static void refuse_unknown(sfd_server_t *server, const Sfpeer__GraphMeet *meet, int32_t node)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "all ranks of graph %" PRIu64 " on node %d have destroyed it, or have left", meet->graph,
           sfd_network_node(server));
  release_child(server, meet->job, meet->graph, node,
                &(end_t){.status = SF_ERR_MISMATCH, .detail = text, .unknown = true});
}

static bool is_good_error(const sfd_graph_t *graph, const Sfpeer__SetupError *error)
{
  return error == NULL || (error->status < SF_OK && error->rank >= 0 && error->rank < graph->group->size);
}

static void note_error(sfd_barrier_t *barrier, const Sfpeer__SetupError *error)
{
  if (error != NULL)
    sfd_agreement_error_note(&barrier->error, error->status, error->rank, error->leaf, error->detail);
}

sf_status_t sfd_barrier_handle_peer_enter(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphMeet *meet = message->graph_meet;
  sfd_job_t *job = sfd_job_find_id(server, meet->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, meet->graph) : NULL;
  bool goes_well = sfd_job_goes_well(server, job, meet->job);
  if (graph == NULL && goes_well)
    refuse_unknown(server, meet, node);
  if (graph == NULL || !goes_well) /* JobFail tells all nodes */
    return job != NULL ? SF_OK : sfd_ended_jobs_status(&server->jobs->ended, meet->job);
  if (graph->state == SFD_GRAPH_COMMITTING)
    return SF_ERR_NOT_FOUND; /* the graph was ready there before */
  int32_t child = sfd_tree_child(graph->group, node);
  if (child < 0 || (graph->barrier != NULL && (graph->barrier->children >> child & 1) != 0) || meet->rank < 0 ||
      meet->rank >= graph->group->size || !is_good_error(graph, meet->error))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a second, misdirected or malformed GraphMeet of graph %" PRIu64,
                       node, graph->id);
  const sfd_barrier_call_t point = {.call = meet->call, .rank = meet->rank};
  if (graph->state == SFD_GRAPH_FAILED || !enter(graph, &point)) {
    release_child(server, job->id, graph->id, node, &(end_t){.status = graph->failure, .detail = failure_text(graph)});
    return SF_OK;
  }
  note_error(graph->barrier, meet->error);
  graph->barrier->children |= (uint8_t)(1u << child);
  advance(graph);
  return SF_OK;
}

/* An error status means that the graph has failed. */
sf_status_t sfd_barrier_handle_peer_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphMet *met = message->graph_met;
  const sfd_job_t *job = sfd_job_find_id(server, met->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, met->graph) : NULL;
  if (graph == NULL || job->state != SFD_JOB_RUNNING)
    return SF_OK;
  if (node != sfd_tree_parent(graph->group) || graph->barrier == NULL || !graph->barrier->reported ||
      !is_good_error(graph, met->error))
    return sfshm_error(SF_ERR_PROTO, "node %d answers ranks of graph %" PRIu64 " that have not asked, or of no rank",
                       node, graph->id);
  if (met->status == SF_OK) {
    note_error(graph->barrier, met->error);
    release(graph, SF_OK, "");
    return SF_OK;
  }
  sf_status_t status = met->status < SF_OK ? (sf_status_t)met->status : SF_ERR_MISMATCH;
  if (met->unknown)
    sfd_graph_fail(graph, status, met->detail);
  else
    sfd_graph_hear_failure(graph, status, met->detail);
  release(graph, graph->failure, failure_text(graph));
  return SF_OK;
}

/* ---- In another order -------------------------------------------------------------------------------------------- */

/* Children and members that have entered the graph's barrier, or else arrived in its set-up. */
static uint8_t children_of(const sfd_graph_t *graph)
{
  return graph->barrier != NULL ? graph->barrier->children
                                : graph->setup->agreement.children | graph->setup->vote.children;
}

static bool has_come(const sfd_graph_t *graph, int32_t local)
{
  return graph->barrier != NULL ? graph->barrier->members[local].here
                                : graph->setup->members[local].state != SFD_MEMBER_AWAITED;
}

static bool are_in_other_order(const sfd_graph_t *a, const sfd_graph_t *b)
{
  bool only_a = (children_of(a) & ~children_of(b)) != 0, only_b = (children_of(b) & ~children_of(a)) != 0;
  for (int32_t k = 0; k < a->group->nlocals; k++) {
    only_a |= has_come(a, k) && !has_come(b, k);
    only_b |= has_come(b, k) && !has_come(a, k);
  }
  return only_a && only_b;
}

static void fail_order(sfd_graph_t *graph, uint64_t other)
{
  const sfd_barrier_call_t *point = &graph->barrier->point;
  char name[SFD_CALLS_NAME_BYTES], called[64], detail[SFD_TEXT_SIZE], text[64] = "another one is set up";
  if (other != 0)
    snprintf(text, sizeof text, "somebody does the same with graph %" PRIu64, other);
  sfshm_desc_text(point->call, called, sizeof called);
  sfd_calls_graph_text(graph, name, sizeof name);
  snprintf(detail, sizeof detail, "%s: rank %d called %s, while %s: do all ranks use the graphs in the same order?",
           name, point->rank, called, text);
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

/* Another graph of the group whose barrier or set-up has ranks that this one lacks, and lacks ranks of this one; or
 * NULL. */
static sfd_graph_t *find_other_order(const sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  const sfd_barrier_t *other;
  sfd_graph_t *setup;
  TAILQ_FOREACH (other, &group->barriers, entry)
    if (other->graph != graph && other->graph->state != SFD_GRAPH_FAILED && are_in_other_order(graph, other->graph))
      return other->graph;
  TAILQ_FOREACH (setup, &group->setups, setups_entry)
    if (setup->state == SFD_GRAPH_GATHERING && are_in_other_order(graph, setup))
      return setup;
  return NULL;
}

void sfd_barrier_check_order(sfd_graph_t *graph)
{
  if (graph->barrier == NULL || graph->state == SFD_GRAPH_FAILED)
    return;
  sfd_graph_t *crossing = find_other_order(graph);
  bool still = crossing != NULL && graph->barrier->other_order;
  graph->barrier->other_order = crossing != NULL;
  if (!still)
    return;
  bool is_barrier = crossing->barrier != NULL;
  fail_order(graph, is_barrier ? crossing->id : 0);
  if (is_barrier)
    fail_order(crossing, graph->id);
}

/* Meetings that last: whether those who are missing can still come. The daemon's thread. */
#include "daemon/setup/barrier_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/jobs/node_tree.h"
#include "daemon/net/network.h"
#include "daemon/setup/call_compare.h"
#include "shm/base/error.h"

/* ---- In another order -------------------------------------------------------------------------------------------- */

/* Who has come to the meeting, or else the set-up, of a graph: children in the tree, and members of this node. */
static uint8_t children_of(const sfd_graph_t *graph)
{
  return graph->meeting != NULL ? graph->meeting->children
                                : graph->setup->agreement.children | graph->setup->vote.children;
}

static bool has_come(const sfd_graph_t *graph, int32_t local)
{
  return graph->meeting != NULL ? graph->meeting->members[local].here
                                : graph->setup->members[local].state != SFD_MEMBER_AWAITED;
}

static bool are_crossed(const sfd_graph_t *a, const sfd_graph_t *b)
{
  bool only_a = (children_of(a) & ~children_of(b)) != 0, only_b = (children_of(b) & ~children_of(a)) != 0;
  for (int32_t k = 0; k < a->group->nlocals; k++) {
    only_a |= has_come(a, k) && !has_come(b, k);
    only_b |= has_come(b, k) && !has_come(a, k);
  }
  return only_a && only_b;
}

static void fail_crossed(sfd_graph_t *graph, uint64_t other)
{
  char text[SFD_TEXT_SIZE] = "another one is set up";
  if (other != 0)
    snprintf(text, sizeof text, "somebody does the same with graph %" PRIu64, other);
  char name[SFD_CALLS_NAME_BYTES], detail[SFD_TEXT_SIZE];
  sfd_calls_graph_text(graph, name, sizeof name);
  snprintf(detail, sizeof detail, "%s: rank %d %s, while %.200s: do all ranks use the graphs in the same order?", name,
           graph->meeting->point.rank, sfd_meeting_what_text(graph->meeting->point.what), text);
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

/* Another graph of the group whose meeting, or set-up, crosses that of this one, or NULL. */
static sfd_graph_t *find_crossing(const sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  const sfd_meeting_t *other;
  sfd_graph_t *setup;
  TAILQ_FOREACH(other, &group->meetings, entry)
  {
    if (other->graph != graph && other->graph->state != SFD_GRAPH_FAILED && are_crossed(graph, other->graph))
      return other->graph;
  }
  TAILQ_FOREACH(setup, &group->setups, setups_entry)
  {
    if (setup->state == SFD_GRAPH_GATHERING && are_crossed(graph, setup))
      return setup;
  }
  return NULL;
}

static void look_at_order(sfd_graph_t *graph)
{
  sfd_graph_t *crossing = find_crossing(graph);
  bool still = crossing != NULL && graph->meeting->crossed;
  graph->meeting->crossed = crossing != NULL;
  if (!still)
    return;
  bool is_meeting = crossing->meeting != NULL;
  fail_crossed(graph, is_meeting ? crossing->id : 0);
  if (is_meeting)
    fail_crossed(crossing, graph->id);
}

/* ---- Where the graph is gone ------------------------------------------------------------------------------------- */

void sfd_meeting_gone_text(uint64_t graph, int32_t node, char text[], size_t text_bytes)
{
  snprintf(text, text_bytes, "all ranks of graph %" PRIu64 " on node %d have destroyed it, or have left", graph, node);
}

/* For as long as the graph is there: once is enough. */
static void ask_children(sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  Sfpeer__GraphAwaited awaited = SFPEER__GRAPH_AWAITED__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  if (graph->asks)
    return;
  graph->asks = true;
  awaited.job = group->job->id;
  awaited.graph = graph->id;
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_AWAITED;
  message.graph_awaited = &awaited;
  for (int32_t i = 0; i < sfd_tree_nchildren(group); i++)
    sfd_network_send(group->job->server, group->nodes[sfd_tree_first_child(group) + i], &message);
}

/* gone_node: this one, or one below. */
static void tell_gone(sfd_server_t *server, uint64_t job, uint64_t graph, int32_t gone_node, int32_t parent)
{
  Sfpeer__GraphGone gone = SFPEER__GRAPH_GONE__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  gone.job = job;
  gone.graph = graph;
  gone.node = gone_node;
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_GONE;
  message.graph_gone = &gone;
  sfd_network_send(server, parent, &message);
}

static void tell_awaiting(const sfd_graph_t *graph, int32_t gone_node)
{
  const sfd_group_t *group = graph->group;
  if (graph->is_awaited)
    tell_gone(group->job->server, group->job->id, graph->id, gone_node, sfd_tree_parent(group));
}

void sfd_meeting_graph_gone(const sfd_graph_t *graph)
{
  tell_awaiting(graph, graph->group->nodes[graph->group->node_position]);
}

bool sfd_meeting_is_everywhere(sfd_graph_t *graph)
{
  char text[SFD_TEXT_SIZE];
  if (!graph->is_gone)
    return true;
  sfd_meeting_gone_text(graph->id, graph->gone_node, text, sizeof text);
  sfd_graph_fail(graph, SF_ERR_STATE, text);
  return false;
}

sf_status_t sfd_meeting_handle_peer_awaited(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphAwaited *awaited = message->graph_awaited;
  const sfd_job_t *job = sfd_job_find_id(server, awaited->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, awaited->graph) : NULL;
  if (graph == NULL && sfd_meeting_goes_well(server, job, awaited->job))
    tell_gone(server, awaited->job, awaited->graph, sfd_network_node(server), node);
  if (graph == NULL)
    return job != NULL ? SF_OK : sfd_ended_answer(&server->ended, awaited->job);
  if (graph->state == SFD_GRAPH_COMMITTING)
    return SF_ERR_NOT_FOUND; /* there it was ready before */
  if (node != sfd_tree_parent(graph->group))
    return sfshm_error(SF_ERR_PROTO, "node %d asks for graph %" PRIu64 ", but is not the parent", node, graph->id);
  graph->is_awaited = true;
  if (graph->is_gone)
    tell_awaiting(graph, graph->gone_node);
  ask_children(graph);
  return SF_OK;
}

/* Later, when all have met, it is no mistake: those there may be done with the graph. */
sf_status_t sfd_meeting_handle_peer_gone(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphGone *gone = message->graph_gone;
  const sfd_job_t *job = sfd_job_find_id(server, gone->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, gone->graph) : NULL;
  if (graph == NULL)
    return job != NULL ? SF_OK : sfd_ended_answer(&server->ended, gone->job);
  if (gone->has_desc) {
    sfd_calls_hear_gone(graph, node, gone);
    return SF_OK;
  }
  if (sfd_tree_child(graph->group, node) < 0 || !graph->asks)
    return sfshm_error(SF_ERR_PROTO, "node %d says of graph %" PRIu64 " what it was not asked", node, graph->id);
  graph->is_gone = true;
  graph->gone_node = gone->node;
  if (graph->meeting != NULL && graph->state == SFD_GRAPH_READY)
    (void)sfd_meeting_is_everywhere(graph);
  else
    tell_awaiting(graph, graph->gone_node);
  return SF_OK;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

void sfd_meeting_look(sfd_graph_t *graph)
{
  if (graph->meeting == NULL || graph->state == SFD_GRAPH_FAILED)
    return;
  look_at_order(graph);
  if (graph->meeting != NULL && graph->meeting->children != sfd_tree_all_children(graph->group))
    ask_children(graph);
}

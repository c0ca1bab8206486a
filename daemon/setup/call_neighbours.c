/* Calls of graphs sent between nodes, and answers about graphs that are gone: see call_compare.h. The daemon's thread.
 * */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/data.h"
#include "daemon/net.h"
#include "daemon/setup/barrier.h"
#include "daemon/setup/call_compare_internal.h"
#include "shm/base/error.h"

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static void send_calls(const sfd_graph_t *graph, int32_t node, const sfd_rank_calls_t *one)
{
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(GRAPH_CALLS, graph_calls, .job = graph->group->job->id, .graph = graph->id, .rank = one->rank,
                        .begun = one->calls.begun, .n_digests = SFSHM_CALL_DIGESTS,
                        .digests = (uint64_t *)(uintptr_t)one->calls.digests /* only read */, .n_last = SFSHM_CALLS,
                        .last = (uint64_t *)(uintptr_t)one->calls.last);
  sfd_network_send(graph->group->job->server, node, &message);
}

/* The calls of the rank that has called the most; NULL: not known. */
static const sfd_rank_calls_t *find_furthest(const sfd_calls_t *calls)
{
  const sfd_rank_calls_t *furthest = calls->known ? &calls->here : NULL;
  for (int i = 0; i < NEIGHBOURS; i++)
    if (calls->far[i] != NULL && (furthest == NULL || sfshm_desc_is_later(sfshm_calls_last(&calls->far[i]->calls),
                                                                          sfshm_calls_last(&furthest->calls))))
      furthest = calls->far[i];
  return furthest;
}

/* -1: none. */
static int32_t neighbour_node(const sfd_group_t *group, int i)
{
  if (i == SFD_TREE_CHILDREN)
    return sfd_tree_parent(group);
  return i < sfd_tree_nchildren(group) ? group->nodes[sfd_tree_first_child(group) + i] : -1;
}

void sfd_calls_send_to_neighbours(const sfd_graph_t *graph)
{
  sfd_calls_t *calls = graph->calls;
  const sfd_rank_calls_t *furthest = find_furthest(calls);
  uint64_t last = furthest != NULL ? sfshm_calls_last(&furthest->calls) : 0;
  if (last == calls->reported)
    return;
  calls->reported = last;
  for (int i = 0; i < NEIGHBOURS; i++) {
    int32_t node = neighbour_node(graph->group, i);
    if (node >= 0 && (calls->far[i] == NULL || sfshm_calls_last(&calls->far[i]->calls) != last))
      send_calls(graph, node, furthest);
  }
}

/* ---- Graphs that are gone ---------------------------------------------------------------------------------------- */

/* The record of a graph that is gone here; false: the graph is here or its job has failed, and nothing is answered. */
static bool find_ended(sfd_server_t *server, uint64_t job_id, uint64_t graph, const sfd_ended_graph_t **ended_p)
{
  const sfd_job_t *job = sfd_job_find_id(server, job_id);
  *ended_p = sfd_ended_jobs_find_graph(&server->jobs->ended, job_id, graph);
  return (job == NULL || sfd_graph_find(job, graph) == NULL) && sfd_job_goes_well(server, job, job_id) &&
         (*ended_p == NULL || !(*ended_p)->failed);
}

/* Sends GraphGone, unless the ranks here called the operation. ended NULL: not known. */
static void send_gone(sfd_server_t *server, int32_t node, uint64_t job, uint64_t graph, uint64_t desc,
                      const sfd_ended_graph_t *ended)
{
  const sfd_ended_rank_t none = {.rank = -1}, *rank = ended != NULL ? &ended->rank : &none;
  bool known = rank->rank >= 0;
  if (known && !sfshm_desc_is_later(desc, rank->operations))
    return;
  Sfpeer__Message message = SFPEER_MESSAGE_OF(
      GRAPH_GONE, graph_gone, .job = job, .graph = graph, .desc = desc, .has_rank = known, .rank = rank->rank,
      .has_left = known, .left = rank->left, .has_operations = known, .operations = rank->operations);
  sfd_network_send(server, node, &message);
}

void sfd_calls_named_gone(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  const sfd_ended_graph_t *ended;
  if (find_ended(server, head->job, head->object, &ended))
    send_gone(server, node, head->job, head->object, head->desc, ended);
}

/* GraphCalls does not name the operation that ranks wait for, so it may have been called here. A barrier that is still
 * waited for has not. */
static void answer_calls(sfd_server_t *server, int32_t node, const Sfpeer__GraphCalls *calls, uint64_t desc)
{
  const sfd_ended_graph_t *ended;
  bool good = find_ended(server, calls->job, calls->graph, &ended);
  if (good && ((ended != NULL && ended->rank.rank >= 0) || sfshm_desc_is_make(desc)))
    send_gone(server, node, calls->job, calls->graph, desc, ended);
}

sf_status_t sfd_calls_handle_gone(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphGone *gone = message->graph_gone;
  const sfd_job_t *job = sfd_job_find_id(server, gone->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, gone->graph) : NULL;
  if (graph == NULL || !sfd_calls_are_compared(graph))
    return SF_OK;
  const sfd_barrier_call_t *point = sfd_barrier_first_call(graph);
  const sfd_ended_rank_t rank = {
      .rank = gone->has_rank ? gone->rank : -1, .left = gone->left, .operations = gone->operations};
  bool over = sfshm_desc_is_make(gone->desc) ? !gone->has_rank && (point == NULL || point->call != gone->desc)
                                             : sfd_trunks_has_arrived(graph->trunks, node, gone->desc);
  if (!over)
    sfd_calls_fail_named(graph, sfd_network_node(server), gone->desc, &rank, node);
  return SF_OK;
}

/* ---- What neighbours tell ---------------------------------------------------------------------------------------- */

static int find_neighbour(const sfd_group_t *group, int32_t node)
{
  int32_t child = sfd_tree_child(group, node);
  if (child >= 0)
    return child;
  return node == sfd_tree_parent(group) ? SFD_TREE_CHILDREN : -1;
}

static sf_status_t read_calls(const Sfpeer__GraphCalls *calls, int32_t node, sfd_rank_calls_t *one)
{
  if (calls->n_last != SFSHM_CALLS || calls->n_digests != SFSHM_CALL_DIGESTS)
    return sfshm_error(SF_ERR_PROTO, "node %d sent %zu calls of graph %" PRIu64, node, calls->n_last, calls->graph);
  *one = (sfd_rank_calls_t){.rank = calls->rank, .calls = {.begun = calls->begun}};
  memcpy(one->calls.digests, calls->digests, sizeof one->calls.digests);
  memcpy(one->calls.last, calls->last, sizeof one->calls.last);
  return SF_OK;
}

sf_status_t sfd_calls_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphCalls *calls = message->graph_calls;
  const sfd_job_t *job = sfd_job_find_id(server, calls->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, calls->graph) : NULL;
  sfd_rank_calls_t one;
  sf_status_t status = read_calls(calls, node, &one);
  if (status != SF_OK)
    return status;
  if (graph == NULL)
    answer_calls(server, node, calls, sfshm_calls_last(&one.calls));
  if (graph != NULL && graph->state == SFD_GRAPH_COMMITTING)
    return SF_ERR_NOT_FOUND; /* the graph was ready there before */
  if (graph == NULL || !sfd_calls_are_compared(graph))
    return SF_OK;
  int neighbour = find_neighbour(graph->group, node);
  if (neighbour < 0 || calls->rank < 0 || calls->rank >= graph->group->size)
    return sfshm_error(SF_ERR_PROTO, "node %d sent calls of rank %d of graph %" PRIu64, node, calls->rank,
                       calls->graph);
  sfd_calls_t *known = sfd_calls_of(graph);
  if (known != NULL && known->far[neighbour] == NULL)
    known->far[neighbour] = malloc(sizeof one);
  if (known == NULL || known->far[neighbour] == NULL)
    return SF_OK; /* compared when more calls arrive */
  *known->far[neighbour] = one;
  sfd_calls_watch(graph);
  sfd_calls_compare_far(graph);
  return SF_OK;
}

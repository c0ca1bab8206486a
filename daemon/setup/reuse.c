/* Graphs that are made again: see reuse.h. The daemon's thread. */
#include "daemon/setup/reuse.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/net/network.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

/* What this node knows of an earlier graph. */
struct sfd_kept {
  TAILQ_ENTRY(sfd_kept) entry; /* the latest first */
  uint64_t graph;
  sfd_trunk_plan_t *plan; /* NULL: it has no edges between this node and others */
};

/* ---- Kept plans -------------------------------------------------------------------------------------------------- */

static sfd_kept_t *find_kept(const sfd_group_t *group, uint64_t graph)
{
  sfd_kept_t *kept;
  TAILQ_FOREACH(kept, &group->kept, entry)
  {
    if (kept->graph == graph)
      return kept;
  }
  return NULL;
}

static void drop(sfd_group_t *group, sfd_kept_t *kept)
{
  TAILQ_REMOVE(&group->kept, kept, entry);
  group->nkept--;
  sfd_trunk_plan_let_go(kept->plan);
  free(kept);
}

void sfd_again_keep(sfd_graph_t *graph)
{
  sfd_group_t *group = graph->group;
  if (group->nnodes == 1)
    return; /* the ranks know everything */
  sfd_kept_t *kept = malloc(sizeof *kept);
  if (kept == NULL)
    return;
  *kept = (sfd_kept_t){.graph = graph->id, .plan = sfd_trunks_hold_plan(graph->trunks)};
  TAILQ_INSERT_HEAD(&group->kept, kept, entry);
  if (++group->nkept > SFD_PLANS_KEPT)
    drop(group, TAILQ_LAST(&group->kept, sfd_kept_list));
}

void sfd_again_forget(sfd_group_t *group)
{
  while (!TAILQ_EMPTY(&group->kept))
    drop(group, TAILQ_FIRST(&group->kept));
}

/* ---- What ranks say ---------------------------------------------------------------------------------------------- */

sf_status_t sfd_again_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place, int nfds)
{
  if (create->n_blocks > 0 || create->error != NULL || nfds > 0 || create->has_number || create->again == 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: graph %" PRIu64 " again, and edges", place,
                       create->again);
  if (create->nroots < 0 || create->nleaves < 0 || create->nroot_ranks < 0 || create->nroot_ranks >= group->size)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: %" PRId64 " roots, %" PRId64 " leaves with roots on %d ranks",
                       place, create->nroots, create->nleaves, create->nroot_ranks);
  return sfd_lanes_check("GraphCreate", create->lanes, create->n_lanes, rank, group, place);
}

sf_status_t sfd_again_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member)
{
  sf_status_t status = sfd_lanes_store(create->lanes, create->n_lanes, member);
  if (status != SF_OK)
    return status;
  member->again = create->again;
  member->nroots = create->nroots;
  member->nleaves = create->nleaves;
  member->nroot_ranks = create->nroot_ranks;
  member->flags = create->flags;
  return SF_OK;
}

/* ---- Refusing ---------------------------------------------------------------------------------------------------- */

void sfd_again_ask(sfd_session_t *session, uint64_t request, uint64_t number)
{
  Sfproto__GraphReady ready = SFPROTO__GRAPH_READY__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  ready.has_edges_of = true;
  ready.edges_of = number;
  message.request = request;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_READY;
  message.graph_ready = &ready;
  sfd_session_send(session, &message, NULL, 0);
}

static void ask_member(sfd_graph_t *graph, int32_t local)
{
  sfd_setup_member_t *member = &graph->setup->members[local];
  if (member->again == 0)
    return;
  sfd_session_t *session = sfd_setup_answered(graph, local);
  sfd_lanes_free(member);
  member->again = 0;
  member->here = false;
  member->asked = true;
  graph->setup->nhere--;
  if (session != NULL)
    sfd_again_ask(session, member->request, graph->number);
}

static void ask_members(sfd_graph_t *graph)
{
  graph->setup->refused = true;
  sfd_trunks_free(graph->trunks); /* made in hope, like what follows */
  graph->trunks = NULL;
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    ask_member(graph, i);
}

void sfd_again_refuse(sfd_graph_t *graph)
{
  if (!graph->setup->refused)
    sfd_agreement_refuse(graph->group, SFPEER__ARRIVE__KIND__GRAPH_AGAIN, graph->number, &graph->setup->again);
  ask_members(graph);
}

/* ---- Agreeing ---------------------------------------------------------------------------------------------------- */

/* Whether this node's members, who have all come, want the same and can have it. */
static bool is_possible(const sfd_graph_t *graph)
{
  const sfd_setup_t *setup = graph->setup;
  uint64_t again = setup->members[0].again;
  if (setup->refused || setup->agreement.error.status != SF_OK || again == 0)
    return false;
  for (int32_t i = 1; i < graph->group->nlocals; i++)
    if (setup->members[i].again != again)
      return false;
  return (graph->group->nnodes == 1 || find_kept(graph->group, again) != NULL) && sfd_lanes_agree(graph) == SF_OK;
}

static int32_t count_again(const sfd_graph_t *graph)
{
  int32_t n = 0;
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    n += graph->setup->members[i].again != 0;
  return n;
}

/* What the graph shares with the earlier one: on one node nothing. */
static sf_status_t share(sfd_graph_t *graph, uint64_t again)
{
  sfd_group_t *group = graph->group;
  sfd_kept_t *kept = find_kept(group, again);
  if (group->nnodes == 1)
    return SF_OK;
  if (kept == NULL) /* since this node has said so */
    return sfshm_error(SF_ERR_NOT_FOUND, "the plan of graph %" PRIu64 " is not kept any more", again);
  TAILQ_REMOVE(&group->kept, kept, entry);
  TAILQ_INSERT_HEAD(&group->kept, kept, entry);
  return sfd_trunks_create_again(graph, kept->plan);
}

/* What is done before this node arrives. Two nodes have all that the graph needs before they tell each other, so that
 * nothing is left to be agreed on. */
static bool prepare(sfd_graph_t *graph)
{
  return !sfd_agreement_is_pair(graph->group) || share(graph, graph->setup->members[0].again) == SF_OK;
}

static void arrive(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    const sfd_setup_member_t *member = &setup->members[i];
    sfd_agreement_add_again(&setup->again, member->again);
    sfd_agreement_add_flags(&setup->again, graph->group->locals[i], member->flags);
    sfd_agreement_add_counts(&setup->again, member->nroots, member->nleaves, member->nroot_ranks);
  }
  sfd_agreement_arrive(graph->group, SFPEER__ARRIVE__KIND__GRAPH_AGAIN, graph->number, &setup->again);
}

bool sfd_again_settle(sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  bool some = count_again(graph) > 0, far = graph->group->nnodes > 1;
  if (far)
    sfd_network_gather(server, true); /* what is told before arriving */
  if (is_possible(graph) && prepare(graph))
    arrive(graph);
  else
    sfd_again_refuse(graph);
  if (far)
    sfd_network_gather(server, false);
  return some;
}

void sfd_again_agreed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  sfd_graph_t *graph = sfd_setup_find(group, number);
  const sfd_agreement_t *agreement = &graph->setup->again;
  if (agreement->error.status != SF_OK) {
    ask_members(graph);
    return;
  }
  graph->nroots = agreement->nroots;
  graph->nleaves = agreement->nleaves;
  graph->npairs = agreement->npairs;
  graph->state = SFD_GRAPH_COMMITTING;
  bool prepared = sfd_agreement_is_pair(group);
  sf_status_t status = sfd_graph_number(graph, id);
  if (status == SF_OK && !prepared)
    status = share(graph, agreement->again);
  sfd_log(SFD_LOG_GRAPH, SFD_DEBUG, "graph %" PRIu64 " of job \"%s\" has the plan of graph %" PRIu64, id,
          group->job->name, agreement->again);
  if (prepared) {
    sfd_setup_become_ready(graph, status);
  } else {
    sfd_setup_begin_commit(graph);
    sfd_setup_finish_commit(graph, status);
  }
}

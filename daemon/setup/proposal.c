/* Proposals and kept plans: see proposal.h. The daemon's thread. */
#include "daemon/setup/proposal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/setup/root_bounds.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

/* ---- Kept trunks ------------------------------------------------------------------------------------------------- */

/* Plan of an earlier graph on this node. */
struct sfd_kept_plan {
  TAILQ_ENTRY(sfd_kept_plan) entry; /* the last used first */
  uint64_t graph;
  sfd_trunk_plan_t *plan; /* NULL: no edges to other nodes */
};

static sfd_kept_plan_t *find_kept(const sfd_group_t *group, uint64_t graph)
{
  sfd_kept_plan_t *kept;
  TAILQ_FOREACH (kept, &group->kept, entry)
    if (kept->graph == graph)
      return kept;
  return NULL;
}

static void drop(sfd_group_t *group, sfd_kept_plan_t *kept)
{
  TAILQ_REMOVE(&group->kept, kept, entry);
  group->nkept--;
  sfd_trunk_plan_release(kept->plan);
  free(kept);
}

void sfd_proposal_keep_plan(sfd_graph_t *graph)
{
  sfd_group_t *group = graph->group;
  if (group->nnodes == 1)
    return; /* the ranks keep the whole plan */
  sfd_kept_plan_t *kept = malloc(sizeof *kept);
  if (kept == NULL)
    return;
  *kept = (sfd_kept_plan_t){.graph = graph->id, .plan = sfd_trunks_hold_plan(graph->trunks)};
  TAILQ_INSERT_HEAD(&group->kept, kept, entry);
  if (++group->nkept > SFD_PLANS_KEPT)
    drop(group, TAILQ_LAST(&group->kept, sfd_kept_plan_list));
}

void sfd_proposal_free_plans(sfd_group_t *group)
{
  while (!TAILQ_EMPTY(&group->kept))
    drop(group, TAILQ_FIRST(&group->kept));
}

sf_status_t sfd_proposal_reuse_plan(sfd_graph_t *graph, uint64_t earlier)
{
  sfd_group_t *group = graph->group;
  if (group->nnodes == 1)
    return SF_OK;
  sfd_kept_plan_t *kept = find_kept(group, earlier);
  if (kept == NULL) /* dropped after this node's vote */
    return sfshm_error(SF_ERR_NOT_FOUND, "the plan of graph %" PRIu64 " is not kept any more", earlier);
  TAILQ_REMOVE(&group->kept, kept, entry);
  TAILQ_INSERT_HEAD(&group->kept, kept, entry);
  return sfd_trunks_create_again(graph, kept->plan);
}

/* ---- What members say -------------------------------------------------------------------------------------------- */

static bool proposes(const Sfproto__GraphCreate *create)
{
  return create->has_again || (create->has_proposes && create->proposes);
}

/* Whether there is one lane per block to a rank of this node, in the same order. */
static bool lanes_match_blocks(const Sfproto__GraphCreate *create, const sfd_group_t *group)
{
  size_t n = 0;
  for (size_t i = 0; i < create->n_blocks; i++) {
    if (sfd_group_local(group, create->blocks[i]->rank) < 0)
      continue;
    if (n == create->n_lanes || create->lanes[n]->rank != create->blocks[i]->rank)
      return false;
    n++;
  }
  return n == create->n_lanes;
}

static sf_status_t check_name(const Sfproto__GraphCreate *create, const sfd_group_t *group, int32_t group_rank,
                              int nfds)
{
  if (create->n_blocks > 0 || create->error != NULL || nfds > 0 || create->has_number || create->again == 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: graph %" PRIu64 " again, and edges", group_rank,
                       create->again);
  if (create->nroots < 0 || create->nleaves < 0 || create->nroot_ranks < 0 || create->nroot_ranks >= group->size)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCreate of group rank %d: %" PRId64 " roots, %" PRId64 " leaves with roots on %d ranks",
                       group_rank, create->nroots, create->nleaves, create->nroot_ranks);
  return SF_OK;
}

sf_status_t sfd_proposal_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                               int32_t group_rank, int nfds)
{
  sf_status_t status = create->has_again ? check_name(create, group, group_rank, nfds) : SF_OK;
  if (status != SF_OK)
    return status;
  if (proposes(create) ? create->error != NULL : create->n_lanes > 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: lanes at the wrong time", group_rank);
  if (proposes(create) && !create->has_again && !lanes_match_blocks(create, group))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: lanes to other ranks than its blocks", group_rank);
  return sfd_setup_lanes_check("GraphCreate", create->lanes, create->n_lanes, rank, group, group_rank);
}

sf_status_t sfd_proposal_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member)
{
  member->proposes = proposes(create);
  member->earlier = create->has_again ? create->again : 0;
  member->nroot_ranks = create->has_again ? create->nroot_ranks : member->nblocks;
  return sfd_setup_lanes_store(create->lanes, create->n_lanes, member);
}

/* ---- What they come to ------------------------------------------------------------------------------------------- */

bool sfd_proposal_names_one(const sfd_graph_t *graph)
{
  const sfd_setup_t *setup = graph->setup;
  uint64_t earlier = setup->members[0].earlier;
  if (setup->agreement.error.status != SF_OK || earlier == 0)
    return false;
  for (int32_t i = 1; i < graph->group->nlocals; i++)
    if (setup->members[i].earlier != earlier)
      return false;
  return (graph->group->nnodes == 1 || find_kept(graph->group, earlier) != NULL) &&
         sfd_setup_lanes_agree(graph) == SF_OK;
}

bool sfd_proposal_says_all(const sfd_graph_t *graph)
{
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    if (!graph->setup->members[i].proposes)
      return false;
  return sfd_root_bounds_are_there(graph) && sfd_setup_lanes_agree(graph) == SF_OK;
}

void sfd_proposal_fill_vote(const sfd_graph_t *graph, sfd_agreement_t *vote)
{
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    const sfd_setup_member_t *member = &graph->setup->members[i];
    sfd_agreement_add_again(vote, member->earlier);
    sfd_agreement_add_flags(vote, graph->group->locals[i], member->flags);
    sfd_agreement_add_counts(vote, member->nroots, member->nleaves, member->nroot_ranks);
  }
}

/* Graphs that are ready after round 1: see one_round.h. The daemon's thread. */
#include "daemon/setup/one_round.h"

#include "daemon/setup/root_bounds.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

/* Whether there is a lane for each block that leads to a rank of this node, in their order. */
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

sf_status_t sfd_at_once_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                              int32_t place)
{
  bool at_once = create->has_at_once && create->at_once;
  if (at_once ? group->nnodes > 2 || create->error != NULL : create->n_lanes > 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: lanes at the wrong time", place);
  if (at_once && !lanes_match_blocks(create, group))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: lanes to other ranks than its blocks", place);
  return sfd_lanes_check("GraphCreate", create->lanes, create->n_lanes, rank, group, place);
}

sf_status_t sfd_at_once_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member)
{
  member->at_once = create->has_at_once && create->at_once;
  return sfd_lanes_store(create->lanes, create->n_lanes, member);
}

bool sfd_at_once_is_possible(const sfd_graph_t *graph)
{
  if (graph->group->nnodes > 2)
    return false;
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    if (!graph->setup->members[i].at_once)
      return false;
  return sfd_roots_are_there(graph) && sfd_lanes_agree(graph) == SF_OK;
}

/* Lanes: see round2_lanes.h. The daemon's thread. */
#include "daemon/setup/round2_lanes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/memory.h"
#include "shm/base/error.h"

/* ---- Checking ---- */

static sf_status_t check_memory(const char *message, const Sfproto__LaneEnd *lane, const sfd_rank_t *rank)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, lane->segment);
  if (segment == NULL || segment->kind != SFSHM_REGION_INBOX)
    return sfshm_error(SF_ERR_PROTO, "%s of rank %d: segment %" PRIu64 " is no inbox of it", message, rank->number,
                       lane->segment);
  if (lane->slots >= segment->length || lane->control >= segment->length)
    return sfshm_error(SF_ERR_PROTO,
                       "%s of rank %d: offsets %" PRIu64 " and %" PRIu64 " in segment %" PRIu64 " of %" PRIu64 " bytes",
                       message, rank->number, lane->slots, lane->control, lane->segment, segment->length);
  return SF_OK;
}

sf_status_t sfd_setup_lanes_check(const char *message, Sfproto__LaneEnd *const lanes[], size_t n,
                                  const sfd_rank_t *rank, const sfd_group_t *group, int32_t group_rank)
{
  int32_t previous = -1;
  for (size_t i = 0; i < n; i++) {
    const Sfproto__LaneEnd *lane = lanes[i];
    if (lane->rank < 0 || lane->rank >= group->size || lane->rank == group_rank ||
        sfd_group_local(group, lane->rank) < 0)
      return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: lane to rank %d of a group of %d", message, group_rank,
                         lane->rank, group->size);
    if (lane->rank <= previous)
      return sfshm_error(SF_ERR_PROTO, "%s of group rank %d: lane to rank %d after that to rank %d", message,
                         group_rank, lane->rank, previous);
    sf_status_t status = check_memory(message, lane, rank);
    if (status != SF_OK)
      return status;
    previous = lane->rank;
  }
  return SF_OK;
}

sf_status_t sfd_setup_lanes_store(Sfproto__LaneEnd *const lanes[], size_t n, sfd_setup_member_t *member)
{
  if (n == 0)
    return SF_OK;
  member->lanes = calloc(n, sizeof member->lanes[0]);
  if (member->lanes == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu lanes", n);
  member->nlanes = (int32_t)n;
  for (int32_t i = 0; i < member->nlanes; i++) {
    const Sfproto__LaneEnd *lane = lanes[i];
    member->lanes[i] = (sfd_lane_t){.rank = lane->rank,
                                    .segment = lane->segment,
                                    .slots = lane->slots,
                                    .control = lane->control,
                                    .can_read = lane->can_read};
  }
  return SF_OK;
}

void sfd_setup_lanes_free(sfd_setup_member_t *member)
{
  free(member->lanes);
  member->lanes = NULL;
  member->nlanes = 0;
}

/* ---- Agreeing ---- */

static int compare_lane(const void *key, const void *element)
{
  int32_t rank = *(const int32_t *)key;
  const sfd_lane_t *lane = element;
  return (rank > lane->rank) - (rank < lane->rank);
}

const sfd_lane_t *sfd_setup_lanes_find(const sfd_graph_t *graph, int32_t from, int32_t to)
{
  const sfd_setup_member_t *member = sfd_setup_member(graph, from);
  if (member->nlanes == 0)
    return NULL;
  return bsearch(&to, member->lanes, (size_t)member->nlanes, sizeof member->lanes[0], compare_lane);
}

sf_status_t sfd_setup_lanes_agree(const sfd_graph_t *graph)
{
  for (int32_t local = 0; local < graph->group->nlocals; local++) {
    const sfd_setup_member_t *member = &graph->setup->members[local];
    int32_t group_rank = graph->group->locals[local];
    for (int32_t i = 0; i < member->nlanes; i++)
      if (sfd_setup_lanes_find(graph, member->lanes[i].rank, group_rank) == NULL)
        return sfshm_error(SF_ERR_PROTO, "group rank %d has a lane to rank %d, which has none to it", group_rank,
                           member->lanes[i].rank);
  }
  return SF_OK;
}

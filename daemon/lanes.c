/* Round 2: checking, keeping and exchanging the ends of lanes. The daemon's thread. */
#include "daemon/lanes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/segment.h"
#include "daemon/trunks.h"
#include "shm/error.h"

/* ---- Checking ---- */

static sf_status_t check_memory(const Sfproto__LaneEnd *lane, const sfd_rank_t *rank)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, lane->segment);
  if (segment == NULL || !segment->inbox)
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of rank %d: segment %" PRIu64 " is no inbox of it", rank->number,
                       lane->segment);
  if (lane->slots >= segment->length || lane->control >= segment->length)
    return sfshm_error(SF_ERR_PROTO,
                       "GraphCommit of rank %d: offsets %" PRIu64 " and %" PRIu64 " in segment %" PRIu64 " of %" PRIu64
                       " bytes",
                       rank->number, lane->slots, lane->control, lane->segment, segment->length);
  if (lane->has_marks && (lane->marks == 0 || lane->marks >= segment->length))
    return sfshm_error(SF_ERR_PROTO, "GraphCreate of rank %d: marks at %" PRIu64 " in segment %" PRIu64 " of %" PRIu64,
                       rank->number, lane->marks, lane->segment, segment->length);
  return SF_OK;
}

sf_status_t sfd_lanes_check(const Sfproto__GraphCommit *commit, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place)
{
  int32_t previous = -1;
  if (commit->error != NULL && commit->n_lanes > 0)
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: lanes beside an error", place);
  for (size_t i = 0; i < commit->n_lanes; i++) {
    const Sfproto__LaneEnd *lane = commit->lanes[i];
    if (lane->rank < 0 || lane->rank >= group->size || lane->rank == place || sfd_group_local(group, lane->rank) < 0)
      return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: lane to rank %d of a group of %d", place,
                         lane->rank, group->size);
    if (lane->rank <= previous)
      return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: lane to rank %d after that to rank %d", place,
                         lane->rank, previous);
    sf_status_t status = check_memory(lane, rank);
    if (status != SF_OK)
      return status;
    previous = lane->rank;
  }
  return SF_OK;
}

sf_status_t sfd_lanes_store(const Sfproto__GraphCommit *commit, sfd_setup_member_t *member)
{
  if (commit->n_lanes == 0)
    return SF_OK;
  member->lanes = calloc(commit->n_lanes, sizeof member->lanes[0]);
  if (member->lanes == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu lanes", commit->n_lanes);
  member->nlanes = (int32_t)commit->n_lanes;
  for (int32_t i = 0; i < member->nlanes; i++) {
    const Sfproto__LaneEnd *lane = commit->lanes[i];
    member->lanes[i] = (sfd_lane_t){.rank = lane->rank,
                                    .segment = lane->segment,
                                    .slots = lane->slots,
                                    .control = lane->control,
                                    .marks = lane->has_marks ? lane->marks : 0,
                                    .can_read = lane->can_read};
  }
  return SF_OK;
}

/* ---- Exchanging ---- */

static int compare_lane(const void *key, const void *element)
{
  int32_t rank = *(const int32_t *)key;
  const sfd_lane_t *lane = element;
  return (rank > lane->rank) - (rank < lane->rank);
}

/* What one member says for another, both by place; NULL: nothing. */
static const sfd_lane_t *find_lane(const sfd_graph_t *graph, int32_t from, int32_t to)
{
  const sfd_setup_member_t *member = sfd_setup_member(graph, from);
  if (member->nlanes == 0)
    return NULL;
  return bsearch(&to, member->lanes, (size_t)member->nlanes, sizeof member->lanes[0], compare_lane);
}

sf_status_t sfd_lanes_agree(const sfd_graph_t *graph)
{
  for (int32_t local = 0; local < graph->group->nlocals; local++) {
    const sfd_setup_member_t *member = &graph->setup->members[local];
    int32_t place = graph->group->locals[local];
    for (int32_t i = 0; i < member->nlanes; i++)
      if (find_lane(graph, member->lanes[i].rank, place) == NULL)
        return sfshm_error(SF_ERR_PROTO, "group rank %d has a lane to rank %d, which has none to it", place,
                           member->lanes[i].rank);
  }
  return SF_OK;
}

/* What the others said for a member: it named the same ones. */
static void collect(const sfd_graph_t *graph, int32_t local, Sfproto__LaneEnd lanes[], Sfproto__LaneEnd *pointers[])
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  int32_t place = graph->group->locals[local];
  for (int32_t i = 0; i < member->nlanes; i++) {
    int32_t other = member->lanes[i].rank;
    const sfd_lane_t *lane = find_lane(graph, other, place);
    lanes[i] = (Sfproto__LaneEnd)SFPROTO__LANE_END__INIT;
    lanes[i].rank = other;
    lanes[i].job_rank = graph->group->members[other].rank;
    lanes[i].segment = lane->segment;
    lanes[i].slots = lane->slots;
    lanes[i].control = lane->control;
    lanes[i].can_read = lane->can_read;
    lanes[i].has_marks = lane->marks != 0;
    lanes[i].marks = lane->marks;
    pointers[i] = &lanes[i];
  }
}

static void send_ready(sfd_graph_t *graph, int32_t local, Sfproto__LaneEnd *lanes[])
{
  Sfproto__GraphReady ready = SFPROTO__GRAPH_READY__INIT;
  ready.graph = graph->id;
  ready.lanes = lanes;
  ready.n_lanes = (size_t)graph->setup->members[local].nlanes;
  if (graph->trunks != NULL)
    sfd_trunks_describe_board(graph->trunks, &ready);
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = graph->setup->members[local].request;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_READY;
  message.graph_ready = &ready;
  sfd_session_t *session = sfd_setup_answered(graph, local);
  if (session != NULL)
    sfd_session_send(session, &message, NULL, 0);
}

sf_status_t sfd_lanes_send(sfd_graph_t *graph)
{
  size_t size = (size_t)graph->group->nlocals;
  Sfproto__LaneEnd *lanes = calloc(size, sizeof *lanes);
  Sfproto__LaneEnd **pointers = calloc(size, sizeof *pointers);
  sf_status_t status = SF_OK;
  if (lanes == NULL || pointers == NULL) {
    status = sfshm_error(SF_ERR_NOMEM, "no memory for the lanes of %zu ranks", size);
    goto out;
  }
  for (int32_t local = 0; local < graph->group->nlocals; local++) {
    collect(graph, local, lanes, pointers);
    send_ready(graph, local, pointers);
  }
out:
  free(pointers);
  free(lanes);
  return status;
}

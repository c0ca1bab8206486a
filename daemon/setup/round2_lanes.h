/* Lanes of GraphCommit (round 2 of set-up), or proposed with GraphCreate: checked, stored, matched. */
#ifndef SFD_SETUP_ROUND2_LANES_H
#define SFD_SETUP_ROUND2_LANES_H

#include "daemon/setup/setup.h"

/* Checks the lanes that a rank sent in the named message. */
sf_status_t sfd_setup_lanes_check(const char *message, Sfproto__LaneEnd *const lanes[], size_t n,
                                  const sfd_rank_t *rank, const sfd_group_t *group, int32_t group_rank);

sf_status_t sfd_setup_lanes_store(Sfproto__LaneEnd *const lanes[], size_t n, sfd_setup_member_t *member);
void sfd_setup_lanes_free(sfd_setup_member_t *member);

/* Whether every member to which a member has a lane has one back. SF_ERR_PROTO with a detail. */
sf_status_t sfd_setup_lanes_agree(const sfd_graph_t *graph);

/* The lane of one group rank to another; NULL: none. */
const sfd_lane_t *sfd_setup_lanes_find(const sfd_graph_t *graph, int32_t from, int32_t to);

#endif

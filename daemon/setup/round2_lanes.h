/* Round 2 of a graph's set-up: lanes. Ranks that know whom they share edges with tell theirs in round 1 already. */
#ifndef SFD_SETUP_ROUND2_LANES_H
#define SFD_SETUP_ROUND2_LANES_H

#include "daemon/setup/setup.h"

/* Checks the lanes that a rank, member place of the group, tells in the message of that name. */
sf_status_t sfd_setup_lanes_check(const char *message, Sfproto__LaneEnd *const lanes[], size_t n,
                                  const sfd_rank_t *rank, const sfd_group_t *group, int32_t group_rank);

/* Copies the lanes; SF_ERR_NOMEM. */
sf_status_t sfd_setup_lanes_store(Sfproto__LaneEnd *const lanes[], size_t n, sfd_setup_member_t *member);
void sfd_setup_lanes_free(sfd_setup_member_t *member);

/* Whether everybody whom a member names, names it. SF_ERR_PROTO with a detail. */
sf_status_t sfd_setup_lanes_agree(const sfd_graph_t *graph);

/* What one member says for another, both by place; NULL: nothing. */
const sfd_lane_t *sfd_setup_lanes_find(const sfd_graph_t *graph, int32_t from, int32_t to);

#endif

/* Proposals: what members send with GraphCreate so that the graph may be ready without round 2 of its set-up. A member
 * sends its lanes, and either its edges or the id of an earlier graph of the group with the same edges and flags, the
 * plan of which it has cached. The daemon keeps the trunk plans of earlier graphs for that (the plan cache of a node).
 *
 * - If all members named one graph, each node that has kept the graph's plan votes for reuse. One vote against makes
 * all nodes ask for the edges. Nodes vote over the tree of the group (tree_agreement.h).
 * - If all members sent edges, round 1 suffices when each member sent a lane to every rank of its node on whose roots
 * it has leaves, and each of these ranks has edges back. The daemon has checked root_max. A rank that reads an edge
 * list checks it again, and fails the graph if root_max was false. */
#ifndef SFD_SETUP_PROPOSAL_H
#define SFD_SETUP_PROPOSAL_H

#include "daemon/data.h"
#include "daemon/setup/setup.h"

#define SFD_PLANS_KEPT 8 /* of a group; the least recently used plan is dropped */

/* Checks the lanes of a member's GraphCreate, and the earlier graph that it names. */
sf_status_t sfd_proposal_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                               int32_t group_rank, int nfds);

/* Stores both. */
sf_status_t sfd_proposal_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);

/* Whether all members of this node named one graph whose plan is kept here. All have arrived. */
bool sfd_proposal_names_one(const sfd_graph_t *graph);

/* Whether the members' edges and lanes make round 2 unnecessary. All have arrived. */
bool sfd_proposal_says_all(const sfd_graph_t *graph);

/* Adds the proposals of this node's members to its vote. */
void sfd_proposal_fill_vote(const sfd_graph_t *graph, sfd_agreement_t *vote);

/* Keeps the trunk plan of a graph that is ready. */
void sfd_proposal_keep_plan(sfd_graph_t *graph);
void sfd_proposal_free_plans(sfd_group_t *group);

/* Makes the graph's trunks from the plan of the earlier graph. */
sf_status_t sfd_proposal_reuse_plan(sfd_graph_t *graph, uint64_t earlier);

#endif

/* What members of a graph propose with GraphCreate, so that the graph may be ready without round 2 of its set-up. A
 * member tells its lanes, and either names an earlier graph of the group, whose edges and flags are the same and whose
 * plan it keeps, or says its edges. The daemon keeps the trunks of earlier graphs here.
 *
 * - If all members named one graph, each node that keeps that graph's trunks votes for making it again. One vote
 * against anywhere makes all nodes ask for the edges. The nodes vote by the tree of the group (tree_agreement.h).
 * - If all members said their edges, round 1 says everything when each member told a lane to every rank of its node on
 *   whose roots it has leaves, and from each of these ranks an edge leads back. The daemon has seen by root_max that
 * the roots are there. A rank that reads a list checks it once more, and fails the graph if that was not true. */
#ifndef SFD_SETUP_PROPOSAL_H
#define SFD_SETUP_PROPOSAL_H

#include "daemon/data.h"
#include "daemon/setup/setup.h"

#define SFD_PLANS_KEPT 8 /* of a group, the latest used */

/* Checks the lanes that GraphCreate of a member tells, and the earlier graph that it names. Its blocks have been
 * checked. */
sf_status_t sfd_proposal_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                               int32_t group_rank, int nfds);

/* Keeps the lanes and the name. */
sf_status_t sfd_proposal_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);

/* Whether this node's members, who have all come, named one graph that can be made again here. */
bool sfd_proposal_names_one(const sfd_graph_t *graph);

/* Whether the edges and lanes of this node's members, who have all come, leave nothing for round 2. */
bool sfd_proposal_says_all(const sfd_graph_t *graph);

/* Adds what this node's members propose to its vote. */
void sfd_proposal_fill_vote(const sfd_graph_t *graph, sfd_agreement_t *vote);

/* Keeps the trunks of a graph that is ready, for later graphs with the same edges. */
void sfd_proposal_keep_plan(sfd_graph_t *graph);
void sfd_proposal_free_plans(sfd_group_t *group);

/* Makes the graph's trunks out of those of the earlier graph. */
sf_status_t sfd_proposal_reuse_plan(sfd_graph_t *graph, uint64_t earlier);

#endif

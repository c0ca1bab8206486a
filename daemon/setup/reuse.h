/* Graphs that are made again: all ranks of the group name an earlier one of theirs, whose edges and flags are the same.
 * If all name the same one, and every node has what it needs of it (its trunks), round 1 of set-up is skipped, and
 * round 2 is over at once, since the ranks have told their lanes already. Otherwise they are asked for their edges, and
 * set-up goes its ordinary way.
 *
 * Nodes agree on it by the tree of the group. Only nodes take part whose ranks all want the same; the others refuse
 * what their subtrees say, and when a subtree goes the ordinary way its parent does, too. */
#ifndef SFD_AGAIN_H
#define SFD_AGAIN_H

#include "daemon/data/trunks.h"
#include "daemon/setup/setup.h"

#define SFD_PLANS_KEPT 8 /* of a group, the latest used */

/* GraphCreate of a member that names an earlier graph: checks it, and keeps what it says. */
sf_status_t sfd_again_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place, int nfds);
sf_status_t sfd_again_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);

/* All members of this node have come. Whether some of them named an earlier graph: then this is taken care of. */
bool sfd_again_settle(sfd_graph_t *graph);

/* Set-up goes the ordinary way: asks those who have named an earlier graph for their edges. */
void sfd_again_refuse(sfd_graph_t *graph);

/* Asks one that came later. */
void sfd_again_ask(sfd_session_t *session, uint64_t request, uint64_t number);

/* All nodes have agreed. */
void sfd_again_agreed(sfd_group_t *group, uint64_t number, uint64_t id);

/* Keeps the plan of a graph, whose round 1 is over, for others. */
void sfd_again_keep(sfd_graph_t *graph);
void sfd_again_forget(sfd_group_t *group);

#endif

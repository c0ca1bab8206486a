/* Graphs that are ready after round 1 of set-up: all ranks are on one node or two, each has told a lane to every rank
 * of its node on whose roots it has leaves, and to each of these leads some edge back. Then nothing is left for round
 * 2: that the roots are there the daemon has seen by root_max, and who reads a list checks it once more. If that was
 * not the truth the reader fails the graph. Of two nodes each says in its part of round 1 whether it is so there
 * (two_rounds of tree_agreement.h); and what a node sends about a graph that is ready comes behind that part, when the
 * other node has it, too. With more nodes it could come before. */
#ifndef SFD_AT_ONCE_H
#define SFD_AT_ONCE_H

#include "daemon/setup/setup.h"

/* Checks the lanes that GraphCreate of a member tells beside its blocks, which have been checked, and keeps them. */
sf_status_t sfd_at_once_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                              int32_t place);
sf_status_t sfd_at_once_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);

/* Whether round 1 has said all here, as far as this node's ranks go, who have all come. */
bool sfd_at_once_is_possible(const sfd_graph_t *graph);

#endif

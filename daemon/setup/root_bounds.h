/* Checks of edges against the owners' numbers of roots. The daemon's thread. */
#ifndef SFD_SETUP_ROOT_BOUNDS_H
#define SFD_SETUP_ROOT_BOUNDS_H

#include "daemon/setup/setup.h"

/* An edge of the member's block has no root at the owner: records the lowest such leaf. *list: the member's list,
 * mapped here if it is no region yet; not used if the block is in an inbox. */
void sfd_root_bounds_note_bad(sfd_graph_t *graph, int32_t local, const sfd_edge_block_t *block, int64_t nroots,
                              sfshm_region_t *list);

/* Whether all members of this node sent root_max, and the owners here have these roots. */
bool sfd_root_bounds_are_there(const sfd_graph_t *graph);

/* Checks edges from this node's members to its own roots. Other nodes answer for theirs. */
void sfd_root_bounds_check_local(sfd_graph_t *graph);

#endif

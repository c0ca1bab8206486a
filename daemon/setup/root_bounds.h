/* Edges to roots that their owners do not have. The daemon's thread. */
#ifndef SFD_SETUP_ROOT_BOUNDS_H
#define SFD_SETUP_ROOT_BOUNDS_H

#include "daemon/setup/setup.h"

/* An edge of group rank `rank` leads to a root that the owner does not have: finds and records the rank's lowest such
 * leaf. */
void sfd_root_bounds_note_bad(sfd_setup_t *setup, int32_t rank, const sfd_edge_block_t *block,
                              const sfshm_region_t *list, int64_t nroots);

/* Whether all ranks of this node have said what their highest roots on its ranks are, and the owners have these. */
bool sfd_root_bounds_are_there(const sfd_graph_t *graph);

/* Roots of this node's ranks that its own ranks want: those of other nodes answer themselves. */
void sfd_root_bounds_check_local(sfd_graph_t *graph);

#endif

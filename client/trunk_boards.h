/* The regions of trunk boards that this process has mapped: each once, for all graphs that have their boards there. */
#ifndef SFC_TRUNK_BOARDS_H
#define SFC_TRUNK_BOARDS_H

#include "client/graph.h"
#include "shm/region.h"
#include "shm/trunk.h"

/* No exchange is larger. */
#define SFC_EXCHANGE_MAX_BYTES ((uint64_t)1 << 46)

/* Asks the daemon for the graph's slots for units of a class, or with 0 for the region of its board. Blocks. */
sf_status_t sfc_trunk_get_region(sf_graph_t *graph, uint64_t class_bytes, sfshm_region_t *region_p);

/* The board of a graph that is ready, with so many sides, at the offset in the region of that number, which is mapped
 * if it is not yet. SF_ERR_PROTO: it does not lie there. Any thread. */
sf_status_t sfc_trunk_board_find(sf_graph_t *graph, uint64_t number, uint64_t offset, uint32_t nsides,
                                 sfshm_trunk_board_t **board_p);

/* Unmaps them all. */
void sfc_trunk_boards_free(sf_context_t *context);

#endif

/* Bounds of a graph, and its combine order: the order in which contributions to a root are combined. A step of the
 * combine order is the turn of a rank. At set-up. */
#ifndef SFC_GRAPH_COMBINE_ORDER_H
#define SFC_GRAPH_COMBINE_ORDER_H

#include "client/graph/graph.h"

/* Finds the highest root and leaf with an edge. */
void sfc_graph_find_bounds(sf_graph_t *graph);

/* Finds whether a root here has leaves on several ranks. Needs the bounds. SF_ERR_NOMEM. */
sf_status_t sfc_graph_find_shared_roots(sf_graph_t *graph);

/* Makes the combine order, by rank: turns of this rank, of ranks of the node, and of ranks behind trunks. SF_ERR_NOMEM.
 */
sf_status_t sfc_graph_order_turns(sf_graph_t *graph);

#endif

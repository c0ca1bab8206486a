/* What follows from a graph's lanes: its bounds, and the order in which contributions to its roots are combined. At
 * set-up.
 */
#ifndef SFC_GRAPH_COMBINE_ORDER_H
#define SFC_GRAPH_COMBINE_ORDER_H

#include "client/graph/graph.h"

/* Highest root and leaf with an edge. */
void sfc_graph_find_bounds(sf_graph_t *graph);

/* Whether some root here has leaves on several ranks. Needs the bounds. SF_ERR_NOMEM. */
sf_status_t sfc_graph_find_shared_roots(sf_graph_t *graph);

/* The turns of this rank, of other ranks and of those behind trunks, by rank. SF_ERR_NOMEM. */
sf_status_t sfc_graph_order_turns(sf_graph_t *graph);

#endif

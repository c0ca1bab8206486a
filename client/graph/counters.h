/* Entries of graphs and their lanes in the rank's counters region. The context's lock is held; what is in an entry
 * belongs to the thread that uses the graph. */
#ifndef SFC_GRAPH_COUNTERS_H
#define SFC_GRAPH_COUNTERS_H

#include "client/core.h"
#include "client/graph/graph.h"

/* Finds entries for the graph and its lanes, and sets their counts. Without room, in the region or in memory, lanes
 * count together, and graphs where nobody can see it until they are gone. SF_ERR_NOMEM: there is no memory at all. */
sf_status_t sfc_counters_enter(sfc_counters_t *counters, sf_graph_t *graph);

/* Adds what the graph has counted to the totals, and frees its entries. */
void sfc_counters_settle(sfc_counters_t *counters, sf_graph_t *graph);

#endif

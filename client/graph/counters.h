/* Counters of graphs and lanes: entries in the rank's counters region. With the context's lock held; the thread that
 * uses the graph writes the entries. */
#ifndef SFC_GRAPH_COUNTERS_H
#define SFC_GRAPH_COUNTERS_H

#include "client/core.h"
#include "client/graph/graph.h"

/* Takes entries for the graph and its lanes and fills them in. If the region is full the lanes share entries, and the
 * graph counts in private memory until it ends. SF_ERR_NOMEM. */
sf_status_t sfc_counters_enter(sfc_counters_t *counters, sf_graph_t *graph);

/* Adds the graph's counts to the totals, and frees its entries. */
void sfc_counters_settle(sfc_counters_t *counters, sf_graph_t *graph);

#endif

/* The engine's attachment to a graph. The thread that uses the graph. */
#ifndef SFC_ENGINE_GRAPH_END_H
#define SFC_ENGINE_GRAPH_END_H

#include "client/graph.h"

/* Before the first request of a graph is made: what the engine keeps for the graph ends with it. */
void sfc_graph_begin_operations(sf_graph_t *graph);

#endif

/* The engine's attachment to a graph. The thread that uses the graph. */
#ifndef SFC_ENGINE_GRAPH_END_H
#define SFC_ENGINE_GRAPH_END_H

#include "client/graph.h"

/* Attaches the engine, before the first request of a graph. */
void sfc_graph_begin_operations(sf_graph_t *graph);

#endif

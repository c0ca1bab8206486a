/* Public header of the room graph: the graph object: lanes, trunks, failure, counters. Others are private. */
#ifndef SFC_GRAPH_H
#define SFC_GRAPH_H

#include "client/graph/combine_order.h"
#include "client/graph/counters.h"
#include "client/graph/failure.h"
#include "client/graph/graph.h"
#include "client/graph/neighbor_edges.h"
#include "client/graph/retired_memory.h"
#include "client/graph/trace.h"
#include "client/graph/trunk_types.h"

#endif

/* The room client/compound: operations made of operations: gather, scatter, ops of the application, the multi-graph.
 * What other rooms may use of it; headers that are not here are private. */
#ifndef SFC_COMPOUND_H
#define SFC_COMPOUND_H

#include "client/compound/multigraph.h"

#endif

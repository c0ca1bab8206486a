/* Public header of the room compound: operations made of operations: gather, scatter, fetch_op, ops of the application.
 * Others are private. */
#ifndef SFC_COMPOUND_H
#define SFC_COMPOUND_H

#include "client/compound/multigraph.h"

#endif

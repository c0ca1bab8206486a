/* The room client/setup: set-up: graphs made together with the other ranks. What other rooms may use of it; headers
 * that are not here are private. */
#ifndef SFC_SETUP_H
#define SFC_SETUP_H

#include "client/setup/create.h"
#include "client/setup/lanes.h"
#include "client/setup/plan_cache.h"
#include "client/setup/trunk_memory.h"

#endif

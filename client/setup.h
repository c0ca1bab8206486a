/* Public header of the room setup: collective creation of graphs. Others are private. */
#ifndef SFC_SETUP_H
#define SFC_SETUP_H

#include "client/setup/create.h"
#include "client/setup/lanes.h"
#include "client/setup/plan_cache.h"
#include "client/setup/trunk_memory.h"

#endif

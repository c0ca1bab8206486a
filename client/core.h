/* Public header of the room core: this process in its job: daemon, groups, peers, memory. Others are private. */
#ifndef SFC_CORE_H
#define SFC_CORE_H

#include "client/core/call_site.h"
#include "client/core/context.h"
#include "client/core/counters_region.h"
#include "client/core/device.h"
#include "client/core/group.h"
#include "client/core/identity.h"
#include "client/core/idle.h"
#include "client/core/listener.h"
#include "client/core/memory.h"
#include "client/core/peer.h"
#include "client/core/shared_heap.h"
#include "client/core/trunk_regions.h"
#include "client/core/type.h"

#endif

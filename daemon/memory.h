/* The room daemon/memory: memory of clients: segments, regions, devices. What other rooms may use of it; headers that
 * are not here are private. */
#ifndef SFD_MEMORY_H
#define SFD_MEMORY_H

#include "daemon/memory/device_driver.h"
#include "daemon/memory/device_region.h"
#include "daemon/memory/memory.h"
#include "daemon/memory/segment.h"

#endif

/* Room daemon/memory: segments, regions and device memory of clients. Other headers of the room are private. */
#ifndef SFD_MEMORY_H
#define SFD_MEMORY_H

#include "daemon/memory/device_region.h"
#include "daemon/memory/segment.h"

#endif

/* Public header of the room engine: operations: requests, protocols, progress, waiting. Others are private. */
#ifndef SFC_ENGINE_H
#define SFC_ENGINE_H

#include "client/engine/barrier.h"
#include "client/engine/eager.h"
#include "client/engine/lane_send.h"
#include "client/engine/lane_take.h"
#include "client/engine/mismatch.h"
#include "client/engine/operation.h"
#include "client/engine/progress.h"
#include "client/engine/protocol.h"
#include "client/engine/request.h"
#include "client/engine/start.h"
#include "client/engine/thread.h"
#include "client/engine/trunk.h"

#endif

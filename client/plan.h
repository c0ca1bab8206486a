/* Public header of the room plan: from edges to the indices of kernels. Others are private. */
#ifndef SFC_PLAN_H
#define SFC_PLAN_H

#include "client/plan/edge_buckets.h"
#include "client/plan/edge_list.h"
#include "client/plan/edge_readback.h"
#include "client/plan/edge_snapshot.h"
#include "client/plan/link.h"
#include "client/plan/slot_rounds.h"

#endif

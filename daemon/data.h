/* Room daemon/data: submission rings, trunks, copies by workers. Other headers of the room are private. */
#ifndef SFD_DATA_H
#define SFD_DATA_H

#include "daemon/data/data.h"
#include "daemon/data/edge_block.h"
#include "daemon/data/match_offers.h"
#include "daemon/data/submit_rings.h"
#include "daemon/data/survey.h"
#include "daemon/data/trunk_regions.h"
#include "daemon/data/trunks.h"

#endif

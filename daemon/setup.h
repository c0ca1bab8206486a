/* Room daemon/setup: creation of graphs in two rounds, barriers of groups, comparison of the calls that
 * ranks make together. Other headers of the room are private. */
#ifndef SFD_SETUP_H
#define SFD_SETUP_H

#include "daemon/setup/barrier.h"
#include "daemon/setup/call_compare.h"
#include "daemon/setup/graph_requests.h"
#include "daemon/setup/proposal.h"
#include "daemon/setup/root_requests.h"
#include "daemon/setup/setup.h"

#endif

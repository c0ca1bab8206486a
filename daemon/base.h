/* Room daemon/base: the daemon itself, log, options, workers. Other headers of the room are private. */
#ifndef SFD_BASE_H
#define SFD_BASE_H

#include "daemon/base/copy_costs.h"
#include "daemon/base/copy_costs_cache.h"
#include "daemon/base/cpu_cache.h"
#include "daemon/base/daemon.h"
#include "daemon/base/deferred_close.h"
#include "daemon/base/fair_share.h"
#include "daemon/base/foreach.h"
#include "daemon/base/id_map.h"
#include "daemon/base/log.h"
#include "daemon/base/node_board.h"
#include "daemon/base/option_value.h"
#include "daemon/base/options.h"
#include "daemon/base/sd_notify.h"
#include "daemon/base/shared_mapping.h"
#include "daemon/base/sigbus_guard.h"
#include "daemon/base/text.h"
#include "daemon/base/worker_pool.h"

#endif

/* The room daemon/membership: jobs that assemble, and ranks that join and leave. What other rooms may use of it;
 * headers that are not here are private. */
#ifndef SFD_MEMBERSHIP_H
#define SFD_MEMBERSHIP_H

#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_client.h"
#include "daemon/membership/join.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/refusal.h"

#endif

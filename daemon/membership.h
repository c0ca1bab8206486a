/* Room daemon/membership: joining, leaving, coordinators of jobs. Other headers of the room are private. */
#ifndef SFD_MEMBERSHIP_H
#define SFD_MEMBERSHIP_H

#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_client.h"
#include "daemon/membership/join.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/refusal.h"

#endif

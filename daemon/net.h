/* The room daemon/net: channels between the daemons of a cluster. What other rooms may use of it; headers that are not
 * here are private. */
#ifndef SFD_NET_H
#define SFD_NET_H

#include "daemon/net/channel.h"
#include "daemon/net/event_ring.h"
#include "daemon/net/network.h"

#endif

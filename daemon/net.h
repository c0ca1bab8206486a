/* Room daemon/net: channels between the daemons of a cluster. Other headers of the room are private. */
#ifndef SFD_NET_H
#define SFD_NET_H

#include "daemon/net/channel.h"
#include "daemon/net/event_ring.h"
#include "daemon/net/network.h"

#endif

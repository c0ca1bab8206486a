/* Room daemon/net/fabric: fabrics, which carry bytes between daemons. Other headers of the room are private. */
#ifndef SFD_NET_FABRIC_H
#define SFD_NET_FABRIC_H

#include "daemon/net/fabric/choose.h"
#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/tcp/auth.h"

#endif

/* The room daemon/net/fabric: fabrics, which carry bytes between daemons. What other rooms may use of it; headers that
 * are not here are private. */
#ifndef SFD_NET_FABRIC_H
#define SFD_NET_FABRIC_H

#include "daemon/net/fabric/choose.h"
#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/tcp/auth.h"

#endif

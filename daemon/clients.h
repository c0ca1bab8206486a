/* The room daemon/clients: connections of clients and tools. What other rooms may use of it; headers that are not here
 * are private. */
#ifndef SFD_CLIENTS_H
#define SFD_CLIENTS_H

#include "daemon/clients/accept.h"
#include "daemon/clients/listen.h"
#include "daemon/clients/session.h"

#endif

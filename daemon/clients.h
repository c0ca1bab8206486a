/* Room daemon/clients: connections of clients and tools. Other headers of the room are private. */
#ifndef SFD_CLIENTS_H
#define SFD_CLIENTS_H

#include "daemon/clients/accept.h"
#include "daemon/clients/listen.h"
#include "daemon/clients/session.h"

#endif

/* Messages of other daemons: table of handlers, and what the rooms do when nodes come and go. The daemon's thread. */
#ifndef SFD_PEER_MESSAGES_H
#define SFD_PEER_MESSAGES_H

#include "daemon/net.h"

extern const sfd_network_ops_t sfd_peer_ops;

#endif

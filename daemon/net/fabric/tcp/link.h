/* What the kernel knows of a TCP connection: its send queue, and how the network carries it. Apart from the other parts
 * of the tcp fabric because the kernel's header, which knows more than the C library's, does not go with it. */
#ifndef SFD_NET_FABRIC_TCP_LINK_H
#define SFD_NET_FABRIC_TCP_LINK_H

#include "daemon/net/fabric/fabric.h"

/* false: it can't be told. An older kernel tells less: what it leaves out is 0. */
bool sfd_tcp_link_look(int fd, sfd_fabric_link_t *link_p);

#endif

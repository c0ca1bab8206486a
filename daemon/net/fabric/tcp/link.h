/* State of a TCP connection in the kernel. Separate, as the kernel's header, which has more than the C library's,
 * conflicts with that. */
#ifndef SFD_NET_FABRIC_TCP_LINK_H
#define SFD_NET_FABRIC_TCP_LINK_H

#include "daemon/net/fabric/fabric.h"

/* False: not known. Older kernels leave fields 0. */
bool sfd_tcp_link_look(int fd, sfd_fabric_link_t *link_p);

#endif

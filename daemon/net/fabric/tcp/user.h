/* Daemons without a key and without MUNGE: they serve on loopback only, and take each other for peers if they run as
 * the same user. A socket of TCP does not say who has its other end, but the kernel's table of sockets does, as long as
 * that end is on this host and in this network namespace. */
#ifndef SFD_NET_FABRIC_TCP_USER_H
#define SFD_NET_FABRIC_TCP_USER_H

#include <sf/sf_status.h>

/* SF_ERR_ARG: the socket is bound to other addresses than those of loopback too. */
sf_status_t sfd_tcp_user_check_bound(int fd) __attribute__((warn_unused_result));

/* Whether the other end of the connection belongs to this user. It must have said something: before it has been
 * accepted it belongs to nobody. SF_ERR_PERM: it is another user's. SF_ERR_ARG: it is not on this host. SF_ERR_SYS: the
 * table can't be read. May read a table of all sockets of the host: not for the hot path. */
sf_status_t sfd_tcp_user_check_peer(int fd) __attribute__((warn_unused_result));

#endif

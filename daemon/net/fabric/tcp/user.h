/* Peers without key and MUNGE: daemons of the same user, on loopback only. The kernel's table of sockets has the user
 * of the other end, if that is on this host and in this network namespace. */
#ifndef SFD_NET_FABRIC_TCP_USER_H
#define SFD_NET_FABRIC_TCP_USER_H

#include <sf/sf_status.h>

/* SF_ERR_ARG: the socket is not bound to loopback only. */
sf_status_t sfd_tcp_user_check_bound(int fd) __attribute__((warn_unused_result));

/* Whether the other end belongs to this user; it must have sent something, as it has no user before it is accepted.
 * SF_ERR_PERM: another user; SF_ERR_ARG: not on this host; SF_ERR_SYS: the table can't be read. May read a table of all
 * sockets of the host. */
sf_status_t sfd_tcp_user_check_peer(int fd) __attribute__((warn_unused_result));

#endif

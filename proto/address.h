/* Address of the daemon's socket. */
#ifndef SFPROTO_ADDRESS_H
#define SFPROTO_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#include <sf/sf_status.h>

/* Fills *address from path; if path is NULL or empty from SF_SOCKET, else $XDG_RUNTIME_DIR/sfd.sock, else
 * /tmp/sfd-UID/sfd.sock. The directory of the last one is created (mode 0700) if create is set, must belong to this
 * user, and must be closed to others (SF_ERR_PERM). SF_ERR_ARG: the path exceeds a socket address; the detail has both
 * lengths. */
sf_status_t sfproto_address(const char *path, bool create, struct sockaddr_un *address);

/* Connects a new close-on-exec stream socket to the address of sfproto_address, without creating a directory. Blocks
 * while the daemon's connection queue is full, for at most 5 s, because a stopped daemon never makes room.
 * SF_ERR_NO_DAEMON: nothing answers, or not within that time; the detail has the path and how to start a daemon.
 * SF_ERR_PERM: this user may not use the socket, or its directory is not as sfproto_address requires. SF_ERR_ARG as
 * there; SF_ERR_SYS. */
sf_status_t sfproto_connect(const char *path, int *fd_p);

#endif

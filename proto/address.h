/* Where the daemon's socket is. */
#ifndef SFPROTO_ADDRESS_H
#define SFPROTO_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#include <sf/sf_status.h>

/* Fills *address from path, or if that is NULL or empty from SF_SOCKET, else $XDG_RUNTIME_DIR/sfd.sock, else
 * /tmp/sfd-UID/sfd.sock. For the last, the directory is made (mode 0700) if create is set, and must belong to this user
 * and be closed to others (SF_ERR_PERM). SF_ERR_ARG: path longer than a socket address can hold, naming both lengths.
 */
sf_status_t sfproto_address(const char *path, bool create, struct sockaddr_un *address);

/* Connects a new close-on-exec stream socket, to the address that sfproto_address finds for path; makes no directory.
 * Blocks while the daemon's queue of connections is full, but 5 s at most, as a daemon that is stopped never makes
 * room. SF_ERR_NO_DAEMON with the path and how to start one (sfrun, or sfd): nothing answers there, or not within that
 * time; SF_ERR_PERM: the socket is closed to this user, or its directory is not what sfproto_address demands;
 * SF_ERR_ARG as there; SF_ERR_SYS. */
sf_status_t sfproto_connect(const char *path, int *fd_p);

#endif

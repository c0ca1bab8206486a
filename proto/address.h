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

/* Connects a new close-on-exec stream socket. SF_ERR_NO_DAEMON with the path and how to start one (sfrun, or sfd) if
 * nothing answers. */
sf_status_t sfproto_connect(const char *path, int *fd_p);

#endif

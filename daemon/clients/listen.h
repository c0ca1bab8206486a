/* Listening socket of the daemon, at which only one daemon serves at a time.
 *
 * A service manager may pass the socket: sd_listen_fds(3). Then path and mode are its business, and it starts one
 * daemon.
 *
 * Otherwise the owner of PATH holds the exclusive flock of the file PATH.lock: empty, of this user, and existing only
 * while a daemon lives (or after one was killed: then it is taken over). Removing a lock file is delicate: another
 * daemon may have opened it before, would lock a file that is gone, and a third one would create and lock a new one.
 * Two rules prevent that:
 *   - only the holder of the lock of the file now at PATH.lock removes it, before it releases the lock;
 *   - after locking, a daemon checks that its file is still the one at PATH.lock, and else starts again.
 * From that check on, until the holder removes it, the name leads to the locked file, and no other daemon can pass.
 *
 * As only the holder creates and removes the socket, a socket that refuses connections is stale. A socket that accepts
 * connections is respected even with the lock held: the lock file of a live daemon may have been deleted by hand. */
#ifndef SFD_CLIENTS_LISTEN_H
#define SFD_CLIENTS_LISTEN_H

#include <sf/sf_status.h>

/* Returns the listening stream socket, non-blocking and close-on-exec: the one that a service manager passed, which
 * must be at path if a path is given; else a new one at the address that sfproto_address finds for path, with mode
 * 0600, or 0666 for root's daemon, which serves all users (SO_PEERCRED tells them apart; access to its directory limits
 * them). Once per process, before other threads begin (umask and environment change); a forked process shares the lock.
 * Replaces a stale socket, deletes nothing else. SF_ERR_EXISTS: another daemon serves, begins or ends there, or the
 * path is no socket; SF_ERR_PERM: directory or file belong to another user; SF_ERR_ARG: the service manager did not
 * pass one listening Unix stream socket with a path and at most one TCP socket, or passed another path; SF_ERR_SYS;
 * errors of sfproto_address. */
sf_status_t sfd_listen(const char *path, int *fd_p) __attribute__((warn_unused_result));

/* The bound TCP socket for daemons of other nodes that a service manager passed; -1: none. The caller owns it then. */
int sfd_listen_peers_fd(void);

/* Path of the socket, until sfd_listen_close. */
const char *sfd_listen_path(void);

/* Removes socket and lock, if they are those of sfd_listen, and closes both; a passed socket is only closed. -1 is
 * accepted. */
void sfd_listen_close(int fd);

#endif

/* The socket at which the daemon serves, and that only one daemon at a time serves there.
 *
 * A service manager may pass the socket: sd_listen_fds(3). Then path and mode are its business, it starts no second
 * daemon on the same socket, and what follows does not concern it.
 *
 * Ownership of PATH is the exclusive flock of the file PATH.lock: empty, ours, and existing only while a daemon lives
 * (or after one was killed: then it is taken over). Removing a lock file is the usual mistake: another daemon may have
 * opened it before, would then lock a file that is no longer there, and a third one would make and lock a new one. Two
 * rules exclude it:
 *   - only who holds the lock of the file that is now at PATH.lock removes it, and does so before releasing the lock;
 *   - who gets the lock looks whether the file that it locked is still the one at PATH.lock, else begins again.
 * So from that look on until the holder itself removes it the name leads to the locked file, and nobody else can pass.
 *
 * The holder alone removes and makes the socket, hence one that refuses connections is stale and not one that another
 * daemon has bound but does not listen on yet. One that takes connections is respected even under our lock: somebody
 * may have deleted the lock file of a live daemon by hand. */
#ifndef SFD_CLIENTS_LISTEN_H
#define SFD_CLIENTS_LISTEN_H

#include <sf/sf_status.h>

/* Gets the listening stream socket, non-blocking and close-on-exec: the one that a service manager passed, which must
 * be that of path if a path is given; else a new one at the address that sfproto_address finds for path. A new one has
 * mode 0600, or if this is root's daemon 0666: that one serves all users, whom the kernel tells apart by SO_PEERCRED;
 * its directory decides who comes near. One at a time per process, before other threads begin (umask and environment
 * change); a process that is forked and not executed afterwards shares the lock. A stale socket is replaced; nothing
 * else is ever deleted. SF_ERR_EXISTS: another daemon serves, begins or ends there, or the path is no socket;
 * SF_ERR_PERM: the directory or what is there belongs to somebody else; SF_ERR_ARG: what was passed is not one
 * listening Unix stream socket with a path, and at most one TCP socket beside it, or another path was given;
 * SF_ERR_SYS; and what sfproto_address returns. */
sf_status_t sfd_listen(const char *path, int *fd_p) __attribute__((warn_unused_result));

/* The bound TCP socket for daemons of other nodes that a service manager passed beside the other one; -1: none. The
 * caller's from then on. */
int sfd_listen_peers_fd(void);

/* The path of the socket, until sfd_listen_close. */
const char *sfd_listen_path(void);

/* Removes the socket, if it is still the one that sfd_listen made, and the lock, and closes both; one that was passed
 * is only closed. -1 is accepted. */
void sfd_listen_close(int fd);

#endif

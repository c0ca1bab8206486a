/* The socket at which the daemon serves, and that only one daemon at a time serves there.
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
#ifndef SFD_LISTEN_H
#define SFD_LISTEN_H

#include <sf/sf_status.h>

/* Makes the listening stream socket: at the address that sfproto_address finds for path, mode 0600, non-blocking,
 * close-on-exec. One at a time per process, before other threads begin (the umask changes for a moment); a process that
 * is forked and not executed afterwards shares the lock. A stale socket is replaced; nothing else is ever deleted.
 * SF_ERR_EXISTS: another daemon serves, begins or ends there, or the path is no socket; SF_ERR_PERM: the directory or
 * what is there belongs to somebody else; SF_ERR_SYS; and what sfproto_address returns. */
sf_status_t sfd_listen(const char *path, int *fd_p) __attribute__((warn_unused_result));

/* Removes the socket, if it is still the one that sfd_listen made, and the lock, and closes both. -1 is accepted. */
void sfd_listen_close(int fd);

#endif

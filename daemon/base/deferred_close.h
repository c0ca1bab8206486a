/* Deferred closing of descriptors that clients have sent, and of their connections, so that the loop never blocks in
 * close(2).
 *
 * Closing a foreign descriptor may take as long as its user likes: a TCP socket with SO_LINGER waits for
 * acknowledgement, a file of FUSE for its server, and a socket takes the descriptors in its receive queue along.
 * Freeing a memfd of many GiB takes seconds. Therefore the loop itself closes only
 *   - memfds with little memory, and
 *   - connections that have nothing to be read.
 * Two threads, started on demand, close the rest: one closes connections and large memfds, where a timer interrupts
 * close(2); the other closes everything else, and may block forever. Its queue is bounded per user, as nothing more is
 * received from that user then. All functions are for the loop's thread. */
#ifndef SFD_BASE_DEFERRED_CLOSE_H
#define SFD_BASE_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From now on connections of proto/conn.h, and received descriptors, are closed this way. */
void sfd_deferred_close_begin(void);

/* Closes a received descriptor, charged to the user. */
void sfd_deferred_close_received(int fd);

/* Closes a connection; unread input is lost. */
void sfd_deferred_close_connection(int fd);

/* The user to which received descriptors are charged from now on. */
void sfd_deferred_close_charge(uid_t uid);

/* Number of the user's descriptors in the queue that may block; and whether a descriptor of any user has blocked for a
 * second. */
size_t sfd_deferred_close_waiting(uid_t uid);
bool sfd_deferred_close_is_stuck(void);

/* Once per begin. The last one waits at most a second and ends the threads; a blocked thread is left alone. */
void sfd_deferred_close_end(void);

#endif

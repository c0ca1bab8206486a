/* Closing descriptors that clients have sent, and their connections, without blocking the loop.
 *
 * close(2) of somebody else's descriptor may last as long as that user likes: a TCP socket with SO_LINGER waits for an
 * acknowledgement, a file of FUSE for its server, and a socket takes with it the descriptors in its receive queue.
 * Freeing a memfd of many gigabytes takes seconds, too. Therefore the loop itself closes only
 *   - memfds with little memory, and
 *   - connections that have nothing to be read;
 * two threads, started when they are needed, close the rest: one connections and large memfds, whose close(2) always
 * returns, as a timer interrupts it; the other everything else, which may block for good. What one user has waiting in
 * the latter is bounded, as nothing more is received from the user then. All functions are for the loop's thread. */
#ifndef SFD_BASE_DEFERRED_CLOSE_H
#define SFD_BASE_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From now on connections of proto/conn.h, and what came over them, are closed as above. */
void sfd_deferred_close_begin(void);

/* Closes what was received, on behalf of the user that sfd_deferred_close_charge named last. */
void sfd_deferred_close_received(int fd);

/* Closes a connection. What its other end has sent and nobody has read is lost. */
void sfd_deferred_close_connection(int fd);

/* Who has sent what is closed next. */
void sfd_deferred_close_charge(uid_t uid);

/* How many descriptors of the user wait to be closed, and may block; and whether one of somebody has blocked for a
 * second. */
size_t sfd_deferred_close_waiting(uid_t uid);
bool sfd_deferred_close_is_stuck(void);

/* Once for each begin: the last one waits at most a second until all is closed, and ends the threads. A thread that is
 * blocked then is left alone. */
void sfd_deferred_close_end(void);

#endif

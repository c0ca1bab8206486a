/* One end of a control connection: frames of sfproto messages with descriptors over a Unix stream socket, as
 * docs/control-protocol.md describes. Works on blocking and on non-blocking sockets; used by one thread at a time. */
#ifndef SFPROTO_CONN_H
#define SFPROTO_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

#define SFPROTO_VERSION 1u
#define SFPROTO_MAGIC 0x43464453u
#define SFPROTO_MAX_FDS 64
#define SFPROTO_MAX_LENGTH (1u << 20)

/* Of a packed GroupCreate, which stands in longer messages between daemons: some 350,000 ranks. It says the same for
 * all members of the group, so that all find it too long if one does. */
#define SFPROTO_MAX_GROUP_LENGTH (SFPROTO_MAX_LENGTH - 4096)

typedef struct sfproto_conn sfproto_conn_t;

/* A received message and the descriptors that came with it; both are the receiver's to free. */
typedef struct sfproto_incoming {
  Sfproto__Message *message;
  int fds[SFPROTO_MAX_FDS];
  int nfds;
} sfproto_incoming_t;

/* Takes over a connected socket; on failure it stays the caller's. */
sf_status_t sfproto_conn_create(int fd, sfproto_conn_t **conn_p);
void sfproto_conn_destroy(sfproto_conn_t *conn); /* closes; NULL is accepted */
int sfproto_conn_fd(const sfproto_conn_t *conn);

/* How connections, and descriptors that came over them and nobody took, are closed: by close(2) until told otherwise,
 * and again after NULL. For a process that must not wait for what others have sent; process-wide, before any
 * connection. */
typedef struct sfproto_closer {
  void (*connection)(int fd);
  void (*received)(int fd);
} sfproto_closer_t;
void sfproto_close_by(const sfproto_closer_t *closer);
void sfproto_close_received(int fd);

/* From now on descriptors are received only if all of one read find room. Without room the kernel closes some in the
 * middle of recvmsg, which may block as close(2) does: reading then fails with SF_ERR_LIMIT and leaves them where they
 * are. Costs a system call more for each read. */
void sfproto_conn_look_first(sfproto_conn_t *conn, bool look_first);

/* Frames with more descriptors are refused from now on, however many their header announces: those of a frame that
 * never becomes complete are kept meanwhile. */
void sfproto_conn_limit_fds(sfproto_conn_t *conn, int max_fds);

/* Appends a message to the output queue. fds are duplicated: the caller keeps its own. SF_ERR_LIMIT if the message is
 * longer than a frame may be or nfds too large. */
sf_status_t sfproto_conn_queue(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds);

/* Writes as much of the queue as the socket takes without blocking (MSG_DONTWAIT, MSG_NOSIGNAL). SF_OK also when
 * something is left; SF_ERR_DAEMON_LOST when the other end is gone. */
sf_status_t sfproto_conn_flush(sfproto_conn_t *conn);
size_t sfproto_conn_queued_bytes(const sfproto_conn_t *conn);
int64_t sfproto_conn_queued_fds(const sfproto_conn_t *conn); /* duplicates */

/* Whether what is left waits for descriptors under way to become fewer, see writer.h: flush again after so long. */
#define SFPROTO_CROWDED_MS 2
bool sfproto_conn_crowded(const sfproto_conn_t *conn);

/* Reads what is there without blocking. SF_OK also when nothing is; SF_ERR_DAEMON_LOST at end of file or reset;
 * SF_ERR_PROTO and SF_ERR_VERSION for what the protocol forbids, with a detail; SF_ERR_LIMIT when this process is out
 * of descriptors (MSG_CTRUNC). Messages that were complete before the offence can still be taken. */
sf_status_t sfproto_conn_read(sfproto_conn_t *conn);

/* Takes the next complete message: true and *incoming filled, or false. */
bool sfproto_conn_next(sfproto_conn_t *conn, sfproto_incoming_t *incoming);
void sfproto_incoming_free(sfproto_incoming_t *incoming); /* frees the message, closes descriptors left (fd >= 0) */

/* Blocking forms for clients and tools: flush everything; wait for one message. timeout_ms < 0: for ever. EINTR is
 * handled. SF_ERR_TIMEOUT, SF_ERR_LIMIT after seconds of being crowded, else as above. */
sf_status_t sfproto_conn_send(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds);
sf_status_t sfproto_conn_receive(sfproto_conn_t *conn, int64_t timeout_ms, sfproto_incoming_t *incoming);

#endif

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

/* Maximum size of a packed GroupCreate, which is also part of longer messages between daemons: about 350,000 ranks. The
 * same for all members of a group, so that all of them or none exceed it. */
#define SFPROTO_MAX_GROUP_LENGTH (SFPROTO_MAX_LENGTH - 4096)

/* Initializes a body: Sfproto__GraphFail fail = SFPROTO_BODY(graph_fail, .graph = number, .detail = text). */
#define SFPROTO_BODY(name_, ...)                                                                                       \
  {                                                                                                                    \
    .base = PROTOBUF_C_MESSAGE_INIT(&sfproto__##name_##__descriptor), __VA_ARGS__                                      \
  }

/* An optional field that is present. */
#define SFPROTO_HAS(field_, value_) .has_##field_ = true, .field_ = (value_)

/* Initializes a message with a body: Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_FAIL, graph_fail, &fail). */
#define SFPROTO_MESSAGE(body_, field_, value_)                                                                         \
  {                                                                                                                    \
    .base = PROTOBUF_C_MESSAGE_INIT(&sfproto__message__descriptor), .body_case = SFPROTO__MESSAGE__BODY_##body_,       \
    .field_ = (value_)                                                                                                 \
  }

/* The same with the fields of the body, which lives until the end of the block:
 * SFPROTO_MESSAGE_OF(GRAPH_FAIL, graph_fail, .graph = number, .detail = text). */
#define SFPROTO_MESSAGE_OF(body_, field_, ...)                                                                         \
  SFPROTO_MESSAGE(body_, field_, (&(__typeof__(*((Sfproto__Message *)NULL)->field_))SFPROTO_BODY(field_, __VA_ARGS__)))

typedef struct sfproto_conn sfproto_conn_t;

/* A received message and its descriptors. The receiver frees both. */
typedef struct sfproto_incoming {
  Sfproto__Message *message;
  int fds[SFPROTO_MAX_FDS];
  int nfds;
} sfproto_incoming_t;

/* Creates a connection that owns the connected socket. On failure the socket stays the caller's. */
sf_status_t sfproto_conn_create(int fd, sfproto_conn_t **conn_p);
void sfproto_conn_destroy(sfproto_conn_t *conn); /* closes; NULL is accepted */
int sfproto_conn_fd(const sfproto_conn_t *conn);

/* Functions that close connections, and received descriptors that were not taken: close(2) by default, and again after
 * NULL. For a process that must not block in close(2) on what others have sent. Process-wide; set before creating
 * connections. */
typedef struct sfproto_closer {
  void (*connection)(int fd);
  void (*received)(int fd);
} sfproto_closer_t;
void sfproto_close_by(const sfproto_closer_t *closer);
void sfproto_close_received(int fd);

/* Receive descriptors only if all descriptors of one read fit into the process's limit. Otherwise the kernel closes
 * some inside recvmsg, which may block as close(2) does. Reading then fails with SF_ERR_LIMIT and leaves them in the
 * socket. Costs one more system call per read. */
void sfproto_conn_look_first(sfproto_conn_t *conn, bool look_first);

/* Refuse frames with more descriptors, whatever their headers announce: descriptors of incomplete frames are kept
 * meanwhile. */
void sfproto_conn_limit_fds(sfproto_conn_t *conn, int max_fds);

/* Appends a message to the output queue. fds are duplicated; the caller keeps its own. SF_ERR_LIMIT: the message
 * exceeds a frame, or nfds is too large. */
sf_status_t sfproto_conn_queue(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds);

/* Writes as much of the queue as the socket accepts without blocking (MSG_DONTWAIT, MSG_NOSIGNAL). SF_OK even if
 * something remains. SF_ERR_DAEMON_LOST: the other end is closed. */
sf_status_t sfproto_conn_flush(sfproto_conn_t *conn);
size_t sfproto_conn_queued_bytes(const sfproto_conn_t *conn);
int64_t sfproto_conn_queued_fds(const sfproto_conn_t *conn); /* duplicates */

/* Whether the rest waits until fewer descriptors are in flight, see writer.h: flush again after this time. */
#define SFPROTO_CROWDED_MS 2
bool sfproto_conn_crowded(const sfproto_conn_t *conn);

/* Reads without blocking. SF_OK even if nothing arrived. SF_ERR_DAEMON_LOST: end of file or reset. SF_ERR_PROTO,
 * SF_ERR_VERSION: a violation of the protocol, with detail. SF_ERR_LIMIT: this process is out of descriptors
 * (MSG_CTRUNC). Messages that were complete before the error can still be taken. */
sf_status_t sfproto_conn_read(sfproto_conn_t *conn);

/* Takes the next complete message. Returns false if there is none. */
bool sfproto_conn_next(sfproto_conn_t *conn, sfproto_incoming_t *incoming);
void sfproto_incoming_free(sfproto_incoming_t *incoming); /* frees the message, closes descriptors left (fd >= 0) */

/* Blocking forms for clients and tools: flush everything; wait for one message. timeout_ms < 0: no limit. EINTR is
 * handled. SF_ERR_TIMEOUT; SF_ERR_LIMIT after seconds of crowding; else as above. */
sf_status_t sfproto_conn_send(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds);
sf_status_t sfproto_conn_receive(sfproto_conn_t *conn, int64_t timeout_ms, sfproto_incoming_t *incoming);

#endif

/* Shared by the files of the tcp fabric.
 *
 *   tcp.c        the fabric as a whole; deferred events
 *   listen.c     the listening socket, connections of peers
 *   attempt.c    connecting to a peer: resolving, trying again
 *   conn.c       one TCP connection
 *   handshake.c  authentication of both sides
 *   ticket.c     keys in MUNGE credentials
 *   user.c       peers of the same user on loopback, without key
 *   peer.c       choice of the connection that becomes the stream
 *   stream.c     the stream
 *   watch.c      silent links
 *   link.h       state of a stream in the kernel
 *
 * The loop's thread. Functions that call the user's events are marked: their arguments may be dropped on return, but
 * the memory stays until the loop's next turn. */
#ifndef SFD_NET_FABRIC_TCP_INTERNAL_H
#define SFD_NET_FABRIC_TCP_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/tcp/auth.h"
#include "daemon/net/fabric/tcp/peer_list.h"
#include "daemon/net/fabric/tcp/ticket.h"

#define SFD_TCP_HANDSHAKE_TIMEOUT_MS 3000
#define SFD_TCP_SYN_TIMEOUT_MS 3000 /* after it, a host that has not answered is not tried again */
#define SFD_TCP_SYN_MS 700          /* the kernel would repeat ever more rarely */
#define SFD_TCP_MAX_PENDING 128     /* incoming connections that are no stream yet */
#define SFD_TCP_PROBES 4            /* at a time, of a suspected stream */
#define SFD_TCP_DETAIL_SIZE 512
#define SFD_TCP_NODE_TEXT_SIZE (SFD_PEER_TEXT_SIZE + 32)

/* States of a connection:
 *
 *   CONNECTING -> (SEALING) -> CHALLENGED -> JUDGED -------------> UP -> CLOSED     made here (outgoing)
 *   GREETED -> (TICKETED -> OPENING) -> PROVING -> (PARKED) -----> UP -> CLOSED     made by the peer
 *
 * and from each state to CLOSED. Each state is named after what this side waits for; SEALING, TICKETED and OPENING
 * exist with MUNGE only. */
typedef enum sfd_tcp_state {
  SFD_TCP_CONNECTING, /* the kernel */
  SFD_TCP_SEALING,    /* munged, which makes the ticket */
  SFD_TCP_CHALLENGED, /* the challenge; hello is sent */
  SFD_TCP_JUDGED,     /* the verdict; proof is sent */
  SFD_TCP_GREETED,    /* the hello */
  SFD_TCP_TICKETED,   /* the ticket */
  SFD_TCP_OPENING,    /* munged, which reads the ticket */
  SFD_TCP_PROVING,    /* the proof; challenge is sent */
  SFD_TCP_PARKED,     /* this side's own attempt; the verdict is due */
  SFD_TCP_UP,
  SFD_TCP_CLOSED,
} sfd_tcp_state_t;

typedef struct sfd_tcp sfd_tcp_t;

typedef struct sfd_tcp_conn {
  sfd_tcp_t *tcp;
  int32_t node; /* -1: not known yet */
  sfd_tcp_state_t state;
  bool outgoing;
  int fd;
  int events;   /* of poll */
  int nhandles; /* with the request to munged */
  uv_poll_t poll;
  uv_timer_t timer; /* until UP */
  TAILQ_ENTRY(sfd_tcp_conn) pending_entry;
  bool pending;

  /* Of the handshake. */
  sfd_tcp_key_t key;
  sfd_tcp_ticket_t *ticket;
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  union {
    sfd_tcp_hello_t hello;
    sfd_tcp_challenge_t challenge;
    sfd_tcp_proof_t proof;
    sfd_tcp_verdict_t verdict;
    uint8_t bytes[1];
  } input;
  size_t have_bytes; /* of the input */

  /* Of the stream. */
  bool refused;    /* the user reads no more */
  size_t patience; /* SO_RCVLOWAT; 0 is 1 */
  bool sending;
  bool sent_due;        /* to be reported */
  int error;            /* errno; down is due */
  struct iovec *pieces; /* unsent, from first on */
  int first_piece;
  int npieces;
  int capacity;
  TAILQ_ENTRY(sfd_tcp_conn) watch_entry;
  bool watched;
  bool asked;                 /* the last look found something unanswered */
  bool quiet;                 /* nothing under way at the last look, nor sent since */
  uint64_t sent_ms;           /* first send after a look at a quiet stream */
  uint64_t heard_ms;          /* last sign of life of the host */
  int probes[SFD_TCP_PROBES]; /* connections that test the host; -1: none */
  unsigned nprobes;           /* since the suspicion began */
} sfd_tcp_conn_t;
TAILQ_HEAD(sfd_tcp_conn_list, sfd_tcp_conn);

typedef struct sfd_tcp_attempt sfd_tcp_attempt_t;

typedef struct sfd_tcp_peer {
  sfd_tcp_conn_t *stream; /* UP */
  sfd_tcp_conn_t *parked;
  sfd_tcp_attempt_t *attempt;
  bool starved; /* no memory for an attempt; to be reported */
  bool attended;
  TAILQ_ENTRY(sfd_tcp_peer) entry;
} sfd_tcp_peer_t;
TAILQ_HEAD(sfd_tcp_peer_list, sfd_tcp_peer);

struct sfd_tcp {
  sfd_fabric_t fabric; /* first */
  uv_loop_t *loop;
  sfd_peer_list_t list;
  sfd_tcp_cluster_t cluster;
  sfd_tcp_key_t key;        /* for peer-auth key; else MUNGE, or the user: */
  const sfd_munge_t *munge; /* NULL: not used */
  bool by_user;             /* the key is 0 */
  const char *munge_socket; /* owned by the user */
  sfd_tcp_tickets_t tickets;
  uint64_t connect_timeout_ms;
  bool closing;
  int64_t nopen; /* held by the loop: handles, connections, attempts */

  int listen_fd;
  uv_poll_t listen_poll;
  uv_timer_t accept_retry; /* while descriptors run out */
  struct sfd_tcp_conn_list pending;
  int npending;

  struct sfd_tcp_peer_list attention; /* peers with something to report */
  uv_check_t settle;                  /* reports after the callbacks of the turn, */
  uv_idle_t hurry;                    /* or in the next turn, which it brings about */

  uv_timer_t watch;                 /* while watched is not empty */
  struct sfd_tcp_conn_list watched; /* streams */

  sfd_tcp_peer_t peers[];
};

/* ---- tcp.c ---- */

/* Reports of the peer will be made later in this turn. */
void sfd_tcp_attend(sfd_tcp_t *tcp, int32_t node);

/* One of nopen is gone. The last one ends a closing fabric: calls the user. */
void sfd_tcp_released(sfd_tcp_t *tcp);

void sfd_tcp_describe(const sfd_tcp_t *tcp, int32_t node, char text[SFD_TCP_NODE_TEXT_SIZE]);

/* ---- listen.c ---- */

/* Bound socket by the options. */
sf_status_t sfd_tcp_bind(const char *bind_to, const sfd_peer_address_t *own, int given_fd, int *fd_p)
    __attribute__((warn_unused_result));
sf_status_t sfd_tcp_listen(int fd) __attribute__((warn_unused_result));

/* Port of a bound socket. SF_ERR_ARG: no such TCP socket. */
sf_status_t sfd_tcp_port(int fd, uint16_t *port_p) __attribute__((warn_unused_result));
void sfd_tcp_accept_start(sfd_tcp_t *tcp);

/* ---- attempt.c ---- */

typedef enum sfd_tcp_hope {
  SFD_TCP_HOPELESS,  /* repeating is useless */
  SFD_TCP_ELSEWHERE, /* try another address */
  SFD_TCP_LATER,     /* try again later */
} sfd_tcp_hope_t;

/* Whether the host was unreachable; the kernel may still report a link that was down. */
static inline bool sfd_tcp_is_unreachable(int error)
{
  return error == EHOSTUNREACH || error == ENETUNREACH;
}

void sfd_tcp_attempt_begin(sfd_tcp_t *tcp, int32_t node);
void sfd_tcp_attempt_end(sfd_tcp_attempt_t *attempt); /* NULL is accepted */

/* Whether it is too early to give up a host that does not answer. */
bool sfd_tcp_attempt_is_young(const sfd_tcp_attempt_t *attempt);
sfd_tcp_conn_t *sfd_tcp_attempt_conn(const sfd_tcp_attempt_t *attempt);

/* The attempt's connection is gone, or becomes the stream. */
void sfd_tcp_attempt_forget(sfd_tcp_attempt_t *attempt);

/* The attempt's connection failed and is dropped; tries again or gives up, with the reason. May call the user, if a
 * connection of the peer takes its place. */
void sfd_tcp_attempt_failed(sfd_tcp_attempt_t *attempt, sfd_tcp_hope_t hope, sf_status_t status, const char *reason);

/* ---- conn.c ---- */

/* Owns the descriptor, even if it returns NULL. */
sfd_tcp_conn_t *sfd_tcp_conn_create(sfd_tcp_t *tcp, int fd, int32_t node, sfd_tcp_state_t state);

/* Closes the connection; it is not referred to any more. */
void sfd_tcp_conn_drop(sfd_tcp_conn_t *conn);

/* One of nhandles is gone; the last frees the memory. */
void sfd_tcp_conn_release(sfd_tcp_conn_t *conn);

/* Polls for what the state needs. */
void sfd_tcp_conn_poll(sfd_tcp_conn_t *conn);
void sfd_tcp_conn_limit(sfd_tcp_conn_t *conn, uint64_t timeout_ms);

/* ---- handshake.c ---- */

void sfd_tcp_handshake_connected(sfd_tcp_conn_t *conn);
void sfd_tcp_handshake_readable(sfd_tcp_conn_t *conn); /* may call the user */
void sfd_tcp_handshake_timeout(sfd_tcp_conn_t *conn);  /* may call the user */

/* Sends the verdict; false: not possible. */
bool sfd_tcp_handshake_accept(sfd_tcp_conn_t *conn);

/* ---- peer.c ---- */

void sfd_tcp_peer_judged(sfd_tcp_conn_t *conn);      /* outgoing and accepted; calls the user */
void sfd_tcp_peer_proven(sfd_tcp_conn_t *conn);      /* incoming and proven; may call the user */
bool sfd_tcp_peer_take_parked(sfd_tcp_peer_t *peer); /* false: none; may call the user */
void sfd_tcp_peer_forget(sfd_tcp_conn_t *conn);
void sfd_tcp_peer_disconnect(sfd_tcp_t *tcp, int32_t node);

/* ---- stream.c ---- */

void sfd_tcp_stream_send(sfd_tcp_conn_t *conn, const struct iovec iov[], int niov);
void sfd_tcp_stream_ready(sfd_tcp_conn_t *conn, int events); /* calls the user */

/* Down will be reported. */
void sfd_tcp_stream_fail(sfd_tcp_conn_t *conn, int error);

/* Reports what is due. */
void sfd_tcp_stream_settle(sfd_tcp_conn_t *conn);                                       /* calls the user */
void sfd_tcp_stream_lost(sfd_tcp_conn_t *conn, sf_status_t status, const char *reason); /* drops; calls the user */

/* ---- watch.c ---- */

/* The stream is UP. */
void sfd_tcp_watch(sfd_tcp_conn_t *conn);
void sfd_tcp_unwatch(sfd_tcp_conn_t *conn);

/* Data was sent on a quiet stream. */
void sfd_tcp_watch_sent(sfd_tcp_conn_t *conn);

#endif

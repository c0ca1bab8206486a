/* What the parts of the tcp fabric share.
 *
 *   tcp.c            the fabric as a whole; what it reports later than it happens
 *   listen.c     the listening socket and who connects to it
 *   attempt.c    connecting to a peer: resolving, trying again
 *   conn.c       one TCP connection, whatever it is used for
 *   handshake.c  from connecting or being connected to until both have shown the key
 *   ticket.c     keys that MUNGE carries
 *   user.c       peers of the same user on loopback, without a key
 *   peer.c       which of the connections with a peer becomes the stream
 *   stream.c     the stream
 *   watch.c      links that became silent
 *   link.h       what the kernel knows of a stream
 *
 * All run on the loop's thread. Functions that call the user's events are marked: whatever they were given may be
 * dropped when they return, but its memory stays until the loop's next turn. */
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
#define SFD_TCP_SYN_TIMEOUT_MS 3000 /* then a peer's host that has not answered is not asked once more */
#define SFD_TCP_SYN_MS 700          /* the kernel would repeat itself ever more rarely */
#define SFD_TCP_MAX_PENDING 128     /* connections from others that are no stream yet */
#define SFD_TCP_PROBES 4            /* of a stream under suspicion, at a time */
#define SFD_TCP_DETAIL_SIZE 512
#define SFD_TCP_NODE_TEXT_SIZE (SFD_PEER_TEXT_SIZE + 32)

/* The life of a connection:
 *
 *   CONNECTING -> (SEALING) -> CHALLENGED -> JUDGED -------------> UP -> CLOSED     if made here (outgoing)
 *   GREETED -> (TICKETED -> OPENING) -> PROVING -> (PARKED) -----> UP -> CLOSED     if made there
 *
 * and from every state to CLOSED. The names say what this side waits for; those in parentheses behind CONNECTING and
 * GREETED are there with MUNGE only. */
typedef enum sfd_tcp_state {
  SFD_TCP_CONNECTING, /* for the kernel */
  SFD_TCP_SEALING,    /* for munged, which makes the ticket */
  SFD_TCP_CHALLENGED, /* for the challenge; the hello is sent */
  SFD_TCP_JUDGED,     /* for the verdict; the proof is sent */
  SFD_TCP_GREETED,    /* for the hello */
  SFD_TCP_TICKETED,   /* for the ticket */
  SFD_TCP_OPENING,    /* for munged, which reads the ticket */
  SFD_TCP_PROVING,    /* for the proof; the challenge is sent */
  SFD_TCP_PARKED,     /* for this side's own attempt; the verdict is due */
  SFD_TCP_UP,
  SFD_TCP_CLOSED,
} sfd_tcp_state_t;

typedef struct sfd_tcp sfd_tcp_t;

typedef struct sfd_tcp_conn {
  sfd_tcp_t *tcp;
  int32_t node; /* -1: not said yet */
  sfd_tcp_state_t state;
  bool outgoing;
  int fd;
  int events;   /* polled for */
  int nhandles; /* and the question to munged */
  uv_poll_t poll;
  uv_timer_t timer; /* until it is UP */
  TAILQ_ENTRY(sfd_tcp_conn) pending_entry;
  bool pending;

  /* Of the handshake */
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

  /* Of the stream */
  bool refused;    /* the user takes no more */
  size_t patience; /* the kernel tells of no fewer bytes than that; 0 is 1 */
  bool sending;
  bool sent_due;        /* to be reported */
  int error;            /* errno; down is to be reported */
  struct iovec *pieces; /* not sent yet: those from first on */
  int first_piece;
  int npieces;
  int capacity;
  TAILQ_ENTRY(sfd_tcp_conn) watch_entry;
  bool watched;
  bool asked;                 /* the last look found something that the peer's host has not answered */
  bool quiet;                 /* nothing was under way at the last look, and nothing has been sent since */
  uint64_t sent_ms;           /* the first send after a look that found the stream quiet */
  uint64_t heard_ms;          /* the last sign of life from the peer's host */
  int probes[SFD_TCP_PROBES]; /* connections that ask the host, -1: none */
  unsigned nprobes;           /* how many there have been since it fell under suspicion */
} sfd_tcp_conn_t;
TAILQ_HEAD(sfd_tcp_conn_list, sfd_tcp_conn);

typedef struct sfd_tcp_attempt sfd_tcp_attempt_t;

typedef struct sfd_tcp_peer {
  sfd_tcp_conn_t *stream; /* UP */
  sfd_tcp_conn_t *parked;
  sfd_tcp_attempt_t *attempt;
  bool starved; /* no memory for an attempt: to be reported */
  bool attended;
  TAILQ_ENTRY(sfd_tcp_peer) entry;
} sfd_tcp_peer_t;
TAILQ_HEAD(sfd_tcp_peer_list, sfd_tcp_peer);

struct sfd_tcp {
  sfd_fabric_t fabric; /* first */
  uv_loop_t *loop;
  sfd_peer_list_t list;
  sfd_tcp_key_t key;        /* unless it is MUNGE by which peers prove that they belong, or their user: */
  const sfd_munge_t *munge; /* NULL: it is not */
  bool by_user;             /* the key is 0 */
  const char *munge_socket; /* the user's */
  sfd_tcp_tickets_t tickets;
  uint64_t connect_timeout_ms;
  bool closing;
  int64_t nopen; /* things that the loop still holds: handles of the fabric, connections, attempts */

  int listen_fd;
  uv_poll_t listen_poll;
  uv_timer_t accept_retry; /* runs while no descriptors are left */
  struct sfd_tcp_conn_list pending;
  int npending;

  struct sfd_tcp_peer_list attention; /* something is to be reported */
  uv_check_t settle;                  /* reports it, after the turn's callbacks, */
  uv_idle_t hurry;                    /* or at the beginning of the next one, and keeps the loop from sleeping */

  uv_timer_t watch;                 /* runs while watched is not empty */
  struct sfd_tcp_conn_list watched; /* the streams */

  sfd_tcp_peer_t peers[];
};

/* ---- tcp.c ---- */

/* Has the peer looked at later in this turn, for what can't be reported at once. */
void sfd_tcp_attend(sfd_tcp_t *tcp, int32_t node);

/* One of the nopen things has gone. The last one ends a closing fabric: calls the user. */
void sfd_tcp_released(sfd_tcp_t *tcp);

void sfd_tcp_describe(const sfd_tcp_t *tcp, int32_t node, char text[SFD_TCP_NODE_TEXT_SIZE]);

/* ---- listen.c ---- */

/* The socket that the options ask for, bound. */
sf_status_t sfd_tcp_bind(const char *bind_to, const sfd_peer_address_t *own, int given_fd, int *fd_p)
    __attribute__((warn_unused_result));
sf_status_t sfd_tcp_listen(int fd) __attribute__((warn_unused_result));

/* The port that a socket is bound to. SF_ERR_ARG: it is no such TCP socket. */
sf_status_t sfd_tcp_port(int fd, uint16_t *port_p) __attribute__((warn_unused_result));
void sfd_tcp_accept_start(sfd_tcp_t *tcp);

/* ---- attempt.c ---- */

typedef enum sfd_tcp_hope {
  SFD_TCP_HOPELESS,  /* trying again would bring the same */
  SFD_TCP_ELSEWHERE, /* another address of the peer may do */
  SFD_TCP_LATER,     /* the same one may do later */
} sfd_tcp_hope_t;

/* There is no way to the host: perhaps only because the kernel still says what it found while a link was down. */
static inline bool sfd_tcp_is_unreachable(int error)
{
  return error == EHOSTUNREACH || error == ENETUNREACH;
}

void sfd_tcp_attempt_begin(sfd_tcp_t *tcp, int32_t node);
void sfd_tcp_attempt_end(sfd_tcp_attempt_t *attempt); /* NULL is accepted */

/* Whether it is too early to believe that a host does not answer. */
bool sfd_tcp_attempt_is_young(const sfd_tcp_attempt_t *attempt);
sfd_tcp_conn_t *sfd_tcp_attempt_conn(const sfd_tcp_attempt_t *attempt);

/* Its connection is gone, or becomes the stream. */
void sfd_tcp_attempt_forget(sfd_tcp_attempt_t *attempt);

/* Its connection failed and is dropped; tries again or gives up. The reason follows the peer's description. May call
 * the user, if a connection made by the peer takes its place. */
void sfd_tcp_attempt_failed(sfd_tcp_attempt_t *attempt, sfd_tcp_hope_t hope, sf_status_t status, const char *reason);

/* ---- conn.c ---- */

/* Owns the descriptor, also when it fails and returns NULL. */
sfd_tcp_conn_t *sfd_tcp_conn_create(sfd_tcp_t *tcp, int fd, int32_t node, sfd_tcp_state_t state);

/* Closes it, and nobody refers to it any more. */
void sfd_tcp_conn_drop(sfd_tcp_conn_t *conn);

/* One of its nhandles is gone; the last one takes its memory along. */
void sfd_tcp_conn_release(sfd_tcp_conn_t *conn);

/* Polls for what its state needs. */
void sfd_tcp_conn_poll(sfd_tcp_conn_t *conn);
void sfd_tcp_conn_limit(sfd_tcp_conn_t *conn, uint64_t timeout_ms);

/* ---- handshake.c ---- */

void sfd_tcp_handshake_connected(sfd_tcp_conn_t *conn);
void sfd_tcp_handshake_readable(sfd_tcp_conn_t *conn); /* may call the user */
void sfd_tcp_handshake_timeout(sfd_tcp_conn_t *conn);  /* may call the user */

/* The verdict; whether it could be sent. */
bool sfd_tcp_handshake_accept(sfd_tcp_conn_t *conn);

/* ---- peer.c ---- */

void sfd_tcp_peer_judged(sfd_tcp_conn_t *conn);      /* outgoing, accepted by the peer; calls the user */
void sfd_tcp_peer_proven(sfd_tcp_conn_t *conn);      /* made by the peer, which has the key; may call the user */
bool sfd_tcp_peer_take_parked(sfd_tcp_peer_t *peer); /* whether there was one; may call the user */
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

/* From when it is UP. */
void sfd_tcp_watch(sfd_tcp_conn_t *conn);
void sfd_tcp_unwatch(sfd_tcp_conn_t *conn);

/* Something has been sent on a quiet stream. */
void sfd_tcp_watch_sent(sfd_tcp_conn_t *conn);

#endif

/* Handshake before a stream: see auth.h. The loop's thread. */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/base.h"
#include "daemon/net/fabric/tcp/internal.h"
#include "daemon/net/fabric/tcp/user.h"
#include "shm/base/error.h"

/* Only failed attempts of this side are reported. */
static void fail(sfd_tcp_conn_t *conn, sfd_tcp_hope_t hope, sf_status_t status, const char *reason)
{
  if (conn->outgoing) {
    sfd_tcp_attempt_failed(conn->tcp->peers[conn->node].attempt, hope, status, reason);
    return;
  }
  sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "tcp: a connection from somebody who %s is dropped", reason);
  sfd_tcp_conn_drop(conn);
}

static void fail_errno(sfd_tcp_conn_t *conn, int error)
{
  bool started = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
  char reason[128];
  snprintf(reason, sizeof reason, "can't be connected to: %s", strerror(error));
  fail(conn, started || sfd_tcp_is_unreachable(error) ? SFD_TCP_LATER : SFD_TCP_ELSEWHERE,
       started ? SF_ERR_NO_DAEMON : SF_ERR_SYS, reason);
}

/* Messages are shorter than the buffer of a new socket: an incomplete send is an error. */
static bool say(sfd_tcp_conn_t *conn, const void *message, size_t size)
{
  return send(conn->fd, message, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Whether the peer's user is allowed. The peer has sent something. */
static sf_status_t check_user(const sfd_tcp_conn_t *conn)
{
  return conn->tcp->by_user ? sfd_tcp_user_check_peer(conn->fd) : SF_OK;
}

/* ---- Connecting ---- */

/* Whether the connection leads to itself: the kernel may have chosen the same port for both ends. */
static bool is_own_reflection(int fd)
{
  struct sockaddr_storage here, there;
  socklen_t here_size = sizeof here, there_size = sizeof there;
  memset(&here, 0, sizeof here);
  memset(&there, 0, sizeof there);
  return getsockname(fd, (struct sockaddr *)&here, &here_size) == 0 &&
         getpeername(fd, (struct sockaddr *)&there, &there_size) == 0 && here_size == there_size &&
         memcmp(&here, &there, here_size) == 0;
}

/* Sends the hello, and the ticket if there is one. */
static void greet(sfd_tcp_conn_t *conn, const void *message, size_t size)
{
  if (say(conn, message, size))
    conn->state = SFD_TCP_CHALLENGED;
  else
    fail_errno(conn, errno);
}

static void sealed(sfd_tcp_conn_t *conn, const sfd_tcp_ticket_t *ticket)
{
  uint8_t message[sizeof conn->hello + SFD_TCP_TICKET_MAX];
  char reason[SFD_MUNGE_DETAIL_SIZE + 64];
  size_t size = strlen(ticket->text);
  if (ticket->result != SFD_MUNGE_OK) {
    snprintf(reason, sizeof reason, "can't be shown a credential, MUNGE makes none: %s", ticket->letter.detail);
    fail(conn, SFD_TCP_LATER, SF_ERR_SYS, reason);
    return;
  }
  conn->hello.ticket_bytes = htole32((uint32_t)size);
  memcpy(message, &conn->hello, sizeof conn->hello);
  memcpy(message + sizeof conn->hello, ticket->text, size);
  greet(conn, message, sizeof conn->hello + size);
}

static void begin_sealing(sfd_tcp_conn_t *conn)
{
  if (!sfd_tcp_ticket_create(conn)) {
    fail_errno(conn, ENOMEM);
    return;
  }
  conn->state = SFD_TCP_SEALING;
  sfd_tcp_ticket_seal(conn, sealed);
}

void sfd_tcp_handshake_connected(sfd_tcp_conn_t *conn)
{
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  if (error == 0 && is_own_reflection(conn->fd))
    error = ECONNREFUSED;
  if (error != 0) {
    fail_errno(conn, error);
    return;
  }
  sfd_tcp_conn_limit(conn, SFD_TCP_HANDSHAKE_TIMEOUT_MS);
  sfd_tcp_hello_make(&conn->hello, conn->tcp->fabric.node, conn->node, &conn->tcp->cluster);
  if (conn->tcp->fabric.events->cause != NULL)
    conn->hello.cause = htole64(conn->tcp->fabric.events->cause(conn->tcp->fabric.owner, conn->node));
  if (conn->tcp->munge != NULL) {
    begin_sealing(conn);
    return;
  }
  conn->key = conn->tcp->key;
  greet(conn, &conn->hello, sizeof conn->hello);
}

/* Reports the peer's refusal. */
static void refused(sfd_tcp_conn_t *conn, uint32_t refusal)
{
  static const struct {
    sfd_tcp_hope_t hope;
    sf_status_t status;
    const char *reason;
  } refusals[] = {
      [SFD_TCP_OTHER_VERSION] = {SFD_TCP_HOPELESS, SF_ERR_VERSION, "is an sfd of another version"},
      [SFD_TCP_OTHER_SIZE] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                              "counts another number of nodes: the lists of peers differ"},
      [SFD_TCP_OTHER_NODE] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                              "says that it is another node: an option node is wrong, or the address leads elsewhere"},
      [SFD_TCP_UNKNOWN_NODE] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                                "says that it is the same node as this one: the option node of one is wrong"},
      [SFD_TCP_OTHER_PROOF] = {SFD_TCP_HOPELESS, SF_ERR_PERM,
                               "wants another proof than this node's: one has a key file, the other one uses MUNGE"},
      [SFD_TCP_NO_MUNGE] = {SFD_TCP_LATER, SF_ERR_SYS, "can't read this node's credential: its munged does not answer"},
      [SFD_TCP_BAD_TICKET] = {SFD_TCP_HOPELESS, SF_ERR_PERM,
                              "can't read this node's credential: the MUNGE keys of the hosts differ"},
      [SFD_TCP_LATE_TICKET] = {SFD_TCP_HOPELESS, SF_ERR_PERM,
                               "finds this node's MUNGE credential expired: the clocks of the hosts differ"},
      [SFD_TCP_EARLY_TICKET] =
          {SFD_TCP_HOPELESS, SF_ERR_PERM,
           "finds this node's MUNGE credential to be of the future: the clocks of the hosts differ"},
      [SFD_TCP_OLD_TICKET] = {SFD_TCP_LATER, SF_ERR_PERM,
                              "finds that this node's MUNGE credential has been used before: it was overheard"},
      [SFD_TCP_OTHER_USER] = {SFD_TCP_HOPELESS, SF_ERR_PERM, "runs as another user than this node"},
      [SFD_TCP_OTHER_HOST] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                              "says that another host is this node: the option node of one is wrong"},
      [SFD_TCP_OTHER_LIST] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                              "has other peers or another order of them: the lists of peers differ"},
      [SFD_TCP_OTHER_NAME] = {SFD_TCP_HOPELESS, SF_ERR_ARG,
                              "belongs to another cluster: the names of the clusters differ"},
  };
  if (refusal >= sizeof refusals / sizeof refusals[0])
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PROTO, "refuses for an unknown reason");
  else
    fail(conn, refusals[refusal].hope, refusals[refusal].status, refusals[refusal].reason);
}

static void challenged(sfd_tcp_conn_t *conn)
{
  const sfd_tcp_challenge_t *challenge = &conn->input.challenge;
  sfd_tcp_proof_t proof;
  char reason[SFD_TCP_DETAIL_SIZE];
  if (le32toh(challenge->magic) != SFD_TCP_MAGIC) {
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PROTO, "is no sfd: it does not answer as one");
    return;
  }
  if (le32toh(challenge->refusal) != SFD_TCP_WELCOME) {
    refused(conn, le32toh(challenge->refusal));
    return;
  }
  if (!sfd_tcp_challenge_is_true(challenge, &conn->key, &conn->hello)) {
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PERM,
         conn->tcp->munge != NULL ? "answers without having read this node's MUNGE credential"
                                  : "has another key than this node: the key files differ, or one has none");
    return;
  }
  sf_status_t status = check_user(conn);
  if (status != SF_OK) {
    snprintf(reason, sizeof reason, "%s", sfshm_error_detail());
    fail(conn, SFD_TCP_HOPELESS, status, reason);
    return;
  }
  sfd_tcp_proof_make(&proof, &conn->key, &conn->hello, challenge);
  if (!say(conn, &proof, sizeof proof))
    fail_errno(conn, errno);
  else
    conn->state = SFD_TCP_JUDGED;
}

static void judged(sfd_tcp_conn_t *conn)
{
  if (le32toh(conn->input.verdict.accepted) == 1)
    sfd_tcp_peer_judged(conn);
  else
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PROTO, "gives no valid answer to the proof of the key");
}

/* ---- Being connected to ---- */

/* Reports a refused peer. knows_nodes: it numbers the nodes as this one does, so that it may be the node that it claims
 * to be. */
static void tell_refused(const sfd_tcp_conn_t *conn, bool knows_nodes, const char *reason)
{
  const sfd_fabric_t *fabric = &conn->tcp->fabric;
  uint32_t from = le32toh(conn->hello.from);
  uint64_t cause = le32toh(conn->hello.version) == SFD_TCP_VERSION ? le64toh(conn->hello.cause) : 0;
  char name[SFD_TCP_NODE_TEXT_SIZE] = "an unknown node", detail[SFD_TCP_DETAIL_SIZE];
  bool valid = from < (uint32_t)fabric->nnodes && from != (uint32_t)fabric->node;
  if (conn->outgoing || fabric->events->refused == NULL)
    return;
  if (from < (uint32_t)fabric->nnodes)
    sfd_tcp_describe(conn->tcp, (int32_t)from, name);
  snprintf(detail, sizeof detail, "a daemon that claims to be %s is refused: %s", name, reason);
  if (!knows_nodes) /* first: this may be answered once */
    fabric->events->refused(fabric->owner, fabric->node, cause, valid ? NULL : detail);
  if (valid)
    fabric->events->refused(fabric->owner, (int32_t)from, cause, detail);
}

static const char *why_refused(sfd_tcp_refusal_t refusal)
{
  switch (refusal) {
  case SFD_TCP_OTHER_VERSION:
    return "it is an sfd of another version";
  case SFD_TCP_OTHER_SIZE:
  case SFD_TCP_OTHER_LIST:
    return "the lists of peers differ";
  case SFD_TCP_OTHER_NODE:
  case SFD_TCP_UNKNOWN_NODE:
  case SFD_TCP_OTHER_HOST:
    return "the option node of one is wrong";
  case SFD_TCP_OTHER_NAME:
    return "the names of the clusters differ";
  case SFD_TCP_OTHER_PROOF:
    return "one has a key file, the other one uses MUNGE";
  case SFD_TCP_OTHER_USER:
    return "it runs as another user, or on another host";
  default:
    return "its MUNGE credential is not good";
  }
}

static bool shows_other_numbers(sfd_tcp_refusal_t refusal)
{
  return refusal == SFD_TCP_OTHER_SIZE || refusal == SFD_TCP_OTHER_LIST || refusal == SFD_TCP_OTHER_NODE ||
         refusal == SFD_TCP_UNKNOWN_NODE || refusal == SFD_TCP_OTHER_HOST;
}

/* The reason goes to an unknown peer, so it says little; but it shows wrong lists. */
static void answer(sfd_tcp_conn_t *conn, sfd_tcp_refusal_t refusal)
{
  if (refusal == SFD_TCP_WELCOME)
    sfd_tcp_challenge_make(&conn->challenge, &conn->key, &conn->hello);
  else
    sfd_tcp_challenge_refuse(&conn->challenge, refusal);
  bool said = say(conn, &conn->challenge, sizeof conn->challenge);
  if (said && refusal == SFD_TCP_WELCOME) {
    conn->state = SFD_TCP_PROVING;
    return;
  }
  if (refusal != SFD_TCP_WELCOME)
    tell_refused(conn, !shows_other_numbers(refusal), why_refused(refusal));
  fail(conn, SFD_TCP_HOPELESS, SF_ERR_ARG, said ? "is told why it is refused" : "takes no answer");
}

static void opened(sfd_tcp_conn_t *conn, const sfd_tcp_ticket_t *ticket)
{
  if (ticket->result != SFD_MUNGE_OK)
    sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "tcp: MUNGE does not read a credential of a daemon that claims to be node %d: %s",
            conn->node, ticket->letter.detail);
  answer(conn, sfd_tcp_ticket_judge(conn, ticket));
}

static void ticketed(sfd_tcp_conn_t *conn)
{
  conn->state = SFD_TCP_OPENING;
  sfd_tcp_ticket_open(conn, opened);
}

static sfd_tcp_refusal_t expect_ticket(sfd_tcp_conn_t *conn)
{
  if (le32toh(conn->hello.ticket_bytes) > SFD_TCP_TICKET_MAX)
    return SFD_TCP_BAD_TICKET;
  if (!sfd_tcp_ticket_create(conn))
    return SFD_TCP_NO_MUNGE; /* no memory: the peer may try again */
  conn->state = SFD_TCP_TICKETED;
  return SFD_TCP_WELCOME;
}

/* The address of the other end's host, of IPv4 as in IPv6. */
static bool find_host(int fd, struct in6_addr *host_p)
{
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } there;
  socklen_t size = sizeof there;
  if (getpeername(fd, &there.any, &size) != 0)
    return false;
  if (there.any.sa_family == AF_INET6) {
    *host_p = there.v6.sin6_addr;
    return true;
  }
  *host_p = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
  memcpy(&host_p->s6_addr[12], &there.v4.sin_addr, sizeof there.v4.sin_addr);
  return true;
}

/* Whether another host has the stream of the node that this one says to be. A daemon that has been started anew comes
 * from the same host as before. */
static bool is_on_other_host(const sfd_tcp_conn_t *conn)
{
  const sfd_tcp_conn_t *stream = conn->tcp->peers[conn->node].stream;
  struct in6_addr host, known;
  return stream != NULL && find_host(stream->fd, &known) && find_host(conn->fd, &host) &&
         !IN6_ARE_ADDR_EQUAL(&host, &known);
}

static void greeted(sfd_tcp_conn_t *conn)
{
  const sfd_tcp_t *tcp = conn->tcp;
  conn->hello = conn->input.hello;
  if (le32toh(conn->hello.magic) != SFD_TCP_MAGIC) {
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PROTO, "does not greet as an sfd");
    return;
  }
  sfd_tcp_refusal_t refusal = sfd_tcp_hello_check(&conn->hello, tcp->fabric.node, &tcp->cluster, &conn->node);
  if (refusal == SFD_TCP_WELCOME && is_on_other_host(conn))
    refusal = SFD_TCP_OTHER_HOST;
  if (refusal == SFD_TCP_WELCOME && (conn->hello.ticket_bytes != 0) != (tcp->munge != NULL))
    refusal = SFD_TCP_OTHER_PROOF;
  if (refusal == SFD_TCP_WELCOME && check_user(conn) != SF_OK) {
    sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "tcp: a daemon that claims to be node %d %s", conn->node, sfshm_error_detail());
    refusal = SFD_TCP_OTHER_USER;
  }
  if (refusal == SFD_TCP_WELCOME && tcp->munge != NULL)
    refusal = expect_ticket(conn);
  else
    conn->key = tcp->key;
  if (conn->state != SFD_TCP_TICKETED)
    answer(conn, refusal);
}

static void proven(sfd_tcp_conn_t *conn)
{
  if (sfd_tcp_proof_is_true(&conn->input.proof, &conn->key, &conn->hello, &conn->challenge))
    sfd_tcp_peer_proven(conn);
  else {
    tell_refused(conn, true, "it has another key");
    fail(conn, SFD_TCP_HOPELESS, SF_ERR_PERM, "has another key");
  }
}

bool sfd_tcp_handshake_accept(sfd_tcp_conn_t *conn)
{
  const sfd_tcp_verdict_t verdict = {.accepted = htole32(1)};
  return say(conn, &verdict, sizeof verdict);
}

static void too_early(sfd_tcp_conn_t *conn)
{
  fail(conn, SFD_TCP_HOPELESS, SF_ERR_PROTO, "speaks before it was accepted");
}

/* ---- Both ---- */

/* Bytes that each state reads, the ticket's from the hello. Not one more: the stream follows. */
static const struct {
  size_t size;
  void (*arrived)(sfd_tcp_conn_t *conn);
} steps[] = {
    [SFD_TCP_CHALLENGED] = {sizeof(sfd_tcp_challenge_t), challenged},
    [SFD_TCP_JUDGED] = {sizeof(sfd_tcp_verdict_t), judged},
    [SFD_TCP_GREETED] = {sizeof(sfd_tcp_hello_t), greeted},
    [SFD_TCP_TICKETED] = {0, ticketed},
    [SFD_TCP_PROVING] = {sizeof(sfd_tcp_proof_t), proven},
    [SFD_TCP_PARKED] = {1, too_early},
};

void sfd_tcp_handshake_readable(sfd_tcp_conn_t *conn)
{
  bool ticket = conn->state == SFD_TCP_TICKETED;
  size_t size = ticket ? le32toh(conn->hello.ticket_bytes) : steps[conn->state].size;
  uint8_t *place = ticket ? (uint8_t *)conn->ticket->text : conn->input.bytes;
  ssize_t n = recv(conn->fd, place + conn->have_bytes, size - conn->have_bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n < 0) {
    fail_errno(conn, errno);
    return;
  }
  if (n == 0) {
    if (conn->state == SFD_TCP_PROVING)
      tell_refused(conn, true, "it ends the connection when it should prove that it has the key: the keys may differ");
    fail(conn, SFD_TCP_LATER, SF_ERR_NO_DAEMON, "closes the connection before it has shown the key");
    return;
  }
  conn->have_bytes += (size_t)n;
  if (conn->have_bytes < size)
    return;
  conn->have_bytes = 0;
  steps[conn->state].arrived(conn);
}

void sfd_tcp_handshake_timeout(sfd_tcp_conn_t *conn)
{
  if (conn->state == SFD_TCP_CONNECTING)
    fail(conn, sfd_tcp_attempt_is_young(conn->tcp->peers[conn->node].attempt) ? SFD_TCP_LATER : SFD_TCP_ELSEWHERE,
         SF_ERR_TIMEOUT, "does not answer");
  else if (conn->state == SFD_TCP_SEALING)
    fail(conn, SFD_TCP_LATER, SF_ERR_TIMEOUT, "can't be shown a credential, MUNGE takes too long to make one");
  else
    fail(conn, SFD_TCP_LATER, SF_ERR_TIMEOUT, "takes too long to show the key");
}

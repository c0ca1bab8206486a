/* Making links: connects to a peer's addresses in turn, accepts guests, exchanges hellos. The progress thread. If two
 * nodes connect at once, the lower-numbered one's connection is used: it tells the other one, which waits for it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"

#define GUESTS_MAX 64 /* limit of links without hello */

/* No delay, and keep-alive probes that notice a lost host within seconds. */
static void set_options(int fd)
{
  static const struct {
    int level, name, value;
  } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 1},
                 {IPPROTO_TCP, TCP_KEEPINTVL, 1}, {IPPROTO_TCP, TCP_KEEPCNT, 2}, {IPPROTO_TCP, TCP_USER_TIMEOUT, 3000}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

/* ---- Connecting ---- */

static socklen_t make_address(const sfd_mpi_place_t *place, unsigned i, struct sockaddr_storage *address)
{
  memset(address, 0, sizeof *address);
  if (place->family[i] == AF_INET6) {
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(place->port);
    memcpy(&in6->sin6_addr, place->address[i], sizeof in6->sin6_addr);
    return sizeof *in6;
  }
  struct sockaddr_in *in = (struct sockaddr_in *)address;
  in->sin_family = AF_INET;
  in->sin_port = htons(place->port);
  memcpy(&in->sin_addr, place->address[i], sizeof in->sin_addr);
  return sizeof *in;
}

/* Returns whether connecting has begun. */
static bool try_address(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_place_t *place, unsigned i)
{
  struct sockaddr_storage address;
  socklen_t len = make_address(place, i, &address);
  link->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (link->fd < 0)
    return false;
  set_options(link->fd);
  if (connect(link->fd, (struct sockaddr *)&address, len) != 0 && errno != EINPROGRESS)
    return false;
  return sfd_mpi_link_watch(mpi, link, true);
}

void sfd_mpi_connect_next(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  const sfd_mpi_place_t *place = &mpi->places[link->peer->node];
  link->state = SFD_MPI_CONNECTING;
  link->deadline = mpi->now_ns + SFD_MPI_HANDSHAKE_NS;
  link->nin = 0;
  while (link->address < place->naddresses) {
    sfd_mpi_link_close(mpi, link);
    if (try_address(mpi, link, place, link->address++))
      return;
    snprintf(link->detail, sizeof link->detail, "%s", strerror(errno));
  }
  sfd_mpi_link_close(mpi, link);
  char why[sizeof link->detail];
  memcpy(why, link->detail, sizeof why);
  sfd_mpi_stream_fail(mpi, link, SF_ERR_NO_DAEMON, "cannot connect: %s", why);
}

static void make_hello(const sfd_mpi_t *mpi, const sfd_mpi_peer_t *peer, sfd_mpi_hello_t *hello)
{
  *hello = (sfd_mpi_hello_t){.magic = SFD_MPI_MAGIC,
                             .version = SFD_MPI_VERSION,
                             .from = mpi->fabric.node,
                             .to = peer->node,
                             .attempt = peer->attempts,
                             .posted = peer->posted,
                             .token = mpi->shown[peer->node]};
}

void sfd_mpi_connected(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  int error = 0;
  socklen_t len = sizeof error;
  sfd_mpi_hello_t hello;
  if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
    error = errno;
  link->peer->attempts++;
  make_hello(mpi, link->peer, &hello);
  if (error == 0 && (!sfd_mpi_link_write(link, &hello, sizeof hello) || !sfd_mpi_link_watch(mpi, link, false)))
    error = errno;
  if (error == 0) {
    link->state = SFD_MPI_GREETING;
    return;
  }
  snprintf(link->detail, sizeof link->detail, "%s", strerror(error));
  sfd_mpi_connect_next(mpi, link);
}

/* ---- Guests ---- */

static bool is_full(const sfd_mpi_t *mpi)
{
  unsigned nguests = 0;
  for (const sfd_mpi_link_t *link = mpi->links; link != NULL; link = link->next)
    nguests += link->state == SFD_MPI_GUEST;
  return nguests >= GUESTS_MAX;
}

void sfd_mpi_accept(sfd_mpi_t *mpi)
{
  int fd = accept4(mpi->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0)
    return;
  sfd_mpi_link_t *link = sfd_mpi_link_new();
  if (link == NULL) {
    close(fd);
    return;
  }
  set_options(fd);
  link->fd = fd;
  link->state = SFD_MPI_GUEST;
  link->deadline = mpi->now_ns + SFD_MPI_HANDSHAKE_NS;
  bool full = is_full(mpi);
  sfd_mpi_link_add(mpi, link);
  if (full || !sfd_mpi_link_watch(mpi, link, false))
    sfd_mpi_link_remove(mpi, link);
}

bool sfd_mpi_welcome(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  sfd_mpi_hello_t hello;
  make_hello(mpi, link->peer, &hello);
  return sfd_mpi_link_write(link, &hello, sizeof hello);
}

static void refuse_crossed(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_peer_t *peer)
{
  sfd_mpi_hello_t hello;
  make_hello(mpi, peer, &hello);
  hello.crossed = 1;
  (void)sfd_mpi_link_write(link, &hello, sizeof hello); /* a failure shows later */
  sfd_mpi_link_remove(mpi, link);
}

/* A guest's hello is valid. Returns whether the link still exists. */
static bool let_in(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_hello_t *hello)
{
  sfd_mpi_peer_t *peer = &mpi->peers[hello->from];
  sfd_mpi_link_t *mine = peer->link;
  bool attempt = mine != NULL && (mine->state == SFD_MPI_CONNECTING || mine->state == SFD_MPI_GREETING);
  if (hello->attempt <= peer->seen_attempt) { /* late: the peer has given it up, or has a stream */
    sfd_mpi_link_remove(mpi, link);
    return false;
  }
  peer->seen_attempt = hello->attempt;
  if (attempt && mpi->fabric.node < peer->node) {
    refuse_crossed(mpi, link, peer);
    return false;
  }
  if (attempt) {
    peer->link = NULL;
    sfd_mpi_link_remove(mpi, mine);
  }
  if (peer->waiting != NULL)
    sfd_mpi_link_remove(mpi, peer->waiting);
  link->peer = peer;
  link->state = SFD_MPI_WAITING;
  link->nin = 0;
  peer->waiting = link;
  if (peer->link != NULL)
    sfd_mpi_stream_fail(mpi, peer->link, SF_ERR_DAEMON_LOST, "it has begun a new connection");
  sfd_mpi_stream_check(mpi, peer); /* opens the link if it can */
  return false;                    /* the peer waits for the answer */
}

/* ---- Hellos ---- */

/* In constant time. */
static bool same_token(const sfd_mpi_token_t *a, const sfd_mpi_token_t *b)
{
  unsigned difference = 0;
  for (size_t i = 0; i < SFD_MPI_TOKEN; i++)
    difference |= (unsigned)(a->bytes[i] ^ b->bytes[i]);
  return difference == 0;
}

static bool is_genuine(const sfd_mpi_t *mpi, const sfd_mpi_hello_t *hello)
{
  return hello->magic == SFD_MPI_MAGIC && hello->version == SFD_MPI_VERSION && hello->to == mpi->fabric.node &&
         hello->from >= 0 && hello->from < mpi->fabric.nnodes && hello->from != mpi->fabric.node &&
         same_token(&hello->token, &mpi->given[hello->from]);
}

/* The answer to this node's hello. */
static bool answered(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_hello_t *hello)
{
  if (hello->from != link->peer->node) {
    snprintf(link->detail, sizeof link->detail, "somebody else answers");
    sfd_mpi_connect_next(mpi, link);
    return false;
  }
  if (hello->crossed != 0) {
    sfd_mpi_link_close(mpi, link); /* will be replaced, or has its deadline */
    return false;
  }
  link->peer->seen_attempt = hello->attempt; /* the peer has given up its own attempt */
  sfd_mpi_say(link, SFD_MPI_READY, 0, 0);
  link->ready = true;
  sfd_mpi_stream_open(mpi, link);
  return true;
}

bool sfd_mpi_greeted(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_hello_t *hello)
{
  bool guest = link->state == SFD_MPI_GUEST;
  if (!is_genuine(mpi, hello)) {
    if (guest) {
      sfd_mpi_link_remove(mpi, link);
    } else {
      snprintf(link->detail, sizeof link->detail, "what answers there is no daemon of this job");
      sfd_mpi_connect_next(mpi, link);
    }
    return false;
  }
  link->first = hello->posted;
  return guest ? let_in(mpi, link, hello) : answered(mpi, link, hello);
}

/* Listening socket of the tcp fabric, and incoming connections. The loop's thread. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/net/fabric/tcp/internal.h"
#include "shm/base/error.h"

#define ACCEPTS_PER_TURN 16
#define ACCEPT_RETRY_MS 100

/* ---- The socket ---- */

sf_status_t sfd_tcp_port(int fd, uint16_t *port_p)
{
  int protocol = 0;
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address = {.any.sa_family = AF_UNSPEC};
  socklen_t size = sizeof address, protocol_size = sizeof protocol;
  uint16_t port = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_size) == 0 && protocol == IPPROTO_TCP &&
      getsockname(fd, &address.any, &size) == 0) {
    if (address.any.sa_family == AF_INET)
      port = ntohs(address.v4.sin_port);
    else if (address.any.sa_family == AF_INET6)
      port = ntohs(address.v6.sin6_port);
  }
  if (port == 0)
    return sfshm_error(SF_ERR_ARG, "descriptor %d is no bound TCP socket", fd);
  *port_p = port;
  return SF_OK;
}

static sf_status_t bind_socket(int fd, const struct addrinfo *address, const char *name)
{
  const int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->ai_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, address->ai_addr, address->ai_addrlen) == 0)
    return SF_OK;
  return sfshm_error_errno(errno == EADDRINUSE ? SF_ERR_EXISTS
                           : errno == EACCES   ? SF_ERR_PERM
                                               : SF_ERR_SYS,
                           "cannot bind to %s", name);
}

static sf_status_t open_socket(const struct addrinfo *address, const char *name, int *fd_p)
{
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot make a socket for %s", name);
  sf_status_t status = bind_socket(fd, address, name);
  if (status != SF_OK)
    close(fd);
  else
    *fd_p = fd;
  return status;
}

static sf_status_t bind_numeric(const char *host, uint16_t port, int *fd_p)
{
  const sfd_peer_address_t address = {.host = (char *)host, .port = port};
  char name[SFD_PEER_TEXT_SIZE];
  sfd_peer_address_print(&address, name, sizeof name);
  struct addrinfo *found = sfd_peer_address_numeric(&address);
  if (found == NULL)
    return sfshm_error(SF_ERR_SYS, "cannot listen at %s: this host has no such kind of address", name);
  sf_status_t status = open_socket(found, name, fd_p);
  freeaddrinfo(found);
  return status;
}

static bool is_numeric(const sfd_peer_address_t *address)
{
  struct addrinfo *found = sfd_peer_address_numeric(address);
  if (found == NULL)
    return false;
  freeaddrinfo(found);
  return true;
}

static sf_status_t bind_at(const sfd_peer_address_t *address, int *fd_p)
{
  if (is_numeric(address))
    return bind_numeric(address->host, address->port, fd_p);
  if (strcasecmp(address->host, "localhost") == 0)
    return bind_numeric("127.0.0.1", address->port, fd_p);
  sf_status_t status = bind_numeric("::", address->port, fd_p);
  if (status == SF_ERR_SYS) /* no IPv6 */
    status = bind_numeric("0.0.0.0", address->port, fd_p);
  return status;
}

static sf_status_t prepare_given(int fd)
{
  uint16_t port = 0;
  sf_status_t status = sfd_tcp_port(fd, &port);
  if (status != SF_OK)
    return status;
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot change descriptor %d", fd);
  return SF_OK;
}

sf_status_t sfd_tcp_bind(const char *bind_to, const sfd_peer_address_t *own, int given_fd, int *fd_p)
{
  if (given_fd >= 0) {
    *fd_p = given_fd;
    return prepare_given(given_fd);
  }
  if (bind_to == NULL)
    return bind_at(own, fd_p);
  sfd_peer_address_t address;
  sf_status_t status = sfd_peer_address_parse(bind_to, &address);
  if (status != SF_OK)
    return status;
  status = bind_at(&address, fd_p);
  free(address.host);
  return status;
}

sf_status_t sfd_tcp_listen(int fd)
{
  if (listen(fd, SOMAXCONN) != 0)
    return sfshm_error_errno(errno == EADDRINUSE ? SF_ERR_EXISTS : SF_ERR_SYS, "cannot listen for other daemons");
  return SF_OK;
}

/* ---- Who connects ---- */

/* Any number of unauthenticated connections may come: the one that has waited longest makes room. A peer needs a moment
 * only. */
static void make_room(sfd_tcp_t *tcp)
{
  if (tcp->npending < SFD_TCP_MAX_PENDING)
    return;
  sfd_log(SFD_LOG_MAIN, SFD_DEBUG, "tcp: more than %d connections wait for their handshake: the oldest is dropped",
          SFD_TCP_MAX_PENDING);
  sfd_tcp_conn_drop(TAILQ_FIRST(&tcp->pending));
}

static void take(sfd_tcp_t *tcp, int fd)
{
  make_room(tcp);
  sfd_tcp_conn_t *conn = sfd_tcp_conn_create(tcp, fd, -1, SFD_TCP_GREETED);
  if (conn == NULL)
    return;
  conn->pending = true;
  TAILQ_INSERT_TAIL(&tcp->pending, conn, pending_entry);
  tcp->npending++;
  sfd_tcp_conn_limit(conn, SFD_TCP_HANDSHAKE_TIMEOUT_MS);
}

static void on_accept_retry(uv_timer_t *timer)
{
  sfd_tcp_accept_start(timer->data);
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
  sfd_tcp_t *tcp = poll->data;
  (void)status;
  (void)events;
  for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
    int fd = accept4(tcp->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      take(tcp, fd);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      sfd_log(SFD_LOG_MAIN, SFD_WARN, "tcp: cannot accept connections: no descriptors or memory; trying again");
      uv_poll_stop(poll);
      uv_timer_start(&tcp->accept_retry, on_accept_retry, ACCEPT_RETRY_MS, 0);
    } else if (errno == EPERM || errno == EACCES || errno == ENOSYS) {
      uv_poll_stop(poll);
      if (tcp->fabric.events->denied != NULL)
        tcp->fabric.events->denied(tcp->fabric.owner, strerror(errno));
    }
    return;
  }
}

void sfd_tcp_accept_start(sfd_tcp_t *tcp)
{
  uv_poll_start(&tcp->listen_poll, UV_READABLE, on_listen);
}

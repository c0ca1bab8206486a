/* Listening socket and its lock: see listen.h. The daemon's thread. */
#include "daemon/clients/listen.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/base.h"
#include "proto/address.h"
#include "shm/base/error.h"

#define LOCK_SUFFIX ".lock"
#define LOCK_ATTEMPTS 100 /* each failed attempt met a daemon that was ending */

/* The socket of this process. */
static struct {
  int lock_fd;  /* -1: none, as for a passed socket */
  int peers_fd; /* -1: none; passed with the socket */
  struct sockaddr_un address;
  char lock_path[sizeof((struct sockaddr_un *)0)->sun_path + sizeof LOCK_SUFFIX];
  dev_t device; /* of the socket file */
  ino_t inode;
} listener = {.lock_fd = -1, .peers_fd = -1};

static bool is_denied(int code)
{
  return code == EACCES || code == EPERM || code == EROFS;
}

/* Detail: action, path, errno. */
static sf_status_t path_error(const char *action, const char *path)
{
  return sfshm_error_errno(is_denied(errno) ? SF_ERR_PERM : SF_ERR_SYS, "cannot %s %s", action, path);
}

/* ---- The lock ---- */

/* Refuses ordinary files of that name, which would be removed at the end. */
static sf_status_t check_lock_file(const struct stat *file)
{
  if (file->st_uid != geteuid())
    return sfshm_error(SF_ERR_PERM, "%s belongs to user %u, expected %u", listener.lock_path, (unsigned)file->st_uid,
                       (unsigned)geteuid());
  if (!S_ISREG(file->st_mode) || file->st_size != 0)
    return sfshm_error(SF_ERR_EXISTS, "%s is not a lock of sfd: expected an empty regular file", listener.lock_path);
  return SF_OK;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Opens and locks the file at the path. */
static sf_status_t open_lock(int *fd_p, struct stat *file_p)
{
  int fd = open(listener.lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0)
    return path_error("open the lock", listener.lock_path);
  sf_status_t status = SF_OK;
  if (fstat(fd, file_p) != 0)
    status = path_error("look at the lock", listener.lock_path);
  else
    status = check_lock_file(file_p);
  if (!status && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      status = sfshm_error(SF_ERR_EXISTS, "another sfd owns %s (it holds %s)", listener.address.sun_path,
                           listener.lock_path);
    else
      status = path_error("lock", listener.lock_path);
  }
  if (status)
    close(fd);
  else
    *fd_p = fd;
  return status;
}

static sf_status_t acquire_lock(void)
{
  for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    struct stat locked, current;
    int fd = -1;
    sf_status_t status = open_lock(&fd, &locked);
    if (status)
      return status;
    if (lstat(listener.lock_path, &current) == 0 && same_file(&locked, &current)) {
      listener.lock_fd = fd;
      return SF_OK;
    }
    close(fd); /* removed by its last holder meanwhile */
  }
  return sfshm_error(SF_ERR_EXISTS, "the lock %s was replaced %d times while being taken", listener.lock_path,
                     LOCK_ATTEMPTS);
}

/* Removes the file first, see listen.h, unless it was replaced by hand. */
static void release_lock(void)
{
  struct stat locked, current;
  if (fstat(listener.lock_fd, &locked) == 0 && lstat(listener.lock_path, &current) == 0 && same_file(&locked, &current))
    unlink(listener.lock_path);
  close(listener.lock_fd);
  listener.lock_fd = -1;
}

/* ---- What is at the path ---- */

static sf_status_t make_socket(int *fd_p)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot make a socket");
  *fd_p = fd;
  return SF_OK;
}

/* The detail names the process that began to listen. */
static sf_status_t served_by_other(int fd)
{
  struct ucred peer;
  socklen_t size = sizeof peer;
  const char *path = listener.address.sun_path;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0)
    return sfshm_error(SF_ERR_EXISTS, "%s is in use: process %d serves there", path, (int)peer.pid);
  return sfshm_error(SF_ERR_EXISTS, "%s is in use: another process serves there", path);
}

/* SF_OK: no daemon serves at the socket. */
static sf_status_t check_stale(void)
{
  int fd = -1;
  sf_status_t status = make_socket(&fd);
  if (status)
    return status;
  if (connect(fd, (const struct sockaddr *)&listener.address, sizeof listener.address) == 0 || errno == EAGAIN)
    status = served_by_other(fd); /* EAGAIN: its queue is full */
  else if (errno == EPROTOTYPE)
    status = sfshm_error(SF_ERR_EXISTS, "%s is in use: a socket that is no stream", listener.address.sun_path);
  else if (errno != ECONNREFUSED && errno != ENOENT)
    status = path_error("connect to", listener.address.sun_path);
  close(fd);
  return status;
}

/* Removes a stale socket. */
static sf_status_t clear_path(void)
{
  const char *path = listener.address.sun_path;
  struct stat file;
  if (lstat(path, &file) != 0)
    return errno == ENOENT ? SF_OK : path_error("look at", path);
  if (!S_ISSOCK(file.st_mode))
    return sfshm_error(SF_ERR_EXISTS, "%s exists and is not a socket; it is left alone", path);
  sf_status_t status = check_stale();
  if (!status && unlink(path) != 0 && errno != ENOENT)
    status = path_error("remove the stale socket", path);
  return status;
}

/* ---- A new socket ---- */

/* Mode bits that files must not have: see listen.h. */
static mode_t closed_bits(void)
{
  return geteuid() == 0 ? S_IXUSR | S_IXGRP | S_IXOTH : S_IXUSR | S_IRWXG | S_IRWXO;
}

static sf_status_t bind_socket(int fd)
{
  const char *path = listener.address.sun_path;
  mode_t mask = umask(closed_bits());
  int rc = bind(fd, (const struct sockaddr *)&listener.address, sizeof listener.address);
  umask(mask);
  if (rc != 0)
    return path_error("bind a socket to", path);
  struct stat file;
  sf_status_t status = SF_OK;
  if (lstat(path, &file) != 0)
    status = path_error("look at", path);
  else if (listen(fd, SOMAXCONN) != 0)
    status = path_error("listen at", path);
  if (status) {
    unlink(path);
    return status;
  }
  listener.device = file.st_dev;
  listener.inode = file.st_ino;
  return SF_OK;
}

/* With the lock held. */
static sf_status_t open_socket(int *fd_p)
{
  int fd = -1;
  sf_status_t status = clear_path();
  if (!status)
    status = make_socket(&fd);
  if (status)
    return status;
  status = bind_socket(fd);
  if (status)
    close(fd);
  else
    *fd_p = fd;
  return status;
}

static sf_status_t listen_anew(const char *path, int *fd_p)
{
  sf_status_t status = sfproto_address(path, true, &listener.address);
  if (status)
    return status;
  snprintf(listener.lock_path, sizeof listener.lock_path, "%s%s", listener.address.sun_path, LOCK_SUFFIX);
  status = acquire_lock();
  if (status)
    return status;
  status = open_socket(fd_p);
  if (status)
    release_lock();
  return status;
}

/* ---- A socket that was passed ---- */

/* Compares files, not names. */
static sf_status_t check_given_path(const char *path)
{
  struct stat given, passed;
  const char *found = listener.address.sun_path;
  if (!path || !path[0] || strcmp(path, found) == 0)
    return SF_OK;
  if (stat(path, &given) == 0 && stat(found, &passed) == 0 && same_file(&given, &passed))
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "the service manager passed the socket %s, the option socket says %s", found, path);
}

static sf_status_t check_passed(const char *path, int fd)
{
  struct sockaddr_un address = {0};
  socklen_t size = sizeof address - 1; /* may come without a final zero */
  if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0 || getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
      address.sun_path[0] == '\0')
    return sfshm_error(SF_ERR_ARG, "what the service manager passed is not a listening Unix stream socket with a path");
  listener.address = address;
  return check_given_path(path);
}

/* Listens again, so that SO_PEERCRED at the other end shows the daemon and not the process that created the socket. */
static sf_status_t take_passed(const char *path, int fd)
{
  sf_status_t status = check_passed(path, fd);
  if (status)
    return status;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || listen(fd, SOMAXCONN) != 0)
    return path_error("serve at", listener.address.sun_path);
  return SF_OK;
}

static bool is_for_peers(int fd)
{
  return sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0;
}

/* One for clients, and perhaps one for daemons of other nodes, in any order. */
static sf_status_t listen_passed(const char *path, int count, int *fd_p)
{
  int first = SD_LISTEN_FDS_START, peers = -1, clients = first;
  sf_status_t status = SF_OK;
  if (count == 2 && is_for_peers(first))
    peers = clients++;
  else if (count == 2 && is_for_peers(first + 1))
    peers = first + 1;
  else if (count > 1)
    status = sfshm_error(
        SF_ERR_ARG, "the service manager passed %d descriptors, expected one socket, or a second one for TCP", count);
  if (!status)
    status = take_passed(path, clients);
  for (int i = 0; status && i < count; i++)
    close(first + i);
  if (status)
    return status;
  listener.peers_fd = peers;
  *fd_p = clients;
  return SF_OK;
}

int sfd_listen_peers_fd(void)
{
  return listener.peers_fd;
}

/* ---- Either ---- */

sf_status_t sfd_listen(const char *path, int *fd_p)
{
  assert(listener.lock_fd < 0);
  listener.peers_fd = -1;
  int count = sd_listen_fds(1);
  if (count < 0)
    return sfshm_error(SF_ERR_SYS, "cannot take the sockets that the service manager passed: %s", strerror(-count));
  return count > 0 ? listen_passed(path, count, fd_p) : listen_anew(path, fd_p);
}

const char *sfd_listen_path(void)
{
  return listener.address.sun_path;
}

static bool is_ours(void)
{
  struct stat file;
  return lstat(listener.address.sun_path, &file) == 0 && file.st_dev == listener.device &&
         file.st_ino == listener.inode;
}

void sfd_listen_close(int fd)
{
  if (fd < 0)
    return;
  if (listener.lock_fd < 0) { /* passed */
    close(fd);
    return;
  }
  if (is_ours())
    unlink(listener.address.sun_path);
  for (int waiting; (waiting = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
    sfd_deferred_close_connection(waiting);
  close(fd);
  release_lock();
}

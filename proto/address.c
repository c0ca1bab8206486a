/* Address of the daemon's socket, and connecting. Any thread. */
#include "proto/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "shm/base/error.h"

/* how long a live daemon may need to make room in its queue of connections */
#define CONNECT_TIMEOUT_S 5

typedef struct sfproto_place {
  char directory[32]; /* directory in /tmp, which must belong to this user; "" if the path is elsewhere */
  const char *source; /* source of the path, for texts */
  const char *parent; /* path is parent, then name */
  const char *name;
} sfproto_place_t;

static const char *variable(const char *name)
{
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static void choose(const char *path, sfproto_place_t *place)
{
  const char *from_env = variable("SF_SOCKET");
  const char *runtime = variable("XDG_RUNTIME_DIR");
  if (path != NULL && path[0] != '\0') {
    *place = (sfproto_place_t){.source = "given", .parent = "", .name = path};
  } else if (from_env != NULL) {
    *place = (sfproto_place_t){.source = "from SF_SOCKET", .parent = "", .name = from_env};
  } else if (runtime != NULL && runtime[0] == '/') { /* its specification says to ignore relative paths */
    *place = (sfproto_place_t){.source = "from XDG_RUNTIME_DIR", .parent = runtime, .name = "/sfd.sock"};
  } else {
    *place = (sfproto_place_t){.source = "the default", .parent = place->directory, .name = "/sfd.sock"};
    snprintf(place->directory, sizeof place->directory, "/tmp/sfd-%u", (unsigned)geteuid());
  }
}

static sf_status_t fill(const sfproto_place_t *place, struct sockaddr_un *address)
{
  size_t length = strlen(place->parent) + strlen(place->name);
  size_t limit = sizeof address->sun_path - 1;
  if (length > limit)
    return sfshm_error(SF_ERR_ARG, "socket path (%s) of %zu bytes, a socket address holds at most %zu: %s%s",
                       place->source, length, limit, place->parent, place->name);
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  snprintf(address->sun_path, sizeof address->sun_path, "%s%s", place->parent, place->name);
  return SF_OK;
}

/* /tmp is open to all users: in a directory that another user made or can write to, that user could answer as sfd. */
static sf_status_t check_owner(const char *directory, int fd)
{
  struct stat stat;
  if (fstat(fd, &stat) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot look at %s", directory);
  if (stat.st_uid != geteuid())
    return sfshm_error(SF_ERR_PERM, "%s belongs to user %u, expected %u; choose another place with SF_SOCKET",
                       directory, (unsigned)stat.st_uid, (unsigned)geteuid());
  if ((stat.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return sfshm_error(SF_ERR_PERM, "%s has mode %04o, expected 0700: others must not enter it", directory,
                       (unsigned)(stat.st_mode & 07777));
  return SF_OK;
}

/* *absent_p: the directory does not exist, which is no error. */
static sf_status_t check_directory(const char *directory, bool create, bool *absent_p)
{
  if (create && mkdir(directory, S_IRWXU) != 0 && errno != EEXIST)
    return sfshm_error_errno(errno == EACCES ? SF_ERR_PERM : SF_ERR_SYS, "cannot make %s for the socket", directory);
  int fd = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && !create) {
    *absent_p = true;
    return SF_OK;
  }
  if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
    return sfshm_error(SF_ERR_PERM,
                       "%s is not a directory (symbolic links are not followed); choose another place with "
                       "SF_SOCKET",
                       directory);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot open %s", directory);
  sf_status_t status = check_owner(directory, fd);
  close(fd);
  if (status == SF_OK)
    *absent_p = false;
  return status;
}

static sf_status_t find(const char *path, bool create, struct sockaddr_un *address, bool *absent_p)
{
  sfproto_place_t place;
  choose(path, &place);
  struct sockaddr_un found;
  bool absent = false;
  sf_status_t status = fill(&place, &found);
  if (status == SF_OK && place.directory[0] != '\0')
    status = check_directory(place.directory, create, &absent);
  if (status != SF_OK)
    return status;
  *address = found;
  *absent_p = absent;
  return SF_OK;
}

sf_status_t sfproto_address(const char *path, bool create, struct sockaddr_un *address)
{
  bool absent;
  return find(path, create, address, &absent);
}

/* ---- Connecting ---- */

static sf_status_t no_daemon(const char *path, int code)
{
  const char *from_env = variable("SF_SOCKET");
  if (from_env != NULL && strcmp(path, from_env) == 0)
    return sfshm_error(
        SF_ERR_NO_DAEMON,
        "no sfd answers at %s (%s); SF_SOCKET names it: unset SF_SOCKET, and sfrun brings a daemon of its "
        "own, or start sfd; sfctl daemons lists the daemons that run",
        path, strerror(code));
  return sfshm_error(SF_ERR_NO_DAEMON,
                     "no sfd answers at %s (%s); start the program with sfrun, which brings its own, or start sfd",
                     path, strerror(code));
}

static sf_status_t connect_error(const char *path)
{
  switch (errno) {
  case ENOENT:
  case ENOTDIR:
  case ECONNREFUSED: /* a stale socket, or no socket at all */
  case EPROTOTYPE:   /* a socket of another type */
    return no_daemon(path, errno);
  case EAGAIN:
    return no_daemon(path, ETIMEDOUT);
  case EACCES:
  case EPERM:
    return sfshm_error_errno(SF_ERR_PERM, "cannot connect to %s", path);
  default:
    return sfshm_error_errno(SF_ERR_SYS, "cannot connect to %s", path);
  }
}

/* For Unix sockets the send time-out also limits connect, which otherwise waits forever for a stopped daemon with a
 * full queue. */
static int connect_in_time(int fd, const struct sockaddr_un *address)
{
  const struct timeval limit = {.tv_sec = CONNECT_TIMEOUT_S};
  const struct timeval none = {0};
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
    return -1;
  int rc;
  do
    rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
  while (rc != 0 && errno == EINTR);
  return rc != 0 ? rc : setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
}

sf_status_t sfproto_connect(const char *path, int *fd_p)
{
  struct sockaddr_un address;
  bool absent;
  sf_status_t status = find(path, false, &address, &absent);
  if (status != SF_OK)
    return status;
  if (absent) /* a directory created since then could be anybody's */
    return no_daemon(address.sun_path, ENOENT);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot make a socket");
  if (connect_in_time(fd, &address) != 0) {
    status = connect_error(address.sun_path);
    close(fd);
    return status;
  }
  *fd_p = fd;
  return SF_OK;
}

/* Credentials of sockets and processes. No state. */
#include "daemon/clients/credentials.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

void sfd_credentials_read(int fd, uid_t *uid_p, pid_t *pid_p)
{
  struct ucred peer = {.pid = 0, .uid = (uid_t)-1};
  socklen_t length = sizeof peer;
  (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  *uid_p = peer.uid;
  *pid_p = peer.pid;
}

int sfd_credentials_pidfd(pid_t pid)
{
  return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

bool sfd_credentials_is_unix_stream(int fd)
{
  int domain = 0;
  int type = 0;
  socklen_t length = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0)
    return false;
  length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && domain == AF_UNIX && type == SOCK_STREAM;
}

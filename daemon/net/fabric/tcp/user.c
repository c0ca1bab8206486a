/* User of a connection's other end: see user.h. The loop's thread. */
#include "daemon/net/fabric/tcp/user.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/base/error.h"

typedef union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} address_t;

typedef int get_name_t(int fd, struct sockaddr *address, socklen_t *size);

#define KERNEL_TEXT_SIZE 40 /* 32 digits, ':', 4 digits */

static bool name_of(int fd, get_name_t *get_name, address_t *address_p)
{
  socklen_t size = sizeof *address_p;
  memset(address_p, 0, sizeof *address_p);
  return get_name(fd, &address_p->any, &size) == 0;
}

static bool is_loopback(const address_t *address)
{
  if (address->any.sa_family == AF_INET)
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

sf_status_t sfd_tcp_user_check_bound(int fd)
{
  address_t here;
  if (name_of(fd, getsockname, &here) && is_loopback(&here))
    return SF_OK;
  return sfshm_error(SF_ERR_ARG,
                     "without option peer-key, or MUNGE, daemons serve on loopback only: expected localhost, "
                     "127.0.0.1 or ::1 as the place to listen at");
}

/* As in /proc/net/tcp: 32-bit words in native order. */
static void kernel_text(const address_t *address, char text[KERNEL_TEXT_SIZE])
{
  if (address->any.sa_family == AF_INET) {
    snprintf(text, KERNEL_TEXT_SIZE, "%08X:%04X", address->v4.sin_addr.s_addr, ntohs(address->v4.sin_port));
    return;
  }
  uint32_t words[4];
  memcpy(words, &address->v6.sin6_addr, sizeof words);
  snprintf(text, KERNEL_TEXT_SIZE, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3],
           ntohs(address->v6.sin6_port));
}

/* The user of the socket with these two ends; false: another socket's line, or no user. */
static bool read_line(const char *line, const char *from, const char *to, uid_t *uid_p)
{
  char line_from[KERNEL_TEXT_SIZE], line_to[KERNEL_TEXT_SIZE];
  unsigned uid;
  unsigned long inode;
  if (sscanf(line, "%*d: %39s %39s %*x %*x:%*x %*x:%*x %*x %u %*d %lu", line_from, line_to, &uid, &inode) != 4)
    return false;
  *uid_p = uid;
  return inode != 0 && strcmp(line_from, from) == 0 && strcmp(line_to, to) == 0;
}

static sf_status_t find_user(const address_t *from, const address_t *to, uid_t *uid_p)
{
  const char *path = from->any.sa_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6";
  char from_text[KERNEL_TEXT_SIZE], to_text[KERNEL_TEXT_SIZE], line[512];
  FILE *table = fopen(path, "re");
  if (table == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "has an unknown user: cannot open %s", path);
  kernel_text(from, from_text);
  kernel_text(to, to_text);
  bool found = false;
  while (!found && fgets(line, sizeof line, table) != NULL)
    found = read_line(line, from_text, to_text, uid_p);
  fclose(table);
  return found ? SF_OK
               : sfshm_error(SF_ERR_ARG, "is not on this host: daemons of several need option peer-key, or MUNGE");
}

sf_status_t sfd_tcp_user_check_peer(int fd)
{
  address_t here, there;
  uid_t uid = 0;
  if (!name_of(fd, getsockname, &here) || !name_of(fd, getpeername, &there))
    return sfshm_error_errno(SF_ERR_SYS, "has an unknown user");
  sf_status_t status = find_user(&there, &here, &uid);
  if (status == SF_OK && uid != geteuid())
    return sfshm_error(SF_ERR_PERM, "runs as another user than this node");
  return status;
}

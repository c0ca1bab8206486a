/* Loopback: see loopback.h. The kernel chooses the ports, and daemons inherit the sockets, so that no port can be taken
 * in between. Single-threaded. */
#include "tools/sfrun/hosts/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/hosts/keys.h"

#define PEERS_NAME "peers"
#define ADDRESS_BYTES sizeof "127.0.0.1:65535"

static sf_status_t open_socket(int *fd_p, uint16_t *port_p)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size_bytes = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "socket for a daemon on the loopback interface");
  if (bind(fd, (struct sockaddr *)&address, size_bytes) != 0 || listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size_bytes) != 0) {
    close(fd);
    return sfshm_error_errno(SF_ERR_SYS, "listening on 127.0.0.1 for a daemon");
  }
  *fd_p = fd;
  *port_p = ntohs(address.sin_port);
  return SF_OK;
}

static sf_status_t open_sockets(sfrun_loopback_t *loopback, int32_t nnodes, char *text, size_t *length_p)
{
  size_t length = 0;
  for (int32_t node = 0; node < nnodes; node++) {
    uint16_t port = 0;
    sf_status_t status = open_socket(&loopback->fds[node], &port);
    if (status)
      return status;
    loopback->nnodes++;
    length += (size_t)sprintf(text + length, "127.0.0.1:%u\n", port);
  }
  *length_p = length;
  return SF_OK;
}

sf_status_t sfrun_loopback_open(const char *directory, int32_t nnodes, sfrun_loopback_t *loopback)
{
  size_t length = 0;
  char *text = malloc((size_t)nnodes * (ADDRESS_BYTES + 1));
  loopback->fds = calloc((size_t)nnodes, sizeof *loopback->fds);
  sf_status_t status = SF_OK;
  if (!text || !loopback->fds)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for the addresses of %d daemons", nnodes);
  if (!status)
    status = open_sockets(loopback, nnodes, text, &length);
  if (!status)
    status = sfrun_directory_write(directory, PEERS_NAME, text, length);
  if (!status)
    status = sfrun_key_write(directory);
  free(text);
  snprintf(loopback->peers, sizeof loopback->peers, "%s/" PEERS_NAME, directory);
  snprintf(loopback->key, sizeof loopback->key, "%s/" SFRUN_KEY_NAME, directory);
  return status;
}

void sfrun_loopback_close(sfrun_loopback_t *loopback)
{
  for (int32_t node = 0; node < loopback->nnodes; node++)
    close(loopback->fds[node]);
  free(loopback->fds);
  *loopback = (sfrun_loopback_t){.nnodes = 0};
}

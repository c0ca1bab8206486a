/* State of one daemon: see daemon.h. The daemon's thread. */
#include "daemon/base/daemon.h"

uint64_t sfd_server_new_serial(sfd_server_t *server)
{
  return ++server->last_serial;
}

void sfd_server_end(sfd_server_t *server)
{
  server->ending = true;
}

/* State of one daemon: see daemon.h. The daemon's thread. */
#include "daemon/base/daemon.h"

#define YIELDED_NS 50000 /* data that come so soon after a yield may have waited for the core */

/* If data had to wait because a rank held the core, the loop sleeps at once, for so long. Each further time in a row it
 * sleeps at once for twice as long. */
#define CROWDED_FOR_LEAST_NS 5000000
#define CROWDED_FOR_MOST_NS 1000000000

uint64_t sfd_server_new_serial(sfd_server_t *server)
{
  return ++server->last_serial;
}

void sfd_server_end(sfd_server_t *server)
{
  server->ending = true;
}

/* Something has come. If it had to wait because others held the core, it is better to sleep. */
static void learn_from_yield(sfd_server_t *server, uint64_t now)
{
  if (now - server->yielded_ns > YIELDED_NS) /* it has slept since, or has learnt from it */
    return;
  server->yielded_ns = 0;
  if (!server->yielded_long) {
    server->crowded_for_ns = 0;
    return;
  }
  server->crowded_for_ns = server->crowded_for_ns == 0 ? CROWDED_FOR_LEAST_NS : server->crowded_for_ns * 2;
  if (server->crowded_for_ns > CROWDED_FOR_MOST_NS)
    server->crowded_for_ns = CROWDED_FOR_MOST_NS;
  server->crowded_until_ns = now + server->crowded_for_ns;
}

void sfd_server_moved(sfd_server_t *server)
{
  server->last_moved_ns = uv_hrtime();
  learn_from_yield(server, server->last_moved_ns);
}

void sfd_server_expect(sfd_server_t *server, uint64_t for_ns)
{
  server->expected_until_ns = for_ns != 0 ? uv_hrtime() + for_ns : 0;
}

/* How long the daemon's loop looks for more data before it sleeps. Times are set, not waited for. */
#include "daemon/base/idle.h"

#include <uv.h>

#include "tests/unit/runner.h"

#define US UINT64_C(1000)
#define LOOKS 100

/* Data ends a sleep of that length. */
static void sleep_for(sfd_idle_t *idle, uint64_t ns)
{
  sfd_idle_moved(idle);
  sfd_idle_sleep(idle);
  ck_assert_uint_ne(idle->slept_ns, 0);
  idle->slept_ns = uv_hrtime() - ns;
  sfd_idle_moved(idle);
}

static bool expects_after(sfd_idle_t *idle, uint64_t ns)
{
  idle->moved_ns = uv_hrtime() - ns;
  return sfd_idle_expects_more(idle);
}

/* More often than once: if the test is held up before the loop looks, the data came longer ago. */
static bool expects_at_last(sfd_idle_t *idle, uint64_t ns)
{
  bool expects = false;
  for (int i = 0; i < LOOKS && !expects; i++)
    expects = expects_after(idle, ns);
  return expects;
}

SFTEST(short_sleeps_are_avoided)
{
  sfd_idle_t idle = {0};
  ck_assert(!expects_after(&idle, 60 * US));
  for (int i = 0; i < 20; i++)
    sleep_for(&idle, 1);
  ck_assert(expects_at_last(&idle, 200 * US));
  ck_assert(!expects_after(&idle, 900 * US));
}

SFTEST(long_sleeps_are_taken_soon)
{
  sfd_idle_t idle = {0};
  for (int i = 0; i < 20; i++)
    sleep_for(&idle, 1);
  for (int i = 0; i < 20; i++)
    sleep_for(&idle, 5000 * US);
  ck_assert(!expects_after(&idle, 60 * US));
}

/* The loop sleeps after other work, too: such sleeps say nothing about data. */
SFTEST(sleeps_without_data_teach_nothing)
{
  sfd_idle_t idle = {0};
  sfd_idle_sleep(&idle);
  ck_assert_uint_eq(idle.slept_ns, 0);
  sfd_idle_moved(&idle);
  ck_assert(!expects_after(&idle, 60 * US));
}

/* Idle strategy of the loop: see idle.h. */
#include "daemon/base/idle.h"

#include <sched.h>
#include <string.h>
#include <uv.h>

/* How long the loop looks for more data: twice as long after each sleep that new data ended soon, half as long after
 * each long sleep. A program that exchanges every 100 us, and computes or calls MPI between, keeps the loop awake. */
#define LOOK_LEAST_NS 50000
#define LOOK_MOST_NS 800000

/* A yield of that length has kept the loop from work. */
#define CROWDED_NS 1000000
#define CROWDED_FOR_LEAST_NS 5000000
#define CROWDED_FOR_MOST_NS 1000000000

#define MOVE_PAUSE_NS 1000000

static uint64_t look_ns(const sfd_idle_t *idle)
{
  return idle->look_ns != 0 ? idle->look_ns : LOOK_LEAST_NS;
}

/* Data has ended a sleep. */
static void learn_from_sleep(sfd_idle_t *idle, uint64_t now)
{
  uint64_t ns = look_ns(idle), slept_ns = now - idle->slept_ns;
  idle->slept_ns = 0;
  if (slept_ns < LOOK_MOST_NS && ns < LOOK_MOST_NS)
    idle->look_ns = ns * 2;
  else if (slept_ns >= LOOK_MOST_NS && ns > LOOK_LEAST_NS)
    idle->look_ns = ns / 2;
}

/* If nothing came during the yield, a rank has computed, and nothing is lost. If something came, sleeping is better. */
static void learn_from_yield(sfd_idle_t *idle)
{
  /* Later, the loop has slept since, or has learnt from the yield already. */
  if (idle->moved_ns - idle->yielded_ns > look_ns(idle))
    return;
  idle->yielded_ns = 0;
  if (!idle->yielded_long) {
    idle->crowded_for_ns = 0;
    return;
  }
  idle->crowded_for_ns = idle->crowded_for_ns == 0 ? CROWDED_FOR_LEAST_NS : idle->crowded_for_ns * 2;
  if (idle->crowded_for_ns > CROWDED_FOR_MOST_NS)
    idle->crowded_for_ns = CROWDED_FOR_MOST_NS;
  idle->crowded_until_ns = idle->moved_ns + idle->crowded_for_ns;
}

void sfd_idle_moved(sfd_idle_t *idle)
{
  idle->moved_ns = uv_hrtime();
  if (idle->slept_ns != 0)
    learn_from_sleep(idle, idle->moved_ns);
  learn_from_yield(idle);
}

void sfd_idle_expect(sfd_idle_t *idle, uint64_t for_ns)
{
  idle->expected_until_ns = for_ns != 0 ? uv_hrtime() + for_ns : 0;
}

/* Ranks in set-up sleep or yield while they wait, so the loop looks for their messages on crowded cores, too. */
bool sfd_idle_expects_more(const sfd_idle_t *idle)
{
  uint64_t now = uv_hrtime();
  if (now < idle->expected_until_ns)
    return true;
  return idle->moved_ns != 0 && now - idle->moved_ns < look_ns(idle) && now >= idle->crowded_until_ns;
}

void sfd_idle_sleep(sfd_idle_t *idle)
{
  if (idle->moved_ns != 0)
    idle->slept_ns = uv_hrtime();
  idle->moved_ns = idle->expected_until_ns = 0;
}

void sfd_idle_yield(sfd_idle_t *idle)
{
  uint64_t before = uv_hrtime();
  sched_yield();
  idle->yielded_ns = uv_hrtime();
  idle->yielded_long = idle->yielded_ns - before >= CROWDED_NS;
}

bool sfd_idle_may_move(const sfd_idle_t *idle)
{
  return idle->yielded_ns >= idle->next_move_ns;
}

static bool subtract(sfd_cpus_t *cpus, const sfd_cpus_t *taken)
{
  unsigned long left = 0;
  for (size_t i = 0; i < sizeof cpus->bits / sizeof cpus->bits[0]; i++)
    left |= cpus->bits[i] &= ~taken->bits[i];
  return left != 0;
}

/* Allows the thread its former cores. A mask of all cores leaves the choice to the thread's cpuset, even if that
 * changes later; but the daemon may have been started with fewer. */
static void allow_again(const sfd_cpus_t *allowed)
{
  sfd_cpus_t all;
  memset(&all, 0xff, sizeof all);
  if (sched_setaffinity(0, sizeof all, (const cpu_set_t *)&all) == 0 && sfd_cpus_of(0, &all) &&
      memcmp(&all, allowed, sizeof all) == 0)
    return;
  (void)sched_setaffinity(0, sizeof *allowed, (const cpu_set_t *)allowed);
}

void sfd_idle_move(sfd_idle_t *idle, const sfd_cpus_t *taken)
{
  sfd_cpus_t allowed, free_cpus;
  idle->next_move_ns = uv_hrtime() + MOVE_PAUSE_NS;
  if (!sfd_cpus_of(0, &allowed))
    return;
  free_cpus = allowed;
  if (subtract(&free_cpus, taken) && sched_setaffinity(0, sizeof free_cpus, (const cpu_set_t *)&free_cpus) == 0)
    allow_again(&allowed);
}

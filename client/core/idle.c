/* Idle strategy: see idle.h. */
#include "client/core/idle.h"

#include <sched.h>
#include <time.h>

/* Time to yield: long enough for a partner on the same core to do its part, short enough that a rank that waits for
 * computation elsewhere uses little time. */
#define YIELD_NS 200000
#define NAP_NS 50000

int64_t sfc_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool sfc_idle_step_slow(sfc_idle_t *idle)
{
  if (idle->since_ns == 0)
    idle->since_ns = sfc_now_ns();
  /* A yield without another runnable thread is as cheap as reading the clock. */
  else if (idle->rounds++ % 8 == 7 && sfc_now_ns() >= idle->since_ns + YIELD_NS)
    return false;
  sched_yield();
  return true;
}

void sfc_idle_pause(sfc_idle_t *idle)
{
  if (!sfc_idle_step(idle))
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

void sfc_idle_yield_to_daemon(const sfshm_board_t *board)
{
  if (atomic_load_explicit(&board->crowded, memory_order_relaxed) != 0)
    sched_yield();
}

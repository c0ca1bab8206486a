/* The idle strategy of a rank: spin, then yield, then sleep. */
#include "client/core/idle.h"

#include "tests/unit/runner.h"

#define LONG_NS INT64_C(20000000000) /* longer than any of these tests takes on a loaded machine */

static sfc_idle_t start(uint32_t cores, uint32_t participants, uint32_t spins)
{
  sfshm_board_t board = {.cores = cores, .participants = participants};
  sfc_idle_t idle;
  sfc_idle_start(&idle, &board, spins);
  return idle;
}

SFTEST(spinning_only_with_a_core_for_each)
{
  for (uint32_t cores = 1; cores < 20; cores++)
    for (uint32_t participants = 0; participants < 40; participants++)
      ck_assert_uint_eq(start(cores, participants, 300).spins_left, participants <= cores ? 300 : 0);
}

/* Steps until the waiter would sleep. */
static int64_t steps_to_sleep(sfc_idle_t *idle)
{
  int64_t steps = 1;
  while (sfc_idle_step(idle))
    steps++;
  return steps;
}

SFTEST(spin_then_yield_then_sleep)
{
  sfc_idle_t idle = start(4, 4, 1000);
  for (int i = 0; i < 1000; i++)
    ck_assert(sfc_idle_step(&idle));
  ck_assert_uint_eq(idle.spins_left, 0);
  ck_assert_int_eq(idle.since_ns, 0); /* the clock has not been read while spinning */
  int64_t began_ns = sfc_now_ns();
  ck_assert_int_gt(steps_to_sleep(&idle), 8);
  int64_t took_ns = sfc_now_ns() - began_ns;
  ck_assert_int_ge(took_ns, 150000); /* a partner on the same core gets a chance */
  ck_assert_int_lt(took_ns, LONG_NS);
}

SFTEST(oversubscribed_waiters_yield_at_once)
{
  sfc_idle_t idle = start(2, 3, 1000000);
  ck_assert(sfc_idle_step(&idle));
  ck_assert_int_ne(idle.since_ns, 0);
  steps_to_sleep(&idle);
  /* Woken for nothing: the waiter sleeps again soon. */
  int64_t began_ns = sfc_now_ns();
  ck_assert_int_le(steps_to_sleep(&idle), 16);
  ck_assert_int_lt(sfc_now_ns() - began_ns, LONG_NS);
}

/* Eight steps of which the last sleeps: the clock is read once in eight. */
SFTEST(pauses_sleep_where_nobody_wakes)
{
  sfc_idle_t idle = {0};
  steps_to_sleep(&idle);
  int64_t began_ns = sfc_now_ns();
  for (int i = 0; i < 800; i++)
    sfc_idle_pause(&idle);
  ck_assert_int_ge(sfc_now_ns() - began_ns, 100 * 50000);
}

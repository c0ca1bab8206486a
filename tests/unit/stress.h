/* How long threads that send each other things as fast as they can go on: where other programs keep the cores busy,
 * each turn of two threads that wait for each other takes a time slice, and a number of rounds alone would be no bound.
 */
#ifndef SFTEST_STRESS_H
#define SFTEST_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SFTEST_STRESS_S 2

static inline int64_t sftest_stress_now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* When to stop though there are rounds left. */
static inline int64_t sftest_stress_until_s(void)
{
  return sftest_stress_now_s() + SFTEST_STRESS_S;
}

static inline bool sftest_stress_is_over(int64_t until_s)
{
  return sftest_stress_now_s() > until_s;
}

#endif

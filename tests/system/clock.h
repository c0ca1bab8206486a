/* Time, seeds and sizes for system tests. */
#ifndef SFTEST_CLOCK_H
#define SFTEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/hang.h"

/* Monotonic, the same for all processes. */
int64_t sftest_now_ms(void);
void sftest_sleep_ms(int64_t ms);

/* Until the condition does not hold any more. */
#define SFTEST_SLEEP_WHILE(...)                                                                                        \
  while (__VA_ARGS__)                                                                                                  \
  sftest_sleep_ms(1)

/* The time without that for which the machine held its processes up, by which limits are judged:
 * tests/unit/machine_clock.h. Watching begins in the test's process, before it forks ranks that read the clock. */
void sftest_machine_watch(void);
int64_t sftest_machine_ms(void);

/* SF_TEST_SEED, or the next one of the sequence that TEST_SEED begins; tests/run sets it. The same for every run of a
 * test, and for each of its cases, as Check forks a process for each. */
uint64_t sftest_seed(void);
/* Whether SF_TEST_SEED is set: then the test runs only what that seed says. */
bool sftest_seed_is_given(void);

/* Whether this build has a sanitizer; the number of iterations, or the limit in ms, that suits it, as they are slow,
 * and what tests run on, which SFTEST_SLOWDOWN says to be so many times slower than usual. */
bool sftest_is_sanitized(void);
int sftest_scale(int iterations);

/* How many random jobs to try: as many as usual, scaled, or SFTEST_ROUNDS; some times as many in make check-all; the
 * one that SF_TEST_SEED says. */
int sftest_rounds(int usual);
int64_t sftest_limit_ms(int64_t ms);

/* Whether this is make check-all, which tries many times as much. */
bool sftest_is_thorough(void);

/* Whether to try a case of a long list: always, but of a build with a sanitizer only a third, chosen at random. */
bool sftest_is_chosen(int number);

/* Random numbers: splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t sftest_hash(uint64_t x)
{
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static inline uint64_t sftest_hash2(uint64_t x, uint64_t y)
{
  return sftest_hash(sftest_hash(x) ^ y);
}

static inline uint64_t sftest_random(uint64_t *state)
{
  uint64_t x = *state;
  *state += UINT64_C(0x9e3779b97f4a7c15);
  return sftest_hash(x);
}

/* 0 .. n - 1 */
static inline int64_t sftest_below(uint64_t *state, int64_t n)
{
  return (int64_t)(sftest_random(state) % (uint64_t)n);
}

#endif

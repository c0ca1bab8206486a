/* Random numbers of unit tests, and where they begin. */
#ifndef SFTEST_SEED_H
#define SFTEST_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The seed of random tests: SF_TEST_SEED, or the given one, changed by TEST_SEED; printed so that a failure can be
 * repeated. */
static inline unsigned sftest_seed(unsigned otherwise)
{
  const char *text = getenv("SF_TEST_SEED");
  const char *others = getenv("TEST_SEED");
  unsigned seed = text != NULL     ? (unsigned)strtoul(text, NULL, 0)
                  : others != NULL ? otherwise + 7919 * (unsigned)strtoul(others, NULL, 0)
                                   : otherwise;
  printf("SF_TEST_SEED=%u\n", seed);
  fflush(stdout);
  return seed;
}

/* The seed of a program's tests, in a variable of this name, computed before main. */
#define SFTEST_SEED(otherwise)                                                                                         \
  static unsigned seed;                                                                                                \
  __attribute__((constructor)) static void sftest_seed_enter(void)                                                     \
  {                                                                                                                    \
    seed = sftest_seed(otherwise);                                                                                     \
  }                                                                                                                    \
  struct sftest_end_of_seed

/* A small generator of our own, so that a seed means the same everywhere. */
static inline unsigned sftest_random(uint64_t *state)
{
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(*state >> 33);
}

/* Another one of which all bits are good: splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t sftest_random64(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline uint64_t sftest_random_start(unsigned seed, unsigned stream)
{
  return ((uint64_t)seed << 32) + stream;
}

#endif

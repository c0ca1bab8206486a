/* Time, seeds and sizes: see clock.h. */
#include "tests/system/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/machine_clock.h"

#if defined(__SANITIZE_THREAD__)
#define SLOWDOWN 10
#elif defined(__SANITIZE_ADDRESS__)
#define SLOWDOWN 5
#else
#define SLOWDOWN 1
#endif

#define CHOSEN_ONE_IN 3
#define THOROUGH 4 /* times as much */

int64_t sftest_now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sftest_sleep_ms(int64_t ms)
{
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

void sftest_machine_watch(void)
{
  sftest_machine_clock_start();
}

int64_t sftest_machine_ms(void)
{
  return sftest_machine_clock_ns() / 1000000;
}

bool sftest_seed_is_given(void)
{
  return getenv("SF_TEST_SEED") != NULL;
}

static uint64_t first_seed(void)
{
  const char *text = getenv("TEST_SEED");
  return text != NULL ? strtoull(text, NULL, 0) : 0;
}

uint64_t sftest_seed(void)
{
  static uint64_t number;
  const char *text = getenv("SF_TEST_SEED");
  return text != NULL ? strtoull(text, NULL, 0) : sftest_hash2(first_seed(), number++) >> 32;
}

bool sftest_is_sanitized(void)
{
  return SLOWDOWN > 1;
}

static int slowdown_here(void)
{
  const char *text = getenv("SFTEST_SLOWDOWN");
  int slowdown = text != NULL ? atoi(text) : 1;
  return slowdown > 1 ? slowdown : 1;
}

int sftest_scale(int iterations)
{
  int slowdown = SLOWDOWN * slowdown_here();
  return iterations > slowdown ? iterations / slowdown : 1;
}

bool sftest_is_thorough(void)
{
  const char *level = getenv("SFTEST_LEVEL");
  return level != NULL && strcmp(level, "all") == 0;
}

int sftest_rounds(int usual)
{
  const char *text = getenv("SFTEST_ROUNDS");
  if (sftest_seed_is_given())
    return 1;
  return text != NULL ? atoi(text) : sftest_scale(sftest_is_thorough() ? THOROUGH * usual : usual);
}

bool sftest_is_chosen(int number)
{
  return SLOWDOWN == 1 || sftest_hash2(first_seed(), (uint64_t)number) % CHOSEN_ONE_IN == 0;
}

int64_t sftest_limit_ms(int64_t ms)
{
  return ms * (SLOWDOWN > 1 ? 3 : 1) * slowdown_here();
}

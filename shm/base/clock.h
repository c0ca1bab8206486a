/* The monotonic clock. */
#ifndef SFSHM_BASE_CLOCK_H
#define SFSHM_BASE_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC, which is the same in all processes of a node. */
static inline int64_t sfshm_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t sfshm_now_ms(void)
{
  return sfshm_now_ns() / 1000000;
}

/* Also when signals interrupt it. */
static inline void sfshm_sleep_ms(int64_t ms)
{
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

#endif

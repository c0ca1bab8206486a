/* The slow parts of waiting: yielding and sleeping. Any thread. */
#include "shm/region/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a waiter gives its core away without sleeping. Long enough for a partner that shares the core to do its
 * part, short enough that a rank waiting for real work elsewhere costs nothing. */
#define YIELD_NS 200000

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sfshm_wake_sleep(sfshm_wake_t *wake, uint32_t ticket, int64_t timeout_ns)
{
  struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  /* Not FUTEX_PRIVATE: the waker is another process. EAGAIN, EINTR and ETIMEDOUT all mean: look again. */
  (void)syscall(SYS_futex, &wake->word, FUTEX_WAIT, ticket, timeout_ns < 0 ? NULL : &timeout, NULL, 0);
}

/* Of several wakers one disarms. Adding 1 clears the lowest bit and counts. */
void sfshm_wake_slow(sfshm_wake_t *wake)
{
  uint32_t word = atomic_fetch_or_explicit(&wake->word, 0, memory_order_seq_cst);
  while ((word & SFSHM_WAKE_ARMED) != 0) {
    if (!atomic_compare_exchange_weak_explicit(&wake->word, &word, word + 1, memory_order_seq_cst,
                                               memory_order_seq_cst))
      continue;
    (void)syscall(SYS_futex, &wake->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return;
  }
}

void sfshm_wake_always(sfshm_wake_t *wake)
{
  uint32_t word = atomic_load_explicit(&wake->word, memory_order_relaxed), counted;
  do
    counted = (word | SFSHM_WAKE_ARMED) + 1;
  while (
      !atomic_compare_exchange_weak_explicit(&wake->word, &word, counted, memory_order_seq_cst, memory_order_seq_cst));
  (void)syscall(SYS_futex, &wake->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

sfshm_wait_step_t sfshm_waiter_step_slow(sfshm_waiter_t *waiter)
{
  if (waiter->since_ns == 0)
    waiter->since_ns = now_ns();
  /* The clock is read now and then only: a yield with nobody else to run is as cheap as reading it. */
  else if (waiter->rounds++ % 8 == 7 && now_ns() >= waiter->since_ns + YIELD_NS)
    return SFSHM_WAIT_SLEEP;
  sched_yield();
  return SFSHM_WAIT_LOOK;
}

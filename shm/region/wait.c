/* The slow parts of wake words: sleeping and waking. Any thread. */
#include "shm/region/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void sfshm_wake_sleep(sfshm_wake_t *wake, uint32_t ticket, int64_t timeout_ns)
{
  struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  /* Not FUTEX_PRIVATE: the waker is another process. EAGAIN, EINTR and ETIMEDOUT all mean: look again. */
  (void)syscall(SYS_futex, &wake->word, FUTEX_WAIT, ticket, timeout_ns < 0 ? NULL : &timeout, NULL, 0);
}

/* One of several wakers disarms. Adding 1 clears the lowest bit and counts. */
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

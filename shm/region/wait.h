/* Wake words: sleeping until another process has published something, and waking its sleepers.
 *
 * A rank's inbox has one wake word. Its lowest bit says that the word is armed. The other bits count how often it was
 * disarmed:
 *
 *     sleeper                                  waker
 *     ticket = word |= 1                       publish (release store of a flag)
 *     look at all flags once more              order the publication before the next load
 *     futex_wait(word, ticket)                 if armed: if compare_exchange(word, word + 1) futex_wake
 *
 * Either the sleeper's second look sees the publication, or the waker sees the armed word: both sides order a store
 * before a load of the other's word. Only a waker disarms; a sleeper that finds work leaves the word armed, at the cost
 * of one wake-up too many. Threads of one process share the word: the count keeps one of them, which arms it again,
 * from hiding a wake-up from another that is about to sleep. tests/model/wake.pml is the model of this. */
#ifndef SFSHM_REGION_WAIT_H
#define SFSHM_REGION_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sfshm_wake {
  _Alignas(128) _Atomic uint32_t word;
} sfshm_wake_t;
_Static_assert(sizeof(sfshm_wake_t) == 128, "layout version 1");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "wake words shared between processes must be lock-free");

#define SFSHM_WAKE_ARMED 1u

/* Call once after publishing on any number of lanes and before sfshm_wake for their readers. Thread sanitizer does not
 * understand fences; under it sfshm_wake reads the word by a read-modify-write, which orders as well and costs more. */
static inline void sfshm_publish_barrier(void)
{
#ifndef __SANITIZE_THREAD__
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Arms the wake word before the sleeper's last look. The barrier, which pairs with that of the waker, orders the store
 * before the loads of that look. Returns the ticket for sfshm_wake_sleep. */
static inline uint32_t sfshm_wake_arm(sfshm_wake_t *wake)
{
  uint32_t word = atomic_fetch_or_explicit(&wake->word, SFSHM_WAKE_ARMED, memory_order_seq_cst);
  sfshm_publish_barrier();
  return word | SFSHM_WAKE_ARMED;
}

/* Sleeps until a waker disarms the word, at most timeout_ns (< 0: no limit). Returns at once if that happened after the
 * ticket was issued. May return early. */
void sfshm_wake_sleep(sfshm_wake_t *wake, uint32_t ticket, int64_t timeout_ns);

void sfshm_wake_slow(sfshm_wake_t *wake);

/* Wakes the word's sleepers even if the word is not armed: a waker may have died between disarming and waking. For job
 * failures. */
void sfshm_wake_always(sfshm_wake_t *wake);

/* Wakes the word's sleepers, if any. Usually one load of a line that nobody writes. */
static inline void sfshm_wake(sfshm_wake_t *wake)
{
#ifdef __SANITIZE_THREAD__
  uint32_t word = atomic_fetch_or_explicit(&wake->word, 0, memory_order_seq_cst);
#else
  uint32_t word = atomic_load_explicit(&wake->word, memory_order_relaxed);
#endif
  if ((word & SFSHM_WAKE_ARMED) != 0)
    sfshm_wake_slow(wake);
}

static inline void sfshm_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#else
  atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Waits between two looks at a line that is about to arrive. The next load begins only after the previous one has
 * completed, so that no speculative load must be undone when the line arrives. On some processors a pause takes as long
 * as the transfer of a line. */
static inline void sfshm_cpu_look_again(void)
{
#ifdef __SSE2__
  __builtin_ia32_lfence();
#else
  sfshm_cpu_relax();
#endif
}

#endif

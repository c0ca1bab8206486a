/* Waiting for another process: spin, then yield the core, then sleep in the kernel.
 *
 * Sleeping uses one word in the sleeper's inbox, the wake word. Its lowest bit says that it is armed, the others count
 * how often it was disarmed:
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
#ifndef SFSHM_WAIT_H
#define SFSHM_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/region/board.h"

typedef struct sfshm_wake {
  _Alignas(128) _Atomic uint32_t word;
} sfshm_wake_t;
_Static_assert(sizeof(sfshm_wake_t) == 128, "layout version 1");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "wake words shared between processes must be lock-free");

#define SFSHM_WAKE_ARMED 1u

/* To be called once between publishing on any number of lanes and sfshm_wake for their readers. Thread sanitizer does
 * not understand fences; there the word is read by a read-modify-write, which orders as well and costs more. */
static inline void sfshm_publish_barrier(void)
{
#ifndef __SANITIZE_THREAD__
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Declared by a sleeper before its last look. The barrier, which pairs with that of the waker, orders it before the
 * loads of that look. Returns the ticket for sfshm_wake_sleep. */
static inline uint32_t sfshm_wake_arm(sfshm_wake_t *wake)
{
  uint32_t word = atomic_fetch_or_explicit(&wake->word, SFSHM_WAKE_ARMED, memory_order_seq_cst);
  sfshm_publish_barrier();
  return word | SFSHM_WAKE_ARMED;
}

/* Sleeps until woken, if nobody has been woken since the ticket was given; at most timeout_ns (< 0: for ever). May
 * return early. */
void sfshm_wake_sleep(sfshm_wake_t *wake, uint32_t ticket, int64_t timeout_ns);

void sfshm_wake_slow(sfshm_wake_t *wake);

/* Wakes the word's sleepers whatever the word says: a waker may have died between disarming it and waking them. For
 * failures of the job. */
void sfshm_wake_always(sfshm_wake_t *wake);

/* Wakes the word's sleepers, if any. A load of a line that nobody writes, in the common case. */
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

/* Between two looks at a line that is about to come: the next look waits for the end of this one, so that none begun
 * early has to be undone when the line comes. The pause of some processors takes as long as the line. */
static inline void sfshm_cpu_look_again(void)
{
#ifdef __SSE2__
  __builtin_ia32_lfence();
#else
  sfshm_cpu_relax();
#endif
}

typedef enum sfshm_wait_step {
  SFSHM_WAIT_LOOK,  /* look again at what is waited for */
  SFSHM_WAIT_SLEEP, /* arm, look again, and sleep if nothing is there */
} sfshm_wait_step_t;

/* One wait. Small enough to live on the stack. */
typedef struct sfshm_waiter {
  uint32_t spins_left;
  uint32_t rounds;  /* steps taken after spinning */
  int64_t since_ns; /* when spinning was over, on CLOCK_MONOTONIC; 0: not yet */
} sfshm_waiter_t;

/* Spins only while every participant of the node can have a core of its own. */
static inline void sfshm_waiter_start(sfshm_waiter_t *waiter, const sfshm_board_t *board, uint32_t spins)
{
  uint32_t cores = atomic_load_explicit(&board->cores, memory_order_relaxed);
  uint32_t participants = atomic_load_explicit(&board->participants, memory_order_relaxed);
  *waiter = (sfshm_waiter_t){.spins_left = participants <= cores ? spins : 0};
}

sfshm_wait_step_t sfshm_waiter_step_slow(sfshm_waiter_t *waiter);

/* To be called after each unsuccessful look. */
static inline sfshm_wait_step_t sfshm_waiter_step(sfshm_waiter_t *waiter)
{
  if (waiter->spins_left == 0)
    return sfshm_waiter_step_slow(waiter);
  waiter->spins_left--;
  sfshm_cpu_relax();
  return SFSHM_WAIT_LOOK;
}

#endif

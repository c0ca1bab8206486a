/* Waiting for another process: spin, then yield the core, then sleep in the kernel.
 *
 * Sleeping uses one word in the sleeper's inbox, the wake word:
 *
 *     sleeper                                  waker
 *     armed = 1                                publish (release store of a flag)
 *     look at all flags once more              order the publication before the next load
 *     futex_wait(armed, 1)                     if armed: if exchange(armed, 0) futex_wake
 *
 * Either the sleeper's second look sees the publication, or the waker sees the armed word: both sides order a store
 * before a load of the other's word. Only a waker disarms; a sleeper that finds work leaves the word armed, at the cost
 * of one wake-up too many. tests/model/wake.pml is the model of this. */
#ifndef SFSHM_WAIT_H
#define SFSHM_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/board.h"

typedef struct sfshm_wake {
  _Alignas(128) _Atomic uint32_t armed;
} sfshm_wake_t;
_Static_assert(sizeof(sfshm_wake_t) == 128, "layout version 1");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "wake words shared between processes must be lock-free");

/* Declared by a sleeper before its last look. Sequentially consistent: ordered before the loads of that look. */
static inline void sfshm_wake_arm(sfshm_wake_t *wake)
{
  atomic_exchange_explicit(&wake->armed, 1, memory_order_seq_cst);
}

/* Sleeps until woken, if the word is still armed; at most timeout_ns (< 0: for ever). May return early. */
void sfshm_wake_sleep(sfshm_wake_t *wake, int64_t timeout_ns);

void sfshm_wake_slow(sfshm_wake_t *wake);

/* To be called once between publishing on any number of lanes and sfshm_wake for their readers. Thread sanitizer does
 * not understand fences; there the word is read by a read-modify-write, which orders as well and costs more. */
static inline void sfshm_publish_barrier(void)
{
#ifndef __SANITIZE_THREAD__
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Wakes the word's sleepers, if any. A load of a line that nobody writes, in the common case. */
static inline void sfshm_wake(sfshm_wake_t *wake)
{
#ifdef __SANITIZE_THREAD__
  if (atomic_fetch_or_explicit(&wake->armed, 0, memory_order_seq_cst) != 0)
#else
  if (atomic_load_explicit(&wake->armed, memory_order_relaxed) != 0)
#endif
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

typedef enum sfshm_wait_step {
  SFSHM_WAIT_LOOK,  /* look again at what is waited for */
  SFSHM_WAIT_SLEEP, /* arm, look again, and sleep if nothing is there */
} sfshm_wait_step_t;

/* One wait. Small enough to live on the stack. */
typedef struct sfshm_waiter {
  uint32_t spins_left;
  uint32_t rounds;        /* steps taken after spinning */
  int64_t sleep_after_ns; /* absolute time; 0: not set yet */
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

/* Idle strategy of a waiting thread: spin, then yield, then sleep. How long a wait for operations spins, and how it
 * sleeps, is in engine/progress.c. Every waiting loop of the library uses it:
 *
 *     sfc_idle_t idle = {0};
 *     while (!done())
 *       sfc_idle_pause(&idle);      or, where another thread wakes the waiter:  if (!sfc_idle_step(&idle)) sleep */
#ifndef SFC_CORE_IDLE_H
#define SFC_CORE_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/region/board.h"
#include "shm/region/wait.h"

/* One wait. {0}: without spinning. */
typedef struct sfc_idle {
  uint32_t spins_left;
  uint32_t rounds;  /* steps since spinning ended */
  int64_t since_ns; /* when spinning ended, on CLOCK_MONOTONIC; 0: not yet */
} sfc_idle_t;

/* Starts a wait that spins, if every rank of the node can have a core of its own. */
static inline void sfc_idle_start(sfc_idle_t *idle, const sfshm_board_t *board, uint32_t spins)
{
  uint32_t cores = atomic_load_explicit(&board->cores, memory_order_relaxed);
  uint32_t participants = atomic_load_explicit(&board->participants, memory_order_relaxed);
  *idle = (sfc_idle_t){.spins_left = participants <= cores ? spins : 0};
}

bool sfc_idle_step_slow(sfc_idle_t *idle);

/* Call after each unsuccessful look. true: look again; false: the wait is long, so sleep. */
static inline bool sfc_idle_step(sfc_idle_t *idle)
{
  if (idle->spins_left == 0)
    return sfc_idle_step_slow(idle);
  idle->spins_left--;
  sfshm_cpu_relax();
  return true;
}

/* The same where no other thread wakes the waiter: a long wait sleeps 50 us between looks. */
void sfc_idle_pause(sfc_idle_t *idle);

/* Yields once if the daemon may have no core of its own. */
void sfc_idle_yield_to_daemon(const sfshm_board_t *board);

/* CLOCK_MONOTONIC. */
int64_t sfc_now_ns(void);

#endif

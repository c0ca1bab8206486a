/* What a thread has begun and not ended, and the ranks that it has to wake. Of the thread itself. */
#ifndef SFC_ENGINE_THREAD_H
#define SFC_ENGINE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph.h"
#include "shm/region/wait.h"

#define SFC_PENDING_WAKES 32

/* Work that goes on when messages have come: a member of the struct that it belongs to. */
typedef struct sfc_continuation {
  struct sfc_continuation *next;
  bool (*advance)(struct sfc_continuation *self); /* whether something could be done */
} sfc_continuation_t;

struct sfc_thread {
  sf_graph_t *graphs;                /* with operations in flight */
  uint32_t in_flight;                /* operations, over all graphs */
  sfc_continuation_t *continuations; /* called with all progress */
  uint32_t idle_tests;               /* since something moved */
  int64_t idle_ns;                   /* when that was noticed; 0: not yet */
  int nwakes;                        /* ranks to which something has been published since the last flush */
  sfshm_wake_t *wakes[SFC_PENDING_WAKES];
};

/* Initial-exec: found without a call also in a shared library. */
extern _Thread_local sfc_thread_t sfc_thread_state __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline sfc_thread_t *sfc_thread_self(void)
{
  return &sfc_thread_state;
}

void sfc_thread_flush_slow(sfc_thread_t *thread);

/* Wakes those ranks that sleep among the ones to which something was published. Before every wait and return. */
static inline void sfc_thread_flush(sfc_thread_t *thread)
{
  if (thread->nwakes > 0)
    sfc_thread_flush_slow(thread);
}

/* Notes that something was published to a rank. */
static inline void sfc_thread_note(sfc_thread_t *thread, sfshm_wake_t *wake)
{
  if (thread->nwakes == SFC_PENDING_WAKES)
    sfc_thread_flush_slow(thread);
  thread->wakes[thread->nwakes++] = wake;
}

/* Adds a continuation, and takes it out, which its advance may do. */
void sfc_thread_add(sfc_thread_t *thread, sfc_continuation_t *continuation);
void sfc_thread_remove(sfc_thread_t *thread, const sfc_continuation_t *continuation);

#endif

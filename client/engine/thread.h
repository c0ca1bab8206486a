/* Thread state: graphs with operations in flight, continuations, and ranks to wake. Of the thread itself. */
#ifndef SFC_ENGINE_THREAD_H
#define SFC_ENGINE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph.h"
#include "shm/region/wait.h"

#define SFC_PENDING_WAKES 32

/* Work that continues with progress: a member of its struct. */
typedef struct sfc_continuation {
  struct sfc_continuation *next;
  bool (*advance)(struct sfc_continuation *self); /* returns whether anything moved */
} sfc_continuation_t;

struct sfc_thread {
  sf_graph_t *graphs;                /* with operations in flight */
  uint32_t in_flight;                /* operations, over all graphs */
  sfc_continuation_t *continuations; /* called by every progress */
  uint32_t idle_tests;               /* unsuccessful tests in a row */
  int64_t idle_ns;                   /* since when tests are unsuccessful; 0: unknown */
  int nwakes;                        /* ranks to wake at the next flush */
  sfshm_wake_t *wakes[SFC_PENDING_WAKES];
};

/* Initial-exec: accessed without a call in a shared library too. Not with sanitizers: they test the address for NULL by
 * the flags of an addition, which linkers replace in programs by an instruction without flags. */
#ifdef __SANITIZE_ADDRESS__
#define SFC_THREAD_MODEL
#else
#define SFC_THREAD_MODEL __attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local sfc_thread_t sfc_thread_state SFC_THREAD_MODEL __attribute__((visibility("hidden")));

static inline sfc_thread_t *sfc_thread_self(void)
{
  return &sfc_thread_state;
}

void sfc_thread_flush_slow(sfc_thread_t *thread);

/* Wakes noted ranks that sleep. Before every wait and return. */
static inline void sfc_thread_flush(sfc_thread_t *thread)
{
  if (thread->nwakes > 0)
    sfc_thread_flush_slow(thread);
}

/* Notes a rank for which something was published. */
static inline void sfc_thread_note(sfc_thread_t *thread, sfshm_wake_t *wake)
{
  if (thread->nwakes == SFC_PENDING_WAKES)
    sfc_thread_flush_slow(thread);
  thread->wakes[thread->nwakes++] = wake;
}

/* Adds a continuation; removes it, also from within its advance. */
void sfc_thread_add(sfc_thread_t *thread, sfc_continuation_t *continuation);
void sfc_thread_remove(sfc_thread_t *thread, const sfc_continuation_t *continuation);

#endif

/* Progress of everything that a thread has begun, and waiting. There is no other progress than that of calls into the
 * library: data move when their owner begins an operation and when it waits. */
#ifndef SFC_PROGRESS_H
#define SFC_PROGRESS_H

#include <stdbool.h>

#include "client/engine/operation.h"
#include "shm/region/wait.h"

#define SFC_PENDING_WAKES 32

/* Work that goes on when messages have come: a member of the struct that it belongs to. */
typedef struct sfc_continuation {
  struct sfc_continuation *next;
  bool (*advance)(struct sfc_continuation *self, sfc_thread_t *thread); /* whether something could be done */
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

/* Looks once at everything; whether anything moved. */
bool sfc_thread_progress(sfc_thread_t *thread);

/* The same for tests, of which many may follow one another. */
void sfc_thread_test(sfc_thread_t *thread);

/* Sends eagerly (eager.h) what lanes could not take, before the thread does something else than progress: of one graph,
 * or of all. Whether anything moved. Wakes are left to the caller. */
bool sfc_graph_hand_over(sf_graph_t *graph);
bool sfc_thread_hand_over(const sfc_thread_t *thread);

/* Progress until the request is complete or its graph has failed, or, unless it is negative, until about timeout_ns
 * have passed. */
sf_status_t sfc_thread_wait(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns);

#endif

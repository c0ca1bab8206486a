/* Thread state: see thread.h. */
#include "client/engine/thread.h"

_Thread_local sfc_thread_t sfc_thread_state;

void sfc_thread_flush_slow(sfc_thread_t *thread)
{
  sfshm_publish_barrier();
  for (int i = 0; i < thread->nwakes; i++)
    sfshm_wake(thread->wakes[i]);
  thread->nwakes = 0;
}

void sfc_thread_add(sfc_thread_t *thread, sfc_continuation_t *continuation)
{
  continuation->next = thread->continuations;
  thread->continuations = continuation;
}

void sfc_thread_remove(sfc_thread_t *thread, const sfc_continuation_t *continuation)
{
  sfc_continuation_t **link = &thread->continuations;
  while (*link != continuation)
    link = &(*link)->next;
  *link = continuation->next;
}

/* Threads inside sfd: see threads.h. Any thread that may call MPI, and the helper. */
#include "client/adapters/pmpi/threads.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "client/engine.h"

#define NAP_NS 50000 /* of the helper, between two looks */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of the thread inside; protects the following */
static pthread_cond_t needed = PTHREAD_COND_INITIALIZER;
static sfc_thread_t pool;
static pthread_t helper;
static bool helps, crowded, ends;

static atomic_int nwaiting;

void sfpmpi_enter_shared(void)
{
  atomic_fetch_add_explicit(&nwaiting, 1, memory_order_relaxed);
  pthread_mutex_lock(&turn);
  atomic_fetch_sub_explicit(&nwaiting, 1, memory_order_relaxed);
  sfc_pool_enter(sfpmpi_job.context, &pool);
}

void sfpmpi_leave_shared(void)
{
  crowded = sfc_pool_leave(sfpmpi_job.context, &pool);
  if (crowded && helps)
    pthread_cond_signal(&needed);
  pthread_mutex_unlock(&turn);
}

bool sfpmpi_is_contended(void)
{
  return atomic_load_explicit(&nwaiting, memory_order_relaxed) > 0;
}

/* ---- The helper -------------------------------------------------------------------------------------------------- */

static void *help(void *unused)
{
  const struct timespec nap = {.tv_nsec = NAP_NS};
  pthread_mutex_lock(&turn);
  while (!ends) {
    if (!crowded) {
      pthread_cond_wait(&needed, &turn);
      continue;
    }
    sfc_pool_enter(sfpmpi_job.context, &pool);
    sfc_pool_continue();
    crowded = sfc_pool_leave(sfpmpi_job.context, &pool);
    pthread_mutex_unlock(&turn);
    nanosleep(&nap, NULL);
    pthread_mutex_lock(&turn);
  }
  pthread_mutex_unlock(&turn);
  return unused;
}

/* Without a helper, for lack of threads, operations wait for the program's next call as before. Signals are the
 * program's. */
static bool create_helper(void)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&helper, NULL, help, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void sfpmpi_start_helper(void)
{
  pthread_mutex_lock(&turn);
  if (!helps && (helps = create_helper()) && !sfpmpi_job.turns) {
    sfpmpi_job.turns = true; /* only this thread can read it now */
    crowded = sfc_pool_leave(sfpmpi_job.context, &pool);
  }
  pthread_mutex_unlock(&turn);
}

void sfpmpi_threads_end(void)
{
  sfpmpi_enter();
  ends = true;
  if (!sfpmpi_job.turns)
    return;
  pthread_cond_signal(&needed);
  pthread_mutex_unlock(&turn);
  if (helps)
    pthread_join(helper, NULL);
  sfpmpi_job.turns = false;
}

/* Threads: see thread.h. Any thread. */
#include "shm/base/thread.h"

#include <signal.h>

int sfshm_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *argument), void *argument)
{
  sigset_t all, before;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0)
    return error;
  if (stack_bytes > 0)
    error = pthread_attr_setstacksize(&attributes, stack_bytes);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
  if (error == 0)
    error = pthread_create(thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

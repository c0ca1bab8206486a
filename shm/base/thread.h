/* Threads created by the daemon and by the library. */
#ifndef SFSHM_BASE_THREAD_H
#define SFSHM_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts a thread with all signals blocked: signals are for the threads of the program, which may have handlers.
 * stack_bytes == 0: the system's default. Returns 0 or an errno, as pthread_create does. */
int sfshm_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *argument), void *argument);

#endif

/* Threads of the daemon's and of the library's own. */
#ifndef SFSHM_THREAD_H
#define SFSHM_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that no signal is delivered to: those are for the threads of the program, which may have handlers.
 * stack_bytes: 0: as the system does it. Returns 0 or an errno, as pthread_create. */
int sfshm_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *argument), void *argument);

#endif

/* Threads inside sfd: any thread of the program may begin and end operations. If there are more than begin can hand
 * over to other processes, a helper thread continues them while the program waits in other functions of MPI. */
#ifndef SFC_ADAPTERS_PMPI_THREADS_H
#define SFC_ADAPTERS_PMPI_THREADS_H

#include <stdbool.h>

#include <sf/sf.h>

#include "client/adapters/pmpi/job.h"

/* One thread at a time is between the two, and has all operations in flight. Functions of MPI are not called there.
 * They do nothing while a single thread calls MPI, and there is no helper. */
void sfpmpi_enter_shared(void);
void sfpmpi_leave_shared(void);

static inline void sfpmpi_enter(void)
{
  if (sfpmpi_job.turns)
    sfpmpi_enter_shared();
}

static inline void sfpmpi_leave(void)
{
  if (sfpmpi_job.turns)
    sfpmpi_leave_shared();
}

/* Whether another thread waits to enter. */
bool sfpmpi_is_contended(void);

/* After an operation of a crowded graph has begun, and the thread has left: starts the helper, if there is none. */
void sfpmpi_start_helper(void);

/* Ends the helper. The calling thread is inside from then on, as the last one. */
void sfpmpi_threads_end(void);

#endif

/* Host functions that a stream calls when it gets there. The thread that uses the graph.
 *
 * A call copies its argument. The memory of a call that has returned is freed by the next one, and that of all by
 * sfshm_cuda_calls_free, for which the stream must have finished. */
#ifndef SFSHM_CUDA_HOST_CALLS_H
#define SFSHM_CUDA_HOST_CALLS_H

#include <stddef.h>

#include <cuda.h>

#include <sf/sf_status.h>

/* Zeroed: no calls. */
typedef struct sfshm_cuda_calls {
  struct sfshm_cuda_call *first; /* in the order in which the stream makes them */
  struct sfshm_cuda_call *last;
} sfshm_cuda_calls_t;

/* Has the stream call function with a copy of argument. The stream's context must be current. */
sf_status_t sfshm_cuda_call(sfshm_cuda_calls_t *calls, CUstream stream, void (*function)(void *argument),
                            const void *argument, size_t argument_bytes);

void sfshm_cuda_calls_free(sfshm_cuda_calls_t *calls);

#endif

/* Host functions that a stream calls: see host_calls.h. */
#include "shm/cuda/host_calls.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

typedef struct sfshm_cuda_call {
  struct sfshm_cuda_call *next;
  _Atomic bool done; /* released by the driver's thread when the function has returned, acquired by free_calls */
  void (*function)(void *argument);
  _Alignas(max_align_t) char argument[];
} call_t;

static void free_calls(sfshm_cuda_calls_t *calls, bool all)
{
  while (calls->first != NULL) {
    call_t *call = calls->first;
    if (!all && !atomic_load_explicit(&call->done, memory_order_acquire))
      return;
    calls->first = call->next;
    free(call);
  }
}

/* On a thread of the driver. */
static void run_call(void *argument)
{
  call_t *call = argument;
  call->function(call->argument);
  atomic_store_explicit(&call->done, true, memory_order_release);
}

sf_status_t sfshm_cuda_call(sfshm_cuda_calls_t *calls, CUstream stream, void (*function)(void *argument),
                            const void *argument, size_t argument_bytes)
{
  free_calls(calls, false);
  call_t *call = malloc(sizeof *call + argument_bytes);
  if (call == NULL)
    return sfshm_error(SF_ERR_NOMEM, "CUDA: call of a host function");
  call->next = NULL;
  call->function = function;
  atomic_init(&call->done, false);
  memcpy(call->argument, argument, argument_bytes);
  sf_status_t status = sfshm_cuda_status(cuLaunchHostFunc(stream, run_call, call), "cuLaunchHostFunc");
  if (status != SF_OK) {
    free(call);
    return status;
  }
  if (calls->first == NULL)
    calls->first = call;
  else
    calls->last->next = call;
  calls->last = call;
  return SF_OK;
}

void sfshm_cuda_calls_free(sfshm_cuda_calls_t *calls)
{
  free_calls(calls, true);
}

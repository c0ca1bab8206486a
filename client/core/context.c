/* A context's state and failure: see context.h. Any thread. */
#include "client/core/context.h"

#include <string.h>

#include "shm/base/error.h"

uint32_t sfc_process_generation = 1;

sf_status_t sfc_context_check(const sf_context_t *context, const char *function)
{
  if (context == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: context is NULL", function);
  if (context->generation != sfc_process_generation)
    return sfshm_error(SF_ERR_STATE, "%s: in a child of the process that called sf_init", function);
  return SF_OK;
}

sf_status_t sfc_context_failure(const sf_context_t *context)
{
  int failed = atomic_load_explicit(&context->failed, memory_order_acquire);
  return failed == SF_OK ? SF_OK : sfshm_error((sf_status_t)failed, "%s", context->failure_detail);
}

void sfc_context_fail(sf_context_t *context, sf_status_t status, const char *detail)
{
  pthread_mutex_lock(&context->lock);
  if (atomic_load_explicit(&context->failed, memory_order_relaxed) == SF_OK) {
    strncpy(context->failure_detail, detail, sizeof context->failure_detail - 1);
    atomic_store_explicit(&context->failed, status, memory_order_release);
    context->listener.ops->job_failed(context, status, detail);
  }
  pthread_mutex_unlock(&context->lock);
  sfshm_wake_always(context->wake);
}

int32_t sf_rank(const sf_context_t *context)
{
  return context == NULL ? -1 : context->rank;
}

int32_t sf_size(const sf_context_t *context)
{
  return context == NULL ? -1 : context->size;
}

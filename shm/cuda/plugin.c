/* The CUDA plugin: its table of functions, and those that concern all devices. By the driver's interface alone, so that
 * it works beside any runtime of the application. Any thread. */
#include "shm/base/error.h"
#include "shm/cuda/internal.h"

static void settle_all(void)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_lock();
  for (int32_t i = 0; i < sfshm_cuda_count(); i++) {
    if (!sfshm_cuda_device(i)->is_busy)
      continue;
    sf_status_t status = sfshm_cuda_enter(i, &device);
    if (status == SF_OK) {
      status = sfshm_cuda_settle(device);
      sfshm_cuda_leave();
    }
    if (status != SF_OK)
      sfshm_cuda_fail(status);
  }
  sfshm_cuda_unlock();
}

static sf_status_t check(uint64_t since)
{
  settle_all();
  return sfshm_cuda_failure(since);
}

/* Kernels that use the copies may be under way where an operation has failed. If they can't be waited for nothing can
 * be said of what they do, as in settle_all; but the array is freed now, and what comes to lie there is another one. */
static void forget(const void *base, size_t length_bytes)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_lock();
  for (int32_t i = 0; i < sfshm_cuda_count(); i++) {
    if (sfshm_cuda_device(i)->plans.n == 0)
      continue;
    sf_status_t entered = sfshm_cuda_enter(i, &device), status = entered;
    if (status == SF_OK)
      status = sfshm_cuda_settle(device);
    if (status != SF_OK)
      sfshm_cuda_fail(status);
    sfshm_cuda_plans_drop(&sfshm_cuda_device(i)->plans, base, length_bytes, status != SF_OK);
    if (entered == SF_OK)
      sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
}

static void unwatch(const sfshm_trace_t *trace)
{
  sfshm_cuda_lock();
  for (int32_t i = 0; i < sfshm_cuda_count(); i++)
    sfshm_cuda_watch_drop(sfshm_cuda_device(i), trace);
  sfshm_cuda_unlock();
}

const sfshm_device_ops_t *sfshm_device_plugin(void);

const sfshm_device_ops_t *sfshm_device_plugin(void)
{
  static const sfshm_device_ops_t ops = {
      .version = SFSHM_DEVICE_VERSION,
      .name = "cuda",
      .detail = sfshm_error_detail,
      .open = sfshm_cuda_open_driver,
      .count = sfshm_cuda_count,
      .describe = sfshm_cuda_describe,
      .link = sfshm_cuda_link,
      .identify = sfshm_cuda_identify,
      .allocate = sfshm_cuda_allocate,
      .release = sfshm_cuda_release,
      .copy = sfshm_cuda_copy,
      .find = sfshm_cuda_find,
      .attach = sfshm_cuda_attach,
      .detach = sfshm_cuda_detach,
      .share = sfshm_cuda_share,
      .open_shared = sfshm_cuda_open_shared,
      .close_shared = sfshm_cuda_close_shared,
      .kernels = sfshm_cuda_kernels,
      .unordered = sfshm_cuda_unordered,
      .gather = sfshm_cuda_gather,
      .failures = sfshm_cuda_failures,
      .check = check,
      .forget = forget,
      .watch = sfshm_cuda_watch,
      .unwatch = unwatch,
      .streams = &sfshm_cuda_streams,
  };
  return &ops;
}

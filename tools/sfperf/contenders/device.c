/* Memory of devices: see device.h. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/device.h"

#include "shm/device/device_load.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

static const sfshm_device_ops_t *load(void)
{
  const sfshm_device_ops_t *ops;
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    sfperf_fail("--memory device: %s", sf_error_detail());
  return ops;
}

int32_t sfperf_device_count(void)
{
  return load()->count();
}

void *sfperf_device_alloc(sf_context_t *context, int rank, size_t len_bytes)
{
  void *memory;
  sfperf_call(sf_alloc_on_device, context, rank % load()->count(), len_bytes, &memory);
  return memory;
}

void sfperf_device_copy(void *to, const void *from, size_t len_bytes)
{
  const sfshm_device_ops_t *ops = load();
  if (len_bytes > 0 && ops->copy(to, from, len_bytes) != SF_OK)
    sfperf_fail("%s", ops->detail());
}

double sfperf_device_through_run(void *state, int64_t iterations)
{
  sfperf_device_copies_t *copies = state;
  sfperf_limits_t *limits = copies->limits;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    for (int sender = 0; sender < 2; sender++) {
      char *data = sfperf_limits_data(limits, sender);
      if (limits->rank == sender)
        sfperf_device_copy(data, copies->here, copies->len_bytes);
      sfperf_limits_pass(limits, sender);
      if (limits->rank != sender)
        sfperf_device_copy(copies->here, data, copies->len_bytes);
    }
  return sfperf_now() - start;
}

double sfperf_device_within_run(void *state, int64_t iterations)
{
  sfperf_device_copies_t *copies = state;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    for (int sender = 0; sender < 2; sender++) {
      if (copies->rank == sender)
        sfperf_device_copy(copies->beside, copies->here, copies->len_bytes);
      sfperf_limits_pass(copies->limits, sender);
    }
  return sfperf_now() - start;
}

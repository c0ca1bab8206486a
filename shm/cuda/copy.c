/* The driver's own copies, for measurements. */
#include "shm/cuda/internal.h"

/* The driver returns from copies within a device before they are done. */
sf_status_t sfshm_cuda_copy(void *to, const void *from, size_t len_bytes)
{
  sfshm_device_range_t range = {0};
  if (sfshm_cuda_find(to, &range) != SF_OK)
    (void)sfshm_cuda_find(from, &range);
  sfshm_cuda_lock();
  sf_status_t status = sfshm_cuda_enter_context(range.device);
  if (status == SF_OK) {
    status =
        sfshm_cuda_status(cuMemcpy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, len_bytes), "cuMemcpy");
    if (status == SF_OK)
      status = sfshm_cuda_status(cuCtxSynchronize(), "cuCtxSynchronize");
    sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
  return status;
}

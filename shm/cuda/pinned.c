/* Pinned memory in two halves, each filled from its beginning on by as many as fit; whoever turns to the other one
 * waits until the kernels are done that use it. With the lock held, the device entered. */
#include "shm/cuda/internal.h"

#define ALIGN ((size_t)64)

sf_status_t sfshm_cuda_settle(sfshm_cuda_device_t *device)
{
  if (!device->is_busy)
    return SF_OK;
  sf_status_t status = sfshm_cuda_status(cuStreamSynchronize(device->stream), "waiting for a kernel");
  sfshm_cuda_watch_tell(device);
  device->is_busy = false;
  device->used_bytes = 0;
  device->is_used[0] = device->is_used[1] = false;
  return status;
}

static sf_status_t turn_half(sfshm_cuda_device_t *device)
{
  sf_status_t status = sfshm_cuda_status(cuEventRecord(device->bounced[device->half], device->stream), "cuEventRecord");
  device->is_used[device->half] = true;
  device->half = !device->half;
  device->used_bytes = 0;
  if (status == SF_OK && device->is_used[device->half])
    status = sfshm_cuda_status(cuEventSynchronize(device->bounced[device->half]), "waiting for a kernel");
  return status;
}

sf_status_t sfshm_cuda_reserve(sfshm_cuda_device_t *device, size_t bytes, char **room_p)
{
  sf_status_t status = SFSHM_CUDA_BOUNCE_BYTES - device->used_bytes < bytes ? turn_half(device) : SF_OK;
  *room_p = device->bounce[device->half] + device->used_bytes;
  size_t aligned = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  device->used_bytes =
      aligned < SFSHM_CUDA_BOUNCE_BYTES - device->used_bytes ? device->used_bytes + aligned : SFSHM_CUDA_BOUNCE_BYTES;
  return status;
}

/* The driver's own copies: for measurements, and in place of kernels. */
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

static sf_status_t tell_copy(sfshm_cuda_device_t *device, const void *from, void *to, size_t bytes)
{
  return sfshm_cuda_status(
      cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes, device->stream),
      "copying within a device");
}

static sf_status_t tell_peer_copy(sfshm_cuda_device_t *device, int32_t from_device, const void *from, void *to,
                                  size_t bytes)
{
  CUcontext other;
  sf_status_t status = sfshm_cuda_settle_other(from_device, &other);
  return status == SF_OK
             ? sfshm_cuda_status(cuMemcpyPeerAsync((CUdeviceptr)(uintptr_t)to, device->context,
                                                   (CUdeviceptr)(uintptr_t)from, other, bytes, device->stream),
                                 "copying from another device")
             : status;
}

sf_status_t sfshm_cuda_copy_over(int32_t from_device, const void *from, int32_t to_device, void *to, size_t bytes)
{
  sfshm_cuda_device_t *device;
  bool within = from_device == to_device;
  sf_status_t status = sfshm_cuda_enter(to_device, &device);
  if (status != SF_OK)
    return status;
  sfshm_cuda_piece_t *piece =
      sfshm_cuda_watch_begin(device, within ? SFSHM_TRACE_WORK_WITHIN : SFSHM_TRACE_WORK_FROM_DEVICE, bytes);
  device->is_busy = true;
  status = within ? tell_copy(device, from, to, bytes) : tell_peer_copy(device, from_device, from, to, bytes);
  if (status == SF_OK)
    sfshm_cuda_watch_end(device, piece);
  sfshm_cuda_leave();
  return status;
}

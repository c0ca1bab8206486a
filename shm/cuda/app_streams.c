/* What the driver says of the application's streams, and of waiting in them. Any thread. */
#include "shm/base/error.h"
#include "shm/cuda/internal.h"

bool sfshm_cuda_is_default(CUstream stream)
{
  return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* What a graph of the driver's would be given words to wait for and to raise, the same whenever it is launched. */
sf_status_t sfshm_cuda_refuse_captured(CUstream stream)
{
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == NULL || stream == CU_STREAM_LEGACY || cuStreamIsCapturing(stream, &capture) != CUDA_SUCCESS ||
      capture == CU_STREAM_CAPTURE_STATUS_NONE)
    return SF_OK;
  return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the stream is being captured into a graph, where operations can't be");
}

/* The stream's context. *context_p: NULL for a default stream of nothing that is current. */
sf_status_t sfshm_cuda_context_of(CUstream stream, CUcontext *context_p)
{
  if (sfshm_cuda_is_default(stream))
    return sfshm_cuda_status(cuCtxGetCurrent(context_p), "cuCtxGetCurrent");
  return sfshm_cuda_status(cuStreamGetCtx(stream, context_p), "cuStreamGetCtx");
}

sf_status_t sfshm_cuda_device_of_context(CUcontext context, int32_t *device_p)
{
  CUdevice device = 0;
  sf_status_t status = SF_OK;
  if (context != NULL) {
    status = sfshm_cuda_status(cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (status != SF_OK)
      return status;
    status = sfshm_cuda_status(cuCtxGetDevice(&device), "cuCtxGetDevice");
    cuCtxPopCurrent(&context);
  }
  *device_p = device;
  return status;
}

/* Where devices may see stores of others later than a word that was set behind them. */
unsigned sfshm_cuda_flush_flag(int32_t number)
{
  CUdevice device;
  int can = 0;
  return cuDeviceGet(&device, number) == CUDA_SUCCESS &&
                 cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device) == CUDA_SUCCESS && can
             ? CU_STREAM_WAIT_VALUE_FLUSH
             : 0;
}

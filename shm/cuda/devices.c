/* The driver's devices: their contexts, the lock of the plugin, and failures. Any thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

static struct {
  pthread_mutex_t lock;
  int ndevices;
  sfshm_cuda_device_t devices[SFSHM_CUDA_MAX_DEVICES];
  _Atomic uint64_t nfailures;
  sf_status_t failed; /* if there are some */
  char failure[512];
  bool is_untold; /* nobody has been told of that */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sfshm_cuda_lock(void)
{
  pthread_mutex_lock(&state.lock);
}

void sfshm_cuda_unlock(void)
{
  pthread_mutex_unlock(&state.lock);
}

void sfshm_cuda_unlock_until(pthread_cond_t *condition)
{
  pthread_cond_wait(condition, &state.lock);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_cuda_status(CUresult result, const char *what)
{
  const char *name = NULL, *text = NULL;
  if (result == CUDA_SUCCESS)
    return SF_OK;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  sf_status_t status = result == CUDA_ERROR_OUT_OF_MEMORY ? SF_ERR_NOMEM
                       : result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
                           ? SF_ERR_UNSUPPORTED
                           : SF_ERR_SYS;
  return sfshm_error(status, "CUDA: %s: %s (%s)", what, text != NULL ? text : "unknown error",
                     name != NULL ? name : "?");
}

void sfshm_cuda_fail(sf_status_t status)
{
  atomic_fetch_add(&state.nfailures, 1);
  if (state.is_untold)
    return;
  state.is_untold = true;
  state.failed = status;
  strncpy(state.failure, sfshm_error_detail(), sizeof state.failure - 1);
}

uint64_t sfshm_cuda_failures(void)
{
  return atomic_load(&state.nfailures);
}

sf_status_t sfshm_cuda_failure(uint64_t since)
{
  sf_status_t status = SF_OK;
  if (sfshm_cuda_failures() == since)
    return SF_OK;
  sfshm_cuda_lock();
  status = sfshm_error(state.failed, "%s", state.failure);
  state.is_untold = false;
  sfshm_cuda_unlock();
  return status;
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_cuda_open_driver(void)
{
  int version = 0;
  sf_status_t status = sfshm_cuda_status(cuDriverGetVersion(&version), "cuDriverGetVersion");
  if (status == SF_OK && version < SFSHM_DEVICE_DRIVER_LEAST)
    return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the driver is for CUDA %d.%d; CUDA %d.%d (driver 545) is the least",
                       version / 1000, version % 1000 / 10, SFSHM_DEVICE_DRIVER_LEAST / 1000,
                       SFSHM_DEVICE_DRIVER_LEAST % 1000 / 10);
  if (status == SF_OK)
    status = sfshm_cuda_status(cuInit(0), "cuInit");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetCount(&state.ndevices), "cuDeviceGetCount");
  if (status == SF_OK && state.ndevices == 0)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the driver has no device");
  if (state.ndevices > SFSHM_CUDA_MAX_DEVICES)
    state.ndevices = SFSHM_CUDA_MAX_DEVICES;
  return status;
}

int32_t sfshm_cuda_count(void)
{
  return state.ndevices;
}

sfshm_cuda_device_t *sfshm_cuda_device(int32_t number)
{
  return &state.devices[number];
}

static _Thread_local struct {
  int depth;
  CUstreamCaptureMode mode; /* outside */
} relaxed;

void sfshm_cuda_relax(void)
{
  if (relaxed.depth++ > 0)
    return;
  relaxed.mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  cuThreadExchangeStreamCaptureMode(&relaxed.mode);
}

void sfshm_cuda_unrelax(void)
{
  if (--relaxed.depth == 0)
    cuThreadExchangeStreamCaptureMode(&relaxed.mode);
}

static sf_status_t push(CUcontext context)
{
  sf_status_t status = sfshm_cuda_status(cuCtxPushCurrent(context), "cuCtxPushCurrent");
  if (status == SF_OK)
    sfshm_cuda_relax();
  return status;
}

/* Contexts stay: other parts of the process may have taken them as theirs. */
sf_status_t sfshm_cuda_enter_context(int32_t number)
{
  sfshm_cuda_device_t *device = &state.devices[number];
  CUdevice handle;
  sf_status_t status = sfshm_cuda_status(cuDeviceGet(&handle, number), "cuDeviceGet");
  if (status == SF_OK && device->context == NULL)
    status = sfshm_cuda_status(cuDevicePrimaryCtxRetain(&device->context, handle), "cuDevicePrimaryCtxRetain");
  return status == SF_OK ? push(device->context) : status;
}

/* The device's context is current afterwards. */
static sf_status_t open_device(sfshm_cuda_device_t *device, int32_t number)
{
  sf_status_t status = sfshm_cuda_enter_context(number);
  if (status != SF_OK)
    return status;
  device->number = number;
  status = sfshm_cuda_make_ready(device);
  if (status != SF_OK)
    sfshm_cuda_leave();
  return status;
}

sf_status_t sfshm_cuda_enter(int32_t number, sfshm_cuda_device_t **device_p)
{
  sfshm_cuda_device_t *device = &state.devices[number];
  sf_status_t status = device->is_open ? push(device->context) : open_device(device, number);
  if (status == SF_OK)
    *device_p = device;
  return status;
}

void sfshm_cuda_leave(void)
{
  CUcontext context;
  sfshm_cuda_unrelax();
  cuCtxPopCurrent(&context);
}

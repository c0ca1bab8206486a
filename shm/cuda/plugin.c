/* The CUDA plugin: driver, devices and attached memory. By the driver's interface alone, so that it works beside any
 * runtime of the application. Any thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

typedef struct attached {
  sfshm_device_range_t range;
  bool imported;
  int64_t times;
  uint64_t oldest; /* serial with which it was attached: drivers count up */
} attached_t;

static struct {
  pthread_mutex_t lock;
  int ndevices;
  sfshm_cuda_device_t devices[SFSHM_CUDA_MAX_DEVICES];
  attached_t *attached; /* by address */
  size_t nattached;
  size_t room;
  int32_t home;       /* the number behind; 0: none */
  _Atomic int failed; /* sf_status_t */
  char failure[512];
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
  if (sfshm_cuda_has_failed())
    return;
  strncpy(state.failure, sfshm_error_detail(), sizeof state.failure - 1);
  atomic_store(&state.failed, status);
}

bool sfshm_cuda_has_failed(void)
{
  return atomic_load(&state.failed) != SF_OK;
}

static void settle_all(void)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_lock();
  for (int32_t i = 0; i < state.ndevices; i++) {
    if (!state.devices[i].is_busy)
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

static sf_status_t check(void)
{
  settle_all();
  sf_status_t status = (sf_status_t)atomic_load(&state.failed);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", state.failure);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static sf_status_t open_driver(void)
{
  sf_status_t status = sfshm_cuda_status(cuInit(0), "cuInit");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetCount(&state.ndevices), "cuDeviceGetCount");
  if (status == SF_OK && state.ndevices == 0)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the driver has no device");
  if (state.ndevices > SFSHM_CUDA_MAX_DEVICES)
    state.ndevices = SFSHM_CUDA_MAX_DEVICES;
  return status;
}

static int32_t count(void)
{
  return state.ndevices;
}

/* Contexts stay: other parts of the process may have taken them as theirs. */
sf_status_t sfshm_cuda_enter_context(int32_t number)
{
  sfshm_cuda_device_t *device = &state.devices[number];
  CUdevice handle;
  sf_status_t status = sfshm_cuda_status(cuDeviceGet(&handle, number), "cuDeviceGet");
  if (status == SF_OK && device->context == NULL)
    status = sfshm_cuda_status(cuDevicePrimaryCtxRetain(&device->context, handle), "cuDevicePrimaryCtxRetain");
  return status == SF_OK ? sfshm_cuda_status(cuCtxPushCurrent(device->context), "cuCtxPushCurrent") : status;
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
  sf_status_t status = device->is_open ? sfshm_cuda_status(cuCtxPushCurrent(device->context), "cuCtxPushCurrent")
                                       : open_device(device, number);
  if (status == SF_OK)
    *device_p = device;
  return status;
}

void sfshm_cuda_leave(void)
{
  CUcontext context;
  cuCtxPopCurrent(&context);
}

/* Without the lock: a thread that allocates may have it for long, or never come back. */
static sf_status_t enter_for_good(const void *base)
{
  CUcontext context = NULL;
  CUresult result = cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)base);
  sf_status_t status = sfshm_cuda_status(result, "cuPointerGetAttribute");
  return status == SF_OK ? sfshm_cuda_status(cuCtxSetCurrent(context), "cuCtxSetCurrent") : status;
}

/* Kernels that use the copies may be under way where an operation has failed. If they can't be waited for nothing can
 * be said of what they do, as in settle_all; but the array is freed now, and what comes to lie there is another one. */
static void forget(const void *base, size_t length_bytes)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_lock();
  for (int32_t i = 0; i < state.ndevices; i++) {
    if (state.devices[i].plans.n == 0)
      continue;
    sf_status_t entered = sfshm_cuda_enter(i, &device), status = entered;
    if (status == SF_OK)
      status = sfshm_cuda_settle(device);
    if (status != SF_OK)
      sfshm_cuda_fail(status);
    sfshm_cuda_plans_drop(&state.devices[i].plans, base, length_bytes, status != SF_OK);
    if (entered == SF_OK)
      sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
}

static void unwatch(const sfshm_trace_t *trace)
{
  sfshm_cuda_lock();
  for (int32_t i = 0; i < state.ndevices; i++)
    sfshm_cuda_watch_drop(&state.devices[i], trace);
  sfshm_cuda_unlock();
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

sf_status_t sfshm_cuda_find(const void *address, sfshm_device_range_t *range_p)
{
  CUmemorytype type = 0;
  int ordinal = -1;
  CUdeviceptr start = 0, pointer = (CUdeviceptr)(uintptr_t)address;
  size_t length_bytes = 0;
  unsigned long long serial = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void *values[] = {&type, &ordinal, &start, &length_bytes, &serial};
  CUresult result = cuPointerGetAttributes(5, attributes, values, pointer);
  if (result == CUDA_ERROR_INVALID_VALUE || (result == CUDA_SUCCESS && type != CU_MEMORYTYPE_DEVICE))
    return sfshm_error(SF_ERR_NOT_FOUND, "%p is not CUDA device memory", address);
  sf_status_t status = sfshm_cuda_status(result, "cuPointerGetAttributes");
  if (status == SF_OK && (ordinal < 0 || ordinal >= state.ndevices))
    status = sfshm_error(SF_ERR_LIMIT, "CUDA: memory of device %d, of which %d are known", ordinal, state.ndevices);
  if (status == SF_OK)
    *range_p = (sfshm_device_range_t){(void *)(uintptr_t)start, length_bytes, ordinal, serial};
  return status;
}

/* Index of the first attached allocation that ends after the address. */
static size_t lower_bound(const char *address)
{
  size_t low = 0, high = state.nattached;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const sfshm_device_range_t *range = &state.attached[middle].range;
    if ((const char *)range->base + range->length_bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static attached_t *find_attached(const void *address)
{
  size_t i = lower_bound(address);
  return i < state.nattached && (const char *)state.attached[i].range.base <= (const char *)address ? &state.attached[i]
                                                                                                    : NULL;
}

int32_t sfshm_cuda_device_of(const void *address)
{
  const attached_t *attached = find_attached(address);
  return attached != NULL ? attached->range.device : -1;
}

int32_t sfshm_cuda_owner_of(const void *address)
{
  const attached_t *attached = find_attached(address);
  return attached != NULL && !attached->imported ? attached->range.device : -1;
}

int32_t sfshm_cuda_home(void)
{
  return state.home - 1;
}

static void attach_again(attached_t *attached, uint64_t serial)
{
  attached->times++;
  if (serial < attached->oldest)
    attached->oldest = serial;
}

static sf_status_t insert(const sfshm_device_range_t *range, bool imported)
{
  if (state.nattached == state.room) {
    size_t room = state.room == 0 ? 16 : 2 * state.room;
    attached_t *attached = realloc(state.attached, room * sizeof *attached);
    if (attached == NULL)
      return sfshm_error(SF_ERR_NOMEM, "table of %zu allocations on devices", room);
    state.attached = attached;
    state.room = room;
  }
  size_t i = lower_bound(range->base);
  memmove(&state.attached[i + 1], &state.attached[i], (state.nattached - i) * sizeof state.attached[0]);
  state.attached[i] = (attached_t){*range, imported, 1, range->serial};
  if (state.home == 0)
    state.home = range->device + 1;
  state.nattached++;
  return SF_OK;
}

sf_status_t sfshm_cuda_attach(const sfshm_device_range_t *range)
{
  return sfshm_cuda_attach_as(range, false);
}

static void remove_attached(attached_t *attached)
{
  size_t behind = --state.nattached - (size_t)(attached - state.attached);
  memmove(attached, attached + 1, behind * sizeof *attached);
}

static bool is_same(const attached_t *attached, const sfshm_device_range_t *range, bool imported)
{
  const sfshm_device_range_t *there = &attached->range;
  return attached->imported == imported && there->device == range->device && there->base == range->base &&
         there->length_bytes == range->length_bytes;
}

/* Where the driver has given memory for this one, no other one can be any more. Of reserved addresses parts may have
 * serials of their own, though, and with another allocation of the same place and length nothing changes. */
static void remove_freed(const sfshm_device_range_t *range, bool imported)
{
  const char *base = range->base;
  size_t i = lower_bound(base);
  while (i < state.nattached && (const char *)state.attached[i].range.base < base + range->length_bytes)
    if (is_same(&state.attached[i], range, imported))
      i++;
    else
      remove_attached(&state.attached[i]);
}

sf_status_t sfshm_cuda_attach_as(const sfshm_device_range_t *range, bool imported)
{
  sfshm_cuda_device_t *device;
  sfshm_cuda_lock();
  remove_freed(range, imported);
  attached_t *attached = find_attached(range->base);
  sf_status_t status = sfshm_cuda_enter(range->device, &device); /* what can't work is to be known now */
  if (status == SF_OK) {
    sfshm_cuda_leave();
    if (attached != NULL)
      attach_again(attached, range->serial);
    else
      status = insert(range, imported);
  }
  sfshm_cuda_unlock();
  return status;
}

void sfshm_cuda_detach(const void *address, uint64_t serial)
{
  sfshm_cuda_lock();
  attached_t *attached = find_attached(address);
  if (attached != NULL && serial >= attached->oldest && --attached->times == 0)
    remove_attached(attached);
  sfshm_cuda_unlock();
}

/* ---- The plugin -------------------------------------------------------------------------------------------------- */

const sfshm_device_ops_t *sfshm_device_plugin(void);

const sfshm_device_ops_t *sfshm_device_plugin(void)
{
  static const sfshm_device_ops_t ops = {
      .version = SFSHM_DEVICE_VERSION,
      .name = "cuda",
      .detail = sfshm_error_detail,
      .open = open_driver,
      .count = count,
      .describe = sfshm_cuda_describe,
      .link = sfshm_cuda_link,
      .sees_adapters = sfshm_cuda_sees_adapters,
      .identify = sfshm_cuda_identify,
      .allocate = sfshm_cuda_allocate,
      .release = sfshm_cuda_release,
      .enter = enter_for_good,
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
      .check = check,
      .forget = forget,
      .watch = sfshm_cuda_watch,
      .unwatch = unwatch,
      .streams = &sfshm_cuda_streams,
  };
  return &ops;
}

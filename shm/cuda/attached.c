/* Allocations on devices that the plugin has been told of, by address. Any thread, under the plugin's lock. */
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
  attached_t *attached; /* by address */
  size_t nattached;
  size_t room;
  int32_t home; /* number + 1 of the device of the first one; 0: none yet */
} state;

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
  if (status == SF_OK && (ordinal < 0 || ordinal >= sfshm_cuda_count()))
    status = sfshm_error(SF_ERR_LIMIT, "CUDA: memory of device %d, of which %d are known", ordinal, sfshm_cuda_count());
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

/* Kernels run in the primary context, which other contexts' memory is not part of: the first one to touch it would be
 * the end of that. Memory of pools and of reserved addresses is of no context. */
static sf_status_t check_context(const sfshm_device_range_t *range, const sfshm_cuda_device_t *device)
{
  CUcontext context = NULL;
  CUresult result = cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)range->base);
  if (result != CUDA_SUCCESS || context == NULL || context == device->context)
    return SF_OK;
  return sfshm_error(SF_ERR_UNSUPPORTED,
                     "CUDA: memory at %p was allocated in a context that is not the primary one of device %d, whose "
                     "kernels can't use it",
                     range->base, range->device);
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
    status = imported ? SF_OK : check_context(range, device);
    if (status == SF_OK && attached != NULL)
      attach_again(attached, range->serial);
    else if (status == SF_OK)
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

/* Memory of other processes' devices: handles, and what is open. Each allocation is opened once, however often it is
 * asked for. With the lock held inside, but while something is closed: then a driver may wait for streams, which may
 * wait for what this process does under the lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

/* What a handle holds. Numbers of devices differ between processes: they are known by their identity. */
typedef enum kind { LEGACY, MAPPED, POOLED } kind_t;

typedef struct content {
  union {
    CUipcMemHandle memory;
    char name[sizeof(CUipcMemHandle)]; /* MAPPED: random, of the handle whose descriptor comes with it */
    CUmemPoolPtrExportData pointer;    /* POOLED: with the pool's descriptor */
  };
  CUuuid device;
  uint64_t length_bytes;
  uint64_t kind; /* kind_t */
} content_t;
_Static_assert(sizeof(content_t) <= SFSHM_DEVICE_HANDLE_BYTES, "a handle holds it");

typedef struct shared {
  struct shared *next;
  content_t content;
  int fd;            /* while it is opened */
  CUmemoryPool pool; /* POOLED */
  sfshm_device_range_t range;
  int64_t times; /* 0: being closed */
} shared_t;

static shared_t *opened;
static pthread_cond_t closed = PTHREAD_COND_INITIALIZER; /* something has been */

/* Values go another way then. */
static sf_status_t refused(CUresult result, const char *what)
{
  const char *name = NULL;
  cuGetErrorName(result, &name);
  return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: %s (%s)", what, name != NULL ? name : "?");
}

static sf_status_t get_handle(const sfshm_device_range_t *range, CUipcMemHandle *handle_p)
{
  sfshm_cuda_lock();
  sf_status_t status = sfshm_cuda_enter_context(range->device);
  if (status == SF_OK) {
    CUresult result = cuIpcGetMemHandle(handle_p, (CUdeviceptr)(uintptr_t)range->base);
    if (result != CUDA_SUCCESS)
      status = refused(result, "the driver gives no handle for memory that others are to open");
    sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
  return status;
}

static sf_status_t export(const sfshm_device_range_t *range, content_t *content, int *fd_p)
{
  CUmemoryPool pool = NULL;
  CUresult result =
      cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)(uintptr_t)range->base);
  content->kind = result == CUDA_SUCCESS && pool != NULL ? POOLED : MAPPED;
  if (content->kind == POOLED)
    return sfshm_cuda_pool_export(range->base, pool, &content->pointer, fd_p);
  if (getrandom(content->name, sizeof content->name, 0) != (ssize_t)sizeof content->name)
    return sfshm_error_errno(SF_ERR_SYS, "random number for a handle");
  return sfshm_cuda_virtual_export(range->base, fd_p);
}

sf_status_t sfshm_cuda_share(const void *address, sfshm_device_handle_t *handle_p, int *fd_p)
{
  content_t content = {0};
  sfshm_device_range_t range;
  CUdevice device;
  int legacy = 0;
  CUdeviceptr pointer = (CUdeviceptr)(uintptr_t)address;
  sf_status_t status = sfshm_cuda_find(address, &range);
  if (status != SF_OK)
    return status;
  *fd_p = -1;
  (void)cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer);
  status = sfshm_cuda_status(cuDeviceGet(&device, range.device), "cuDeviceGet");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetUuid(&content.device, device), "cuDeviceGetUuid");
  if (status == SF_OK)
    status = legacy ? get_handle(&range, &content.memory) : export(&range, &content, fd_p);
  if (status != SF_OK)
    return status;
  content.length_bytes = range.length_bytes;
  memset(handle_p, 0, sizeof *handle_p);
  memcpy(handle_p->bytes, &content, sizeof content);
  return SF_OK;
}

/* The number that the device has in this process. */
static sf_status_t find_device(const void *wanted, int32_t *number_p)
{
  int n = 0;
  CUdevice device;
  CUuuid found;
  (void)cuDeviceGetCount(&n);
  for (int32_t i = 0; i < n; i++)
    if (cuDeviceGet(&device, i) == CUDA_SUCCESS && cuDeviceGetUuid(&found, device) == CUDA_SUCCESS &&
        memcmp(&found, wanted, sizeof found) == 0) {
      *number_p = i;
      return SF_OK;
    }
  return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the memory's device is not visible to this process");
}

/* The allocation that was opened at `base`. What the driver says of it may be the block of physical memory that it lies
 * in, with others before and behind: as long as it was where it came from, and not longer than the driver knows. */
static sf_status_t find_opened(const shared_t *shared, CUdeviceptr base, int32_t number, sfshm_device_range_t *range_p)
{
  sfshm_device_range_t known;
  sf_status_t status = sfshm_cuda_find((const void *)(uintptr_t)base, &known);
  if (status != SF_OK)
    return status;
  size_t before = (size_t)((uintptr_t)base - (uintptr_t)known.base), length_bytes = known.length_bytes - before;
  if (shared->content.length_bytes < length_bytes)
    length_bytes = (size_t)shared->content.length_bytes;
  if (length_bytes == 0)
    return sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: a handle for no memory");
  *range_p = (sfshm_device_range_t){(void *)(uintptr_t)base, length_bytes, number, known.serial};
  return SF_OK;
}

static CUresult open_base(shared_t *shared, int32_t number, CUdeviceptr *base_p)
{
  const content_t *content = &shared->content;
  if (content->kind == MAPPED)
    return sfshm_cuda_virtual_open(shared->fd, content->length_bytes, number, base_p);
  if (content->kind == POOLED)
    return sfshm_cuda_pool_open(shared->fd, content->pointer, number, &shared->pool, base_p);
  return cuIpcOpenMemHandle(base_p, content->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static void close_base(const shared_t *shared, CUdeviceptr base)
{
  if (shared->content.kind == MAPPED)
    sfshm_cuda_virtual_close(base, shared->content.length_bytes);
  else if (shared->content.kind == POOLED)
    sfshm_cuda_pool_close(shared->pool, base);
  else
    cuIpcCloseMemHandle(base);
}

static sf_status_t open_on(shared_t *shared, int32_t number)
{
  sfshm_cuda_device_t *device;
  CUdeviceptr base = 0;
  sf_status_t status = sfshm_cuda_enter(number, &device);
  if (status != SF_OK)
    return status;
  CUresult result = open_base(shared, number, &base);
  if (result != CUDA_SUCCESS)
    status = refused(result, "the driver refuses to open memory of another process");
  else
    status = find_opened(shared, base, number, &shared->range);
  if (status != SF_OK && result == CUDA_SUCCESS)
    close_base(shared, base);
  sfshm_cuda_leave();
  return status;
}

/* ---- Memory for sharing ------------------------------------------------------------------------------------------ */

sf_status_t sfshm_cuda_identify(int32_t number, sfshm_device_identity_t *identity_p)
{
  CUdevice device;
  CUuuid uuid;
  sf_status_t status = sfshm_cuda_status(cuDeviceGet(&device, number), "cuDeviceGet");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  if (status == SF_OK)
    memcpy(identity_p->bytes, uuid.bytes, sizeof identity_p->bytes);
  return status;
}

/* Nobody sees what was there before. By the plugin's stream, if there is one: the default stream would wait for those
 * of the application. */
static sf_status_t allocate_zeroed(int32_t number, size_t wanted_bytes, sfshm_device_range_t *range_p)
{
  CUstream stream = sfshm_cuda_device(number)->own_stream;
  CUdeviceptr base = 0;
  size_t length_bytes = 0;
  char what[64];
  snprintf(what, sizeof what, "%zu bytes of a device's memory", wanted_bytes);
  CUresult result = sfshm_cuda_virtual_allocate(number, wanted_bytes, &base, &length_bytes);
  if (result == CUDA_ERROR_NOT_SUPPORTED)
    return refused(result, "the device has no memory that processes can share");
  sf_status_t status = sfshm_cuda_status(result, what);
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_status(cuMemsetD8Async(base, 0, length_bytes, stream), "zeroing memory");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuStreamSynchronize(stream), "zeroing memory");
  if (status == SF_OK)
    status = sfshm_cuda_find((const void *)(uintptr_t)base, range_p);
  if (status != SF_OK)
    sfshm_cuda_virtual_close(base, length_bytes);
  return status;
}

sf_status_t sfshm_cuda_allocate(int32_t number, size_t length_bytes, sfshm_device_range_t *range_p)
{
  sfshm_cuda_lock();
  sf_status_t status = sfshm_cuda_enter_context(number);
  if (status == SF_OK) {
    status = allocate_zeroed(number, length_bytes, range_p);
    sfshm_cuda_leave();
  }
  sfshm_cuda_unlock();
  return status;
}

void sfshm_cuda_release(void *address)
{
  sfshm_device_range_t range;
  if (sfshm_cuda_find(address, &range) != SF_OK)
    return;
  sfshm_cuda_detach(address, UINT64_MAX);
  sfshm_cuda_lock();
  sf_status_t status = sfshm_cuda_enter_context(range.device);
  sfshm_cuda_unlock();
  if (status != SF_OK)
    return;
  sfshm_cuda_virtual_close((CUdeviceptr)(uintptr_t)range.base, range.length_bytes);
  sfshm_cuda_leave();
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* For any device: where this process has its own memory, if kernels there reach that of the other process, which they
 * read directly then. */
static sf_status_t open_handle(shared_t *shared, int32_t device)
{
  int32_t number = 0, home = sfshm_cuda_home();
  sf_status_t status = find_device(&shared->content.device, &number);
  if (status != SF_OK)
    return status;
  if (device != SFSHM_DEVICE_ANY)
    return sfshm_cuda_reaches(device, number)
               ? open_on(shared, device)
               : sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: device %d does not reach memory of device %d", device, number);
  if (home >= 0 && home != number && sfshm_cuda_reaches(home, number) && open_on(shared, home) == SF_OK)
    return SF_OK;
  return open_on(shared, number);
}

static sf_status_t add(const content_t *content, int fd, int32_t device, shared_t **shared_p)
{
  shared_t *shared = calloc(1, sizeof *shared);
  if (shared == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of opened memory");
  shared->content = *content;
  shared->fd = fd;
  sf_status_t status = open_handle(shared, device);
  if (status != SF_OK) {
    free(shared);
    return status;
  }
  shared->next = opened;
  opened = shared;
  *shared_p = shared;
  return SF_OK;
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

/* With the lock held, but not meanwhile. */
static void close_memory(const shared_t *shared)
{
  sfshm_cuda_device_t *device;
  CUdeviceptr base = (CUdeviceptr)(uintptr_t)shared->range.base;
  if (sfshm_cuda_enter(shared->range.device, &device) != SF_OK)
    return;
  sfshm_cuda_unlock();
  close_base(shared, base);
  sfshm_cuda_leave();
  sfshm_cuda_lock();
}

static void take_out(const shared_t *shared)
{
  shared_t **link = &opened;
  while (*link != shared)
    link = &(*link)->next;
  *link = shared->next;
}

/* With the lock held: what is open there; beside it there may be what is being closed. */
static shared_t *find_by_base(const void *base)
{
  shared_t *shared = opened;
  while (shared != NULL && (shared->range.base != base || shared->times == 0))
    shared = shared->next;
  return shared;
}

static void close_once(const void *base)
{
  sfshm_cuda_lock();
  shared_t *shared = find_by_base(base);
  if (shared != NULL && --shared->times == 0) {
    close_memory(shared);
    take_out(shared);
    free(shared);
    pthread_cond_broadcast(&closed);
  }
  sfshm_cuda_unlock();
}

/* ---- Sharing what is open ---------------------------------------------------------------------------------------- */

/* NULL: it is not open, or not any more. */
static shared_t *find_open(const content_t *content)
{
  for (;;) {
    shared_t *shared = opened;
    while (shared != NULL && memcmp(&shared->content, content, sizeof *content) != 0)
      shared = shared->next;
    if (shared == NULL || shared->times > 0)
      return shared;
    sfshm_cuda_unlock_until(&closed);
  }
}

sf_status_t sfshm_cuda_open_shared(const sfshm_device_handle_t *handle, int fd, int32_t device,
                                   sfshm_device_range_t *range_p)
{
  content_t content;
  sf_status_t status = SF_OK;
  memcpy(&content, handle->bytes, sizeof content);
  sfshm_cuda_lock();
  shared_t *shared = find_open(&content);
  if (shared == NULL)
    status = add(&content, fd, device, &shared);
  else if (device != SFSHM_DEVICE_ANY && shared->range.device != device)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: the memory is open for device %d already", shared->range.device);
  if (status == SF_OK) {
    shared->times++;
    *range_p = shared->range;
  }
  sfshm_cuda_unlock();
  if (status == SF_OK && (status = sfshm_cuda_attach_as(range_p, true)) != SF_OK)
    close_once(range_p->base);
  return status;
}

void sfshm_cuda_close_shared(const void *base)
{
  sfshm_cuda_lock();
  const shared_t *shared = find_by_base(base);
  uint64_t serial = shared != NULL ? shared->range.serial : 0;
  sfshm_cuda_unlock();
  sfshm_cuda_detach(base, serial);
  close_once(base);
}

/* Memory of other processes, and where addresses are, of the stand-in for the CUDA driver: see fake_driver.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake_driver.h"
#include "tests/cuda/fake_internal.h"
#include "tests/cuda/fake_memory.h"

/* What a handle holds. */
typedef struct ticket {
  int32_t pid;
  int32_t fd;
  uint64_t length_bytes;
  uint64_t offset;
  int32_t device;
} ticket_t;

/* Processes that have others' memory open hold a lock on its file, which goes when they die. */
static void note_use(const sftest_cuda_memory_t *memory)
{
  struct flock use = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (fcntl(memory->fd, F_SETLK, &use) != 0)
    abort();
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
  memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = (char)device;
  return CUDA_SUCCESS;
}

static void write_ticket(const sftest_cuda_memory_t *memory, void *to, size_t room_bytes)
{
  ticket_t ticket = {getpid(), memory->fd, memory->length_bytes, (uint64_t)(memory->base - memory->mapped),
                     memory->device};
  memset(to, 0, room_bytes);
  memcpy(to, &ticket, sizeof ticket);
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  if (memory == NULL || memory->fd < 0 || memory->imported || memory->is_virtual || memory->pool != NULL ||
      (uintptr_t)memory->base != (uintptr_t)pointer)
    result = CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuIpcGetMemHandle"))
    result = CUDA_ERROR_NOT_SUPPORTED;
  if (result == CUDA_SUCCESS)
    write_ticket(memory, handle, sizeof *handle);
  return result;
}

static bool is_open(const CUipcMemHandle *handle)
{
  const sftest_cuda_memory_t *memory = sftest_cuda_memories;
  while (memory != NULL && (!memory->imported || memcmp(&memory->handle, handle, sizeof *handle) != 0))
    memory = memory->next;
  return memory != NULL;
}

/* Memory of another device is opened only where kernels reach it. */
static bool reaches(int device)
{
  int access = 1, own = sftest_cuda_current()->device;
  return own == device || (cuDeviceCanAccessPeer(&access, own, device) == CUDA_SUCCESS && access);
}

/* A process can't open its own handles, nor one twice: some drivers count, others refuse. */
CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
  sftest_cuda_forbid_in_captures();
  char path[64];
  ticket_t ticket;
  CUresult result = sftest_cuda_enter();
  memcpy(&ticket, &handle, sizeof ticket);
  if (result == CUDA_SUCCESS && ticket.pid == getpid())
    result = CUDA_ERROR_INVALID_CONTEXT;
  if (result != CUDA_SUCCESS || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuIpcOpenMemHandle") || !reaches(ticket.device))
    return CUDA_ERROR_NOT_SUPPORTED;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket.pid, (int)ticket.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  pthread_mutex_lock(&sftest_cuda_lock);
  if (is_open(&handle)) {
    pthread_mutex_unlock(&sftest_cuda_lock);
    close(fd);
    return CUDA_ERROR_ALREADY_MAPPED;
  }
  sftest_cuda_memory_t *memory = sftest_cuda_add_memory(sftest_cuda_current()->device, ticket.length_bytes);
  memory->fd = fd;
  memory->imported = true;
  memory->handle = handle;
  sftest_cuda_map_memory(memory, (size_t)ticket.offset);
  note_use(memory);
  *pointer = (CUdeviceptr)(uintptr_t)memory->given;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  result = sftest_cuda_free_memory((uintptr_t)pointer, true);
  return result;
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  for (unsigned i = 0; i < n; i++) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *(CUmemorytype *)values[i] = memory == NULL ? 0 : memory->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      *(int *)values[i] = memory != NULL && memory->device >= 0 ? memory->device : -2;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
      *(CUdeviceptr *)values[i] = memory != NULL ? (CUdeviceptr)(uintptr_t)memory->base : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID)
      *(unsigned long long *)values[i] = memory != NULL ? memory->serial : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
      *(size_t *)values[i] = memory != NULL ? memory->told_bytes : 0;
    else
      abort();
  }
  return CUDA_SUCCESS;
}

/* Unlike cuPointerGetAttributes, which accepts memory that it knows nothing of. */
static CUresult get_known(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  if (memory != NULL && attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *(CUmemorytype *)data = memory->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  else if (memory != NULL)
    *(CUcontext *)data = memory->device < 0 || memory->is_virtual || memory->pool != NULL
                             ? NULL
                             : sftest_cuda_context(memory->device, memory->elsewhere);
  return memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* NULL: of none. */
static CUresult get_pool(CUmemoryPool *pool, CUdeviceptr pointer)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  *pool = memory != NULL ? memory->pool : NULL;
  return memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
    return get_known(data, attribute, pointer);
  if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
    return get_pool(data, pointer);
  if (attribute != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    abort();
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  *(int *)data = memory != NULL && !memory->is_virtual && memory->pool == NULL;
  return CUDA_SUCCESS;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

sftest_cuda_alloc_fn_t sftest_cuda_alloc;

struct CUmemPoolHandle_st {
  bool in_use;
  int device;
  bool is_shareable;
};

static struct CUmemPoolHandle_st pools[16]; /* those of a process live as long as the driver */

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
  size_t i = 0;
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
    abort();
  pthread_mutex_lock(&sftest_cuda_lock);
  while (i < sizeof pools / sizeof pools[0] && pools[i].in_use)
    i++;
  if (i < sizeof pools / sizeof pools[0])
    pools[i] = (struct CUmemPoolHandle_st){true, properties->location.id,
                                           properties->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
  pthread_mutex_unlock(&sftest_cuda_lock);
  if (i == sizeof pools / sizeof pools[0])
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pool = &pools[i];
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
  pool->in_use = false;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
  pool->device = access->location.id;
  return count == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
  void *base = sftest_cuda_alloc(pool->device, bytes);
  (void)stream;
  if (base == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  pthread_mutex_lock(&sftest_cuda_lock);
  (*sftest_cuda_find_memory((uintptr_t)base))->pool = pool;
  pthread_mutex_unlock(&sftest_cuda_lock);
  *pointer = (CUdeviceptr)(uintptr_t)base;
  return CUDA_SUCCESS;
}

/* The descriptor is of nothing: what a pointer is exported as names its memory. */
CUresult cuMemPoolExportToShareableHandle(void *fd, CUmemoryPool pool, CUmemAllocationHandleType type,
                                          unsigned long long flags)
{
  if (!pool->is_shareable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *(int *)fd = memfd_create("fake-pool", MFD_CLOEXEC);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *fd, CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
  const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = type};
  if (fcntl((int)(intptr_t)fd, F_GETFD) < 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return cuMemPoolCreate(pool, &properties);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr pointer)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  bool good = memory != NULL && memory->pool != NULL && !memory->imported;
  if (good)
    write_ticket(memory, data, sizeof *data);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
  CUipcMemHandle handle;
  memcpy(&handle, data, sizeof handle);
  CUresult result = cuIpcOpenMemHandle(pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  (*sftest_cuda_find_memory((uintptr_t)*pointer))->pool = pool;
  return CUDA_SUCCESS;
}

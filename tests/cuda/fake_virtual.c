/* Memory that the stand-in for the CUDA driver maps at reserved addresses: see fake_driver.h. It has no context,
 * kernels need access given to their device, and other processes open it by a descriptor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake_internal.h"
#include "tests/cuda/fake_memory.h"

/* What a handle, which is its address, stands for. */
typedef struct physical {
  int fd;
  int device;
  bool is_shareable;
} physical_t;

static physical_t *physical_of(CUmemGenericAllocationHandle handle)
{
  return (physical_t *)(uintptr_t)handle;
}

static CUmemGenericAllocationHandle make_handle(int fd, int device, bool is_shareable)
{
  physical_t *physical = malloc(sizeof *physical);
  if (physical == NULL || fd < 0)
    abort();
  *physical = (physical_t){fd, device, is_shareable};
  return (CUmemGenericAllocationHandle)(uintptr_t)physical;
}

static int again(int fd)
{
  return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *property,
                     unsigned long long flags)
{
  size_t block;
  char name[32];
  CUresult result = cuMemGetAllocationGranularity(&block, property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS || flags != 0 || bytes == 0 || bytes % block != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuMemCreate") || bytes > DEVICE_BYTES)
    return CUDA_ERROR_OUT_OF_MEMORY;
  snprintf(name, sizeof name, "fake-cuda-%d", property->location.id);
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
    abort();
  *handle = make_handle(fd, property->location.id,
                        property->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
  close(physical_of(handle)->fd);
  free(physical_of(handle));
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags)
{
  void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED || alignment != 0 || wanted != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *pointer = (CUdeviceptr)(uintptr_t)reserved;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
  return munmap((void *)(uintptr_t)pointer, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
  const physical_t *physical = physical_of(handle);
  if (offset != 0 || flags != 0 || lseek(physical->fd, 0, SEEK_END) != (off_t)bytes)
    return CUDA_ERROR_INVALID_VALUE;
  SFTEST_CUDA_LOCK();
  sftest_cuda_memory_t *memory = sftest_cuda_add_memory(physical->device, bytes);
  memory->fd = again(physical->fd);
  memory->is_virtual = true;
  memory->is_shareable = physical->is_shareable;
  sftest_cuda_map_at(memory, (void *)(uintptr_t)pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
  SFTEST_CUDA_LOCK();
  sftest_cuda_memory_t **link = sftest_cuda_find_memory((uintptr_t)pointer), *memory = *link;
  bool good = memory != NULL && memory->is_virtual && memory->length_bytes == bytes;
  if (good) {
    if (mmap(memory->mapped, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      abort();
    close(memory->fd);
    *link = memory->next;
    free(memory);
  }
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
  SFTEST_CUDA_LOCK();
  sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  bool good = memory != NULL && memory->is_virtual && memory->length_bytes == bytes && count == 1 &&
              access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (good)
    memory->access |= 1u << access->location.id;
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)address);
  bool good = memory != NULL && memory->is_virtual;
  if (good)
    *handle = make_handle(again(memory->fd), memory->device, memory->is_shareable);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemExportToShareableHandle(void *fd, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags)
{
  if (sftest_cuda_is_to_fail("cuMemExportToShareableHandle"))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!physical_of(handle)->is_shareable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *(int *)fd = again(physical_of(handle)->fd);
  return CUDA_SUCCESS;
}

/* The device is in the name of the file. */
static int device_of(int fd)
{
  char path[64], name[64] = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, name, sizeof name - 1) > 0 ? (int)strtol(strrchr(name, '-') + 1, NULL, 10) : -1;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *fd, CUmemAllocationHandleType type)
{
  int imported = again((int)(intptr_t)fd);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || imported < 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuMemImportFromShareableHandle")) {
    close(imported);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *handle = make_handle(imported, device_of(imported), true);
  return CUDA_SUCCESS;
}

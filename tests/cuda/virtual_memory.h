/* Memory at reserved addresses for tests, by calls that the stand-in and a real driver have. */
#ifndef SFTEST_CUDA_VIRTUAL_MEMORY_H
#define SFTEST_CUDA_VIRTUAL_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* Of so many bytes, rounded up. NULL: that failed. */
static inline void *sftest_virtual_alloc(int device, size_t len_bytes, bool shareable)
{
  CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
  CUmemAccessDesc access = {.location = property.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CUdeviceptr base = 0;
  size_t block = 0;
  property.requestedHandleTypes = shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  if (cuMemGetAllocationGranularity(&block, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    return NULL;
  len_bytes = (len_bytes + block - 1) / block * block;
  bool good = cuMemCreate(&handle, len_bytes, &property, 0) == CUDA_SUCCESS &&
              cuMemAddressReserve(&base, len_bytes, 0, 0, 0) == CUDA_SUCCESS &&
              cuMemMap(base, len_bytes, 0, handle, 0) == CUDA_SUCCESS &&
              cuMemSetAccess(base, len_bytes, &access, 1) == CUDA_SUCCESS && cuMemRelease(handle) == CUDA_SUCCESS;
  return good ? (void *)(uintptr_t)base : NULL;
}

static inline bool sftest_virtual_free(void *address, size_t len_bytes)
{
  CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
  return cuMemUnmap(base, len_bytes) == CUDA_SUCCESS && cuMemAddressFree(base, len_bytes) == CUDA_SUCCESS;
}

/* Of a pool of its own, which stays. NULL: that failed. */
static inline void *sftest_pool_alloc(int device, size_t len_bytes, bool shareable)
{
  CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
  CUmemoryPool pool;
  CUcontext context;
  CUdeviceptr base = 0;
  properties.handleTypes = shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxPushCurrent(context) != CUDA_SUCCESS)
    return NULL;
  bool good = cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS &&
              cuMemAllocFromPoolAsync(&base, len_bytes, pool, NULL) == CUDA_SUCCESS &&
              cuStreamSynchronize(NULL) == CUDA_SUCCESS;
  cuCtxPopCurrent(&context);
  return good ? (void *)(uintptr_t)base : NULL;
}

#endif

/* Memory that is mapped at reserved addresses (cuMemCreate, cuMemMap), for other processes: where it was made with a
 * shareable handle, that is a descriptor, which also passes between containers and users. The driver frees such memory
 * when no process has it mapped and no descriptor is open. Any thread. */
#include "shm/base/error.h"
#include "shm/cuda/internal.h"

sf_status_t sfshm_cuda_virtual_export(const void *base, int *fd_p)
{
  CUmemGenericAllocationHandle handle;
  CUresult result = cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)base);
  if (result == CUDA_SUCCESS) {
    result = cuMemExportToShareableHandle(fd_p, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cuMemRelease(handle);
  }
  return result == CUDA_SUCCESS
             ? SF_OK
             : sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: memory at %p was not made for other processes to open", base);
}

static CUresult give_access(CUdeviceptr base, size_t length_bytes, int32_t number)
{
  CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = number},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return cuMemSetAccess(base, length_bytes, &access, 1);
}

static CUresult map(CUmemGenericAllocationHandle handle, size_t length_bytes, int32_t number, CUdeviceptr *base_p)
{
  CUdeviceptr base = 0;
  CUresult result = cuMemAddressReserve(&base, length_bytes, 0, 0, 0);
  if (result != CUDA_SUCCESS)
    return result;
  result = cuMemMap(base, length_bytes, 0, handle, 0);
  if (result == CUDA_SUCCESS && (result = give_access(base, length_bytes, number)) != CUDA_SUCCESS)
    cuMemUnmap(base, length_bytes);
  if (result != CUDA_SUCCESS)
    cuMemAddressFree(base, length_bytes);
  else
    *base_p = base;
  return result;
}

/* For other processes, and for network adapters where these can. */
static CUmemAllocationProp property_of(int32_t number)
{
  CUdevice device;
  int adapters = 0;
  if (cuDeviceGet(&device, number) == CUDA_SUCCESS)
    (void)cuDeviceGetAttribute(&adapters, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device);
  return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = number},
                               .allocFlags = {.gpuDirectRDMACapable = adapters != 0}};
}

CUresult sfshm_cuda_virtual_allocate(int32_t number, size_t wanted_bytes, CUdeviceptr *base_p, size_t *length_p)
{
  CUmemAllocationProp property = property_of(number);
  CUmemGenericAllocationHandle handle;
  size_t block = 1;
  CUresult result = cuMemGetAllocationGranularity(&block, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS || wanted_bytes > SIZE_MAX - block)
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
  *length_p = (wanted_bytes + block - 1) / block * block;
  result = cuMemCreate(&handle, *length_p, &property, 0);
  if (result != CUDA_SUCCESS)
    return result;
  result = map(handle, *length_p, number, base_p);
  cuMemRelease(handle);
  for (int32_t i = 0; i < sfshm_cuda_count() && result == CUDA_SUCCESS; i++)
    if (i != number && sfshm_cuda_reaches(i, number) && (result = give_access(*base_p, *length_p, i)) != CUDA_SUCCESS)
      sfshm_cuda_virtual_close(*base_p, *length_p);
  return result;
}

CUresult sfshm_cuda_virtual_open(int fd, size_t length_bytes, int32_t number, CUdeviceptr *base_p)
{
  CUmemGenericAllocationHandle handle;
  CUresult result =
      cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result != CUDA_SUCCESS)
    return result;
  result = map(handle, length_bytes, number, base_p);
  cuMemRelease(handle); /* the mapping holds it */
  return result;
}

void sfshm_cuda_virtual_close(CUdeviceptr base, size_t length_bytes)
{
  cuMemUnmap(base, length_bytes);
  cuMemAddressFree(base, length_bytes);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_cuda_pool_export(const void *base, CUmemoryPool pool, CUmemPoolPtrExportData *data_p, int *fd_p)
{
  CUresult result = cuMemPoolExportPointer(data_p, (CUdeviceptr)(uintptr_t)base);
  if (result == CUDA_SUCCESS)
    result = cuMemPoolExportToShareableHandle(fd_p, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return result == CUDA_SUCCESS
             ? SF_OK
             : sfshm_error(SF_ERR_UNSUPPORTED, "CUDA: memory at %p is of a pool that is not for other processes", base);
}

CUresult sfshm_cuda_pool_open(int fd, CUmemPoolPtrExportData data, int32_t number, CUmemoryPool *pool_p,
                              CUdeviceptr *base_p)
{
  CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = number},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUresult result =
      cuMemPoolImportFromShareableHandle(pool_p, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result != CUDA_SUCCESS)
    return result;
  result = cuMemPoolSetAccess(*pool_p, &access, 1);
  if (result == CUDA_SUCCESS)
    result = cuMemPoolImportPointer(base_p, *pool_p, &data);
  if (result != CUDA_SUCCESS)
    cuMemPoolDestroy(*pool_p);
  return result;
}

void sfshm_cuda_pool_close(CUmemoryPool pool, CUdeviceptr base)
{
  cuMemFree(base);
  cuMemPoolDestroy(pool);
}

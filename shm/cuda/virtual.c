/* Memory that is mapped at reserved addresses (cuMemCreate, cuMemMap), for other processes: where it was made with a
 * shareable handle, that is a descriptor, which also passes between containers. Any thread. */
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

static CUresult map(CUmemGenericAllocationHandle handle, size_t length_bytes, int32_t number, CUdeviceptr *base_p)
{
  CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = number},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr base = 0;
  CUresult result = cuMemAddressReserve(&base, length_bytes, 0, 0, 0);
  if (result != CUDA_SUCCESS)
    return result;
  result = cuMemMap(base, length_bytes, 0, handle, 0);
  if (result == CUDA_SUCCESS && (result = cuMemSetAccess(base, length_bytes, &access, 1)) != CUDA_SUCCESS)
    cuMemUnmap(base, length_bytes);
  if (result != CUDA_SUCCESS)
    cuMemAddressFree(base, length_bytes);
  else
    *base_p = base;
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

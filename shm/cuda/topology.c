/* What sfctl topo shows of devices, and whether they reach each other. Needs no context. */
#include <string.h>

#include "shm/cuda/internal.h"
#include "shm/error.h"

sf_status_t sfshm_cuda_describe(int32_t device, sfshm_device_info_t *info_p)
{
  CUdevice handle;
  sfshm_device_info_t info = {0};
  size_t memory_bytes = 0;
  int version = 0;
  sf_status_t status = sfshm_cuda_status(cuDeviceGet(&handle, device), "cuDeviceGet");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetName(info.name, (int)sizeof info.name, handle), "cuDeviceGetName");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceTotalMem(&memory_bytes, handle), "cuDeviceTotalMem");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGetPCIBusId(info.pci_address, (int)sizeof info.pci_address, handle),
                               "cuDeviceGetPCIBusId");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDriverGetVersion(&version), "cuDriverGetVersion");
  if (status != SF_OK)
    return status;
  info.memory_bytes = memory_bytes;
  info.driver_version = version;
  *info_p = info;
  return SF_OK;
}

/* Native atomics are what NVLink has and PCI has not. */
sf_status_t sfshm_cuda_link(int32_t from, int32_t to, sfshm_device_link_t *link_p)
{
  CUdevice reader, owner;
  int access = 0, atomics = 0, rank = 0;
  sf_status_t status = sfshm_cuda_status(cuDeviceGet(&reader, from), "cuDeviceGet");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceGet(&owner, to), "cuDeviceGet");
  if (status == SF_OK)
    status = sfshm_cuda_status(cuDeviceCanAccessPeer(&access, reader, owner), "cuDeviceCanAccessPeer");
  if (status == SF_OK && access)
    status = sfshm_cuda_status(
        cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, reader, owner),
        "cuDeviceGetP2PAttribute");
  if (status == SF_OK && access)
    status = sfshm_cuda_status(cuDeviceGetP2PAttribute(&rank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, reader, owner),
                               "cuDeviceGetP2PAttribute");
  if (status == SF_OK)
    *link_p = (sfshm_device_link_t){access != 0, atomics != 0, rank};
  return status;
}

/* What sfctl topo shows of devices, and whether they reach each other. Needs no context. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/cuda/internal.h"

static bool are_peers_off(void)
{
  const char *wanted = getenv("SF_DEVICE_PEER");
  return wanted != NULL && strcmp(wanted, "off") == 0;
}

bool sfshm_cuda_reaches(int32_t from, int32_t to)
{
  static enum { UNKNOWN, NO, YES } known[SFSHM_CUDA_MAX_DEVICES][SFSHM_CUDA_MAX_DEVICES];
  sfshm_device_link_t link;
  if (from == to)
    return true;
  if (known[from][to] == UNKNOWN) {
    bool yes = !are_peers_off() && sfshm_cuda_link(from, to, &link) == SF_OK && link.access;
    known[from][to] = yes ? YES : NO;
  }
  return known[from][to] == YES;
}

sf_status_t sfshm_cuda_settle_other(int32_t other, CUcontext *context_p)
{
  sfshm_cuda_device_t *device;
  sf_status_t status = sfshm_cuda_enter(other, &device);
  if (status != SF_OK)
    return status;
  status = sfshm_cuda_settle(device);
  sfshm_cuda_leave();
  *context_p = device->context;
  return status;
}

sf_status_t sfshm_cuda_join(int32_t other)
{
  CUcontext context;
  sf_status_t status = sfshm_cuda_settle_other(other, &context);
  if (status != SF_OK)
    return status;
  CUresult result = cuCtxEnablePeerAccess(context, 0);
  return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? SF_OK : sfshm_cuda_status(result, "cuCtxEnablePeerAccess");
}

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

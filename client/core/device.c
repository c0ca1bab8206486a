/* Memory of devices: see device.h. */
#include "client/core/device.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"

#define DRIVER "libcuda.so.1"

sf_status_t sfc_device_attach(void *address, size_t len_bytes, uint64_t *serial_p)
{
  const sfshm_device_ops_t *ops;
  sfshm_device_range_t range;
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    return status;
  status = ops->find(address, &range);
  if (status != SF_OK)
    return sfshm_error(status == SF_ERR_NOT_FOUND ? SF_ERR_ARG : status, "%s", ops->detail());
  size_t before = (size_t)((char *)address - (char *)range.base);
  if (len_bytes > range.length_bytes - before)
    return sfshm_error(SF_ERR_ARG, "%zu bytes at %p: the allocation on device %d ends after %zu", len_bytes, address,
                       range.device, range.length_bytes - before);
  status = ops->attach(&range);
  if (status != SF_OK)
    return sfshm_error(status, "%s", ops->detail());
  *serial_p = range.serial;
  return SF_OK;
}

/* Without loading anything, as long as the application has not done so. */
bool sfc_device_has_driver(void)
{
  void *driver = dlopen(DRIVER, RTLD_LAZY | RTLD_NOLOAD);
  if (driver != NULL)
    dlclose(driver);
  return driver != NULL;
}

bool sfc_device_holds(const void *address)
{
  const sfshm_device_ops_t *ops;
  sfshm_device_range_t range;
  return sfc_device_has_driver() && sfshm_device_load(&ops) == SF_OK && ops->find(address, &range) == SF_OK;
}

sf_status_t sfc_device_copy(void *to, const void *from, size_t len_bytes)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sf_status_t status = ops->copy(to, from, len_bytes);
  return status == SF_OK ? status : sfshm_error(status, "%s", ops->detail());
}

void sfc_device_detach(const void *address, uint64_t serial)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  if (ops != NULL)
    ops->detach(address, serial);
}

bool sfc_device_may_share(void)
{
  const char *wanted = getenv("SF_DEVICE_SHARE");
  return wanted == NULL || strcmp(wanted, "off") != 0;
}

bool sfc_device_share(const void *address, sfshm_device_handle_t *handle_p, int *fd_p, uint64_t *offset_p)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sfshm_device_range_t range;
  if (ops == NULL || !sfc_device_may_share() || ops->find(address, &range) != SF_OK ||
      ops->share(address, handle_p, fd_p) != SF_OK)
    return false;
  *offset_p = (uint64_t)((const char *)address - (const char *)range.base);
  return true;
}

sf_status_t sfc_device_refuse(const char *name, const void *address)
{
  sfshm_device_range_t range;
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  if (ops == NULL || address == NULL || ops->find(address, &range) != SF_OK)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "%s: %p is memory of device %d that is not registered: see sf_register", name, address,
                     range.device);
}

sf_status_t sfc_device_check_aligned(const char *name, const char *buffer, const void *address, sfshm_unit_t unit,
                                     sfshm_op_t op)
{
  size_t bytes = op == SFSHM_OP_REPLACE ? 1 : sfshm_base_alignment(unit.base);
  if ((uintptr_t)address % bytes == 0)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "%s: %s %p on a device is not aligned to %zu bytes, as %s of %s needs it", name,
                     buffer, address, bytes, sfshm_op_name(op), sfshm_base_name(unit.base));
}

/* Of what there is room for behind the array, nothing else can be a copy. */
void sfc_device_free_array(void *array)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  if (array != NULL && ops != NULL)
    ops->forget(array, malloc_usable_size(array));
  free(array);
}

void sfc_device_forget_region(const sfshm_region_t *region)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  if (region->base != NULL && ops != NULL)
    ops->forget(region->base, region->length_bytes);
}

void sfc_device_destroy_region(sfshm_region_t *region)
{
  sfc_device_forget_region(region);
  sfshm_region_destroy(region);
}

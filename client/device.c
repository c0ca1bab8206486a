/* Loading the plugin for memory of devices: see device.h. */
#include "client/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/error.h"

#define PLUGIN "libsf_cuda.so"
#define DRIVER "libcuda.so.1"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const sfshm_device_ops_t *) loaded;

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* SF_CUDA_PLUGIN, else beside this library (or the program that it was linked into), else wherever the dynamic linker
 * looks. */
static void find_plugin(char path[PATH_MAX])
{
  Dl_info own;
  const char *given = getenv("SF_CUDA_PLUGIN");
  if (given != NULL && given[0] != '\0') {
    snprintf(path, PATH_MAX, "%s", given);
    return;
  }
  if (dladdr((const void *)&loaded, &own) && own.dli_fname != NULL) {
    const char *slash = strrchr(own.dli_fname, '/');
    int dir_len = slash != NULL ? (int)(slash - own.dli_fname) + 1 : 0;
    snprintf(path, PATH_MAX, "%.*s%s", dir_len, own.dli_fname, PLUGIN);
    if (access(path, R_OK) == 0)
      return;
  }
  snprintf(path, PATH_MAX, "%s", PLUGIN);
}

static sf_status_t load(const sfshm_device_ops_t **ops_p)
{
  char path[PATH_MAX];
  find_plugin(path);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "memory of CUDA devices needs a driver and %s: %s", PLUGIN, dlerror());
  sfshm_device_plugin_fn_t plugin = (sfshm_device_plugin_fn_t)dlsym(library, SFSHM_DEVICE_PLUGIN_SYMBOL);
  const sfshm_device_ops_t *ops = plugin != NULL ? plugin() : NULL;
  if (ops == NULL || ops->version != SFSHM_DEVICE_VERSION) {
    dlclose(library);
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s is no plugin of this version of libsfclient", path);
  }
  sf_status_t status = ops->open();
  if (status == SF_OK)
    *ops_p = ops;
  else
    sfshm_error(status, "%s", ops->detail());
  return status; /* the library stays: drivers don't like to be unloaded */
}

sf_status_t sfc_device_load(const sfshm_device_ops_t **ops_p)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&lock);
  const sfshm_device_ops_t *ops = atomic_load(&loaded);
  if (ops == NULL)
    status = load(&ops);
  if (status == SF_OK)
    atomic_store(&loaded, ops);
  pthread_mutex_unlock(&lock);
  if (status == SF_OK)
    *ops_p = ops;
  return status;
}

const sfshm_device_ops_t *sfc_device_loaded(void)
{
  return atomic_load_explicit(&loaded, memory_order_acquire);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

sf_status_t sfc_device_attach(void *address, size_t len_bytes)
{
  const sfshm_device_ops_t *ops;
  sfshm_device_range_t range;
  sf_status_t status = sfc_device_load(&ops);
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
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", ops->detail());
}

/* Without loading anything, as long as the application has not done so. */
static bool has_driver(void)
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
  return has_driver() && sfc_device_load(&ops) == SF_OK && ops->find(address, &range) == SF_OK;
}

void sfc_device_detach(const void *address)
{
  const sfshm_device_ops_t *ops = sfc_device_loaded();
  if (ops != NULL)
    ops->detach(address);
}

bool sfc_device_share(const void *address, sfshm_device_handle_t *handle_p, uint64_t *offset_p)
{
  const sfshm_device_ops_t *ops = sfc_device_loaded();
  const char *wanted = getenv("SF_DEVICE_SHARE");
  sfshm_device_range_t range;
  if (ops == NULL || (wanted != NULL && strcmp(wanted, "off") == 0) || ops->find(address, &range) != SF_OK ||
      ops->share(address, handle_p) != SF_OK)
    return false;
  *offset_p = (uint64_t)((const char *)address - (const char *)range.base);
  return true;
}

sf_status_t sfc_device_refuse(const char *name, const void *address)
{
  sfshm_device_range_t range;
  const sfshm_device_ops_t *ops = sfc_device_loaded();
  if (ops == NULL || address == NULL || ops->find(address, &range) != SF_OK)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "%s: %p is memory of device %d that is not registered: see sf_register", name, address,
                     range.device);
}

/* Of what there is room for behind the array, nothing else can be a copy. */
void sfc_device_free_array(void *array)
{
  const sfshm_device_ops_t *ops = sfc_device_loaded();
  if (array != NULL && ops != NULL)
    ops->forget(array, malloc_usable_size(array));
  free(array);
}

void sfc_device_destroy_region(sfshm_region_t *region)
{
  const sfshm_device_ops_t *ops = sfc_device_loaded();
  if (region->base != NULL && ops != NULL)
    ops->forget(region->base, region->length_bytes);
  sfshm_region_destroy(region);
}

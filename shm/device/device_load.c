/* Loading the plugin: see device_load.h. */
#include "shm/device/device_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/base/plugin.h"

#define PLUGIN "libsf_cuda.so"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const sfshm_device_ops_t *) loaded;

static void find_plugin(char path[PATH_MAX])
{
  const char *given = getenv("SF_CUDA_PLUGIN");
  if (given != NULL && given[0] != '\0')
    snprintf(path, PATH_MAX, "%s", given);
  else
    (void)sfshm_plugin_find(PLUGIN, (const void *)&loaded, path);
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
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s is no plugin of this version", path);
  }
  sf_status_t status = ops->open();
  if (status == SF_OK)
    *ops_p = ops;
  else
    sfshm_error(status, "%s", ops->detail());
  return status; /* the library stays loaded: drivers may not support unloading */
}

sf_status_t sfshm_device_load(const sfshm_device_ops_t **ops_p)
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

const sfshm_device_ops_t *sfshm_device_loaded(void)
{
  return atomic_load_explicit(&loaded, memory_order_acquire);
}

/* Loader of the device plugin, used by libsfclient, sfd and sfctl. Any thread. */
#ifndef SFSHM_DEVICE_DEVICE_LOAD_H
#define SFSHM_DEVICE_DEVICE_LOAD_H

#include "shm/device/device.h"

/* Returns the plugin; the first call loads and opens it. SF_ERR_UNSUPPORTED: no plugin, no driver or no device; the
 * detail says which. */
sf_status_t sfshm_device_load(const sfshm_device_ops_t **ops_p);

/* The plugin if it has been loaded, else NULL. */
const sfshm_device_ops_t *sfshm_device_loaded(void);

#endif

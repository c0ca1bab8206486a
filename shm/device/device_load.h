/* The plugin for memory of devices, loaded when it is first needed: by libsfclient, sfd and sfctl alike. Any thread. */
#ifndef SFSHM_DEVICE_LOAD_H
#define SFSHM_DEVICE_LOAD_H

#include "shm/device/device.h"

/* The plugin, loaded and opened at the first call that needs it. SF_ERR_UNSUPPORTED: there is no plugin, no driver or
 * no device; which of these, the detail says. */
sf_status_t sfshm_device_load(const sfshm_device_ops_t **ops_p);

/* The plugin if it has been loaded, else NULL. */
const sfshm_device_ops_t *sfshm_device_loaded(void);

#endif

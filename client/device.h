/* The plugin for memory of devices, as the client uses it. Any thread. */
#ifndef SFC_DEVICE_H
#define SFC_DEVICE_H

#include <stdbool.h>

#include "shm/device.h"
#include "shm/region.h"

/* The plugin, loaded and opened at the first call that needs it. SF_ERR_UNSUPPORTED: there is no plugin, no driver or
 * no device; which of these, the detail says. */
sf_status_t sfc_device_load(const sfshm_device_ops_t **ops_p);

/* The plugin if it has been loaded, else NULL: then no memory of a device is registered. */
const sfshm_device_ops_t *sfc_device_loaded(void);

/* Whether the process uses a driver of devices, and the address is memory of one. */
bool sfc_device_holds(const void *address);

/* Has operations accept memory of a device, which must hold all of these bytes. SF_ERR_ARG: it is no such memory, or
 * ends before. */
sf_status_t sfc_device_attach(void *address, size_t len_bytes);
void sfc_device_detach(const void *address);

/* A handle by which other ranks of the node open the allocation, and where in that the address is. False: they can't,
 * or the environment says SF_DEVICE_SHARE=off. */
bool sfc_device_share(const void *address, sfshm_device_handle_t *handle_p, uint64_t *offset_p);

/* SF_ERR_ARG for memory of a device that is not registered: the processor must not touch it. */
sf_status_t sfc_device_refuse(const char *name, const void *address);

/* Free what holds index arrays of patterns, and the copies of them that devices have. NULL is fine. */
void sfc_device_free_array(void *array);
void sfc_device_destroy_region(sfshm_region_t *region);

#endif

/* The plugin for memory of devices, as the client uses it. Any thread. */
#ifndef SFC_CORE_DEVICE_H
#define SFC_CORE_DEVICE_H

#include <stdbool.h>

#include "shm/device/device_load.h"
#include "shm/region/region.h"

/* Whether the process uses a driver of devices; and the address is memory of one. */
bool sfc_device_has_driver(void);
bool sfc_device_holds(const void *address);

/* Copies between any kinds of memory, if sfc_device_holds one of them, and waits. */
sf_status_t sfc_device_copy(void *to, const void *from, size_t len_bytes);

/* Has operations accept memory of a device, which must hold all of these bytes. SF_ERR_ARG: it is no such memory, or
 * ends before. */
sf_status_t sfc_device_attach(void *address, size_t len_bytes, uint64_t *serial_p);

void sfc_device_detach(const void *address, uint64_t serial);

/* Whether other ranks may read this one's devices: not if the environment says SF_DEVICE_SHARE=off. */
bool sfc_device_may_share(void);

/* A handle by which other ranks of the node open the allocation, and where in that the address is. False: they can't,
 * or may not. *fd_p: see sfshm_device_ops_t. */
bool sfc_device_share(const void *address, sfshm_device_handle_t *handle_p, int *fd_p, uint64_t *offset_p);

/* SF_ERR_ARG for memory of a device at which its kernels can't combine numbers of that type. */
sf_status_t sfc_device_check_aligned(const char *name, const char *buffer, const void *address, sfshm_unit_t unit,
                                     sfshm_op_t op);

/* SF_ERR_ARG for memory of a device that is not registered: the processor must not touch it. */
sf_status_t sfc_device_refuse(const char *name, const void *address);

/* Free what holds index arrays of patterns, and the copies of them that devices have. NULL is fine. */
void sfc_device_free_array(void *array);
void sfc_device_destroy_region(sfshm_region_t *region);

/* The copies alone: other arrays will be there. */
void sfc_device_forget_region(const sfshm_region_t *region);

#endif

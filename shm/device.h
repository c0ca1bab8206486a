/* Memory of devices: what a plugin provides, so that everything else works on device memory as on the host's. The
 * host's own kernels are in kernels.h; those of a device have the same form, take addresses of either kind, and move
 * and combine with the same results bit by bit. Any thread. */
#ifndef SFSHM_DEVICE_H
#define SFSHM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/kernels.h"

#define SFSHM_DEVICE_VERSION 1u
#define SFSHM_DEVICE_PLUGIN_SYMBOL "sfshm_device_plugin"

/* One allocation on a device. */
typedef struct sfshm_device_range {
  void *base;
  size_t length_bytes;
  int32_t device;
} sfshm_device_range_t;

/* By which another process of the node opens an allocation. Only plugins know what is in it. */
#define SFSHM_DEVICE_HANDLE_BYTES 96
typedef struct sfshm_device_handle {
  uint8_t bytes[SFSHM_DEVICE_HANDLE_BYTES];
} sfshm_device_handle_t;

/* What failed functions leave behind is told by detail(): the plugin has its own shm/error.c. */
typedef struct sfshm_device_ops {
  uint32_t version; /* SFSHM_DEVICE_VERSION */
  const char *name;
  const char *(*detail)(void);

  /* Finds driver and devices. Once, before all others. SF_ERR_UNSUPPORTED: there are none. */
  sf_status_t (*open)(void);

  /* The allocation that holds the address. SF_ERR_NOT_FOUND: it is not memory of a device. */
  sf_status_t (*find)(const void *address, sfshm_device_range_t *range_p);

  /* Kernels take addresses within attached allocations for a device's, all others for the host's. As often as attached
   * an allocation is to be detached, by any address in it; nothing may be in flight there then. */
  sf_status_t (*attach)(const sfshm_device_range_t *range);
  void (*detach)(const void *address);

  /* Lets other processes open the allocation that holds the address. SF_ERR_UNSUPPORTED: it is not made for that. */
  sf_status_t (*share)(const void *address, sfshm_device_handle_t *handle_p);

  /* Opens an allocation of another process, and attaches it; as often as opened it is to be closed. SF_ERR_UNSUPPORTED:
   * its device is not there in this process, or the driver refuses. */
  sf_status_t (*open_shared)(const sfshm_device_handle_t *handle, sfshm_device_range_t *range_p);
  void (*close_shared)(const void *base);

  /* As sfshm_kernels_find; NULL: not on devices. They return when the work is done. */
  const sfshm_kernels_t *(*kernels)(sfshm_unit_t unit, sfshm_op_t op);

  /* Whether kernels have failed, of which they can't tell: the first failure, which stays. */
  sf_status_t (*check)(void);

  /* Index arrays that patterns refer to are about to be freed: copies of them that devices have are let go. */
  void (*forget_patterns)(void);
} sfshm_device_ops_t;

/* The only symbol of a plugin. */
typedef const sfshm_device_ops_t *(*sfshm_device_plugin_fn_t)(void);

#endif

/* Memory of devices: what a plugin provides, so that everything else works on device memory as on the host's. The
 * host's own kernels are in kernels.h; those of a device have the same form, take addresses of either kind, and move
 * and combine with the same results bit by bit. Any thread. */
#ifndef SFSHM_DEVICE_H
#define SFSHM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/device/device_streams.h"
#include "shm/kernels/kernels.h"
#include "shm/observe/trace.h"

#define SFSHM_DEVICE_VERSION 14u
#define SFSHM_DEVICE_PLUGIN_SYMBOL "sfshm_device_plugin"
#define SFSHM_DEVICE_ANY (-1)

/* One allocation on a device. */
typedef struct sfshm_device_range {
  void *base;
  size_t length_bytes;
  int32_t device;
  uint64_t serial; /* no other allocation of the process has ever had it */
} sfshm_device_range_t;

/* By which another process of the node opens an allocation. Only plugins know what is in it. */
#define SFSHM_DEVICE_HANDLE_BYTES 96
typedef struct sfshm_device_handle {
  uint8_t bytes[SFSHM_DEVICE_HANDLE_BYTES];
} sfshm_device_handle_t;

typedef struct sfshm_device_info {
  char name[96];
  char pci_address[16]; /* 0000:01:00.0 */
  uint64_t memory_bytes;
  int32_t driver_version; /* as the driver counts: 13000 for CUDA 13.0 */
} sfshm_device_info_t;

/* What a device is called in all processes: their numbers differ. */
typedef struct sfshm_device_identity {
  uint8_t bytes[16];
} sfshm_device_identity_t;

/* From one device to another. */
typedef struct sfshm_device_link {
  bool access;  /* kernels of the first can read the second's memory */
  bool atomics; /* and change it in one step: the devices are joined by more than PCI */
  int32_t rank; /* the driver's, of links' speeds: 0 is the fastest */
} sfshm_device_link_t;

/* What failed functions leave behind is told by detail(): the plugin has its own shm/base/error.c. */
typedef struct sfshm_device_ops {
  uint32_t version; /* SFSHM_DEVICE_VERSION */
  const char *name;
  const char *(*detail)(void);

  /* Finds driver and devices. Once, before all others. SF_ERR_UNSUPPORTED: there are none. */
  sf_status_t (*open)(void);

  /* How many devices there are, and what they are. */
  int32_t (*count)(void);
  sf_status_t (*describe)(int32_t device, sfshm_device_info_t *info_p);
  sf_status_t (*link)(int32_t from, int32_t to, sfshm_device_link_t *link_p);

  /* Whether kernels see what network adapters have written to the device's memory before they were told. */
  bool (*sees_adapters)(int32_t device);

  /* The allocation that holds the address. SF_ERR_NOT_FOUND: it is not memory of a device. */
  sf_status_t (*find)(const void *address, sfshm_device_range_t *range_p);

  /* Memory of its own, zeroed, on the device of that identity; for sharing, not attached. At least as much as is
   * wanted, and nothing else is open to whom it is shared with. SF_ERR_NOMEM: the device has no more;
   * SF_ERR_UNSUPPORTED: it is not visible to this process. */
  sf_status_t (*identify)(int32_t device, sfshm_device_identity_t *identity_p);
  sf_status_t (*allocate)(const sfshm_device_identity_t *identity, size_t length_bytes, sfshm_device_range_t *range_p);
  void (*release)(void *address);

  /* The context of the memory becomes the calling thread's, for libraries that work on it and want that. A thread that
   * does nothing else with devices; it waits for no other one that does. */
  sf_status_t (*enter)(const void *base);

  /* The driver's own copy, from any memory to any other; returns when it is done. For measurements. */
  sf_status_t (*copy)(void *to, const void *from, size_t length_bytes);

  /* Kernels take addresses within attached allocations for a device's, all others for the host's. As often as attached
   * an allocation is to be detached, by any address in it; nothing may be in flight there then. One that has been freed
   * without that ends where another one is attached, and needs no more. */
  sf_status_t (*attach)(const sfshm_device_range_t *range);
  void (*detach)(const void *address, uint64_t serial);

  /* Lets other processes open the allocation that holds the address. SF_ERR_UNSUPPORTED: it is not made for that. */
  sf_status_t (*share)(const void *address, sfshm_device_handle_t *handle_p);

  /* Opens an allocation of another process, and attaches it; as often as opened it is to be closed. device: whose
   * kernels are to reach it, or SFSHM_DEVICE_ANY. SF_ERR_UNSUPPORTED: its device is not there in this process, or not
   * reached from that one, or the driver refuses. Closing it may wait for all streams of the process. */
  sf_status_t (*open_shared)(const sfshm_device_handle_t *handle, int32_t device, sfshm_device_range_t *range_p);
  void (*close_shared)(const void *base);

  /* As sfshm_kernels_find; NULL: not on devices. What they bring to the host is there when they return. What they bring
   * to a device may be under way still: their work is done in the order of the calls, as far as it concerns one
   * device, and check() waits for it. Host memory has been read when they return. */
  const sfshm_kernels_t *(*kernels)(sfshm_unit_t unit, sfshm_op_t op);

  /* The same where contributions to a vertex may be combined in any order: by atomic operations, for ops and types for
   * which devices have them. */
  const sfshm_kernels_t *(*unordered)(sfshm_unit_t unit, sfshm_op_t op);

  /* Packs the array's vertices of several patterns, one pattern behind the other, into memory of the host: one kernel
   * for all as long as they fit into the pinned memory. */
  void (*gather)(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns, const void *array,
                 void *packed);

  /* Waits for all that kernels have been told. Whether any has failed, of which they can't tell: the first failure,
   * which stays. */
  sf_status_t (*check)(void);

  /* Memory that holds index arrays of patterns is about to be freed: copies of them that devices have are let go. */
  void (*forget)(const void *base, size_t length_bytes);

  /* What the calling thread tells devices from now on is written to the trace when it is known to be done, as copies of
   * the record with the times at which the device did it; NULL: nothing more. A record of SFSHM_TRACE_DEVICE gets what
   * it is (where message is 0), bytes and device; of a SFSHM_TRACE_END only the end of the next piece is told. Nobody
   * waits for that: it is looked for when something else is told or waited for. */
  void (*watch)(sfshm_trace_t *trace, const sfshm_trace_record_t *record);

  /* Nothing will be written there any more. */
  void (*unwatch)(const sfshm_trace_t *trace);

  const sfshm_streams_ops_t *streams;
} sfshm_device_ops_t;

/* The only symbol of a plugin. */
typedef const sfshm_device_ops_t *(*sfshm_device_plugin_fn_t)(void);

#endif

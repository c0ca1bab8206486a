/* Device memory: interface of the plugin that lets everything else work on device memory as on host memory. Device
 * kernels have the same form as the host's (kernels.h), accept addresses of both kinds, and give bitwise the same
 * results, except that a NaN may have other bits. Any thread. */
#ifndef SFSHM_DEVICE_DEVICE_H
#define SFSHM_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/device/device_streams.h"
#include "shm/kernels/kernels.h"
#include "shm/observe/trace.h"

#define SFSHM_DEVICE_VERSION 20u
#define SFSHM_DEVICE_PLUGIN_SYMBOL "sfshm_device_plugin"
#define SFSHM_DEVICE_ANY (-1)

/* As the driver counts: the oldest driver that will do, and the first for which the kernels are compiled already. */
#define SFSHM_DEVICE_DRIVER_LEAST 12030
#define SFSHM_DEVICE_DRIVER_COMPILED 13000

/* One allocation on a device. */
typedef struct sfshm_device_range {
  void *base;
  size_t length_bytes;
  int32_t device;
  uint64_t serial; /* unique among all allocations of the process, ever */
} sfshm_device_range_t;

/* Handle by which another process of the node opens an allocation. Opaque to all but plugins. */
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

/* Identity of a device, the same in all processes; their device numbers differ. */
typedef struct sfshm_device_identity {
  uint8_t bytes[16];
} sfshm_device_identity_t;

/* Properties of the link from one device to another. */
typedef struct sfshm_device_link {
  bool access;  /* kernels of the first device can access the second's memory */
  bool atomics; /* they can also use atomic operations there: the link is better than PCI */
  int32_t rank; /* the driver's rank of the link's speed: 0 is the fastest */
} sfshm_device_link_t;

/* Functions of the plugin. detail() returns the error text of a failed function: the plugin has its own
 * shm/base/error.c. */
typedef struct sfshm_device_ops {
  uint32_t version; /* SFSHM_DEVICE_VERSION */
  const char *name;
  const char *(*detail)(void);

  /* Finds driver and devices. Called once, before all others. SF_ERR_UNSUPPORTED: there are none. */
  sf_status_t (*open)(void);

  /* Number of devices, their properties, and the links between them. */
  int32_t (*count)(void);
  sf_status_t (*describe)(int32_t device, sfshm_device_info_t *info_p);
  sf_status_t (*link)(int32_t from, int32_t to, sfshm_device_link_t *link_p);

  /* Finds the allocation that contains the address. SF_ERR_NOT_FOUND: not device memory. */
  sf_status_t (*find)(const void *address, sfshm_device_range_t *range_p);

  /* identify returns the identity of a device. allocate returns zeroed, unattached memory of at least length_bytes on
   * the device, for sharing; processes that open it get access to nothing else. SF_ERR_NOMEM: the device is full.
   * SF_ERR_UNSUPPORTED: it has no memory for sharing. release detaches the memory, and ends its use in this process: it
   * is freed when no process has it open and nobody has its descriptor. */
  sf_status_t (*identify)(int32_t device, sfshm_device_identity_t *identity_p);
  sf_status_t (*allocate)(int32_t device, size_t length_bytes, sfshm_device_range_t *range_p);
  void (*release)(void *address);

  /* Copies between any kinds of memory by the driver, and waits. For measurements. */
  sf_status_t (*copy)(void *to, const void *from, size_t length_bytes);

  /* Kernels treat addresses within attached allocations as device memory, all others as host memory. Each attach needs
   * one detach, by any address in the allocation, when nothing is in flight there. An allocation that was freed without
   * detach ends where another one is attached, and needs no detach. */
  sf_status_t (*attach)(const sfshm_device_range_t *range);
  void (*detach)(const void *address, uint64_t serial);

  /* Creates a handle by which other processes open the allocation that contains the address. *fd_p: a descriptor that
   * belongs to it, for the caller to close; -1: none does. SF_ERR_UNSUPPORTED: it was not allocated for sharing. */
  sf_status_t (*share)(const void *address, sfshm_device_handle_t *handle_p, int *fd_p);

  /* Opens an allocation of another process and attaches it. Each open needs one close. fd: the descriptor that came
   * with the handle, which stays the caller's, or -1. device: the device whose kernels must reach it, or
   * SFSHM_DEVICE_ANY. SF_ERR_UNSUPPORTED: this process does not have the allocation's device, the device cannot reach
   * it, or the driver refuses. Closing may wait for all streams of the process. */
  sf_status_t (*open_shared)(const sfshm_device_handle_t *handle, int fd, int32_t device,
                             sfshm_device_range_t *range_p);
  void (*close_shared)(const void *base);

  /* As sfshm_kernels_find; NULL: not supported on devices. Results in host memory are complete when a kernel returns.
   * Work towards device memory may still be in flight: the work of one device is done in the order of the calls, and
   * check() waits for it. Host memory has been read when a kernel returns. */
  const sfshm_kernels_t *(*kernels)(sfshm_unit_t unit, sfshm_op_t op);

  /* As kernels, but contributions to a vertex may be combined in any order: by atomic operations, for ops and types
   * that devices support. */
  const sfshm_kernels_t *(*unordered)(sfshm_unit_t unit, sfshm_op_t op);

  /* Packs the vertices of several patterns, one pattern after the other, into host memory: one kernel for all that fit
   * into the pinned memory. */
  void (*gather)(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns, const void *array,
                 void *packed);

  /* Number of failures of kernels so far. What was launched after one may succeed, unless the driver keeps failing. */
  uint64_t (*failures)(void);

  /* Waits for all kernels launched. Returns the first failure that no check has returned yet, or else the last one, if
   * there were more than `since`: the number when the operation began. */
  sf_status_t (*check)(uint64_t since);

  /* Frees the device copies of index arrays in host memory that is about to be freed. */
  void (*forget)(const void *base, size_t length_bytes);

  /* Traces later device work of the calling thread: each piece of work writes a copy of the record with the device's
   * times, when it is known to be complete; NULL ends this. A record of SFSHM_TRACE_DEVICE gets the kind of work (if
   * message is 0), bytes and device. For a record of SFSHM_TRACE_END only the end of the next piece is written. Nobody
   * waits for completion: it is checked at later calls. */
  void (*watch)(sfshm_trace_t *trace, const sfshm_trace_record_t *record);

  /* Ends all writing to that trace. */
  void (*unwatch)(const sfshm_trace_t *trace);

  const sfshm_streams_ops_t *streams;
} sfshm_device_ops_t;

/* Type of the only symbol of a plugin. */
typedef const sfshm_device_ops_t *(*sfshm_device_plugin_fn_t)(void);

#endif

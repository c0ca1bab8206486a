/* Registry of the application's memory: sf_alloc blocks and registered regions, by address. Any thread. */
#ifndef SFC_CORE_MEMORY_H
#define SFC_CORE_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core/shared_heap.h"

typedef enum sfc_memory_class {
  SFC_MEMORY_UNKNOWN,
  SFC_MEMORY_ALLOC, /* sf_alloc: other ranks of the node read it in place */
  SFC_MEMORY_REGISTERED,
  SFC_MEMORY_DEVICE, /* registered device memory */
} sfc_memory_class_t;

/* Lookup result for an address. */
typedef struct sfc_memory_ref {
  sfc_memory_class_t class;
  size_t bytes_left; /* from the address to the end of its allocation or region */
  uint64_t segment;  /* ALLOC: segment; DEVICE: number of the region */
  uint64_t offset;
  bool shared;     /* DEVICE: other ranks may open it */
  uint64_t serial; /* DEVICE: serial of the application's allocation; 0: allocated by the library */
} sfc_memory_ref_t;

typedef struct sfc_memory {
  pthread_mutex_t lock;
  struct sf_region **regions; /* by address; they don't overlap */
  size_t n;
  size_t room;
  uint64_t last_region;
  _Atomic uint64_t epoch; /* incremented by every change, which invalidates lookups */
} sfc_memory_t;

void sfc_memory_init(sfc_memory_t *memory);
void sfc_memory_destroy(sfc_memory_t *memory);

/* Makes other ranks close all shared device memory, at the end of the context. */
void sfc_memory_withdraw_shared(sfc_memory_t *memory);

sfc_memory_ref_t sfc_memory_find(sfc_memory_t *memory, const void *address);

/* Memory of a device that the library allocates: a region of the rank, which others open as any other, and which
 * nobody's death takes from those who have it open. */
typedef struct sfc_device_block {
  uint64_t region;
  char *base;
  uint64_t length_bytes; /* in whole blocks of the driver */
  bool shared;           /* others may open it */
} sfc_device_block_t;

/* Zeroed memory on that device, attached, and known to the daemon. May wait for all streams of the process, as drivers
 * do. SF_ERR_LIMIT: see sf_alloc_on_device. */
sf_status_t sfc_device_block_take(sf_context_t *context, int32_t device, size_t len_bytes, sfc_device_block_t *block_p);

/* Ends its use here; others may have it open still. */
void sfc_device_block_give(sf_context_t *context, const sfc_device_block_t *block);

/* SF_ERR_STATE if the application has freed the registered device memory at the address. *device_p: the device, or
 * unchanged for host memory; NULL is accepted, and saves a driver call for memory that the library allocated. */
sf_status_t sfc_memory_check_alive(const char *name, const sfc_memory_ref_t *ref, const void *address,
                                   int32_t *device_p);

static inline uint64_t sfc_memory_epoch(const sfc_memory_t *memory)
{
  return atomic_load_explicit(&memory->epoch, memory_order_acquire);
}

#endif

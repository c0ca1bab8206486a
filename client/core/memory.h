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
  uint64_t serial; /* DEVICE: serial of the application's allocation; 0: allocated by the daemon */
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

/* Returns a number for a region outside the table. */
uint64_t sfc_memory_number(sfc_memory_t *memory);

/* Removes the region at the daemon. wait: until no rank has it open; false only for memory that the daemon allocated.
 */
void sfc_memory_withdraw(sf_context_t *context, uint64_t region, bool wait);

/* SF_ERR_STATE if the application has freed the registered device memory at the address. *device_p: the device, or
 * unchanged for host memory; NULL is accepted, and saves a driver call for memory that the daemon allocated. */
sf_status_t sfc_memory_check_alive(const char *name, const sfc_memory_ref_t *ref, const void *address,
                                   int32_t *device_p);

static inline uint64_t sfc_memory_epoch(const sfc_memory_t *memory)
{
  return atomic_load_explicit(&memory->epoch, memory_order_acquire);
}

#endif

/* The application's memory as the library knows it: allocations of sf_alloc and registered regions, by address. */
#ifndef SFC_CORE_MEMORY_H
#define SFC_CORE_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core/shared_heap.h"

typedef enum sfc_memory_class {
  SFC_MEMORY_UNKNOWN,    /* neither of the two */
  SFC_MEMORY_ALLOC,      /* sf_alloc: readable by the ranks of the node in place */
  SFC_MEMORY_REGISTERED, /* sf_register */
  SFC_MEMORY_DEVICE,     /* sf_register, of a device: out of the processor's reach */
} sfc_memory_class_t;

/* Where an address lies. */
typedef struct sfc_memory_ref {
  sfc_memory_class_t class;
  size_t bytes_left; /* from the address to the end of its allocation or region */
  uint64_t segment;  /* ALLOC: where the others find it; DEVICE: number of the region */
  uint64_t offset;
  bool shared;     /* DEVICE: other ranks may open it */
  uint64_t serial; /* DEVICE: of the application's allocation; 0: it is the daemon's */
} sfc_memory_ref_t;

typedef struct sfc_memory {
  pthread_mutex_t lock;
  struct sf_region **regions; /* by address; they don't overlap */
  size_t n;
  size_t room;
  uint64_t last_region;
  _Atomic uint64_t epoch; /* raised by every change: answers of sfc_memory_find hold until then */
} sfc_memory_t;

void sfc_memory_init(sfc_memory_t *memory);
void sfc_memory_destroy(sfc_memory_t *memory);

/* Has the other ranks let go of all memory of devices. At the end of the context. */
void sfc_memory_withdraw_shared(sfc_memory_t *memory);

/* Looks an address up. */
sfc_memory_ref_t sfc_memory_find(sfc_memory_t *memory, const void *address);

/* A number for a region that is not in the table. */
uint64_t sfc_memory_number(sfc_memory_t *memory);

/* Tells the daemon that there is no such region any more. wait: until nobody has it open; else it must be memory of the
 * daemon's. */
void sfc_memory_withdraw(sf_context_t *context, uint64_t region, bool wait);

/* SF_ERR_STATE if the memory of a device that the address lay in has been freed, though it is still registered. */
sf_status_t sfc_memory_check_alive(const char *name, const sfc_memory_ref_t *ref, const void *address);

static inline uint64_t sfc_memory_epoch(const sfc_memory_t *memory)
{
  return atomic_load_explicit(&memory->epoch, memory_order_acquire);
}

#endif

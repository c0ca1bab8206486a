/* Adder: accumulation on the elements of this node.
 *
 * If all ranks of an array are on one node and its unit is a real or complex floating-point number, ranks exclude each
 * other by locks in the part that they add to, and add by ordinary vector instructions, many times faster than by
 * atomic ones. Each lock guards blocks of 4 KiB. An adder holds at most one lock, and adds at most so many elements at
 * a time. A rank that is killed while it holds a lock fails the array: ranks that wait for the lock return the failure.
 *
 * Other arrays are added to by atomic instructions: their daemons must not wait for a rank, and fetch_op and
 * compare_swap of integers take no lock.
 *
 * Belongs to one call and its thread. */
#ifndef SFC_ONESIDED_ADDER_H
#define SFC_ONESIDED_ADDER_H

#include "client/onesided/array.h"

typedef struct sfc_adder {
  sf_array_t *array;
  const void *alpha; /* NULL: 1 */
  const sfc_array_part_t *part;
  sfshm_array_lock_t *lock; /* held; NULL: none */
  uint64_t block;           /* of the part, that the lock is held for */
  int64_t left;             /* elements that may be added before the lock is released */
  sf_status_t status;       /* an error: nothing more is added */
} sfc_adder_t;

/* Adds n elements of the buffer to those at data, in the adder's part. A row function (shm/array/transfer.h), whose
 * last argument is the adder. Blocks while other ranks hold the lock of these elements. */
void sfc_adder_row(char *data, char *buffer, int64_t n, int64_t stride, const void *adder);

/* Releases the lock, if one is held. */
static inline void sfc_adder_release(sfc_adder_t *adder)
{
  if (adder->lock != NULL)
    atomic_store_explicit(&adder->lock->holder, 0, memory_order_release);
  adder->lock = NULL;
}

/* The next elements are in the part. */
static inline void sfc_adder_turn(sfc_adder_t *adder, const sfc_array_part_t *part)
{
  if (adder->part != part)
    sfc_adder_release(adder);
  adder->part = part;
}

/* Releases the lock and returns the status. */
static inline sf_status_t sfc_adder_end(sfc_adder_t *adder)
{
  sfc_adder_release(adder);
  return adder->status;
}

#endif

/* Accumulation under locks: see adder.h. */
#include "client/onesided/adder.h"

#include "client/core.h"

#define SPINS 1000
#define ELEMENTS_AT_A_TIME 1024

/* Acquire pairs with the release of the rank that held the lock before. */
static bool try_lock(const sf_array_t *array, sfshm_array_lock_t *lock)
{
  uint32_t holder = 0;
  return atomic_compare_exchange_strong_explicit(&lock->holder, &holder, 1 + (uint32_t)array->rank,
                                                 memory_order_acquire, memory_order_relaxed);
}

/* The holder may have been killed: then the array fails. */
static __attribute__((noinline)) sf_status_t wait_for_lock(const sf_array_t *array, sfshm_array_lock_t *lock)
{
  sfc_idle_t idle;
  sfc_idle_start(&idle, array->context->board, SPINS);
  for (;;) {
    if (atomic_load_explicit(&lock->holder, memory_order_relaxed) == 0 && try_lock(array, lock))
      return SF_OK;
    if (sfc_graph_is_failed(array->graph))
      return sfc_graph_failure(array->graph);
    sfc_idle_pause(&idle);
  }
}

/* Holds the lock of the block with the data, from now on for so many elements. Other cores may have the lines of the
 * lock and of the data: both are requested at once. */
static void hold(sfc_adder_t *adder, uint64_t block, const char *data)
{
  sfshm_array_lock_t *lock = sfshm_array_lock_of(adder->part->data - SFSHM_ARRAY_DATA, block);
  __builtin_prefetch(data, 1);
  sfc_adder_release(adder);
  if (!try_lock(adder->array, lock))
    adder->status = wait_for_lock(adder->array, lock);
  if (adder->status == SF_OK) {
    adder->lock = lock;
    adder->block = block;
    adder->left = ELEMENTS_AT_A_TIME;
  }
}

void sfc_adder_row(char *data, char *buffer, int64_t n, int64_t stride, const void *argument)
{
  sfc_adder_t *adder = (sfc_adder_t *)(uintptr_t)argument;
  const sfshm_array_t *shape = &adder->array->shape;
  const sfshm_array_arithmetic_t *arithmetic = &sfshm_array_arithmetic[shape->base];
  const int64_t unit = shape->unit_bytes;
  if (arithmetic->add == NULL || adder->array->nodes != NULL) {
    arithmetic->accumulate(data, buffer, n, stride, adder->alpha);
    return;
  }
  while (n > 0) {
    uint64_t at = (uint64_t)(data - adder->part->data), block = at / SFSHM_ARRAY_LOCKED;
    if (adder->lock == NULL || block != adder->block || adder->left <= 0)
      hold(adder, block, data);
    if (adder->status != SF_OK)
      return;
    int64_t run = (int64_t)(SFSHM_ARRAY_LOCKED - at % SFSHM_ARRAY_LOCKED) / unit;
    run = run < n ? run : n;
    arithmetic->add(data, buffer, run, stride, adder->alpha);
    adder->left -= run;
    n -= run;
    data += run * unit;
    buffer += run * stride * unit;
  }
}

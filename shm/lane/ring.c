/* Creates and opens submission rings. Any thread; stateless. */
#include "shm/lane/ring.h"

#include "shm/base/error.h"

static bool is_capacity(uint32_t capacity)
{
  return capacity >= SFSHM_RING_MIN_CAPACITY && capacity <= SFSHM_RING_MAX_CAPACITY && (capacity & (capacity - 1)) == 0;
}

static size_t ring_bytes(uint32_t capacity)
{
  return sizeof(sfshm_ring_t) + (size_t)capacity * sizeof(sfshm_ring_slot_t);
}

sf_status_t sfshm_ring_create(uint32_t capacity, sfshm_region_t *region_p)
{
  if (!is_capacity(capacity))
    return sfshm_error(SF_ERR_ARG, "ring: a power of two from %u to %u slots expected, %u asked for",
                       SFSHM_RING_MIN_CAPACITY, SFSHM_RING_MAX_CAPACITY, capacity);
  sf_status_t status = sfshm_region_create("sf-ring", SFSHM_REGION_RING, ring_bytes(capacity), SFSHM_SEAL_SIZE,
                                           SFSHM_COMMIT_ALL, region_p);
  if (status != SF_OK)
    return status;
  sfshm_ring_t *ring = region_p->base;
  atomic_store_explicit(&ring->capacity, capacity, memory_order_relaxed); /* no other process has the descriptor yet */
  return SF_OK;
}

sf_status_t sfshm_ring_reader_init(sfshm_ring_t *ring, size_t length_bytes, sfshm_ring_reader_t *reader_p)
{
  if (length_bytes < sizeof(sfshm_ring_t))
    return sfshm_error(SF_ERR_PROTO, "ring region: %zu bytes are too few for a ring", length_bytes);
  uint32_t capacity = atomic_load_explicit(&ring->capacity, memory_order_relaxed);
  if (!is_capacity(capacity))
    return sfshm_error(SF_ERR_PROTO, "ring region: a power of two from %u to %u slots expected, %u found",
                       SFSHM_RING_MIN_CAPACITY, SFSHM_RING_MAX_CAPACITY, capacity);
  if (ring_bytes(capacity) > length_bytes)
    return sfshm_error(SF_ERR_PROTO, "ring region: %zu bytes expected for %u slots, %zu found", ring_bytes(capacity),
                       capacity, length_bytes);
  *reader_p = (sfshm_ring_reader_t){.ring = ring, .mask = capacity - 1};
  return SF_OK;
}

sf_status_t sfshm_ring_open(int fd, sfshm_region_t *region_p, sfshm_ring_reader_t *reader_p)
{
  sfshm_region_t region;
  /* Some pages more than the largest ring: lengths are rounded up to pages of any size. */
  uint64_t max_bytes = ring_bytes(SFSHM_RING_MAX_CAPACITY) + (UINT64_C(1) << 16);
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_RING, max_bytes, SFSHM_READ_WRITE, &region);
  if (status != SF_OK)
    return status;
  status = sfshm_ring_reader_init(region.base, region.length_bytes, reader_p);
  if (status != SF_OK) {
    sfshm_region_destroy(&region);
    return status;
  }
  *region_p = region;
  return SF_OK;
}

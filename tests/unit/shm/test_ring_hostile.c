/* Submission rings of clients that write whatever they like: the daemon neither loses its place nor takes too much. */
#include "shm/lane/ring.h"

#include <pthread.h>
#include <sched.h>

#include "tests/unit/ring_entries.h"
#include "tests/unit/seed.h"

/* A ring of exactly its size in memory of the process, so that the address sanitizer knows where it ends. */
static sfshm_ring_t *ring;
static sfshm_ring_reader_t reader;

static size_t bytes_of(uint32_t capacity)
{
  return sizeof(sfshm_ring_t) + capacity * sizeof(sfshm_ring_slot_t);
}

static void make_ring(uint32_t capacity)
{
  ring = aligned_alloc(128, bytes_of(capacity));
  memset(ring, 0, bytes_of(capacity));
  atomic_store(&ring->capacity, capacity);
  ck_assert_int_eq(sfshm_ring_reader_init(ring, bytes_of(capacity), &reader), SF_OK);
}

static void free_ring(void)
{
  free(ring);
  ring = NULL;
}

/* Takes a turn, whatever it brings: it ends, and neither capacity nor position follow what the client wrote. */
static uint32_t take_turn(uint32_t capacity)
{
  sfshm_ring_entry_t entry;
  uint64_t before = reader.position;
  uint32_t taken = 0;
  while (sfshm_ring_take(&reader, &entry)) {
    taken++;
    ck_assert_uint_eq(entry.number, (uint32_t)(before + taken));
  }
  ck_assert_uint_le(taken, capacity);
  ck_assert_uint_eq(reader.position, before + taken);
  ck_assert_uint_eq(reader.mask, capacity - 1);
  ck_assert_uint_le(sfshm_ring_depth(&reader), capacity);
  (void)sfshm_ring_is_empty(&reader);
  return taken;
}

/* One word of the ring, most often one that means something: a stamp that is due, or nearly. */
static void scribble(uint64_t *state, uint32_t capacity, uint64_t position)
{
  uint64_t value = (uint64_t)sftest_random(state) << 33 ^ sftest_random(state), slot = position % capacity;
  switch (sftest_random(state) % 8) {
  case 0:
    atomic_store_explicit(&ring->tail, value, memory_order_relaxed);
    break;
  case 1:
    atomic_store_explicit(&ring->head, value, memory_order_relaxed);
    break;
  case 2:
    atomic_store_explicit(&ring->armed, (uint32_t)value, memory_order_relaxed);
    break;
  case 3:
    atomic_store_explicit(&ring->capacity, (uint32_t)value, memory_order_relaxed);
    break;
  case 4:
    atomic_store_explicit(&ring->slots[value % capacity].words[value % SFSHM_RING_WORDS], value, memory_order_relaxed);
    break;
  default:
    value = (value & ~(uint64_t)UINT32_MAX) | (uint32_t)(position + value % 3);
    atomic_store_explicit(&ring->slots[slot].stamp, value, memory_order_relaxed);
  }
}

SFTEST(whatever_stands_in_it)
{
  uint64_t state = sftest_seed(4711);
  for (int round = 0; round < 300; round++) {
    uint32_t capacity = 2u << sftest_random(&state) % 6;
    make_ring(capacity);
    for (int i = 0; i < 200; i++) {
      for (unsigned n = sftest_random(&state) % (2 * capacity); n > 0; n--)
        scribble(&state, capacity, reader.position + n - 1);
      take_turn(capacity);
      if (i % 8 == 0)
        sfshm_ring_arm(&reader);
      if (i % 8 == 1)
        sfshm_ring_disarm(&reader);
    }
    free_ring();
  }
}

/* All stamps are right all the time: every turn is as long as turns may be, and no longer. */
SFTEST(stamps_far_ahead)
{
  make_ring(16);
  for (int turn = 0; turn < 100; turn++) {
    for (uint64_t at = reader.position; at < reader.position + 16; at++)
      atomic_store(&ring->slots[at % 16].stamp, (uint32_t)(at + 1));
    ck_assert_uint_eq(take_turn(16), 16);
  }
  free_ring();
}

static atomic_bool hostile_ends;

static void *scribble_on(void *argument)
{
  uint64_t state = *(uint64_t *)argument, position = 0;
  while (!atomic_load_explicit(&hostile_ends, memory_order_relaxed)) {
    scribble(&state, 32, position);
    if (sftest_random(&state) % 4 == 0)
      position = sftest_random(&state) % 64 + (uint32_t)atomic_load_explicit(&ring->head, memory_order_relaxed);
  }
  return NULL;
}

SFTEST(whatever_is_written_meanwhile)
{
  uint64_t states[2] = {sftest_seed(815), 4};
  pthread_t threads[2];
  make_ring(32);
  atomic_store(&hostile_ends, false);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, scribble_on, &states[i]), 0);
  for (int turn = 0; turn < 20000; turn++) {
    take_turn(32);
    sfshm_ring_arm(&reader);
    sfshm_ring_disarm(&reader);
    if (turn % 100 == 0)
      sched_yield();
  }
  atomic_store(&hostile_ends, true);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  free_ring();
}

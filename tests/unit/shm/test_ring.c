/* Submission rings, step by step: which regions are taken for rings, the order of entries, room, and waking. Producers
 * on threads and in processes of their own: test_ring_stress.c. Clients that break the rules: test_ring_hostile.c. */
#include "shm/lane/ring.h"

#include <sys/mman.h>

#include "shm/base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/ring_entries.h"

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

static bool publish_one(uint64_t count)
{
  uint64_t position;
  sfshm_ring_entry_t entry = entry_of(0, count);
  if (!sfshm_ring_claim(ring, 1, &position))
    return false;
  sfshm_ring_publish(ring, position, &entry);
  return true;
}

static void take_one(uint64_t count)
{
  sfshm_ring_entry_t entry;
  ck_assert(sfshm_ring_take(&reader, &entry));
  expect_entry(&entry, 0, count);
  ck_assert_uint_eq(entry.number, (uint32_t)reader.position);
}

static void take_nothing(void)
{
  sfshm_ring_entry_t entry, before;
  memset(&entry, 0x5a, sizeof entry);
  before = entry;
  ck_assert(!sfshm_ring_take(&reader, &entry));
  ck_assert_mem_eq(&entry, &before, sizeof entry);
}

/* ---- Layout ---- */

SFTEST(layout)
{
  ck_assert_uint_eq(SFSHM_REGION_RING, 6);
  ck_assert_uint_eq(sizeof(sfshm_ring_entry_t), 64);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, number), 0);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, kind), 4);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, graph), 8);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, message), 16);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, desc), 24);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, a), 32);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, b), 36);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, size), 40);
  ck_assert_uint_eq(offsetof(sfshm_ring_entry_t, more), 48);
  ck_assert_uint_eq(sizeof(sfshm_ring_slot_t), 64);
  ck_assert_uint_eq(offsetof(sfshm_ring_slot_t, words), 8);
  ck_assert_uint_eq(offsetof(sfshm_ring_t, capacity), 128);
  ck_assert_uint_eq(offsetof(sfshm_ring_t, tail), 256);
  ck_assert_uint_eq(offsetof(sfshm_ring_t, head), 384);
  ck_assert_uint_eq(offsetof(sfshm_ring_t, armed), 512);
  ck_assert_uint_eq(offsetof(sfshm_ring_t, slots), 640);
}

/* ---- Regions ---- */

SFTEST(created_and_opened)
{
  int fds = sftest_count_fds();
  sfshm_region_t own, mapped;
  ck_assert_int_eq(sfshm_ring_create(SFSHM_RING_CAPACITY, &own), SF_OK);
  ck_assert_int_eq(sfshm_ring_open(own.fd, &mapped, &reader), SF_OK);
  ck_assert_uint_eq(reader.mask, SFSHM_RING_CAPACITY - 1);
  ck_assert_ptr_eq(reader.ring, mapped.base);
  ring = own.base;
  for (uint64_t count = 1; count <= 3000; count++) {
    ck_assert(publish_one(count));
    take_one(count);
    take_nothing();
  }
  sfshm_region_destroy(&own);
  sfshm_region_destroy(&mapped);
  ck_assert_int_eq(sftest_count_fds(), fds);
}

SFTEST(capacities)
{
  static const uint32_t wrong[] = {0, 1, 3, 1000, SFSHM_RING_MAX_CAPACITY + 1, 2 * SFSHM_RING_MAX_CAPACITY, UINT32_MAX};
  sfshm_region_t own, mapped;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_int_eq(sfshm_ring_create(wrong[i], &own), SF_ERR_ARG);
    make_ring(4);
    atomic_store(&ring->capacity, wrong[i]);
    ck_assert_int_eq(sfshm_ring_reader_init(ring, bytes_of(4), &reader), SF_ERR_PROTO);
    free_ring();
  }
  for (uint32_t capacity = SFSHM_RING_MIN_CAPACITY; capacity <= SFSHM_RING_MAX_CAPACITY; capacity *= 2) {
    ck_assert_int_eq(sfshm_ring_create(capacity, &own), SF_OK);
    ck_assert_int_eq(sfshm_ring_open(own.fd, &mapped, &reader), SF_OK);
    ck_assert_uint_eq(reader.mask, capacity - 1);
    sfshm_region_destroy(&own);
    sfshm_region_destroy(&mapped);
  }
}

SFTEST(slots_must_lie_within)
{
  make_ring(8);
  sfshm_ring_reader_t other = {.mask = 77};
  ck_assert_int_eq(sfshm_ring_reader_init(ring, bytes_of(8) - 1, &other), SF_ERR_PROTO);
  ck_assert_int_eq(sfshm_ring_reader_init(ring, sizeof(sfshm_ring_t) - 1, &other), SF_ERR_PROTO);
  ck_assert_int_eq(sfshm_ring_reader_init(ring, 0, &other), SF_ERR_PROTO);
  ck_assert_uint_eq(other.mask, 77);
  atomic_store(&ring->capacity, 16);
  ck_assert_int_eq(sfshm_ring_reader_init(ring, bytes_of(8), &other), SF_ERR_PROTO);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "16 slots"));
  free_ring();
}

SFTEST(other_regions_are_refused)
{
  sfshm_region_t own, mapped;
  ck_assert_int_eq(
      sfshm_region_create("sf-test", SFSHM_REGION_INBOX, bytes_of(8), SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, &own), SF_OK);
  ck_assert_int_eq(sfshm_ring_open(own.fd, &mapped, &reader), SF_ERR_PROTO);
  sfshm_region_destroy(&own);
  int pipe_fds[2];
  ck_assert_int_eq(pipe(pipe_fds), 0);
  ck_assert_int_eq(sfshm_ring_open(pipe_fds[0], &mapped, &reader), SF_ERR_PROTO);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  ck_assert_int_eq(sfshm_ring_open(-1, &mapped, &reader), SF_ERR_PROTO);
  int unsealed = memfd_create("sf-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(ftruncate(unsealed, (off_t)bytes_of(SFSHM_RING_CAPACITY)), 0);
  ck_assert_int_eq(sfshm_ring_open(unsealed, &mapped, &reader), SF_ERR_PROTO);
  close(unsealed);
}

/* Whose pages somebody may take away and use up. */
SFTEST(huge_pages_are_refused)
{
  sfshm_region_t mapped;
  int fd = memfd_create("sf-test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
  if (fd < 0)
    return; /* this kernel has none */
  ck_assert_int_eq(sfshm_ring_open(fd, &mapped, &reader), SF_ERR_PROTO);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "ordinary pages"));
  close(fd);
}

/* ---- Steps ---- */

SFTEST(first_in_first_out)
{
  make_ring(8);
  uint64_t published = 0, taken = 0;
  ck_assert(sfshm_ring_is_empty(&reader));
  take_nothing();
  for (uint32_t fill = 1; fill <= 8; fill++) {
    for (uint32_t i = 0; i < fill; i++)
      ck_assert(publish_one(++published));
    ck_assert_uint_eq(sfshm_ring_depth(&reader), fill);
    for (uint32_t i = 0; i < fill; i++) {
      ck_assert(!sfshm_ring_is_empty(&reader));
      take_one(++taken);
    }
    ck_assert(sfshm_ring_is_empty(&reader));
    ck_assert_uint_eq(sfshm_ring_depth(&reader), 0);
    take_nothing();
  }
  free_ring();
}

SFTEST(claims_succeed_whole_or_not_at_all)
{
  make_ring(8);
  uint64_t position = 99;
  ck_assert(sfshm_ring_claim(ring, 5, &position));
  ck_assert_uint_eq(position, 0);
  ck_assert(!sfshm_ring_claim(ring, 4, &position));
  ck_assert_uint_eq(position, 0);
  ck_assert(sfshm_ring_claim(ring, 3, &position));
  ck_assert_uint_eq(position, 5);
  ck_assert(!sfshm_ring_claim(ring, 1, &position));
  ck_assert_uint_eq(sfshm_ring_depth(&reader), 8);
  for (uint64_t at = 0; at < 8; at++) {
    sfshm_ring_entry_t entry = entry_of(0, at);
    sfshm_ring_publish(ring, at, &entry);
  }
  for (uint64_t at = 0; at < 8; at++)
    take_one(at);
  take_nothing();
  ck_assert(sfshm_ring_claim(ring, 8, &position)); /* all that there are */
  ck_assert_uint_eq(position, 8);
  free_ring();
}

/* Whoever has published its entry can find out whether the daemon could take it. */
SFTEST(claims_that_are_not_published_are_seen)
{
  make_ring(4);
  uint64_t first, second, at = 0;
  for (uint64_t count = 1; count <= 9; count += 2, at += 2) { /* more than two turns */
    sfshm_ring_entry_t entries[] = {entry_of(0, count), entry_of(0, count + 1)};
    ck_assert(sfshm_ring_is_published(ring, at));
    ck_assert(sfshm_ring_claim(ring, 1, &first));
    ck_assert(sfshm_ring_claim(ring, 1, &second));
    ck_assert(sfshm_ring_is_published(ring, at));
    ck_assert(!sfshm_ring_is_published(ring, at + 1));
    sfshm_ring_publish(ring, second, &entries[1]);
    ck_assert(!sfshm_ring_is_published(ring, at + 2));
    sfshm_ring_publish(ring, first, &entries[0]);
    ck_assert(sfshm_ring_is_published(ring, at + 2));
    take_one(count);
    take_one(count + 1);
    ck_assert(sfshm_ring_is_published(ring, at + 2));
    take_nothing(); /* the producers learn of it */
    ck_assert(sfshm_ring_is_published(ring, at + 2));
    ck_assert(sfshm_ring_is_published(ring, at)); /* long ago */
  }
  free_ring();
}

/* Entries are taken in the order of their claims, whenever they are published. */
SFTEST(an_entry_not_yet_published_is_waited_for)
{
  make_ring(4);
  uint64_t first, second;
  sfshm_ring_entry_t entries[] = {entry_of(0, 1), entry_of(0, 2), entry_of(0, 3)};
  ck_assert(sfshm_ring_claim(ring, 1, &first));
  ck_assert(sfshm_ring_claim(ring, 2, &second));
  sfshm_ring_publish(ring, second + 1, &entries[2]);
  take_nothing();
  ck_assert(sfshm_ring_is_empty(&reader));
  sfshm_ring_publish(ring, first, &entries[0]);
  take_one(1);
  take_nothing();
  sfshm_ring_publish(ring, second, &entries[1]);
  take_one(2);
  take_one(3);
  take_nothing();
  free_ring();
}

SFTEST(room_is_told_by_quarters_and_at_the_end)
{
  make_ring(16);
  for (uint64_t count = 0; count < 16; count++)
    ck_assert(publish_one(count));
  for (uint64_t count = 0; count < 11; count++) {
    take_one(count);
    ck_assert_uint_eq(atomic_load(&ring->head), (count + 1) / 4 * 4);
  }
  sfshm_ring_arm(&reader);
  ck_assert_uint_eq(atomic_load(&ring->head), 11);
  for (uint64_t count = 11; count < 16; count++)
    take_one(count);
  ck_assert_uint_eq(atomic_load(&ring->head), 15);
  take_nothing();
  ck_assert_uint_eq(atomic_load(&ring->head), 16);
  free_ring();
}

/* A producer that publishes as fast as entries are taken does not keep the daemon for ever. */
SFTEST(a_turn_ends)
{
  make_ring(8);
  uint64_t published = 0, taken = 0;
  for (int turn = 0; turn < 10; turn++) {
    sfshm_ring_entry_t entry;
    uint64_t before = taken;
    while (publish_one(published))
      published++;
    while (sfshm_ring_take(&reader, &entry)) {
      expect_entry(&entry, 0, taken++);
      while (publish_one(published))
        published++;
    }
    ck_assert_uint_eq(taken - before, 8);
    ck_assert(!sfshm_ring_is_empty(&reader));
  }
  free_ring();
}

/* Stamps are 32 bits, positions are not. */
SFTEST(numbers_wrap_round)
{
  make_ring(8);
  reader.position = reader.told = UINT32_MAX - 20;
  atomic_store(&ring->head, reader.position);
  atomic_store(&ring->tail, reader.position);
  for (uint64_t count = 0; count < 60; count += 3) {
    for (uint64_t i = 0; i < 3; i++)
      ck_assert(publish_one(count + i));
    for (uint64_t i = 0; i < 3; i++)
      take_one(count + i);
    take_nothing();
  }
  ck_assert_uint_gt(reader.position, UINT32_MAX);
  free_ring();
}

SFTEST(one_of_the_producers_wakes)
{
  make_ring(4);
  ck_assert(publish_one(0));
  ck_assert(!sfshm_ring_needs_wake(ring)); /* awake */
  take_one(0);
  sfshm_ring_arm(&reader);
  ck_assert(sfshm_ring_is_empty(&reader));
  ck_assert(publish_one(1)); /* lazily */
  ck_assert_uint_eq(atomic_load(&ring->armed), 1);
  ck_assert(sfshm_ring_needs_wake(ring));
  ck_assert(!sfshm_ring_needs_wake(ring));
  sfshm_ring_arm(&reader);
  ck_assert(!sfshm_ring_is_empty(&reader)); /* last look */
  sfshm_ring_disarm(&reader);
  ck_assert(!sfshm_ring_needs_wake(ring));
  free_ring();
}

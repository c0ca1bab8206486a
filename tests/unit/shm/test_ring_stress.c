/* Submission rings under stress: many producers, as threads and as processes, that publish and wake a sleeping consumer
 * as often as they can. A wake-up that is lost is a test that does not end. */
#include "shm/lane/ring.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "tests/unit/ring_entries.h"
#include "tests/unit/seed.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_ENTRIES 10000u
#else
#define STRESS_ENTRIES 20000u
#endif
#define MAX_PRODUCERS 8u

static sfshm_ring_t *ring;
static sfshm_ring_reader_t reader;

typedef struct producer {
  pthread_t thread;
  uint32_t number;
  uint32_t most; /* entries claimed at once */
  uint64_t seed;
  int doorbell;
} producer_t;

static void ring_doorbell(int doorbell)
{
  uint64_t one = 1;
  if (sfshm_ring_needs_wake(ring))
    ck_assert_int_eq(write(doorbell, &one, sizeof one), sizeof one);
}

/* Claims and publishes entries in pieces of any size, in any order, now and then lazily, but for the last. */
static void *produce(void *argument)
{
  const producer_t *producer = argument;
  uint64_t state = producer->seed;
  for (uint32_t count = 0; count < STRESS_ENTRIES;) {
    uint32_t n = 1 + sftest_random(&state) % producer->most;
    uint64_t position;
    if (n > STRESS_ENTRIES - count)
      n = STRESS_ENTRIES - count;
    while (!sfshm_ring_claim(ring, n, &position)) {
      ring_doorbell(producer->doorbell);
      sched_yield();
    }
    bool backwards = sftest_random(&state) % 4 == 0;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t at = backwards ? n - 1 - i : i;
      sfshm_ring_entry_t entry = entry_of(producer->number, count + at);
      sfshm_ring_publish(ring, position + at, &entry);
    }
    count += n;
    if (count == STRESS_ENTRIES || sftest_random(&state) % 4 != 0)
      ring_doorbell(producer->doorbell);
  }
  return NULL;
}

/* Sleeps as a daemon does; for ever, if a wake-up is lost. */
static void sleep_until_rung(int doorbell)
{
  struct pollfd polled = {.fd = doorbell, .events = POLLIN};
  uint64_t rung;
  sfshm_ring_arm(&reader);
  if (sfshm_ring_is_empty(&reader)) {
    ck_assert_int_eq(poll(&polled, 1, -1), 1);
    ck_assert_int_eq(read(doorbell, &rung, sizeof rung), sizeof rung);
  }
  sfshm_ring_disarm(&reader);
}

static bool has_more(const uint64_t counts[], uint32_t producers)
{
  for (uint32_t i = 0; i < producers; i++)
    if (counts[i] < STRESS_ENTRIES)
      return true;
  return false;
}

/* Takes the entries of so many producers: each whole, and in order. */
static void consume(uint32_t producers, int doorbell)
{
  uint64_t counts[MAX_PRODUCERS] = {0};
  while (has_more(counts, producers)) {
    sfshm_ring_entry_t entry;
    while (sfshm_ring_take(&reader, &entry)) {
      ck_assert_uint_lt(entry.graph, producers);
      expect_entry(&entry, (uint32_t)entry.graph, counts[entry.graph]++);
    }
    if (has_more(counts, producers))
      sleep_until_rung(doorbell);
  }
  ck_assert(sfshm_ring_is_empty(&reader));
  ck_assert_uint_eq(sfshm_ring_depth(&reader), 0);
}

static uint32_t stress_capacity(int i)
{
  static const uint32_t capacities[] = {2, 4, 64, 1024};
  return capacities[i];
}

static producer_t make_producer(uint32_t number, uint32_t capacity, uint64_t seed, int doorbell)
{
  uint32_t most = capacity < 16 ? capacity : 16;
  return (producer_t){.number = number, .most = most, .seed = seed + number, .doorbell = doorbell};
}

/* Through one mapping, so that the thread sanitizer sees whatever race there is. */
SFTEST_FOR(threads, 12)
{
  uint32_t capacity = stress_capacity(_i / 3), n = 1u + (uint32_t)_i % 3;
  uint64_t seed = sftest_seed((unsigned)_i + 1);
  producer_t producers[3];
  sfshm_region_t own;
  int doorbell = eventfd(0, EFD_CLOEXEC);
  ck_assert_int_eq(sfshm_ring_create(capacity, &own), SF_OK);
  ring = own.base;
  ck_assert_int_eq(sfshm_ring_reader_init(ring, own.length_bytes, &reader), SF_OK);
  for (uint32_t i = 0; i < n; i++) {
    producers[i] = make_producer(i, capacity, seed, doorbell);
    ck_assert_int_eq(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
  }
  consume(n, doorbell);
  for (uint32_t i = 0; i < n; i++)
    pthread_join(producers[i].thread, NULL);
  close(doorbell);
  sfshm_region_destroy(&own);
}

/* Producers in processes of their own, the consumer with a mapping of its own, as between client and daemon. */
SFTEST_FOR(processes, 4)
{
  uint32_t capacity = stress_capacity(_i), n = 2;
  uint64_t seed = sftest_seed((unsigned)_i + 100);
  sfshm_region_t own, mapped;
  pid_t children[2];
  int doorbell = eventfd(0, EFD_CLOEXEC);
  ck_assert_int_eq(sfshm_ring_create(capacity, &own), SF_OK);
  ring = own.base;
  for (uint32_t i = 0; i < n; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      producer_t producer = make_producer(i, capacity, seed, doorbell);
      produce(&producer);
      _exit(0);
    }
  }
  ck_assert_int_eq(sfshm_ring_open(own.fd, &mapped, &reader), SF_OK);
  consume(n, doorbell);
  for (uint32_t i = 0; i < n; i++) {
    int status;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_int_eq(status, 0);
  }
  close(doorbell);
  sfshm_region_destroy(&own);
  sfshm_region_destroy(&mapped);
}

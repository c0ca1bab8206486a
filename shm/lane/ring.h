/* A submission ring: how the threads of one client hand requests to their daemon.
 *
 *   producers, any thread of the client             consumer, the daemon's loop
 *     claim     tail += n, if there is room
 *     publish   slot[position & mask] ──────────▶     take     copies the slot, position++
 *               room ◀────────────────── head ◀────     (written now and then, and when the ring is empty)
 *     needs_wake  armed: 1 -> 0 ──── doorbell ───▶     arm      armed = 1, before it sleeps
 *
 *            claim: tail - head < capacity
 *   ┌──────┐   compare-exchange of tail    ┌─────────┐   stamp, release    ┌───────────┐
 *   │ free │ ────────────────────────────▶ │ claimed │ ──────────────────▶ │ published │
 *   └──────┘                               └─────────┘                     └───────────┘
 *       ▲                 head, release; the producer loads it with acquire      │
 *       └────────────────────────────────────────────────────────────────────────┘ taken: stamp loaded with acquire
 *
 * A producer that has claimed slots must fill and publish all of them soon. The stamp is the number of the entry, from
 * 1, wrapping around, so that it distinguishes the entry of this round from that of the previous one. The daemon takes
 * entries in the order of their claims, and stops at the first entry that is not published.
 *
 * The client creates the region and may write anything into it at any time. Therefore the daemon keeps its position in
 * private memory, masks it, loads each word of a slot once, and takes at most capacity entries per turn. It never reads
 * head and armed, which it writes.
 *
 * No function here blocks, allocates, or makes a system call. tests/model/ring.pml is a model of this. */
#ifndef SFSHM_LANE_RING_H
#define SFSHM_LANE_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sf/sf_status.h>

#include "shm/region/region.h"
#include "shm/region/wait.h"

#define SFSHM_RING_CAPACITY 1024u      /* slots of an ordinary ring */
#define SFSHM_RING_MAX_CAPACITY 65536u /* maximum that a daemon accepts */
#define SFSHM_RING_MIN_CAPACITY 2u

/* A request in private memory. kind defines the meaning of the fields; see shm/trunk/trunk.h. */
typedef struct sfshm_ring_entry {
  uint32_t number; /* set by the ring: low bits of the entry's number, from 1 */
  uint32_t kind;
  uint64_t graph;
  uint64_t message;
  uint64_t desc;
  uint32_t a;
  uint32_t b;
  uint64_t size;
  uint64_t more[2];
} sfshm_ring_entry_t;
_Static_assert(sizeof(sfshm_ring_entry_t) == 64, "layout version 1");

#define SFSHM_RING_WORDS 7u

/* One cache line, written by producers. Words are atomic so that the daemon loads each exactly once. */
typedef struct sfshm_ring_slot {
  _Alignas(64) _Atomic uint64_t stamp;      /* lower half: the entry's number, upper half: its kind; stored last */
  _Atomic uint64_t words[SFSHM_RING_WORDS]; /* the entry from graph on */
} sfshm_ring_slot_t;
_Static_assert(sizeof(sfshm_ring_slot_t) == sizeof(sfshm_ring_entry_t) &&
                   offsetof(sfshm_ring_slot_t, words) == offsetof(sfshm_ring_entry_t, graph),
               "layout version 1");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "words shared between processes");

typedef struct sfshm_ring {
  sfshm_region_header_t header;
  _Alignas(128) _Atomic uint32_t capacity; /* slots, a power of two; constant */
  _Atomic uint32_t cpu;                    /* 1 + the processor of the last producer, 0: unknown; by producers */
  _Alignas(128) _Atomic uint64_t tail;     /* entries claimed; written by producers */
  _Alignas(128) _Atomic uint64_t head;     /* entries taken, as published; written by the daemon */
  _Alignas(128) _Atomic uint32_t armed;    /* 1: the daemon sleeps; cleared by the producer that wakes it */
  _Alignas(128) sfshm_ring_slot_t slots[];
} sfshm_ring_t;
_Static_assert(sizeof(sfshm_ring_t) == 640 && offsetof(sfshm_ring_t, slots) == 640, "layout version 1");

/* The daemon's state of a ring, in private memory. */
typedef struct sfshm_ring_reader {
  sfshm_ring_t *ring;
  uint32_t mask;     /* capacity - 1, read when the ring was opened */
  uint32_t taken;    /* in this turn */
  uint64_t position; /* entries taken */
  uint64_t told;     /* last value of head */
} sfshm_ring_reader_t;

/* ---- Setting up: shm/lane/ring.c ---- */

/* Creates a region with an empty ring of capacity slots (a power of two, SFSHM_RING_MIN_CAPACITY to
 * SFSHM_RING_MAX_CAPACITY, else SF_ERR_ARG). region_p->base is the sfshm_ring_t. Called by the client. */
sf_status_t sfshm_ring_create(uint32_t capacity, sfshm_region_t *region_p);

/* Verifies and maps a client's ring, and starts to read at its first entry. The descriptor stays the caller's.
 * SF_ERR_PROTO, SF_ERR_VERSION: not a valid ring. Called by the daemon. */
sf_status_t sfshm_ring_open(int fd, sfshm_region_t *region_p, sfshm_ring_reader_t *reader_p);

/* The part of sfshm_ring_open that checks the ring: the capacity is valid, and the slots lie within length_bytes. */
sf_status_t sfshm_ring_reader_init(sfshm_ring_t *ring, size_t length_bytes, sfshm_ring_reader_t *reader_p);

/* ---- Producers ---- */

/* Claims n consecutive slots, at most the capacity. *position_p is the number of the first; the others follow. Returns
 * false if there is no room, which may be outdated: retry at the next progress and do not sleep, because the daemon
 * does not announce room. Before retrying call sfshm_ring_needs_wake: all entries in the ring may have been published
 * without it. */
static inline bool sfshm_ring_claim(sfshm_ring_t *ring, uint32_t n, uint64_t *position_p)
{
  uint32_t capacity = atomic_load_explicit(&ring->capacity, memory_order_relaxed);
  assert(n > 0 && n <= capacity);
  for (;;) {
    /* Pairs with the release in sfshm_ring_tell: the daemon's reads of a slot happen before our writes to it. The later
     * load of tail then returns at least head, because every taken entry had been claimed. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - head > capacity - n)
      return false;
    /* Relaxed: tail publishes no data. tail never returns to an earlier value, so success means that nobody has claimed
     * since the load. */
    if (atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + n, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *position_p = tail;
      return true;
    }
  }
}

/* Fills a claimed slot and publishes it. Slots of a claim may be published in any order. Call sfshm_ring_needs_wake
 * once afterwards for any number of entries; a lazy publish leaves that call to a later publish. */
static inline void sfshm_ring_publish(sfshm_ring_t *ring, uint64_t position, const sfshm_ring_entry_t *entry)
{
  uint32_t mask = atomic_load_explicit(&ring->capacity, memory_order_relaxed) - 1;
  sfshm_ring_slot_t *slot = &ring->slots[position & mask];
  uint64_t words[SFSHM_RING_WORDS];
  memcpy(words, (const uint8_t *)entry + offsetof(sfshm_ring_entry_t, graph), sizeof words);
  for (uint32_t i = 0; i < SFSHM_RING_WORDS; i++)
    atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
  /* Pairs with the acquire in sfshm_ring_take. */
  atomic_store_explicit(&slot->stamp, (uint64_t)entry->kind << 32 | (uint32_t)(position + 1), memory_order_release);
}

/* Whether all entries claimed before the position, by any thread, have been published, so that the daemon can take
 * them. */
static inline bool sfshm_ring_is_published(const sfshm_ring_t *ring, uint64_t until)
{
  uint32_t mask = atomic_load_explicit(&ring->capacity, memory_order_relaxed) - 1;
  uint64_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
  for (; (int64_t)(until - position) > 0; position++) {
    /* A stamp of the previous round is lower; a stamp of a later round means that the entry has been taken. Acquire: a
     * caller that then notifies the daemon in another way does so after the entry. */
    uint32_t stamp = (uint32_t)atomic_load_explicit(&ring->slots[position & mask].stamp, memory_order_acquire);
    if ((int32_t)(stamp - (uint32_t)(position + 1)) < 0)
      return false;
  }
  return true;
}

/* Records the processor that the producer runs on; -1: unknown. */
static inline void sfshm_ring_come_from(sfshm_ring_t *ring, int cpu)
{
  uint32_t noted = (uint32_t)cpu + 1;
  if (atomic_load_explicit(&ring->cpu, memory_order_relaxed) != noted)
    atomic_store_explicit(&ring->cpu, noted, memory_order_relaxed);
}

/* Returns whether the caller must signal the daemon's doorbell, after publishing. The barrier pairs with that of
 * sfshm_ring_arm and orders the published entries before the load of armed: either this load sees it armed, or the
 * daemon's last look sees the entry. If several producers see it armed the exchange selects one. */
static inline bool sfshm_ring_needs_wake(sfshm_ring_t *ring)
{
  sfshm_publish_barrier();
#ifdef __SANITIZE_THREAD__
  uint32_t armed = atomic_fetch_or_explicit(&ring->armed, 0, memory_order_seq_cst);
#else
  uint32_t armed = atomic_load_explicit(&ring->armed, memory_order_relaxed);
#endif
  return armed != 0 && atomic_exchange_explicit(&ring->armed, 0, memory_order_seq_cst) != 0;
}

/* ---- The daemon ---- */

/* Publishes to producers how many entries have been taken. */
static inline void sfshm_ring_tell(sfshm_ring_reader_t *reader)
{
  if (reader->told == reader->position)
    return;
  reader->told = reader->position;
  /* Pairs with the acquire in sfshm_ring_claim. */
  atomic_store_explicit(&reader->ring->head, reader->told, memory_order_release);
}

/* Stamp of the next slot. */
static inline uint64_t sfshm_ring_next_stamp(const sfshm_ring_reader_t *reader)
{
  /* Pairs with the release in sfshm_ring_publish. */
  return atomic_load_explicit(&reader->ring->slots[reader->position & reader->mask].stamp, memory_order_acquire);
}

/* Whether the next entry has not been published: there is nothing to take. */
static inline bool sfshm_ring_is_empty(const sfshm_ring_reader_t *reader)
{
  return (uint32_t)sfshm_ring_next_stamp(reader) != (uint32_t)(reader->position + 1);
}

/* Takes the next entry. Returns false at the end of a turn: when no entry is left, or when as many entries as slots
 * have been taken, so that a client that publishes without end cannot keep the daemon from other clients.
 * sfshm_ring_is_empty distinguishes the two. The contents of the entry are not trusted. */
static inline bool sfshm_ring_take(sfshm_ring_reader_t *reader, sfshm_ring_entry_t *entry_p)
{
  uint64_t stamp = sfshm_ring_next_stamp(reader);
  if ((uint32_t)stamp != (uint32_t)(reader->position + 1) || reader->taken > reader->mask) {
    reader->taken = 0;
    sfshm_ring_tell(reader);
    return false;
  }
  const sfshm_ring_slot_t *slot = &reader->ring->slots[reader->position & reader->mask];
  uint64_t words[SFSHM_RING_WORDS];
  for (uint32_t i = 0; i < SFSHM_RING_WORDS; i++)
    words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
  entry_p->number = (uint32_t)stamp;
  entry_p->kind = (uint32_t)(stamp >> 32);
  memcpy((uint8_t *)entry_p + offsetof(sfshm_ring_entry_t, graph), words, sizeof words);
  reader->position++;
  reader->taken++;
  /* Rarely, because producers must fetch the line each time; publishing each quarter leaves them room meanwhile. */
  if (reader->position - reader->told > reader->mask / 4)
    sfshm_ring_tell(reader);
  return true;
}

/* Call before the daemon sleeps, followed by a last sfshm_ring_is_empty, which the barrier orders afterwards. Publishes
 * all room to producers, because nobody would later. */
static inline void sfshm_ring_arm(sfshm_ring_reader_t *reader)
{
  sfshm_ring_tell(reader);
  (void)atomic_exchange_explicit(&reader->ring->armed, 1, memory_order_seq_cst);
  sfshm_publish_barrier();
}

/* Call when the daemon is awake again: it saves producers a signal. One signal may already be in flight. */
static inline void sfshm_ring_disarm(sfshm_ring_reader_t *reader)
{
  atomic_store_explicit(&reader->ring->armed, 0, memory_order_relaxed);
}

/* The processor of the last producer, as the client claims; -1: unknown. A hint. */
static inline int sfshm_ring_cpu(const sfshm_ring_reader_t *reader)
{
  return (int)(atomic_load_explicit(&reader->ring->cpu, memory_order_relaxed) - 1);
}

/* Number of entries claimed and not taken, as the client claims; at most the capacity. For statistics. */
static inline uint32_t sfshm_ring_depth(const sfshm_ring_reader_t *reader)
{
  uint64_t depth = atomic_load_explicit(&reader->ring->tail, memory_order_relaxed) - reader->position;
  return depth <= reader->mask ? (uint32_t)depth : reader->mask + 1;
}

#endif

/* A submission ring: how the threads of one client hand requests to their daemon.
 *
 *   producers, any thread of the client             consumer, the daemon's loop
 *     claim     tail += n, if there is room
 *     publish   slot[position & mask] ──────────▶     take     copies the slot, position++
 *               room ◀────────────────── head ◀────     (told now and then, and when nothing is left)
 *     needs_wake  armed: 1 -> 0 ──── doorbell ───▶     arm      armed = 1, before it sleeps
 *
 *            claim: tail - head < capacity
 *   ┌──────┐   compare-exchange of tail    ┌─────────┐   stamp, release    ┌───────────┐
 *   │ free │ ────────────────────────────▶ │ claimed │ ──────────────────▶ │ published │
 *   └──────┘                               └─────────┘                     └───────────┘
 *       ▲                 head, release; the producer loads it with acquire      │
 *       └────────────────────────────────────────────────────────────────────────┘ taken: stamp loaded with acquire
 *
 * A claim can't fail any more once it has succeeded: the owner of the slots fills and publishes all of them, soon. The
 * stamp is the number of the entry, from 1, wrapping round, so that a slot's stamp tells this turn's entry from that of
 * the turn before; the daemon takes entries in the order of their claims and waits at one that isn't published yet.
 *
 * The client makes the region and may write anything into it, at any time. The daemon therefore keeps its position to
 * itself, masks it, loads each word of a slot once, and takes at most capacity entries in a turn. What it writes, head
 * and armed, it never reads.
 *
 * Nothing here blocks, allocates, or makes a system call. tests/model/ring.pml is the model of this. */
#ifndef SFSHM_RING_H
#define SFSHM_RING_H

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
#define SFSHM_RING_MAX_CAPACITY 65536u /* that a daemon accepts */
#define SFSHM_RING_MIN_CAPACITY 2u

/* A request, as both sides see it in memory of their own. What the fields mean is up to kind; see shm/trunk/trunk.h. */
typedef struct sfshm_ring_entry {
  uint32_t number; /* set by the ring: its lowest bits of how many entries there have been, from 1 */
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

/* One line. Producers write it. Words are atomic so that the daemon loads each exactly once. */
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
  _Alignas(128) _Atomic uint64_t head;     /* entries taken, as far as told; written by the daemon */
  _Alignas(128) _Atomic uint32_t armed;    /* 1: the daemon sleeps; set by the daemon, cleared by who rings */
  _Alignas(128) sfshm_ring_slot_t slots[];
} sfshm_ring_t;
_Static_assert(sizeof(sfshm_ring_t) == 640 && offsetof(sfshm_ring_t, slots) == 640, "layout version 1");

/* The daemon's side, in memory of its own. */
typedef struct sfshm_ring_reader {
  sfshm_ring_t *ring;
  uint32_t mask;     /* capacity - 1, as it was when the ring was opened */
  uint32_t taken;    /* in this turn */
  uint64_t position; /* entries taken */
  uint64_t told;     /* what the producers know of it */
} sfshm_ring_reader_t;

/* ---- Setting up: shm/lane/ring.c ---- */

/* Makes a region with an empty ring of that many slots (a power of two, SFSHM_RING_MIN_CAPACITY to
 * SFSHM_RING_MAX_CAPACITY, else SF_ERR_ARG). region_p->base is the sfshm_ring_t. For the client. */
sf_status_t sfshm_ring_create(uint32_t capacity, sfshm_region_t *region_p);

/* Verifies and maps a ring that a client has made, and begins to read at its first entry. The descriptor stays the
 * caller's. SF_ERR_PROTO, SF_ERR_VERSION if it is no such ring. For the daemon. */
sf_status_t sfshm_ring_open(int fd, sfshm_region_t *region_p, sfshm_ring_reader_t *reader_p);

/* The part of sfshm_ring_open that looks into the ring: whether its capacity is one, and its slots lie within
 * length_bytes. */
sf_status_t sfshm_ring_reader_init(sfshm_ring_t *ring, size_t length_bytes, sfshm_ring_reader_t *reader_p);

/* ---- Producers ---- */

/* Takes n slots that follow one another (at most as many as there are); *position_p is the number of the first, to be
 * counted on for the others. false if there is no room, which may be a moment old: try again when progress is next
 * made, and don't sleep meanwhile, as the daemon tells nobody that there is room again. Call sfshm_ring_needs_wake
 * before: what fills the ring may all have been published without it. */
static inline bool sfshm_ring_claim(sfshm_ring_t *ring, uint32_t n, uint64_t *position_p)
{
  uint32_t capacity = atomic_load_explicit(&ring->capacity, memory_order_relaxed);
  assert(n > 0 && n <= capacity);
  for (;;) {
    /* Pairs with the release in sfshm_ring_tell: the daemon's reads of a slot come before our writes to it. And what is
     * known of tail then is at least head, as all that was taken had been claimed. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - head > capacity - n)
      return false;
    /* Relaxed: nothing is passed on by tail. It never comes back to a value, so a success means that nobody has claimed
     * since it was loaded. */
    if (atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + n, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *position_p = tail;
      return true;
    }
  }
}

/* Fills a claimed slot and publishes it. Slots of a claim may be published in any order. To be followed by
 * sfshm_ring_needs_wake, once for any number of entries; a lazy publish is one that leaves this to a later one. */
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

/* Whether all entries that any thread has claimed before the position have been published: the daemon can take them. */
static inline bool sfshm_ring_is_published(const sfshm_ring_t *ring, uint64_t until)
{
  uint32_t mask = atomic_load_explicit(&ring->capacity, memory_order_relaxed) - 1;
  uint64_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
  for (; (int64_t)(until - position) > 0; position++) {
    /* A stamp from the turn before is behind; one from a turn after means that the entry has been taken. Acquire: who
     * then tells the daemon by another way tells it after the entry. */
    uint32_t stamp = (uint32_t)atomic_load_explicit(&ring->slots[position & mask].stamp, memory_order_acquire);
    if ((int32_t)(stamp - (uint32_t)(position + 1)) < 0)
      return false;
  }
  return true;
}

/* Notes the processor that the producer runs on, or -1. */
static inline void sfshm_ring_come_from(sfshm_ring_t *ring, int cpu)
{
  uint32_t noted = (uint32_t)cpu + 1;
  if (atomic_load_explicit(&ring->cpu, memory_order_relaxed) != noted)
    atomic_store_explicit(&ring->cpu, noted, memory_order_relaxed);
}

/* Whether the caller has to signal the daemon's doorbell, after having published. The barrier, which pairs with that of
 * sfshm_ring_arm, orders what was published before the look at the word: either we see it armed, or the daemon's last
 * look sees the entry. Of all producers that see it armed, the exchange chooses one. */
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

/* Tells the producers what has been taken. */
static inline void sfshm_ring_tell(sfshm_ring_reader_t *reader)
{
  if (reader->told == reader->position)
    return;
  reader->told = reader->position;
  /* Pairs with the acquire in sfshm_ring_claim. */
  atomic_store_explicit(&reader->ring->head, reader->told, memory_order_release);
}

/* The stamp of the slot that is read next. */
static inline uint64_t sfshm_ring_next_stamp(const sfshm_ring_reader_t *reader)
{
  /* Pairs with the release in sfshm_ring_publish. */
  return atomic_load_explicit(&reader->ring->slots[reader->position & reader->mask].stamp, memory_order_acquire);
}

/* Whether the next entry has not been published: nothing is to be taken. */
static inline bool sfshm_ring_is_empty(const sfshm_ring_reader_t *reader)
{
  return (uint32_t)sfshm_ring_next_stamp(reader) != (uint32_t)(reader->position + 1);
}

/* Takes the next entry. A turn ends with false: when nothing is left, or when as many entries have been taken as there
 * are slots, so that a client that publishes without end doesn't keep the daemon from others. Whoever wants to know
 * which of the two, looks at sfshm_ring_is_empty. The entry's contents are the client's word for them. */
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
  /* Seldom, because each time the producers have to fetch the line; a quarter leaves them room meanwhile. */
  if (reader->position - reader->told > reader->mask / 4)
    sfshm_ring_tell(reader);
  return true;
}

/* Before the daemon sleeps; then its last look, sfshm_ring_is_empty, which the barrier puts behind. Producers learn of
 * all room that there is, as nobody would tell them later. */
static inline void sfshm_ring_arm(sfshm_ring_reader_t *reader)
{
  sfshm_ring_tell(reader);
  (void)atomic_exchange_explicit(&reader->ring->armed, 1, memory_order_seq_cst);
  sfshm_publish_barrier();
}

/* When the daemon is awake again, whatever woke it: spares producers a signal. One more may already be on its way. */
static inline void sfshm_ring_disarm(sfshm_ring_reader_t *reader)
{
  atomic_store_explicit(&reader->ring->armed, 0, memory_order_relaxed);
}

/* The processor that the last producer ran on, as the client says; -1: unknown. A hint. */
static inline int sfshm_ring_cpu(const sfshm_ring_reader_t *reader)
{
  return (int)(atomic_load_explicit(&reader->ring->cpu, memory_order_relaxed) - 1);
}

/* Entries claimed and not yet taken, as the client says; at most the capacity. For statistics. */
static inline uint32_t sfshm_ring_depth(const sfshm_ring_reader_t *reader)
{
  uint64_t depth = atomic_load_explicit(&reader->ring->tail, memory_order_relaxed) - reader->position;
  return depth <= reader->mask ? (uint32_t)depth : reader->mask + 1;
}

#endif

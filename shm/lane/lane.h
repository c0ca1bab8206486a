/* A lane: the ordered stream of messages from one rank to another on one graph, through memory of the reader.
 *
 *      writer                                      reader's inbox
 *   tx.posted ──── slot[posted % 8] ──────────▶  stamp, desc, up to 112 bytes of payload
 *              └── cell[posted % 8] ──────────▶  larger payloads, if cells have been granted
 *                                                  writer's inbox
 *   tx.consumed ◀── control.consumed ◀──────────  rx.received
 *   tx.cells    ◀── control.grants ... ◀────────  new cells, when the writer asked for larger ones
 *
 * Each side polls its own memory. A slot is free when the message 8 before has been consumed. The reader returns
 * credits, the number of messages that it has consumed, in the stamps of its own messages on the opposite lane, which
 * costs nothing. Without such messages it writes control.consumed after 4 messages, or at once if the writer waits. A
 * writer without a free slot looks at both, also at the stamps of messages that it has not read yet.
 * tests/model/lane.pml is a model of this.
 *
 * Eager slots. A writer that must not wait for the reader (its application continues elsewhere) may post any message to
 * an eager slot in its own memory instead: eager[posted % 32], free when the message 32 before has been consumed. Both
 * kinds of slots share one numbering: the reader looks for message m in slot m % 8, and then in eager slot m % 32. The
 * writer allocates eager slots when it first needs them, and publishes their position in control. The stamp of an eager
 * slot is the whole number, without credits.
 *
 * One thread at a time uses both lanes of a pair; the functions never block and make no system call. */
#ifndef SFSHM_LANE_LANE_H
#define SFSHM_LANE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SFSHM_LANE_SLOTS 8u
#define SFSHM_LANE_ACK_INTERVAL (SFSHM_LANE_SLOTS / 2) /* less than the slots, else a full lane would stay full */
#define SFSHM_EAGER_SLOTS 32u
#define SFSHM_INLINE_BYTES 112u
#define SFSHM_FIRST_LINE_BYTES 48u /* inline bytes in the line of the stamp */

/* Maximum size of a piece in a cell, so that writer and reader work concurrently. Pieces from SFSHM_PIECE_MOVES_FROM
 * bytes on use successive parts of their cell in successive rounds: see client/engine/protocol.h. */
#define SFSHM_PIECE_BYTES_MAX ((size_t)64 << 10)
#define SFSHM_PIECE_MOVES_FROM ((size_t)16 << 10)

/* Two cache lines: most processors prefetch the second with the first (adjacent-line prefetch). A short message is in
 * the first line alone. */
typedef struct sfshm_slot {
  _Alignas(128) _Atomic uint64_t stamp; /* number of the message, from 1, and credits; stored last */
  uint64_t desc;                        /* see shm/lane/message.h */
  uint8_t payload[SFSHM_INLINE_BYTES];
} sfshm_slot_t;
_Static_assert(sizeof(sfshm_slot_t) == 128 && offsetof(sfshm_slot_t, payload) == 16, "layout version 1");

/* Whether the reader can open device regions of the writer. The writer asks at first use. */
typedef enum sfshm_lane_devices {
  SFSHM_DEVICES_UNKNOWN = 0,
  SFSHM_DEVICES_OPEN = 1,
  SFSHM_DEVICES_CLOSED = 2,
} sfshm_lane_devices_t;

/* In the writer's inbox; written by the reader, except the last fields. */
typedef struct sfshm_lane_control {
  _Alignas(128) _Atomic uint64_t consumed; /* number of messages that the reader has consumed */
  _Atomic uint64_t grants;                 /* number of grants of cells; stored after the three below */
  uint64_t segment;                        /* of the reader's inbox */
  uint64_t offset;
  uint64_t cell_bytes;
  _Atomic uint64_t awaited; /* descriptor of an operation whose message the reader has waited for in vain; 0: none */
  _Atomic uint32_t devices; /* sfshm_lane_devices_t; stored before the question is consumed */
  _Atomic uint32_t edges;   /* 1: the writer's edge list has been read, see client/setup/edge_loans.h */
  /* Written by the writer, once: position of its eager slots. */
  _Alignas(64) _Atomic uint32_t eager; /* 1: there are eager slots; stored after the two below */
  uint64_t eager_segment;              /* of the writer's inbox */
  uint64_t eager_offset;
} sfshm_lane_control_t;
_Static_assert(sizeof(sfshm_lane_control_t) == 128, "layout version 1");

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "flags shared between processes must be lock-free");

/* The lower half of a stamp is the number of the message. The upper half is the number of messages that its writer has
 * consumed on the opposite lane. Both may wrap around: a slot's message is at most 8 messages old. The credit may be
 * outdated when it is read, but not by 2^32 messages. */
#define SFSHM_STAMP_BITS 32
#define SFSHM_STAMP_MASK ((UINT64_C(1) << SFSHM_STAMP_BITS) - 1)

typedef struct sfshm_lane_tx {
  sfshm_slot_t *slots;
  sfshm_slot_t *eager; /* NULL: not allocated yet */
  sfshm_lane_control_t *control;
  uint8_t *cells; /* NULL: none granted yet */
  size_t cell_bytes;
  uint64_t posted;
  uint64_t consumed; /* last seen value */
  uint64_t grants;   /* last taken grant */
} sfshm_lane_tx_t;

typedef struct sfshm_lane_rx {
  sfshm_slot_t *slots;
  const sfshm_slot_t *eager; /* NULL: not mapped yet */
  sfshm_lane_control_t *control;
  const uint8_t *cells;
  size_t cell_bytes;
  uint64_t received;
  uint64_t told; /* last number sent to the writer */
} sfshm_lane_rx_t;

/* Usually one number, which is not worth a call. The line of the stamp is written last, so that it need not be fetched
 * again from a reader that polls it. */
static inline void sfshm_slot_write(sfshm_slot_t *slot, const void *restrict from, size_t bytes)
{
  if (bytes == sizeof(uint64_t)) {
    memcpy(slot->payload, from, sizeof(uint64_t));
    return;
  }
  if (bytes > SFSHM_FIRST_LINE_BYTES) {
    memcpy(slot->payload + SFSHM_FIRST_LINE_BYTES, (const char *)from + SFSHM_FIRST_LINE_BYTES,
           bytes - SFSHM_FIRST_LINE_BYTES);
    bytes = SFSHM_FIRST_LINE_BYTES;
  }
  memcpy(slot->payload, from, bytes);
}

static inline void sfshm_slot_read(void *restrict to, const sfshm_slot_t *slot, size_t bytes)
{
  if (bytes == sizeof(uint64_t))
    memcpy(to, slot->payload, sizeof(uint64_t));
  else
    memcpy(to, slot->payload, bytes);
}

/* Whether the stamp is that of the message, which then has arrived. */
static inline bool sfshm_stamp_is_of(uint64_t stamp, uint64_t message)
{
  return (stamp & SFSHM_STAMP_MASK) == (message & SFSHM_STAMP_MASK);
}

/* Takes the credit from a stamp of the opposite lane, unless it is known already. */
static inline void sfshm_lane_note(sfshm_lane_tx_t *tx, uint64_t stamp)
{
  uint32_t news = (uint32_t)((stamp >> SFSHM_STAMP_BITS) - tx->consumed);
  if (news <= tx->posted - tx->consumed)
    tx->consumed += news;
}

/* Reads control.consumed, which is behind if the reader returned credits in stamps. Pairs with the release in
 * sfshm_lane_consume: the reader's reads of a slot happen before our next writes to it. */
static inline void sfshm_lane_refresh(sfshm_lane_tx_t *tx)
{
  uint64_t consumed = atomic_load_explicit(&tx->control->consumed, memory_order_acquire);
  if (consumed > tx->consumed)
    tx->consumed = consumed;
}

/* Whether the writer has eager slots. */
static inline bool sfshm_lane_has_eager(const sfshm_lane_rx_t *rx)
{
  /* Pairs with the release in sfshm_lane_offer_eager. */
  return atomic_load_explicit(&rx->control->eager, memory_order_acquire) != 0;
}

/* Reads all credits, also those in the stamps of messages that have not been read yet, because none of these may be
 * read before another message is posted. Messages in eager slots bring no credits, but those after them may. */
static inline void sfshm_lane_refresh_fully(sfshm_lane_tx_t *tx, const sfshm_lane_rx_t *rx)
{
  sfshm_lane_refresh(tx);
  for (uint64_t message = rx->received + 1; message <= rx->received + SFSHM_LANE_SLOTS; message++) {
    const sfshm_slot_t *slot = &rx->slots[(message - 1) % SFSHM_LANE_SLOTS];
    uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
    if (sfshm_stamp_is_of(stamp, message))
      sfshm_lane_note(tx, stamp);
    else if (!sfshm_lane_has_eager(rx))
      return;
  }
}

/* Returns the slot for the next message; NULL if none is free. rx is the opposite lane. */
static inline sfshm_slot_t *sfshm_lane_claim(sfshm_lane_tx_t *tx, const sfshm_lane_rx_t *rx)
{
  if (tx->posted - tx->consumed >= SFSHM_LANE_SLOTS) {
    sfshm_lane_refresh_fully(tx, rx);
    if (tx->posted - tx->consumed >= SFSHM_LANE_SLOTS)
      return NULL;
  }
  return &tx->slots[tx->posted % SFSHM_LANE_SLOTS];
}

/* The most that one message brings in such a cell. */
static inline size_t sfshm_piece_most(size_t cell_bytes)
{
  return cell_bytes < SFSHM_PIECE_BYTES_MAX ? cell_bytes : SFSHM_PIECE_BYTES_MAX;
}

/* Where that message's piece of so many bytes, from the first cell on: in the cell of its slot, at the next of the
 * places that there are for such pieces. */
static inline size_t sfshm_piece_at(uint64_t message, size_t cell_bytes, size_t bytes)
{
  size_t cell = (size_t)(message % SFSHM_LANE_SLOTS) * cell_bytes;
  if (bytes < SFSHM_PIECE_MOVES_FROM)
    return cell;
  size_t step = (bytes + 63) / 64 * 64;
  return cell + (size_t)(message / SFSHM_LANE_SLOTS % (cell_bytes / step)) * step;
}

/* Where the next message's piece of so many bytes goes, of at most what sfshm_piece_most says; its slot is claimed. */
static inline uint8_t *sfshm_lane_tx_piece(const sfshm_lane_tx_t *tx, size_t bytes)
{
  return tx->cells + sfshm_piece_at(tx->posted, tx->cell_bytes, bytes);
}

/* Publishes the claimed slot with its cell. rx is the opposite lane, whose credits the message returns. */
static inline void sfshm_lane_post(sfshm_lane_tx_t *tx, sfshm_lane_rx_t *rx, sfshm_slot_t *slot, uint64_t desc)
{
  rx->told = rx->received;
  slot->desc = desc;
  tx->posted++;
  /* Pairs with the acquire in sfshm_lane_peek. */
  atomic_store_explicit(&slot->stamp, rx->told << SFSHM_STAMP_BITS | (tx->posted & SFSHM_STAMP_MASK),
                        memory_order_release);
}

/* ---- Eager slots ------------------------------------------------------------------------------------------------- */

/* Publishes the position of the writer's zeroed eager slots. */
static inline void sfshm_lane_offer_eager(sfshm_lane_tx_t *tx, sfshm_slot_t *eager, uint64_t segment, uint64_t offset)
{
  tx->eager = eager;
  tx->control->eager_segment = segment;
  tx->control->eager_offset = offset;
  /* Pairs with the acquire in sfshm_lane_has_eager. */
  atomic_store_explicit(&tx->control->eager, 1, memory_order_release);
}

/* Returns the eager slot for the next message; NULL if none is free. rx is the opposite lane. */
static inline sfshm_slot_t *sfshm_lane_claim_eager(sfshm_lane_tx_t *tx, const sfshm_lane_rx_t *rx)
{
  sfshm_lane_refresh_fully(tx, rx);
  return tx->posted - tx->consumed < SFSHM_EAGER_SLOTS ? &tx->eager[tx->posted % SFSHM_EAGER_SLOTS] : NULL;
}

/* Publishes the claimed eager slot. */
static inline void sfshm_lane_post_eager(sfshm_lane_tx_t *tx, sfshm_slot_t *slot, uint64_t desc)
{
  slot->desc = desc;
  tx->posted++;
  /* Pairs with the acquire in sfshm_lane_peek_eager. */
  atomic_store_explicit(&slot->stamp, tx->posted, memory_order_release);
}

/* Returns the next message if it has arrived in an eager slot, else NULL. The writer has eager slots. */
static inline const sfshm_slot_t *sfshm_lane_peek_eager(const sfshm_lane_rx_t *rx)
{
  const sfshm_slot_t *slot = &rx->eager[rx->received % SFSHM_EAGER_SLOTS];
  return atomic_load_explicit(&slot->stamp, memory_order_acquire) == rx->received + 1 ? slot : NULL;
}

/* Whether the slot of a message is an eager one. */
static inline bool sfshm_lane_is_eager(const sfshm_lane_rx_t *rx, const sfshm_slot_t *slot)
{
  return rx->eager != NULL && slot == &rx->eager[rx->received % SFSHM_EAGER_SLOTS];
}

/* ---- Ahead of time ----------------------------------------------------------------------------------------------- */

/* Prefetches a line for writing. __builtin_prefetch would prefetch for reading, unless compiled for a processor with
 * this instruction; 64-bit processors without it ignore it. */
static inline void sfshm_fetch_to_write(const void *line)
{
#ifdef __x86_64__
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/* Prefetches the lines of the next message of that many bytes, for a caller that has taken a message and probably
 * answers. */
static inline void sfshm_lane_fetch_next(const sfshm_lane_tx_t *tx, size_t bytes)
{
  const sfshm_slot_t *slot = &tx->slots[tx->posted % SFSHM_LANE_SLOTS];
  if (bytes > SFSHM_FIRST_LINE_BYTES)
    sfshm_fetch_to_write(slot->payload + SFSHM_FIRST_LINE_BYTES);
  sfshm_fetch_to_write(slot);
}

/* The same for a piece in a cell, if the cells are large enough. */
static inline void sfshm_lane_fetch_next_piece(const sfshm_lane_tx_t *tx, size_t bytes)
{
  if (bytes <= tx->cell_bytes)
    for (size_t at = 0; at < bytes; at += 64)
      sfshm_fetch_to_write(sfshm_lane_tx_piece(tx, bytes) + at);
  sfshm_fetch_to_write(&tx->slots[tx->posted % SFSHM_LANE_SLOTS]);
}

/* Whether the caller has sent something since the message before the next one: where it only receives, prefetching its
 * slots for writing would take them from the writer, who looks for credits there. */
static inline bool sfshm_lane_has_answered(const sfshm_lane_rx_t *rx)
{
  return rx->told == rx->received;
}

/* Prefetches the message behind the next one. Call before taking the next one: a writer that runs ahead has posted
 * both. */
static inline void sfshm_lane_fetch_following(const sfshm_lane_rx_t *rx)
{
  __builtin_prefetch(&rx->slots[(rx->received + 1) % SFSHM_LANE_SLOTS]);
}

/* Whether the reader has consumed that message. */
static inline bool sfshm_lane_is_consumed(sfshm_lane_tx_t *tx, uint64_t message)
{
  if (tx->consumed < message)
    sfshm_lane_refresh(tx);
  return tx->consumed >= message;
}

/* Whether there is a grant that has not been taken. Its fields are then stable until the writer asks again. */
static inline bool sfshm_lane_has_grant(const sfshm_lane_tx_t *tx)
{
  /* Pairs with the release in sfshm_lane_grant. */
  return atomic_load_explicit(&tx->control->grants, memory_order_acquire) != tx->grants;
}

static inline void sfshm_lane_take_grant(sfshm_lane_tx_t *tx, void *cells)
{
  tx->cells = cells;
  tx->cell_bytes = (size_t)tx->control->cell_bytes;
  tx->grants++;
}

/* Whether the next message has arrived. */
static inline bool sfshm_lane_has_message(const sfshm_lane_rx_t *rx)
{
  const sfshm_slot_t *slot = &rx->slots[rx->received % SFSHM_LANE_SLOTS];
  return sfshm_stamp_is_of(atomic_load_explicit(&slot->stamp, memory_order_acquire), rx->received + 1);
}

/* Returns the next message if it has arrived, else NULL. The message stays valid until sfshm_lane_consume. tx is the
 * opposite lane, whose credits the message returns. */
static inline const sfshm_slot_t *sfshm_lane_peek(const sfshm_lane_rx_t *rx, sfshm_lane_tx_t *tx)
{
  const sfshm_slot_t *slot = &rx->slots[rx->received % SFSHM_LANE_SLOTS];
  uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
  if (!sfshm_stamp_is_of(stamp, rx->received + 1))
    return NULL;
  sfshm_lane_note(tx, stamp);
  return slot;
}

/* Returns the address of the next message's piece in its cell. */
static inline const uint8_t *sfshm_lane_rx_piece(const sfshm_lane_rx_t *rx, size_t bytes)
{
  return rx->cells + sfshm_piece_at(rx->received, rx->cell_bytes, bytes);
}

/* Frees the message's slot. Returns true if credits were written, in which case the writer may have to be woken. */
static inline bool sfshm_lane_consume(sfshm_lane_rx_t *rx, bool tell_now)
{
  rx->received++;
  if (!tell_now && rx->received - rx->told < SFSHM_LANE_ACK_INTERVAL)
    return false;
  rx->told = rx->received;
  /* Pairs with the acquires in sfshm_lane_claim and sfshm_lane_is_consumed. */
  atomic_store_explicit(&rx->control->consumed, rx->told, memory_order_release);
  return true;
}

/* sfshm_lane_await publishes what this rank waits for from the peer; sfshm_lane_awaited reads what the peer waits for.
 * Both are sequentially consistent: if two ranks first publish and then read, at least one of them sees the other's
 * value. */
static inline void sfshm_lane_await(const sfshm_lane_rx_t *rx, uint64_t desc)
{
  atomic_store_explicit(&rx->control->awaited, desc, memory_order_seq_cst);
}

static inline uint64_t sfshm_lane_awaited(const sfshm_lane_tx_t *tx)
{
  return atomic_load_explicit(&tx->control->awaited, memory_order_seq_cst);
}

/* Acknowledges that the reader has read the writer's edge list, whose memory the writer may then reuse. */
static inline void sfshm_lane_say_edges_read(sfshm_lane_rx_t *rx)
{
  /* Pairs with the acquire below: our reads come before what is written there next. */
  atomic_store_explicit(&rx->control->edges, 1, memory_order_release);
}

static inline bool sfshm_lane_edges_are_read(const sfshm_lane_tx_t *tx)
{
  return atomic_load_explicit(&tx->control->edges, memory_order_acquire) != 0;
}

/* Answers the writer's question, the message at the head of the lane. */
static inline void sfshm_lane_answer_devices(sfshm_lane_rx_t *rx, bool can_open)
{
  atomic_store_explicit(&rx->control->devices, can_open ? SFSHM_DEVICES_OPEN : SFSHM_DEVICES_CLOSED,
                        memory_order_release);
}

/* The answer. Pairs with the release above. */
static inline sfshm_lane_devices_t sfshm_lane_devices(const sfshm_lane_tx_t *tx)
{
  return (sfshm_lane_devices_t)atomic_load_explicit(&tx->control->devices, memory_order_acquire);
}

/* Grants cells, in answer to the writer's request, the message at the head of the lane. */
static inline void sfshm_lane_grant(sfshm_lane_rx_t *rx, uint64_t segment, uint64_t offset, const void *cells,
                                    size_t cell_bytes)
{
  rx->cells = cells;
  rx->cell_bytes = cell_bytes;
  rx->control->segment = segment;
  rx->control->offset = offset;
  rx->control->cell_bytes = cell_bytes;
  uint64_t grants = atomic_load_explicit(&rx->control->grants, memory_order_relaxed);
  atomic_store_explicit(&rx->control->grants, grants + 1, memory_order_release);
}

#endif

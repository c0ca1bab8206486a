/* Messages of exchanges on trunks: one block of any size at each position. A message of n positions begins with a table
 * of n entries; the blocks follow. It travels as n units, which are as long as the message needs: so a daemon sends and
 * receives it like any other message.
 *
 *   members, in begin     reserve room for their blocks in the word flow->reserved[m % SFSHM_TRUNK_SLOTS]
 *                         write entries and blocks, add 1 to packed
 *   the last member       moves blocks together if they are in several slots, sets the word to 0, submits the message
 *   members, at the end   read class and bounds from flow->unit_bytes, which the daemon writes, then their entries
 *
 * Members do not know each other's sizes, nor the class of the unit. The first one to reserve room chooses the class of
 * the slot for the table, which is the class of the last message (flow->class_hint) or a higher one, and stores it in
 * the word. A block whose end lies beyond that slot is written to the slot of the lowest class that has room for it, at
 * the same offset, and its entry names that class. The last member then moves the message to the slot of the highest
 * class: rarely, because the next message begins there.
 *
 * Any member may write anything to all these words. They are loaded once and checked; what is wrong fails the graph.
 * Any thread; stateless. */
#ifndef SFSHM_TRUNK_BLOCKS_H
#define SFSHM_TRUNK_BLOCKS_H

#include "shm/trunk/trunk.h"

/* Entry of the table: offset of the block in the message, and its length. While members write, the upper byte of place
 * has the class of the slot that has the block, 0: the slot of the table. Classes are given by their logarithms to
 * base 2. */
typedef struct sfshm_block_entry {
  _Atomic uint64_t place;
  _Atomic uint64_t bytes;
} sfshm_block_entry_t;
_Static_assert(sizeof(sfshm_block_entry_t) == SFSHM_ROOM_FOR_ENTRY, "layout version 23");

#define SFSHM_BLOCKS_MIN_CLASS 4u /* units have room for their entries */
#define SFSHM_BLOCKS_MAX_CLASS 40u
#define SFSHM_BLOCKS_CLASS_SHIFT 56 /* in place, and in the word of a reservation */
#define SFSHM_BLOCKS_OFFSET_MASK ((UINT64_C(1) << SFSHM_BLOCKS_CLASS_SHIFT) - 1)

/* Longest block. */
#define SFSHM_BLOCK_MAX_BYTES (UINT64_C(1) << 40)

/* Members' parts begin at multiples of this. */
#define SFSHM_BLOCKS_ALIGNMENT 8u

/* An entry, loaded once. */
typedef struct sfshm_block_at {
  uint64_t class;
  uint64_t offset;
  uint64_t bytes;
} sfshm_block_at_t;

static inline sfshm_block_at_t sfshm_block_load(const sfshm_block_entry_t *entry)
{
  uint64_t place = atomic_load_explicit(&entry->place, memory_order_relaxed);
  return (sfshm_block_at_t){.class = place >> SFSHM_BLOCKS_CLASS_SHIFT,
                            .offset = place & SFSHM_BLOCKS_OFFSET_MASK,
                            .bytes = atomic_load_explicit(&entry->bytes, memory_order_relaxed)};
}

static inline void sfshm_block_store(sfshm_block_entry_t *entry, const sfshm_block_at_t *block)
{
  atomic_store_explicit(&entry->place, block->class << SFSHM_BLOCKS_CLASS_SHIFT | block->offset, memory_order_relaxed);
  atomic_store_explicit(&entry->bytes, block->bytes, memory_order_relaxed);
}

/* Whether the block lies in a message, or slot, of so many bytes, behind the table. */
static inline bool sfshm_block_fits(const sfshm_block_at_t *block, int64_t nvalues, uint64_t message_bytes)
{
  return block->offset >= (uint64_t)nvalues * sizeof(sfshm_block_entry_t) && block->offset <= message_bytes &&
         block->bytes <= message_bytes - block->offset;
}

/* Room for the blocks of one member. */
typedef struct sfshm_blocks_room {
  uint64_t offset;      /* in the message */
  uint64_t bytes;       /* as reserved */
  uint32_t table_class; /* of the slot that has the table */
  uint32_t class;       /* of the slot for the member's blocks, at least table_class */
} sfshm_blocks_room_t;

/* A complete message. */
typedef struct sfshm_blocks_message {
  uint64_t unit_bytes;
  uint32_t table_class;
  uint32_t class; /* of the slot that has room for the message, at least table_class */
} sfshm_blocks_message_t;

/* Reserves room for blocks of so many bytes in a message of nvalues positions. The message's slot must be free:
 * flow->granted is at least the message's number. SF_ERR_LIMIT: the message would be too long. SF_ERR_PROTO: a member
 * has written nonsense to the word. */
sf_status_t sfshm_blocks_reserve(_Atomic uint64_t *word, int64_t nvalues, uint64_t bytes, uint64_t class_hint,
                                 sfshm_blocks_room_t *room_p);

/* Describes the message when all members have written their parts, and frees the word. The same errors. */
sf_status_t sfshm_blocks_complete(_Atomic uint64_t *word, int64_t nvalues, sfshm_blocks_message_t *message_p);

/* Bytes of a slot of that class, which exists. */
static inline uint64_t sfshm_blocks_slot_bytes(int64_t nvalues, uint64_t class)
{
  return (uint64_t)nvalues * sfshm_class_room(UINT64_C(1) << class);
}

/* The classes of the slots with the message's blocks besides that of the table: bit c for class c. */
uint64_t sfshm_blocks_classes(const sfshm_block_entry_t table[], int64_t nvalues);

/* Moves table and blocks to the slot of the message's class, unless the table is there. slots: by class, NULL if it is
 * not among sfshm_blocks_classes; each has sfshm_blocks_slot_bytes. SF_ERR_PROTO: an entry is nonsense. */
sf_status_t sfshm_blocks_move(const sfshm_blocks_message_t *message, int64_t nvalues,
                              char *const slots[SFSHM_BLOCKS_MAX_CLASS + 1]);

/* The class in which the next message begins: at least that of this message's unit; lower than the class of its slot
 * only if that was much too high, so that messages of varying sizes seldom outgrow it. */
uint64_t sfshm_blocks_next_class(const sfshm_blocks_message_t *message);

#endif

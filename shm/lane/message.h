/* Message descriptors: the operation, so that the first message detects mismatched calls, and the protocol of the
 * payload. */
#ifndef SFSHM_LANE_MESSAGE_H
#define SFSHM_LANE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/kernels/unit.h"

typedef enum sfshm_operation {
  SFSHM_BCAST = 0,
  SFSHM_REDUCE = 1,
} sfshm_operation_t;

typedef enum sfshm_method {
  SFSHM_METHOD_INLINE = 0,   /* payload in the slot */
  SFSHM_METHOD_CELL = 1,     /* payload or a piece of it in the slot's cell; in an eager slot: the rest of it in a block
                                of the writer's inbox */
  SFSHM_METHOD_IN_PLACE = 2, /* slot names a segment: the reader reads it in place, then acknowledges */
  SFSHM_METHOD_VM_READ = 3,  /* slot holds an address: the reader uses process_vm_readv, then acknowledges */
  SFSHM_METHOD_GROW = 4,     /* no payload: the writer asks for larger cells */
  SFSHM_METHOD_DEVICE = 5,   /* slot names a device region: read in place */
  SFSHM_METHOD_ASK = 6,      /* no payload: the writer asks whether the reader can open its device regions */
} sfshm_method_t;

/* Payloads with a fixed form. */
typedef struct sfshm_in_place {
  uint64_t segment; /* of the writer's sf_alloc memory */
  uint64_t offset;  /* offset of vertex 0 of the writer's buffer; arbitrary if vertex 0 is not used */
} sfshm_in_place_t;

/* CELL in an eager slot */
typedef struct sfshm_eager_block {
  uint64_t segment; /* of the writer's inbox */
  uint64_t offset;  /* offset of the packed values */
} sfshm_eager_block_t;

/* DEVICE, ASK */
typedef struct sfshm_device_data {
  uint64_t region; /* device region of the writer */
  uint64_t offset; /* offset of vertex 0 of the writer's buffer */
} sfshm_device_data_t;

typedef struct sfshm_vm_read {
  uint64_t address; /* of vertex 0 of the writer's buffer */
} sfshm_vm_read_t;

typedef struct sfshm_grow {
  uint64_t cell_bytes;
} sfshm_grow_t;

/* Payloads of exchanges, whose messages of n blocks contain their sizes. INLINE: n sizes of one byte, then the data. */

/* CELL: the piece in the slot's cell. Without so many sizes the first piece begins with them, 8 bytes each. */
#define SFSHM_BLOCKS_IN_SLOT 13
typedef struct sfshm_blocks_piece {
  uint64_t bytes;
  uint64_t sizes[SFSHM_BLOCKS_IN_SLOT]; /* in the message's first piece, if there are not more */
} sfshm_blocks_piece_t;

/* CELL in an eager slot: the sizes, 8 bytes each, and the data, or what is left of both after pieces in cells. */
typedef struct sfshm_blocks_rest {
  sfshm_eager_block_t where;
  uint64_t bytes;
} sfshm_blocks_rest_t;

/* IN_PLACE, VM_READ: one of these for each block, in the slot if they fit, else where a sfshm_eager_block_t says. */
typedef struct sfshm_block_in_place {
  uint64_t bytes;
  sfshm_in_place_t where;
} sfshm_block_in_place_t;

typedef struct sfshm_block_vm_read {
  uint64_t bytes;
  uint64_t address;
} sfshm_block_vm_read_t;

/* Bytes by which IN_PLACE, VM_READ and DEVICE name a buffer. An operation with several fields names the buffer of each
 * of them, one behind the other: in the slot, or in the slot's cell if they exceed SFSHM_INLINE_BYTES. */
static inline size_t sfshm_reference_bytes(sfshm_method_t method)
{
  return method == SFSHM_METHOD_VM_READ ? sizeof(sfshm_vm_read_t) : sizeof(sfshm_in_place_t);
}
_Static_assert(sizeof(sfshm_in_place_t) == sizeof(sfshm_device_data_t), "both name a region and an offset");

/* The descriptor: from the low end 24 bits operation number, 2 kind, 5 base type, 5 op, 25 block count, 3 method.
 * The highest bit of the op marks a fetch_op.
 * Counts from SFSHM_DESC_COUNT_HASHED on are hashed into the upper half of the field's values. */
#define SFSHM_DESC_COUNT_HASHED (INT64_C(1) << 24)
#define SFSHM_DESC_SEQUENCE_BITS 24
#define SFSHM_DESC_SEQUENCE_MASK ((UINT64_C(1) << SFSHM_DESC_SEQUENCE_BITS) - 1)
#define SFSHM_DESC_METHOD_SHIFT 61
#define SFSHM_DESC_MATCH_MASK ((UINT64_C(1) << SFSHM_DESC_METHOD_SHIFT) - 1)

/* Encodes a block count for the descriptor. */
static inline uint64_t sfshm_desc_count(int64_t count)
{
  uint64_t hash = (uint64_t)count * UINT64_C(0x9e3779b97f4a7c15) >> 40;
  return count >= 0 && count < SFSHM_DESC_COUNT_HASHED ? (uint64_t)count : (uint64_t)SFSHM_DESC_COUNT_HASHED | hash;
}

/* The called operation. Gather and scatter are a reduce and a bcast on the multi-graph. */
typedef enum sfshm_call {
  SFSHM_CALL_BCAST = SFSHM_BCAST,
  SFSHM_CALL_REDUCE = SFSHM_REDUCE,
  SFSHM_CALL_SCATTER = 2,
  SFSHM_CALL_GATHER = 3,
  SFSHM_CALL_FETCH = 16 << 2, /* with one of the two above: half of a fetch_op; the op is the application's */
} sfshm_call_t;

/* The descriptor without sequence number and method. */
static inline uint64_t sfshm_desc_signature(sfshm_call_t call, sfshm_unit_t unit, sfshm_op_t op)
{
  uint64_t fetch = (uint64_t)call & SFSHM_CALL_FETCH;
  return ((uint64_t)call & 3) << 24 | (uint64_t)unit.base << 26 | ((uint64_t)op | fetch >> 2) << 31 |
         sfshm_desc_count(unit.count) << 36;
}

/* What the ranks of a graph make together before some operations: a call with a number like an operation's. Its base
 * type is one that there is not, and it stands in place of the block count. */
typedef enum sfshm_make {
  SFSHM_MAKE_MULTI = 0,      /* the multi-graph */
  SFSHM_MAKE_LEAF_RANKS = 1, /* the ranks with leaves on each rank's roots */
  SFSHM_MAKE_STREAMS = 2,    /* what operations on streams need */
} sfshm_make_t;

#define SFSHM_DESC_MAKE_BASE UINT64_C(31)

static inline uint64_t sfshm_desc_of_make(sfshm_make_t what, uint64_t sequence)
{
  return (sequence & SFSHM_DESC_SEQUENCE_MASK) | SFSHM_DESC_MAKE_BASE << 26 | (uint64_t)what << 36;
}

/* Operations with several fields. Their base type is one that there is not. Behind it, in place of op and block count,
 * are four bits of a digest of units and ops, then eight bits with the number of fields, then 17 more of the digest. */
#define SFSHM_DESC_FIELDS_BASE UINT64_C(30)
#define SFSHM_DESC_FIELDS_MAX 255

/* An exchange of blocks of bytes: their sizes travel with them. Its base type is one that there is not; behind it there
 * is nothing, as ranks call it with nothing in common but the graph. */
#define SFSHM_DESC_EXCHANGE_BASE UINT64_C(29)

static inline uint64_t sfshm_desc_of_exchange(void)
{
  return (uint64_t)SFSHM_CALL_BCAST << 24 | SFSHM_DESC_EXCHANGE_BASE << 26;
}

static inline bool sfshm_desc_is_exchange(uint64_t desc)
{
  return (desc >> 26 & 31) == SFSHM_DESC_EXCHANGE_BASE;
}

/* Adds one field, in their order, to the digest, which is 0 at first. */
static inline uint64_t sfshm_desc_digest(uint64_t digest, sfshm_unit_t unit, sfshm_op_t op)
{
  digest = (digest ^ sfshm_desc_signature(SFSHM_CALL_BCAST, unit, op)) * UINT64_C(0x9e3779b97f4a7c15);
  return digest ^ digest >> 29;
}

static inline uint64_t sfshm_desc_of_fields(sfshm_call_t call, uint64_t nfields, uint64_t digest)
{
  return ((uint64_t)call & 3) << 24 | SFSHM_DESC_FIELDS_BASE << 26 | (digest >> 60) << 31 | nfields << 36 |
         (digest >> 43 & ((1u << 17) - 1)) << 44;
}

static inline bool sfshm_desc_is_of_fields(uint64_t desc)
{
  return (desc >> 26 & 31) == SFSHM_DESC_FIELDS_BASE;
}

static inline bool sfshm_desc_is_make(uint64_t desc)
{
  return (desc >> 26 & 31) == SFSHM_DESC_MAKE_BASE;
}

static inline sfshm_method_t sfshm_desc_method(uint64_t desc)
{
  return (sfshm_method_t)(desc >> SFSHM_DESC_METHOD_SHIFT);
}

/* Parts of a descriptor. The count may be a hash; the reader checks ranges. */
static inline sfshm_operation_t sfshm_desc_direction(uint64_t desc)
{
  return (sfshm_operation_t)(desc >> 24 & 1); /* a scatter is a bcast, a gather a reduce, to lanes */
}

/* The kind under which the operation is counted (sfshm_kind_t). */
static inline unsigned sfshm_desc_kind(uint64_t desc)
{
  unsigned call = desc >> 24 & 3;
  if (sfshm_desc_is_exchange(desc))
    return 6; /* SFSHM_KIND_EXCHANGE */
  return (desc >> 35 & 1) == 0 ? call : 4 | (call & 1);
}

static inline sfshm_unit_t sfshm_desc_unit(uint64_t desc)
{
  return (sfshm_unit_t){(sfshm_base_t)(desc >> 26 & 31), (int64_t)(desc >> 36 & ((UINT64_C(1) << 25) - 1))};
}

static inline sfshm_op_t sfshm_desc_op(uint64_t desc)
{
  return (sfshm_op_t)(desc >> 31 & 31);
}

static inline uint64_t sfshm_desc_with_method(uint64_t match, sfshm_method_t method)
{
  return match | (uint64_t)method << SFSHM_DESC_METHOD_SHIFT;
}

/* Whether operation a comes after b. Both are numbers or descriptors, close to each other. */
static inline bool sfshm_desc_is_later(uint64_t a, uint64_t b)
{
  uint64_t by = (a - b) & SFSHM_DESC_SEQUENCE_MASK;
  return by != 0 && by <= SFSHM_DESC_SEQUENCE_MASK / 2;
}

/* Descriptor of a wait on a multi-graph, published where the graph itself publishes its waits: the last descriptor on
 * the multi-graph, with the number of operations begun on the multi-graph in place of the block count, and the number
 * of operations begun on the graph in place of the sequence number. Its method value never occurs in messages. */
#define SFSHM_DESC_OF_MULTI ((sfshm_method_t)7)
#define SFSHM_DESC_COUNT_SHIFT 36
#define SFSHM_DESC_COUNT_MASK ((UINT64_C(1) << 25) - 1)

static inline uint64_t sfshm_desc_of_multi(uint64_t last, uint64_t on_multi, uint64_t on_graph)
{
  uint64_t call = last & ~(SFSHM_DESC_COUNT_MASK << SFSHM_DESC_COUNT_SHIFT) & ~SFSHM_DESC_SEQUENCE_MASK;
  return sfshm_desc_with_method((call & SFSHM_DESC_MATCH_MASK) | (on_graph & SFSHM_DESC_SEQUENCE_MASK) |
                                    (on_multi & SFSHM_DESC_COUNT_MASK) << SFSHM_DESC_COUNT_SHIFT,
                                SFSHM_DESC_OF_MULTI);
}

static inline uint64_t sfshm_desc_on_multi(uint64_t desc)
{
  return desc >> SFSHM_DESC_COUNT_SHIFT & SFSHM_DESC_COUNT_MASK;
}

/* Name of the called operation, as in the text. */
const char *sfshm_call_name(sfshm_call_t call);
const char *sfshm_desc_operation(uint64_t desc);

/* Writes for instance "bcast(double x 3, sum)"; hashed counts as "x many" and the hash; several fields as "bcast(3
 * fields [012345])" with the digest. */
void sfshm_desc_text(uint64_t desc, char *text, size_t text_bytes);

#endif

/* The window of a rank: shared memory for requests of its operations on elements of other nodes, and for their data.
 * The rank creates the window before its first array over several nodes. Its daemon maps the window for reading and
 * writing.
 *
 *   rank                                             its daemon
 *     takes a slot, and chunks in a row for data
 *     writes request and data
 *     submission ring: SFSHM_SUBMIT_ARRAY ────────▶  copies the request once, sends it with the data from the window
 *                                                    writes returned data into the window
 *     reads the answer, frees slot and chunks ◀────  status, text; last done, release; wakes the rank
 *
 * Short data are in the slot itself. Only the rank knows which slots and chunks are free; any of its threads may take
 * them.
 *
 * Data of a patch are dense: for each rank of the target node that owns elements of the patch, in ascending order
 * of ranks, the elements of its box (shm/array/distribution.h), row-major. Data of a list begin with the places of its
 * elements, 8 bytes each: the number of the element in the parts of the target node's ranks, one after the other in
 * ascending order of ranks; the values follow, but for SFSHM_ARRAY_LIST_GET. Returned are the values of a get in the
 * same order, or the 8 bytes of SFSHM_ARRAY_FETCH_OP and SFSHM_ARRAY_COMPARE_SWAP. */
#ifndef SFSHM_ARRAY_WINDOW_H
#define SFSHM_ARRAY_WINDOW_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/array/distribution.h"
#include "shm/region/region.h"

#define SFSHM_WINDOW_SLOTS 256
#define SFSHM_WINDOW_CHUNKS 64
#define SFSHM_WINDOW_CHUNK 65536u

/* Bounds of one request, so that a daemon is not kept from others for long: bytes of data in either direction, elements
 * of a patch, elements of a list. */
#define SFSHM_ARRAY_MAX_DATA ((uint64_t)512 << 10)
#define SFSHM_ARRAY_MAX_PATCH (INT64_C(1) << 16)
#define SFSHM_ARRAY_MAX_LIST (INT64_C(1) << 13)

typedef enum sfshm_array_kind {
  SFSHM_ARRAY_PATCH_PUT = 1,
  SFSHM_ARRAY_PATCH_GET,
  SFSHM_ARRAY_PATCH_ACC, /* the factor has been applied */
  SFSHM_ARRAY_LIST_PUT,
  SFSHM_ARRAY_LIST_GET,
  SFSHM_ARRAY_LIST_ACC,
  SFSHM_ARRAY_FETCH_OP,
  SFSHM_ARRAY_COMPARE_SWAP,
  SFSHM_ARRAY_KINDS
} sfshm_array_kind_t;

/* A request, in the window and, as it is, in messages between daemons. Fields that the kind does not use are 0. */
typedef struct sfshm_array_request {
  uint32_t kind;                    /* sfshm_array_kind_t */
  uint32_t op;                      /* FETCH_OP: sfshm_op_t */
  int64_t first[SFSHM_ARRAY_DIMS];  /* first index of the patch; index of the element */
  int64_t extent[SFSHM_ARRAY_DIMS]; /* of the patch; [0]: number of elements of the list */
  uint64_t operand;                 /* FETCH_OP; COMPARE_SWAP: the new value. Bits in the lowest bytes */
  uint64_t compare;                 /* COMPARE_SWAP */
  uint64_t returned;                /* bytes that are returned; the daemon fills it in */
  uint64_t reserved[4];
} sfshm_array_request_t;
_Static_assert(sizeof(sfshm_array_request_t) == 128, "layout version 19");

#define SFSHM_WINDOW_INLINE 256u
#define SFSHM_WINDOW_TEXT 116u

typedef struct sfshm_window_slot {
  sfshm_array_request_t request;                /* written by the rank */
  _Alignas(128) char data[SFSHM_WINDOW_INLINE]; /* short data: by the rank, then by the daemon */
  _Alignas(128) _Atomic uint64_t done;          /* by the daemon: number of the request that is complete, stored last */
  int32_t status;                               /* sf_status_t */
  char text[SFSHM_WINDOW_TEXT];                 /* of an error, ended by a zero byte */
} sfshm_window_slot_t;
_Static_assert(sizeof(sfshm_window_slot_t) == 512, "layout version 19");

/* The region, SFSHM_REGION_WINDOW. */
typedef struct sfshm_window {
  sfshm_region_header_t header;
  _Alignas(4096) sfshm_window_slot_t slots[SFSHM_WINDOW_SLOTS];
  char chunks[SFSHM_WINDOW_CHUNKS][SFSHM_WINDOW_CHUNK];
} sfshm_window_t;
_Static_assert(offsetof(sfshm_window_t, slots) == 4096 && offsetof(sfshm_window_t, chunks) == 4096 + (128 << 10),
               "layout version 19");

#endif

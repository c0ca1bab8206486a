/* Shared memory of arrays (client/include/sf/sf_array.h): the region of each rank's part. docs/shm-protocol.md
 * describes it. */
#ifndef SFSHM_ARRAY_LAYOUT_H
#define SFSHM_ARRAY_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/region/region.h"

/* Flag of graph creation: the graph belongs to an array. */
#define SFSHM_GRAPH_ARRAY (1u << 8)

/* Number of the segment with a rank's part of an array. graph: number of the array's graph. Other segments have numbers
 * from 0. */
static inline uint64_t sfshm_array_segment(uint64_t graph)
{
  return UINT64_C(1) << 63 | graph;
}

/* How an operation reaches the elements. */
typedef enum sfshm_array_way {
  SFSHM_ARRAY_OWN,    /* in the rank's own part */
  SFSHM_ARRAY_NODE,   /* in the part of another rank of the node, directly */
  SFSHM_ARRAY_DAEMON, /* on another node, by the daemons */
  SFSHM_ARRAY_WAYS
} sfshm_array_way_t;

typedef enum sfshm_array_access {
  SFSHM_ARRAY_PUT,
  SFSHM_ARRAY_GET,
  SFSHM_ARRAY_ACC,
  SFSHM_ARRAY_ATOMIC, /* fetch_op, compare_swap */
  SFSHM_ARRAY_ACCESSES
} sfshm_array_access_t;

/* Operations that the owner of the part called: one for each rank of the node, and each request to another node. */
typedef struct sfshm_array_counters {
  _Atomic uint64_t operations[SFSHM_ARRAY_WAYS][SFSHM_ARRAY_ACCESSES];
  _Atomic uint64_t bytes[SFSHM_ARRAY_WAYS][SFSHM_ARRAY_ACCESSES];
} sfshm_array_counters_t;

/* Lock of some blocks of a part, for accumulation by ranks of one node (client/onesided/adder.h). Taken with acquire,
 * released with release. */
typedef struct sfshm_array_lock {
  _Alignas(64) _Atomic uint32_t holder; /* 1 + rank of the group; 0: none */
} sfshm_array_lock_t;

#define SFSHM_ARRAY_LOCKS 32
#define SFSHM_ARRAY_LOCKED 4096u /* bytes of a block */

/* The first page of a region SFSHM_REGION_ARRAY; the part's elements follow. */
typedef struct sfshm_array_head {
  sfshm_region_header_t header;
  sfshm_array_counters_t counters; /* written by the owner of the part, relaxed */
  sfshm_array_lock_t locks[SFSHM_ARRAY_LOCKS];
} sfshm_array_head_t;

/* Lock of a block of the part in the region. Blocks at a distance of a power of two have different locks. */
static inline sfshm_array_lock_t *sfshm_array_lock_of(void *region, uint64_t block)
{
  return &((sfshm_array_head_t *)region)->locks[((uint32_t)block * 0x9e3779b1u) >> 27];
}

#define SFSHM_ARRAY_DATA 4096u /* offset of the elements */
_Static_assert(sizeof(sfshm_array_counters_t) == 192 && sizeof(sfshm_array_head_t) <= SFSHM_ARRAY_DATA &&
                   SFSHM_ARRAY_LOCKS == 32,
               "layout version 26");

#endif

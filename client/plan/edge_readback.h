/* The edges of this rank as they were given to a graph, readable again out of its edge list. Any thread. */
#ifndef SFC_PLAN_EDGE_READBACK_H
#define SFC_PLAN_EDGE_READBACK_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "client/plan/edge_list.h"
#include "shm/base/sort.h"

/* The edges to one rank. */
typedef struct sfc_edge_readback_part {
  int32_t rank;
  sfshm_edge_block_t block;
} sfc_edge_readback_part_t;

typedef struct sfc_edge_readback {
  const void *base;      /* of the list */
  void *image;           /* the same; NULL: the list is the region, which is mapped */
  size_t length_bytes;   /* of the list */
  sfshm_region_t region; /* the sealed list, fd -1: none yet; under the context's lock */
  sfc_top_root_t top;
  int32_t nparts;
  sfc_edge_readback_part_t parts[]; /* by rank */
} sfc_edge_readback_t;

/* Notes where the list's blocks are, and takes over its memory, or its region. */
sf_status_t sfc_edge_readback_make(sfc_edge_list_t *list, sfc_edge_readback_t **readback_p);

/* Seals the list, unless it is sealed already: then the region has a descriptor. Under the context's lock, as graphs of
 * one plan share the readback. */
sf_status_t sfc_edge_readback_seal(sfc_edge_readback_t *readback);

/* Where a sealed list has the block of one of the parts. */
uint64_t sfc_edge_readback_offset(int32_t part);

/* Accepts NULL. */
void sfc_edge_readback_free(sfc_edge_readback_t *readback);

/* Number of edges. */
int64_t sfc_edge_readback_count(const sfc_edge_readback_t *readback);

/* Writes the edges in ascending order of their leaves. leaf_space: 1 + the highest leaf. Arrays may be NULL. */
sf_status_t sfc_edge_readback_read(const sfc_edge_readback_t *readback, int64_t leaf_space, int64_t leaf_index[],
                                   int32_t root_rank[], int64_t root_index[]);

#endif

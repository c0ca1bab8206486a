/* Edge read-back: this rank's edges as given, readable again from its edge list. Any thread. */
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
  void *image;           /* the list if it is in malloc'ed memory; NULL: the list is the mapped region */
  size_t length_bytes;   /* of the list */
  sfshm_region_t region; /* the sealed list; fd -1: not sealed; protected by the context's lock */
  sfc_top_root_t top;
  int32_t nparts;
  sfc_edge_readback_part_t parts[]; /* by rank */
} sfc_edge_readback_t;

/* Notes the list's blocks and takes over its memory or region. */
sf_status_t sfc_edge_readback_make(sfc_edge_list_t *list, sfc_edge_readback_t **readback_p);

/* Seals the list unless it is sealed: the region then has a descriptor. With the context's lock held, because graphs of
 * a plan share it. */
sf_status_t sfc_edge_readback_seal(sfc_edge_readback_t *readback);

/* Offset of a part's block in a sealed list. */
uint64_t sfc_edge_readback_offset(int32_t part);

/* Accepts NULL. */
void sfc_edge_readback_free(sfc_edge_readback_t *readback);

/* Number of edges. */
int64_t sfc_edge_readback_count(const sfc_edge_readback_t *readback);

/* Writes the edges in ascending order of leaves. leaf_space: 1 + the highest leaf. Arrays may be NULL. */
sf_status_t sfc_edge_readback_read(const sfc_edge_readback_t *readback, int64_t leaf_space, int64_t leaf_index[],
                                   int32_t root_rank[], int64_t root_index[]);

#endif

/* Edge list: the application's edges, checked, grouped by root rank, in compact form, as ranks exchange them. Any
 * thread. */
#ifndef SFC_PLAN_EDGE_LIST_H
#define SFC_PLAN_EDGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/plan/edge_buckets.h"
#include "shm/edges/edges.h"

#define SFC_EDGE_LIST_ALIGN 64u /* alignment of arrays in the list */

static inline size_t sfc_edge_list_aligned(size_t bytes)
{
  return (bytes + SFC_EDGE_LIST_ALIGN - 1) / SFC_EDGE_LIST_ALIGN * SFC_EDGE_LIST_ALIGN;
}

/* Bytes of an array of n indices of 64 or 32 bits. */
static inline size_t sfc_edge_list_array_bytes(int64_t n, bool wide)
{
  return sfc_edge_list_aligned((size_t)n * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
}

/* One block of the list. */
typedef struct sfc_edge_part {
  int32_t rank; /* owner of the roots */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* highest root index */
  size_t arrays;    /* first array of the block, and length of all of them */
  size_t arrays_bytes;
  sfshm_edge_block_t block;
  sfshm_edges_t edges; /* opened in the list */
} sfc_edge_part_t;

/* The root with the most leaves on this rank: a hint at contention. */
typedef struct sfc_top_root {
  int32_t rank; /* in the group */
  int64_t root;
  int64_t nleaves; /* 0: unknown, or no edges */
} sfc_top_root_t;

typedef struct sfc_edge_list {
  char *image; /* the list; NULL: no edges, or the list is in region */
  size_t length_bytes;
  bool has_arrays;
  sfshm_region_t region;  /* the sealed, immutable list; not mapped (base NULL) if it has no arrays */
  sfc_edge_part_t *parts; /* by rank, this rank included */
  int32_t nparts;
  sfc_top_root_t top;
} sfc_edge_list_t;

/* Checks the input and makes the list in private memory. The owners check root indices of other ranks. *bad_leaf_p:
 * leaf of an error; -1: none in particular. */
sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p);

/* Moves the list to a region that other processes can map. */
sf_status_t sfc_edge_list_seal(sfc_edge_list_t *list);

/* Writes a part (block and arrays, offsets relative to its start) to memory from which another rank copies it. Returns
 * its length. to is aligned to SFC_EDGE_LIST_ALIGN; NULL: only the length. */
size_t sfc_edge_list_write_part(const sfc_edge_list_t *list, int32_t part, char *to);

void sfc_edge_list_destroy(sfc_edge_list_t *list);

#endif

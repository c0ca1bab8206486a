/* From the edges that the application gives to the edge list that the ranks share: checked, by root rank, in the
 * shortest form. Any thread. */
#ifndef SFC_PLAN_EDGE_LIST_H
#define SFC_PLAN_EDGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/plan/edge_buckets.h"
#include "shm/edges/edges.h"

#define SFC_EDGE_LIST_ALIGN 64u /* of arrays, from the start of the list */

static inline size_t sfc_edge_list_aligned(size_t bytes)
{
  return (bytes + SFC_EDGE_LIST_ALIGN - 1) / SFC_EDGE_LIST_ALIGN * SFC_EDGE_LIST_ALIGN;
}

/* What an array of n indices takes, in 64 bits or 32. */
static inline size_t sfc_edge_list_array_bytes(int64_t n, bool wide)
{
  return sfc_edge_list_aligned((size_t)n * (wide ? sizeof(int64_t) : sizeof(uint32_t)));
}

/* One block of the list. */
typedef struct sfc_edge_part {
  int32_t rank; /* that owns the roots */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* highest root index */
  size_t arrays;    /* where those of the block begin, and how long they are together */
  size_t arrays_bytes;
  sfshm_edge_block_t block;
  sfshm_edges_t edges; /* open, in the list */
} sfc_edge_part_t;

/* The root to which most edges of the rank lead: a hint at where the work of all piles up. */
typedef struct sfc_top_root {
  int32_t rank; /* in the group */
  int64_t root;
  int64_t nleaves; /* 0: nobody has looked, or there are no edges */
} sfc_top_root_t;

typedef struct sfc_edge_list {
  char *image; /* the list; NULL: no edges, or it is the region's memory */
  size_t length_bytes;
  bool has_arrays;
  sfshm_region_t region;  /* the sealed list: immutable; not mapped (base NULL) if there are no arrays in it */
  sfc_edge_part_t *parts; /* by rank; that of the rank itself included */
  int32_t nparts;
  sfc_top_root_t top;
} sfc_edge_list_t;

/* Checks the input and makes the list, in memory of this process. The root indices of other ranks are checked by their
 * owners. *bad_leaf_p: the leaf that an error concerns, -1 if none in particular. */
sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p);

/* Moves the list to a region that other processes can map. */
sf_status_t sfc_edge_list_seal(sfc_edge_list_t *list);

/* Writes a part to memory from which another rank copies it, and returns its length: the block, with offsets from
 * there, and its arrays. to is aligned to SFC_EDGE_LIST_ALIGN; NULL: nothing is written. */
size_t sfc_edge_list_write_part(const sfc_edge_list_t *list, int32_t part, char *to);

void sfc_edge_list_destroy(sfc_edge_list_t *list);

#endif

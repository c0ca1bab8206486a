/* From the edges that the application gives to the edge list that the ranks share: checked, by root rank, in the
 * shortest form. Any thread. */
#ifndef SFC_EDGES_H
#define SFC_EDGES_H

#include <stdint.h>

#include "client/buckets.h"
#include "shm/edges.h"

/* One block of the list. */
typedef struct sfc_edge_part {
  int32_t rank; /* that owns the roots */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
  int64_t root_max; /* highest root index */
  sfshm_edge_block_t block;
  sfshm_edges_t edges; /* open, in the list's region */
} sfc_edge_part_t;

typedef struct sfc_edge_list {
  sfshm_region_t region;  /* immutable; zeroed without edges, not mapped (base NULL) if there are no arrays in it */
  sfc_edge_part_t *parts; /* by rank; that of the rank itself included */
  int32_t nparts;
} sfc_edge_list_t;

/* Checks the input and makes the list. The root indices of other ranks are checked by their owners. *bad_leaf_p: the
 * leaf that an error concerns, -1 if none in particular. */
sf_status_t sfc_edge_list_make(const sfc_edge_input_t *input, int32_t rank, int32_t size, sfc_edge_list_t *list_p,
                               int64_t *bad_leaf_p);
void sfc_edge_list_destroy(sfc_edge_list_t *list);

#endif

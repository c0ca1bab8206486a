/* The plan of what travels between two nodes for a graph: out of the edge blocks that lead from ranks of one node to
 * owners of roots on one other node, the two images that shm/trunk/trunk.h describes. Pure functions; any thread. */
#ifndef SFSHM_MERGE_H
#define SFSHM_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/edges.h"

/* Edges of leaf rank `rank` to roots of `owner`. */
typedef struct sfshm_merge_block {
  int32_t owner;
  int32_t rank;
  const sfshm_edges_t *edges; /* as sfshm_edges_open gives them */
} sfshm_merge_block_t;

typedef struct sfshm_merge {
  void *root_image;
  size_t root_image_bytes;
  void *leaf_image;
  size_t leaf_image_bytes;
  int64_t values_before; /* sum of the blocks' values: before duplicates were removed */
} sfshm_merge_t;

/* Makes the images. blocks: at least one, by ascending (owner, rank). Time is about proportional to the number of
 * values, whatever they are. Roots that one rank alone has leaves on are only copied, or not looked at if their pattern
 * is arithmetic; for others memory of about 24 bytes a value is taken beside the images, and 40 more for one owner at a
 * time. SF_ERR_LIMIT: more than 2^32 - 1 edges. SF_ERR_PROTO: a block has a root twice. SF_ERR_NOMEM. */
sf_status_t sfshm_merge_make(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                             sfshm_merge_t *merge_p);

/* Frees the images. Accepts what is zeroed or freed. */
void sfshm_merge_free(sfshm_merge_t *merge);

#endif

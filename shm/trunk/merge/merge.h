/* Merge of a node's edge lists for another node: from the edge blocks of ranks of one node to owners of roots on
 * another node, creates the two images that shm/trunk/trunk.h defines. Pure functions; any thread. */
#ifndef SFSHM_TRUNK_MERGE_MERGE_H
#define SFSHM_TRUNK_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/edges.h"

/* Edges of leaf rank `rank` to roots of `owner`. */
typedef struct sfshm_merge_block {
  int32_t owner;
  int32_t rank;
  const sfshm_edges_t *edges; /* from sfshm_edges_open */
} sfshm_merge_block_t;

typedef struct sfshm_merge {
  void *root_image;
  size_t root_image_bytes;
  void *leaf_image;
  size_t leaf_image_bytes;
  int64_t values_before;             /* sum of the blocks' values, before duplicates are removed */
  struct sfshm_positions *positions; /* NULL: the merge has both images */
} sfshm_merge_t;

/* Creates both images, or only the root image, which the other node waits for. blocks: at least one, ascending by
 * (owner, rank); they and their edges must last until the merge is finished. Time is roughly proportional to the number
 * of values. Roots that only one rank has leaves of are copied, or not read at all if their pattern is arithmetic. For
 * other roots the merge needs about 24 bytes per value in addition to the images, and 40 more for one owner at a time.
 * SF_ERR_LIMIT: more than 2^32 - 1 edges. SF_ERR_PROTO: a block has a root twice. SF_ERR_NOMEM. */
sf_status_t sfshm_merge_make(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                             sfshm_merge_t *merge_p);
sf_status_t sfshm_merge_begin(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                              sfshm_merge_t *merge_p);

/* Creates the leaf image, unless the merge has it already. SF_ERR_NOMEM. */
sf_status_t sfshm_merge_finish(sfshm_merge_t *merge);

/* Frees the images. Accepts a zeroed or freed merge. */
void sfshm_merge_free(sfshm_merge_t *merge);

#endif

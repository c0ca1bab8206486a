/* The edge list of one rank for one graph: an immutable region with one block per root rank. The rank that made it and
 * the rank that owns the roots both use it in place as (part of) their plan.
 *
 * A root that several leaves of the rank share is sent once in a bcast: values are the distinct roots, and edges beyond
 * the first to the same root are extra ones. A block holds three patterns, each in its shortest form:
 *   value_root   the distinct roots
 *   leaf         the leaf of each edge: first of the edges 0..nvalues-1, which carry the values of the same numbers and
 *                have the lowest leaf of their root; then of the extra edges
 *   extra_value  the value that each extra edge carries, ascending; edges of one value by ascending leaf
 * So going through the edges in order meets the leaves of each root in ascending order, as a reduce needs it.
 * Index arrays stand behind the blocks, at offsets from the region's start, aligned to their width. */
#ifndef SFSHM_EDGES_H
#define SFSHM_EDGES_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/pattern.h"
#include "shm/region.h"

typedef struct sfshm_stored_pattern {
  uint32_t kind; /* sfshm_pattern_kind_t */
  uint32_t reserved;
  int64_t n;
  int64_t start;
  int64_t stride;
  uint64_t offset; /* of the index array, for the general kinds */
} sfshm_stored_pattern_t;
_Static_assert(sizeof(sfshm_stored_pattern_t) == 40, "layout version 1");

typedef struct sfshm_edge_block {
  sfshm_stored_pattern_t value_root;
  sfshm_stored_pattern_t leaf;
  sfshm_stored_pattern_t extra_value; /* n == 0: every root has one leaf here */
  uint64_t reserved;
} sfshm_edge_block_t;
_Static_assert(sizeof(sfshm_edge_block_t) == 128, "layout version 1");

/* The patterns of one block, over the region's memory. */
typedef struct sfshm_edges {
  sfshm_pattern_t value_root;
  sfshm_pattern_t leaf;
  sfshm_pattern_t extra_value;
  sfshm_pattern_survey_t roots; /* of value_root */
  sfshm_pattern_survey_t leaves;
} sfshm_edges_t;

/* Opens the block at offset and checks it completely: the arrays lie in the region, roots lie in 0..nroots-1, leaves
 * are not negative, values are numbered without gaps. SF_ERR_RANGE for a root index that is too large: *bad_leaf_p is
 * then the leaf of the first such edge and *bad_root_p the index. SF_ERR_PROTO for a malformed block. */
sf_status_t sfshm_edges_open(const sfshm_region_t *region, uint64_t offset, int64_t nedges, int64_t nvalues,
                             int64_t nroots, sfshm_edges_t *edges_p, int64_t *bad_leaf_p, int64_t *bad_root_p);

#endif

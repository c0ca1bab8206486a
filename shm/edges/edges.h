/* Edge list of one rank for one graph: an immutable region with one block per root rank. The rank that wrote it and the
 * owners of the roots use it, or a copy, as part of their plans. Alternatively each block is a separate piece of
 * memory, followed by its arrays.
 *
 * A root shared by several leaves of the rank is sent once in a bcast. *Values* are the distinct roots. Edges to a root
 * beyond its first edge are *extra edges*. A block holds four patterns:
 *   value_root   the distinct roots
 *   leaf         the leaf of each edge, in stored order: the application's order, or ordered by regions of roots if
 *                roots are many and scattered
 *   extra_value  the value carried by each extra edge, ascending; extra edges of one value by ascending leaf
 *   extra_edge   the position of each extra edge in stored order, each once; the remaining edges there carry the values
 *                0, 1, ... and have the lowest leaf of their root
 * Contiguous and strided indices need no array; but with extra edges value_root is always an array, so that the work
 * for a list is bounded by its length. Arrays follow the blocks, at offsets from the start of the region or piece,
 * aligned to their width. In a piece the array of leaves is the last, as the daemon does not copy it.
 *
 * An open block has its edges in plan order: first the edges 0..nvalues-1, which carry the values of the same numbers,
 * then the extra edges. In this order the leaves of each root ascend, as a reduce requires. */
#ifndef SFSHM_EDGES_EDGES_H
#define SFSHM_EDGES_EDGES_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"
#include "shm/region/region.h"

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
  sfshm_stored_pattern_t extra_edge;
} sfshm_edge_block_t;
_Static_assert(sizeof(sfshm_edge_block_t) == 160, "layout version 1");

/* The patterns of one open block in their shortest forms, over the region's memory or their own. */
typedef struct sfshm_edges {
  sfshm_pattern_t value_root;
  sfshm_pattern_t leaf; /* of each edge, in plan order */
  sfshm_pattern_t extra_value;
  sfshm_pattern_t extra_root;    /* of each extra edge */
  sfshm_pattern_survey_t roots;  /* of value_root */
  sfshm_pattern_survey_t leaves; /* SFSHM_EDGES_UNKNOWN: not surveyed completely */
  bool leaf_in_memory;
  void *memory; /* patterns that are not in the region; NULL: none */
} sfshm_edges_t;

#define SFSHM_EDGES_UNKNOWN (-2)

/* Maximum size of a block with its arrays that ranks copy from each other's inboxes. */
#define SFSHM_EDGES_MAX_COPIED ((size_t)4 << 20)

/* Maximum size of all blocks of a rank whose blocks for other nodes the daemon copies. */
#define SFSHM_EDGES_MAX_FETCHED ((size_t)256 << 10)

/* Opens the block at offset and checks it completely: arrays lie in the region, roots in 0..nroots-1, leaves are not
 * negative, values are numbered without gaps. An array of leaves that cannot be negative and needs no reordering is not
 * read, so its pages need not be present. SF_ERR_RANGE: a root index is too large; *bad_leaf_p is the lowest leaf of
 * such edges, *bad_root_p its root index. SF_ERR_PROTO: the block is malformed. SF_ERR_NOMEM. */
sf_status_t sfshm_edges_open(const sfshm_region_t *region, uint64_t offset, int64_t nedges, int64_t nvalues,
                             int64_t nroots, sfshm_edges_t *edges_p, int64_t *bad_leaf_p, int64_t *bad_root_p);

/* Opens a block that this process wrote at base, in place, without checks. */
sf_status_t sfshm_edges_open_own(const void *base, const sfshm_edge_block_t *block, sfshm_edges_t *edges_p);

/* Moves the patterns from memory at from to a copy at to. */
void sfshm_edges_move(sfshm_edges_t *edges, const void *from, const void *to);

/* Frees memory that is not in the region. Accepts zeroed or closed edges. */
void sfshm_edges_close(sfshm_edges_t *edges);

#endif

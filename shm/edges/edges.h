/* The edge list of one rank for one graph: an immutable region with one block per root rank. The rank that made it and
 * the rank that owns the roots both use it, or a copy, as part of their plan. Or each block is a piece of memory of its
 * own, with its arrays behind it.
 *
 * A root that several leaves of the rank share is sent once in a bcast: values are the distinct roots, and edges beyond
 * the first to the same root are extra ones. A block holds four patterns:
 *   value_root   the distinct roots
 *   leaf         the leaf of each edge, in the order given: that of the application, or by regions of roots if these
 *                are many and scattered
 *   extra_value  the value that each extra edge carries, ascending; edges of one value by ascending leaf
 *   extra_edge   the place of each extra edge in the order given, each once; the other edges there carry the values 0,
 *                1, ... and have the lowest leaf of their root
 * Lines of indices are stored as such; but with extra edges value_root is an array, so that no list leads to more work
 * than its length explains. Arrays stand behind the blocks, at offsets from the start of region or piece, aligned to
 * their width.
 *
 * An open block has the edges in the order of the plan: first the edges 0..nvalues-1, which carry the values of the
 * same numbers; then the extra edges. Going through them in order meets the leaves of each root in ascending order, as
 * a reduce needs it. */
#ifndef SFSHM_EDGES_H
#define SFSHM_EDGES_H

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

/* The patterns of one block, over the region's memory or their own, in their shortest form. */
typedef struct sfshm_edges {
  sfshm_pattern_t value_root;
  sfshm_pattern_t leaf; /* of each edge, in the plan's order */
  sfshm_pattern_t extra_value;
  sfshm_pattern_t extra_root;    /* of each extra edge */
  sfshm_pattern_survey_t roots;  /* of value_root */
  sfshm_pattern_survey_t leaves; /* SFSHM_EDGES_UNKNOWN: nobody has looked at all of them */
  bool leaf_in_memory;
  void *memory; /* of patterns that are not in the region; NULL: none */
} sfshm_edges_t;

#define SFSHM_EDGES_UNKNOWN (-2)

/* Of one block with its arrays, where ranks copy it from each other's inboxes. */
#define SFSHM_EDGES_MAX_COPIED ((size_t)4 << 20)

/* Of all blocks of a rank, where the daemon copies those that lead to other nodes. */
#define SFSHM_EDGES_MAX_FETCHED ((size_t)256 << 10)

/* Opens the block at offset and checks it completely: the arrays lie in the region, roots lie in 0..nroots-1, leaves
 * are not negative, values are numbered without gaps. An array of leaves that can neither be negative nor has to be
 * arranged is not read: its pages need not be here. SF_ERR_RANGE for a root index that is too large: *bad_leaf_p is
 * then the lowest leaf of such edges and *bad_root_p its index. SF_ERR_PROTO for a malformed block. SF_ERR_NOMEM. */
sf_status_t sfshm_edges_open(const sfshm_region_t *region, uint64_t offset, int64_t nedges, int64_t nvalues,
                             int64_t nroots, sfshm_edges_t *edges_p, int64_t *bad_leaf_p, int64_t *bad_root_p);

/* Opens a block that this process made, in the memory where it made it: at base. Nothing is checked. */
sf_status_t sfshm_edges_open_own(const void *base, const sfshm_edge_block_t *block, sfshm_edges_t *edges_p);

/* The patterns then lie in a copy of the memory. */
void sfshm_edges_move(sfshm_edges_t *edges, const void *from, const void *to);

/* Frees what is not in the region. Accepts what is zeroed or closed. */
void sfshm_edges_close(sfshm_edges_t *edges);

#endif

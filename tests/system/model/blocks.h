/* A serial model of exchanges of blocks on a random graph: how long each block is in each call, what is in it, and
 * whether it has come. Lengths change at any call, on some ranks only; every rank of a test computes those of all. */
#ifndef SFTEST_MODEL_BLOCKS_H
#define SFTEST_MODEL_BLOCKS_H

#include "tests/system/model/algebra.h"

/* How one rank makes one exchange. */
typedef enum sftest_blocks_way {
  SFTEST_BLOCKS_AT_ONCE, /* sf_exchange */
  SFTEST_BLOCKS_BEGUN,
  SFTEST_BLOCKS_PERSISTENT,
  SFTEST_BLOCKS_PROBED, /* begun without memory, which is supplied for the sizes */
  SFTEST_BLOCKS_LATE,   /* begun without memory, which is supplied without asking for sizes */
  SFTEST_BLOCKS_WAYS
} sftest_blocks_way_t;

/* One exchange on one rank. */
typedef struct sftest_blocks {
  sftest_rank_t *self;
  const sftest_forest_t *forest;
  sf_graph_t *graph;
  uint64_t seed; /* the same on all ranks */
  size_t longest;
  uint64_t call;
  sftest_blocks_way_t way;
  sf_block_t *root; /* by root */
  sf_block_t *leaf; /* by leaf */
  size_t *bytes;    /* by leaf */
  int64_t nleaves;  /* of these arrays */
  int64_t narrow;   /* a leaf with too little room, the only one; -1: none */
  sf_request_t *request;
} sftest_blocks_t;

/* Makes the arrays, for exchanges with blocks of at most so many bytes. */
void sftest_blocks_make(sftest_blocks_t *blocks, sftest_rank_t *self, const sftest_forest_t *forest, sf_graph_t *graph,
                        uint64_t seed, size_t longest);
void sftest_blocks_free(sftest_blocks_t *blocks);

/* Length of a block in a call. */
size_t sftest_block_length(const sftest_blocks_t *blocks, uint64_t call, int32_t rank, int64_t root);

/* Begins the call in that way, with too little room for one leaf if narrow; ends it and compares what has come. */
void sftest_blocks_begin(sftest_blocks_t *blocks, uint64_t call, sftest_blocks_way_t way, bool narrow);
void sftest_blocks_end(sftest_blocks_t *blocks);

#endif

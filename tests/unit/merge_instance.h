/* Random instances for tests of merging: owners of roots, and blocks of edges to them. */
#ifndef SFTEST_MERGE_INSTANCE_H
#define SFTEST_MERGE_INSTANCE_H

#include "shm/trunk/merge/merge.h"
#include "tests/unit/runner.h"

/* Begins with SF_TEST_SEED, or another seed every time. */
void sftest_merge_start(unsigned salt);
uint64_t sftest_merge_any(void);
/* 0 .. n - 1 */
int64_t sftest_merge_below(int64_t n);

/* Fails the test, telling the seed, unless it is so. */
void sftest_merge_expect(bool condition, const char *what);

#define MAX_OWNERS 6
#define MAX_RANKS 6
#define MAX_BLOCKS (MAX_OWNERS * MAX_RANKS)
#define MAX_ROOTS 40 /* of an owner */
#define MAX_EXTRAS 8 /* of a block */
#define MAX_EDGES (MAX_ROOTS + MAX_EXTRAS)

/* What an owner's roots look like: universe number u stands for the root start + u * stride, or something spread. */
typedef struct sftest_owner {
  int32_t rank;
  int64_t nroots; /* of the universe */
  int64_t root[MAX_ROOTS];
} sftest_owner_t;

/* A block and its arrays. value[v]: the universe number of its root. */
typedef struct sftest_block {
  const sftest_owner_t *owner;
  int64_t value[MAX_ROOTS];
  int64_t root64[MAX_ROOTS];
  uint32_t root32[MAX_ROOTS];
  int64_t leaf[MAX_EDGES];
  int64_t extra[MAX_EXTRAS];
  sfshm_edges_t edges;
} sftest_block_t;

typedef struct sftest_instance {
  bool uncombined;
  int32_t nowners;
  int32_t nranks;
  sftest_owner_t owners[MAX_OWNERS];
  int32_t ranks[MAX_RANKS];
  int32_t nblocks;
  sftest_block_t blocks[MAX_BLOCKS];
  sfshm_merge_block_t given[MAX_BLOCKS];
  sfshm_merge_t merge;
} sftest_instance_t;

/* With its images. */
void sftest_instance_make(sftest_instance_t *instance);

#endif

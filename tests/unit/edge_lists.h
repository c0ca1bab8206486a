/* Random edges as input of edge lists, the lists made of them, and a naive reading of what those must hold. */
#ifndef SFTEST_EDGE_LISTS_H
#define SFTEST_EDGE_LISTS_H

#include "client/plan/edge_list.h"
#include "tests/unit/runner.h"

/* ---- Input ---- */

#define SFTEST_MAX_EDGES 400

/* Random edges as the application may give them, in both widths. */
typedef struct sftest_edge_input {
  int32_t rank;
  int32_t size;
  bool wide;
  bool numbered; /* leaf i has index i: leaf_index NULL */
  int64_t nroots;
  int64_t n;
  int32_t root_rank[SFTEST_MAX_EDGES];
  int64_t leaf64[SFTEST_MAX_EDGES];
  int64_t root64[SFTEST_MAX_EDGES];
  int32_t leaf32[SFTEST_MAX_EDGES];
  int32_t root32[SFTEST_MAX_EDGES];
} sftest_edge_input_t;

int64_t sftest_below(uint64_t *random, int64_t bound);

/* Random, and nothing is wrong with it. */
void sftest_edge_input_make(sftest_edge_input_t *input, uint64_t *random);

/* The edge of the input with that leaf; -1 if there is none. */
int64_t sftest_edge_input_find(const sftest_edge_input_t *input, int64_t leaf);

/* ---- Lists ---- */

/* Makes the list in one of the widths, checks what others would copy of it, and seals it. */
sf_status_t sftest_edge_list_make(sftest_edge_input_t *input, bool wide, sfc_edge_list_t *list_p, int64_t *bad_leaf_p);

/* The list holds the edges given, and no others. */
void sftest_edge_list_check(const sftest_edge_input_t *input, const sfc_edge_list_t *list);

/* The list as the owners of the roots see it. */
sfshm_region_t sftest_edge_list_map(const sfc_edge_list_t *list);
sfshm_edges_t sftest_edge_part_open(const sfshm_region_t *region, const sfc_edge_part_t *part);

/* What the rank itself uses is what others read. */
void sftest_edges_compare(const sfshm_edges_t *own, const sfshm_edges_t *opened);

/* Root of each edge of a block, in order. */
int64_t sftest_edge_root(const sfshm_edges_t *edges, int64_t edge);

/* ---- Tests ---- */

/* The fixture of tests that must leave no descriptors open. */
void sftest_edge_lists_setup(void);
void sftest_edge_lists_teardown(void);

#endif

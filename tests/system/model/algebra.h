/* Star forests as plain lists of edges of all ranks, and what graph algebra makes of them, one edge at a time. Every
 * rank of a test computes them by itself. */
#ifndef SFTEST_MODEL_ALGEBRA_H
#define SFTEST_MODEL_ALGEBRA_H

#include "tests/system/model/graph.h"

typedef struct sftest_forest {
  int32_t size;
  int64_t nroots[SFTEST_GROUP_MAX];
  int64_t n[SFTEST_GROUP_MAX];
  sftest_edge_t *edges[SFTEST_GROUP_MAX]; /* of the leaves of each rank, by leaf */
} sftest_forest_t;

/* An empty one; the edge is added wherever its leaf belongs, replacing one that is there. */
void sftest_forest_init(sftest_forest_t *forest, int32_t size);
void sftest_forest_add(sftest_forest_t *forest, int32_t rank, int64_t leaf, int32_t root_rank, int64_t root);
void sftest_forest_free(sftest_forest_t *forest);

/* A random one, with at most about max_vertices roots and leaves on each rank. */
void sftest_forest_random(sftest_forest_t *forest, uint64_t seed, int32_t size, int64_t max_vertices);

/* The same without what would give a root more than one leaf. */
void sftest_forest_thin(sftest_forest_t *forest);

int64_t sftest_forest_space(const sftest_forest_t *forest, int32_t rank); /* leaf_space */
int64_t sftest_forest_total(const sftest_forest_t *forest);               /* roots of all ranks */
int64_t sftest_forest_first(const sftest_forest_t *forest, int32_t rank); /* those of the ranks before */

/* The edge of a leaf; NULL: it is not connected. */
const sftest_edge_t *sftest_forest_find(const sftest_forest_t *forest, int32_t rank, int64_t leaf);

/* The library's graph of the forest. */
void sftest_forest_create(sftest_rank_t *self, const sftest_forest_t *forest, sf_group_t *group, sf_graph_t **graph_p);

/* Fails the rank unless the graph is the forest: its numbers, its edges, and what a bcast and a reduce do. */
void sftest_forest_expect(sftest_rank_t *self, const sftest_forest_t *forest, sf_group_t *group, sf_graph_t *graph);

#endif

/* The scene of tests of graph algebra: jobs of 1 to 8 ranks on one node and over up to 3, in which every part runs in
 * the group of all ranks, or in another one. */
#ifndef SFTEST_ALGEBRA_SCENE_H
#define SFTEST_ALGEBRA_SCENE_H

#include "tests/system/model/algebra.h"

#define MAX_VERTICES 60

typedef struct scene {
  sftest_rank_t *self;
  sf_group_t *group;
  int32_t rank, size; /* in the group */
  uint64_t random;    /* the same on all ranks */
} scene_t;

typedef struct part {
  const char *name; /* NULL: there are no more */
  void (*run)(scene_t *scene);
} part_t;

/* A random forest, and its graph. */
void scene_make(scene_t *scene, sftest_forest_t *forest, sf_graph_t **graph_p);
void scene_destroy(scene_t *scene, sf_graph_t *graph);

/* The graph must be what is expected; both end. */
void scene_expect(scene_t *scene, sftest_forest_t *expected, sf_graph_t *graph);

/* Of the program, whose tests run all of them in random jobs. */
extern const part_t scene_parts[];

#endif

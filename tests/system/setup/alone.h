/* A rank alone with a graph of self edges: leaf i is connected to root i. */
#ifndef SFTEST_ALONE_H
#define SFTEST_ALONE_H

#include "tests/system/harness.h"

#define SFTEST_ALONE_VALUES 100

typedef struct sftest_alone {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  double roots[SFTEST_ALONE_VALUES];
  double leaves[SFTEST_ALONE_VALUES];
} sftest_alone_t;

typedef struct sftest_alone_part {
  const char *name;
  void (*run)(sftest_alone_t *alone);
} sftest_alone_part_t;

/* Runs the parts, the last of which has no name, in a job of one rank. After each everything must still work. */
void sftest_alone_run(const sftest_alone_part_t parts[]);

#endif

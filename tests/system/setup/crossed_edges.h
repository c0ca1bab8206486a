/* Graphs whose edges lead from each of three ranks to all others, or only to the next one. */
#ifndef SFTEST_CROSSED_EDGES_H
#define SFTEST_CROSSED_EDGES_H

#include "tests/system/work.h"

#define SFTEST_CROSSED_RANKS 3
#define SFTEST_CROSSED_ROOTS 1000
#define SFTEST_CROSSED_EDGES 400 /* to each other rank */
#define SFTEST_CROSSED_LEAVES ((SFTEST_CROSSED_RANKS - 1) * SFTEST_CROSSED_EDGES)

/* The edges of one rank. */
typedef struct sftest_crossed {
  int64_t n;
  int32_t rank[SFTEST_CROSSED_LEAVES];
  int64_t root[SFTEST_CROSSED_LEAVES];
} sftest_crossed_t;

/* Of one rank in the graph of that number: to all others, or only to the next one. */
void sftest_crossed_edges(int32_t rank, int64_t number, bool both_ways, sftest_crossed_t *edges);

sf_status_t sftest_crossed_create(const sftest_rank_t *self, sf_context_t *context, int64_t number, bool both_ways,
                                  sf_graph_t **graph_p);

sf_status_t sftest_crossed_bcast(int32_t rank, sf_graph_t *graph, double leaves[SFTEST_CROSSED_LEAVES]);

void sftest_crossed_expect(sftest_rank_t *self, sf_graph_t *graph, int64_t number, bool both_ways);

#endif

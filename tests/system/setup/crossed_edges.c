/* Graphs between three ranks: see crossed_edges.h. */
#include "tests/system/setup/crossed_edges.h"

void sftest_crossed_edges(int32_t rank, int64_t number, bool both_ways, sftest_crossed_t *edges)
{
  edges->n = both_ways ? SFTEST_CROSSED_LEAVES : SFTEST_CROSSED_EDGES;
  for (int64_t i = 0; i < edges->n; i++) {
    edges->rank[i] = (rank + 1 + (int32_t)(i % (both_ways ? SFTEST_CROSSED_RANKS - 1 : 1))) % SFTEST_CROSSED_RANKS;
    edges->root[i] = (i * 7919 + number * 31 + rank) % SFTEST_CROSSED_ROOTS;
  }
}

sf_status_t sftest_crossed_create(const sftest_rank_t *self, sf_context_t *context, int64_t number, bool both_ways,
                                  sf_graph_t **graph_p)
{
  sftest_crossed_t edges;
  sftest_crossed_edges(self->rank, number, both_ways, &edges);
  return sf_graph_create(sf_group_world(context), SFTEST_CROSSED_ROOTS, edges.n, NULL, edges.rank, edges.root, 0,
                         graph_p);
}

static double sftest_crossed_value(int32_t rank, int64_t root)
{
  return rank * 10000.0 + (double)root;
}

sf_status_t sftest_crossed_bcast(int32_t rank, sf_graph_t *graph, double leaves[SFTEST_CROSSED_LEAVES])
{
  double roots[SFTEST_CROSSED_ROOTS];
  for (int64_t i = 0; i < SFTEST_CROSSED_ROOTS; i++)
    roots[i] = sftest_crossed_value(rank, i);
  return sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
}

void sftest_crossed_expect(sftest_rank_t *self, sf_graph_t *graph, int64_t number, bool both_ways)
{
  double leaves[SFTEST_CROSSED_LEAVES];
  sftest_crossed_t edges;
  sftest_crossed_edges(self->rank, number, both_ways, &edges);
  SFTEST_OK(self, sftest_crossed_bcast(self->rank, graph, leaves));
  for (int64_t i = 0; i < edges.n; i++)
    SFTEST_REQUIRE(self, leaves[i] == sftest_crossed_value(edges.rank[i], edges.root[i]));
}

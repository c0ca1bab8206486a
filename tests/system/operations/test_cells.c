/* Lanes whose cells grow when they have been used for a while: what is in pieces then comes together all the same, also
 * values larger than a cell, wherever in an operation the lane has been used for long enough. */
#include "tests/system/work.h"

#define RANKS 3
#define VERTICES 3
#define ROUNDS 12
#define LARGE 20000 /* 160 kB: three pieces */
#define SMALL 9     /* so many messages before, less one: then the cells grow between any two pieces, or would */

static const int64_t counts[] = {1000, 9000, 70000}; /* 8 kB, some small cells, more than a large one */

/* To root (rank, vertex, i) of this round. */
static int64_t contribution(int32_t rank, int round, int64_t vertex, int64_t i)
{
  return 1 + i + 7 * vertex + 1000003 * rank + 10000019 * round;
}

static void check(sftest_rank_t *self, const int64_t *values, int64_t count, int32_t from, int round, int64_t before)
{
  for (int64_t vertex = 0; vertex < VERTICES; vertex++)
    for (int64_t i = 0; i < count; i++)
      SFTEST_REQUIRE(self, values[vertex * count + i] == before + contribution(from, round, vertex, i));
}

static void work_with(sftest_rank_t *self, sf_context_t *context, int64_t count, int small)
{
  sf_graph_t *graph;
  const sf_type_t *block;
  int32_t next = (self->rank + 1) % self->size, previous = (self->rank + self->size - 1) % self->size;
  int64_t n = VERTICES * count, *mine = calloc((size_t)n, sizeof *mine), *sums = calloc((size_t)n, sizeof *sums);
  SFTEST_OK(self, sf_type_create_block(count, SF_INT64, &block));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), VERTICES, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < small; i++)
    SFTEST_OK(self, sf_bcast(graph, SF_INT64, mine, sums, SF_REPLACE));
  for (int round = 0; round < ROUNDS; round++) {
    sftest_at(self, "blocks of %lld, %d messages before, round %d", (long long)count, small, round);
    for (int64_t i = 0; i < n; i++) {
      mine[i] = contribution(self->rank, round, i / count, i % count);
      sums[i] = 5;
    }
    SFTEST_OK(self, sf_reduce(graph, block, mine, sums, SF_SUM));
    check(self, sums, count, previous, round, 5);
    SFTEST_OK(self, sf_bcast(graph, block, mine, sums, SF_REPLACE));
    check(self, sums, count, next, round, 0);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_type_destroy(block));
  free(mine);
  free(sums);
}

SFTEST_JOINED(work)
{
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    for (int small = 0; small < SMALL; small++)
      work_with(self, context, counts[i], small);
}

SFTEST_BETWEEN(cells_grow_between_operations, 2, RANKS + 1)
{
  sftest_run_alone(_i, work, NULL);
}

/* ---- No memory for larger cells ---------------------------------------------------------------------------------- */

#define GRAPHS 16 /* their first cells fit into an inbox of one segment, larger ones of all do not */
#define USES 40

SFTEST_JOINED(work_in_one_segment)
{
  sf_graph_t *graphs[GRAPHS];
  for (int i = 0; i < GRAPHS; i++)
    SFTEST_OK(self, sftest_ring_create(world, LARGE, SF_GRAPH_DEFAULT, &graphs[i]));
  for (int use = 0; use < USES; use++)
    for (int i = 0; i < GRAPHS; i++) {
      sftest_at(self, "use %d of graph %d", use, i);
      sftest_ring_expect_working(self, world, graphs[i], LARGE);
    }
  for (int i = 0; i < GRAPHS; i++)
    SFTEST_OK(self, sf_graph_destroy(graphs[i]));
}

SFTEST_BETWEEN(cells_stay_without_memory, 2, RANKS + 1)
{
  sftest_node_t node;
  sftest_node_start(&node, (const char *const[]){"--max-segments=1", NULL});
  sftest_run_job(&node, _i, work_in_one_segment, NULL);
  sftest_node_stop(&node);
}

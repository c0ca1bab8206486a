/* sf_finalize while operations of a failed graph are in flight, a plain and a composite one: the thread that has begun
 * them joins another job and goes on. Run under the address sanitizer, which sees what was freed too early or never. */
#include "tests/system/harness.h"

#define RANKS 2
#define ROUNDS 3

/* Leaf 0 of each rank is on root 0 of the other one. */
static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context)
{
  const int32_t other = 1 - self->rank;
  const int64_t root = 0;
  sf_graph_t *graph;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 1, NULL, &other, &root, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

/* The graph works. */
static void use(sftest_rank_t *self, sf_graph_t *graph)
{
  double root = 10 + self->rank, leaf = 0, update;
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE));
  SFTEST_REQUIRE(self, leaf == 11 - self->rank);
  leaf = 1;
  SFTEST_OK(self, sf_fetch_op(graph, SF_DOUBLE, &root, &leaf, &update, SF_SUM));
  SFTEST_REQUIRE(self, root == 11 + self->rank && update == 11 - self->rank);
}

/* Rank 0 has operations in flight on a graph that rank 1 fails: rank 0 says how often it has begun them, as a graph
 * that has failed refuses to begin any. */
static void spoil(sftest_rank_t *self, sf_graph_t *graph, int round)
{
  _Atomic int *begun = self->argument;
  static double root, leaf, update, target;
  sf_request_t *requests[3];
  if (self->rank == 1) {
    sftest_await(begun, round + 1);
    SFTEST_EXPECT(self, sf_reduce(graph, SF_DOUBLE, &leaf, &root, SF_SUM), SF_ERR_MISMATCH);
    return;
  }
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, &target, SF_REPLACE, &requests[0]));
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, &target, SF_REPLACE, &requests[1]));
  SFTEST_OK(self, sf_fetch_op_begin(graph, SF_DOUBLE, &root, &leaf, &update, SF_SUM, &requests[2]));
  atomic_store(begun, round + 1);
  SFTEST_EXPECT(self, sf_wait(&requests[0]), SF_ERR_MISMATCH);
}

static void run(sftest_rank_t *self)
{
  for (int round = 0; round < ROUNDS; round++) {
    sftest_at(self, "round %d", round);
    sf_context_t *context = sftest_join(self);
    sf_graph_t *graph = make_graph(self, context);
    use(self, graph);
    spoil(self, graph, round);
    SFTEST_OK(self, sf_finalize(context));
  }
}

SFTEST(thread_goes_on)
{
  _Atomic int *begun = sftest_shared(sizeof *begun);
  sftest_run_alone(RANKS, run, (void *)begun);
}

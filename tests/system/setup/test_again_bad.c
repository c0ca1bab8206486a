/* Plans that must not be shared: graphs that are bad after good ones, and plans that are no longer kept. */
#include "tests/system/loop/cluster.h"
#include "tests/system/model/graph.h"
#include "tests/system/setup/plan_cluster.h"

/* ---- What must not be shared ------------------------------------------------------------------------------------- */

/* A ring of n edges, the last of which rank 1 moves by so much. */
static sf_status_t make_ring(sftest_rank_t *self, sf_group_t *group, int64_t n, int64_t moved, sf_graph_t **graph_p)
{
  int32_t size = sf_group_size(group), rank = sf_group_rank(group), *ranks = malloc((size_t)n * sizeof *ranks);
  int64_t *roots = malloc((size_t)n * sizeof *roots);
  (void)self;
  for (int64_t i = 0; i < n; i++) {
    ranks[i] = (rank + 1) % size;
    roots[i] = i * i % n;
  }
  if (rank == 1)
    roots[n - 1] += moved;
  sf_status_t status = sf_graph_create(group, n, n, NULL, ranks, roots, SF_GRAPH_DEFAULT, graph_p);
  free(ranks);
  free(roots);
  return status;
}

enum { N = 1000 };

/* Rank 1 names a root that isn't there. */
static void expect_bad(sftest_rank_t *self, sf_group_t *group, int64_t moved)
{
  sf_graph_t *bad = NULL;
  SFTEST_EXPECT(self, make_ring(self, group, N, moved, &bad), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "rank 1, leaf 999");
  SFTEST_REQUIRE(self, bad == NULL);
}

/* Good, bad and good ones take turns; nothing of one gets into another. */
SFTEST_JOINED(spoil_one)
{
  sf_graph_t *graph = NULL;
  for (int round = 0; round < 3; round++) {
    sftest_at(self, "round %d", round);
    SFTEST_OK(self, make_ring(self, world, N, 0, &graph));
    SFTEST_OK(self, sf_graph_destroy(graph));
    expect_bad(self, world, INT64_C(1) << 40);
  }
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, sftest_plans_on_one_node, sftest_plans_stop));

SFTEST(bad_after_good_on_one_node)
{
  sftest_cluster_run(&sftest_plan_cluster, sftest_places_here, 4, spoil_one, NULL);
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, sftest_plans_on_three_nodes, sftest_plans_stop));

SFTEST_FOR(bad_after_good_over_nodes, 3)
{
  sftest_cluster_run(&sftest_plan_cluster, sftest_places_spread[_i], 4, spoil_one, NULL);
}

/* ---- Late words -------------------------------------------------------------------------------------------------- */

/* What test and ranks tell each other. */
typedef struct shared {
  _Atomic int ready;
  _Atomic int held;
  _Atomic int done; /* ranks of node 0 */
} shared_t;

/* A bad graph after a good one, then another good one. */
SFTEST_JOINED(be_refused)
{
  shared_t *shared = self->argument;
  sf_graph_t *first, *second;
  SFTEST_OK(self, make_ring(self, world, N, 0, &first));
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->held, 1);
  expect_bad(self, world, -100000);
  if (self->places[self->rank] == 0)
    atomic_fetch_add(&shared->done, 1);
  sftest_await(&shared->held, 2);
  SFTEST_OK(self, make_ring(self, world, N, 0, &second));
  SFTEST_OK(self, sf_graph_destroy(first));
  SFTEST_OK(self, sf_graph_destroy(second));
}

/* What node 0 says is held: node 1 finds the graph bad and says so, which is all that node 0 needs, before it hears
 * that node 0 wants an earlier graph again. Its refusal comes when node 0 is done with the graph. */
SFTEST(late_refusal)
{
  static const int32_t places[] = {0, 1, 0};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  shared_t *shared = sftest_shared(sizeof *shared);
  sftest_loop_cluster_start(&loop, 2, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, 3, be_refused, shared);
  sftest_job_await(&job, &shared->ready, 3);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 0, 1);
  atomic_store(&shared->held, 1);
  sftest_job_await(&job, &shared->done, 2);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 0, 1);
  atomic_store(&shared->held, 2);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

/* More graphs than plans are kept, on groups that come and go: the oldest are made from their edges again. */
SFTEST_JOINED(forget)
{
  const int32_t ranks[] = {2, 0, 3, 1};
  for (int round = 0; round < 3; round++) {
    sf_group_t *group;
    SFTEST_OK(self, sf_group_create(context, 4, ranks, 5, &group));
    for (int i = 0; i < 24; i++) {
      sf_graph_t *graph = NULL;
      sftest_at(self, "round %d, graph %d", round, i);
      SFTEST_OK(self, make_ring(self, group, 10 + i % 12, 0, &graph)); /* 12 different ones: none is kept long enough */
      SFTEST_OK(self, sf_graph_destroy(graph));
    }
    SFTEST_OK(self, sf_group_destroy(group));
  }
}

SFTEST(forgotten_plans)
{
  int before = sftest_count_shared_plans();
  sftest_cluster_run(&sftest_plan_cluster, sftest_places_spread[1], 4, forget, NULL);
  ck_assert_int_eq(sftest_count_shared_plans(), before);
}

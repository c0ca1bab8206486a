/* Set-ups of graphs on two nodes, with what one node says held until the other has said all that it can: in whatever
 * order the parts come, all ranks are told the same. */
#include "tests/system/loop/cluster.h"

#define RANKS 3

enum { N = 100 };

/* What test and ranks tell each other. */
typedef struct shared {
  _Atomic int ready;
  _Atomic int held;
} shared_t;

static const int32_t places[RANKS] = {0, 1, 0};

/* Half of each rank's leaves are on roots of the next one, half on those of the one before: so both nodes have all that
 * they need after round 1. */
static sf_status_t make_both_ways(const sftest_rank_t *self, sf_group_t *group, sf_graph_t **graph_p)
{
  int32_t ranks[N];
  int64_t roots[N];
  for (int64_t i = 0; i < N; i++) {
    ranks[i] = (self->rank + 1 + (int32_t)(i % 2)) % RANKS;
    roots[i] = i * i % N;
  }
  return sf_graph_create(group, N, N, NULL, ranks, roots, SF_GRAPH_DEFAULT, graph_p);
}

static void use_both_ways(sftest_rank_t *self, sf_graph_t *graph)
{
  int64_t roots[N], leaves[N] = {0};
  for (int64_t i = 0; i < N; i++)
    roots[i] = 1000 * self->rank + i;
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int64_t i = 0; i < N; i++)
    SFTEST_REQUIRE(self, leaves[i] == 1000 * ((self->rank + 1 + i % 2) % RANKS) + i * i % N);
}

/* Each rank's leaves are on roots of the next one. Rank 1's last root is that much further. */
static sf_status_t make_ring(const sftest_rank_t *self, sf_group_t *group, int64_t moved, sf_graph_t **graph_p)
{
  int32_t ranks[N];
  int64_t roots[N];
  for (int64_t i = 0; i < N; i++) {
    ranks[i] = (self->rank + 1) % RANKS;
    roots[i] = i * i % N;
  }
  if (self->rank == 1)
    roots[N - 1] += moved;
  return sf_graph_create(group, N, N, NULL, ranks, roots, SF_GRAPH_DEFAULT, graph_p);
}

static void use_ring(sftest_rank_t *self, sf_graph_t *graph)
{
  int64_t roots[N], leaves[N] = {0};
  for (int64_t i = 0; i < N; i++)
    roots[i] = 1000 * self->rank + i;
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int64_t i = 0; i < N; i++)
    SFTEST_REQUIRE(self, leaves[i] == 1000 * ((self->rank + 1) % RANKS) + i * i % N);
}

static void make_good(sftest_rank_t *self, sf_group_t *group)
{
  sf_graph_t *graph = NULL;
  SFTEST_OK(self, make_ring(self, group, 0, &graph));
  use_ring(self, graph);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* All are ready, one way between the nodes is held, and what each rank does then is let go when so many messages wait.
 */
static void run_held(int32_t from, uint64_t nmessages, sftest_rank_fn_t run)
{
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  shared_t *shared = sftest_shared(sizeof *shared);
  sftest_loop_cluster_start(&loop, 2, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, RANKS, run, shared);
  sftest_job_await(&job, &shared->ready, RANKS);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, from, 1 - from);
  atomic_store(&shared->held, 1);
  while (sftest_loop_cluster_order(&loop, SFTEST_LOOP_QUEUED, from, 1 - from) < nmessages)
    usleep(1000);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, from, 1 - from);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

static sf_context_t *join_held(sftest_rank_t *self)
{
  shared_t *shared = self->argument;
  sf_context_t *context = sftest_join(self);
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->held, 1);
  return context;
}

enum {
  OF_ROUND_1 = 3
}; /* That a root is not there both nodes see when they compare what is wanted with what there is; where it is wanted
    * the text is known, and is told in a second part. messages: Wanted, wants, Arrive */
SFTEST_JOB(wanted_and_not_there, 2, run_held(_i, OF_ROUND_1, ranks))
{
  sf_context_t *context = join_held(self);
  sf_graph_t *bad = NULL;
  SFTEST_EXPECT(self, make_ring(self, sf_group_world(context), INT64_C(1) << 40, &bad), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "rank 1, leaf 99");
  SFTEST_REQUIRE(self, bad == NULL);
  make_good(self, sf_group_world(context));
  sftest_leave(self, context);
}

SFTEST_JOB(good, 2, run_held(_i, OF_ROUND_1, ranks))
{
  sf_context_t *context = join_held(self);
  make_good(self, sf_group_world(context));
  make_good(self, sf_group_world(context));
  sftest_leave(self, context);
}

/* Data follow what makes the graph ready. */
SFTEST_JOB(ready_at_once, 2, run_held(_i, OF_ROUND_1, ranks))
{
  sf_context_t *context = join_held(self);
  for (int i = 0; i < 3; i++) {
    sf_graph_t *graph = NULL;
    SFTEST_OK(self, make_both_ways(self, sf_group_world(context), &graph));
    use_both_ways(self, graph);
    SFTEST_OK(self, sf_graph_destroy(graph));
    make_good(self, sf_group_world(context));
  }
  sftest_leave(self, context);
}

/* Rank 0 destroys the graph at once; another one calls what rank 1 does not, so that the graph fails. */
SFTEST_JOB(failed_at_once, 2, run_held(_i, OF_ROUND_1, ranks))
{
  sf_context_t *context = join_held(self);
  sf_graph_t *graph = NULL;
  int64_t roots[N] = {0}, leaves[N] = {0};
  SFTEST_OK(self, make_both_ways(self, sf_group_world(context), &graph));
  if (self->rank > 0) {
    sf_status_t status = self->rank == 1 ? sf_reduce(graph, SF_INT64, leaves, roots, SF_SUM)
                                         : sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE);
    SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  make_good(self, sf_group_world(context));
  sftest_leave(self, context);
}

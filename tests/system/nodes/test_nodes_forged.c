/* A daemon that tells another one of a graph that is being made what cannot be unpacked. The job fails. */
#include "tests/system/loop/cluster.h"
#include "tests/system/loop/forge.h"
#include "tests/system/work.h"

#define RANKS 3
#define N 100

/* Leaves of each rank lie on roots of the next one. The last rank has none. */
typedef struct scene {
  _Atomic int ready; /* ranks that have the first graph */
  _Atomic int said;
  _Atomic int over; /* ranks that have tried */
} scene_t;

static sf_status_t make_chain(sf_context_t *context, int64_t n, sf_graph_t **graph_p)
{
  int32_t ranks[N];
  int64_t roots[N];
  bool last = sf_rank(context) == sf_size(context) - 1;
  for (int i = 0; i < N; i++) {
    ranks[i] = sf_rank(context) + 1;
    roots[i] = i;
  }
  return sf_graph_create(sf_group_world(context), N, last ? 0 : n, NULL, ranks, roots, SF_GRAPH_DEFAULT, graph_p);
}

/* Expects that the first n leaves get the values of their roots. */
static void check_chain(sftest_rank_t *self, sf_graph_t *graph, int n)
{
  int64_t roots[N], leaves[N];
  for (int i = 0; i < N; i++) {
    roots[i] = 1000 * self->rank + i;
    leaves[i] = -1;
  }
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int i = 0; i < N; i++)
    SFTEST_REQUIRE(self, leaves[i] == (i < n && self->rank < self->size - 1 ? 1000 * (self->rank + 1) + i : -1));
}

/* Makes the next graph, or uses it where it was ready before its node heard what was wrong. */
static sf_status_t try_next(sf_context_t *context)
{
  int64_t roots[N] = {0}, leaves[N];
  sf_graph_t *next;
  sf_status_t status = make_chain(context, N / 2, &next);
  if (status == SF_OK)
    status = sf_bcast(next, SF_INT64, roots, leaves, SF_REPLACE);
  for (; status == SF_OK; sftest_sleep_ms(1))
    status = sf_bcast(next, SF_INT64, roots, leaves, SF_REPLACE); /* the last rank gets nothing: it hears of it later */
  return status;
}

static void go_on(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_graph_t *first;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, make_chain(context, N, &first));
  check_chain(self, first, N);
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->said, 1);
  sftest_at(self, "the next graph");
  SFTEST_EXPECT(self, try_next(context), SF_ERR_RANK_FAILED);
  if (self->rank == 1)
    SFTEST_DETAIL(self, "pack");
  atomic_fetch_add(&scene->over, 1);
  sftest_await(&scene->over, self->size); /* that nobody hears first of ranks that have left */
  (void)sf_finalize(context);
}

/* Over two nodes, and over three. */
SFTEST_BETWEEN(test_forged, 2, RANKS + 1)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  int32_t size = _i;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, size, go_on, scene);
  sftest_job_await(&job, &scene->ready, size);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_FORGE + (sftest_loop_order_t)SFTEST_FORGE_WANTS, 0, 1);
  SFTEST_SLEEP_WHILE(sftest_loop_cluster_order(&loop, SFTEST_LOOP_WAITING, 0, 0) > 0);
  atomic_store(&scene->said, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

/* Daemons that tell others what can't be, or not what they should, about graphs that are being made: whoever believes
 * one of them would wait for ever, or use what isn't there. The job fails, or goes on as if nothing had been said. */
#include <stdatomic.h>

#include "tests/system/loop_cluster.h"
#include "tests/system/loop_forge.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define RANKS 3
#define N 100
#define LIMIT_MS 20000

typedef struct forged {
  int32_t size;
  sftest_forgery_t what;
  int32_t from, to;
  bool part;      /* the ranks make a part of a graph; otherwise one of its own */
  int32_t absent; /* this rank doesn't; -1: all do */
  sf_status_t status;
  const char *text; /* of the failure, on the rank of the node that was told */
} forged_t;

/* Leaves of each rank lie on roots of the next one, but for the last rank, which has none. */
static const forged_t cases[] = {
    {3, SFTEST_FORGE_NOTICE, 0, 1, true, -1, SF_ERR_RANK_FAILED, "tells twice what remains"},
    {2, SFTEST_FORGE_NOTICE, 0, 1, true, -1, SF_ERR_RANK_FAILED, "tells twice what remains"},
    {3, SFTEST_FORGE_NOTICE, 2, 1, true, -1, SF_OK, NULL}, /* of which nothing remains there */
    {3, SFTEST_FORGE_NOTICE, 2, 0, true, -1, SF_OK, NULL},
    {2, SFTEST_FORGE_ARRIVAL, 0, 1, true, 0, SF_ERR_PROTO, "has not told what remains"},
    {3, SFTEST_FORGE_WANTS, 0, 1, false, -1, SF_ERR_RANK_FAILED, "pack"},
    {2, SFTEST_FORGE_WANTS, 0, 1, false, -1, SF_ERR_RANK_FAILED, "pack"},
};
#define CASES ((int)(sizeof cases / sizeof cases[0]))

typedef struct scene {
  const forged_t *forged;
  _Atomic int ready; /* ranks that have the whole */
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

/* Whether the first n leaves get what is there. */
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

static sf_status_t make_next(sftest_rank_t *self, sf_context_t *context, const forged_t *forged, sf_graph_t *whole,
                             sf_graph_t **next_p)
{
  int64_t selected[N / 2];
  for (int i = 0; i < N / 2; i++)
    selected[i] = i;
  bool last = self->rank == self->size - 1;
  return forged->part ? sf_graph_embed_leaves(whole, last ? 0 : N / 2, selected, next_p)
                      : make_chain(context, N / 2, next_p);
}

/* Making it, or using it where it was ready before its node heard what was wrong. */
static sf_status_t try_next(sftest_rank_t *self, sf_context_t *context, const forged_t *forged, sf_graph_t *whole)
{
  int64_t roots[N] = {0}, leaves[N];
  sf_graph_t *next;
  sf_status_t status = make_next(self, context, forged, whole, &next);
  if (status == SF_OK)
    status = sf_bcast(next, SF_INT64, roots, leaves, SF_REPLACE);
  for (int64_t until = sftest_now_ms() + LIMIT_MS / 2; status == SF_OK && sftest_now_ms() < until; sftest_sleep_ms(1))
    status = sf_bcast(next, SF_INT64, roots, leaves, SF_REPLACE); /* the last rank gets nothing: it hears of it later */
  return status;
}

/* Of a graph that can't be there the job may hear first: the node that was told says what its sender did not expect. */
static void expect_failure(sftest_rank_t *self, sf_status_t status, const forged_t *forged)
{
  if (status != SF_ERR_RANK_FAILED)
    SFTEST_EXPECT(self, status, forged->status);
  if (self->rank == forged->to && status == forged->status)
    SFTEST_DETAIL(self, forged->text);
}

static int go_on(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  const forged_t *forged = scene->forged;
  sf_graph_t *whole, *next = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, make_chain(context, N, &whole));
  check_chain(self, whole, N);
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->said, 1);
  sftest_at(self, "the next graph");
  if (forged->status == SF_OK) {
    SFTEST_OK(self, make_next(self, context, forged, whole, &next));
    check_chain(self, next, N / 2);
    check_chain(self, whole, N);
    sftest_leave(self, context);
    return 0;
  }
  if (self->rank != forged->absent)
    expect_failure(self, try_next(self, context, forged, whole), forged);
  atomic_fetch_add(&scene->over, 1);
  sftest_await(&scene->over, self->size); /* that nobody hears first of ranks that have left */
  (void)sf_finalize(context);
  return 0;
}

START_TEST(test_forged)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  const forged_t *forged = &cases[_i];
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->forged = forged;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, forged->size, go_on, scene);
  sftest_job_await(&job, &scene->ready, forged->size);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_FORGE + (sftest_loop_order_t)forged->what, forged->from, forged->to);
  while (sftest_loop_cluster_order(&loop, SFTEST_LOOP_WAITING, 0, 0) > 0)
    sftest_sleep_ms(1);
  atomic_store(&scene->said, 1);
  sftest_job_end_well(&job, sftest_limit_ms(LIMIT_MS));
  sftest_loop_cluster_stop(&loop);
  sftest_shared_free(scene, sizeof *scene);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("forged messages between nodes");
  TCase *tests = tcase_create("forged");
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, test_forged, 0, CASES);
  suite_add_tcase(suite, tests);
  return sftest_run(suite);
}

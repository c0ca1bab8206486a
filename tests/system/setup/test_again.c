/* Graphs that are made again with the same edges: whether their plans are shared, whatever the ranks do differently,
 * and whether what is shared carries the right data. On one node and over several. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/model/graph.h"
#include "tests/unit/runner.h"

#define MODELS 3
#define MODELS_MAX 12
#define LIVE 3
#define KEPT 8  /* plans */
#define IDLE 2  /* regions of trunk maps that no plan needs */
#define FEW 200 /* vertices whose maps come in messages */

static sftest_cluster_t cluster;
static uint64_t seed;

static void start_one(void)
{
  sftest_cluster_start_logging(&cluster, 1, "debug");
  sftest_cluster_warm(&cluster);
}

static void start_three(void)
{
  sftest_cluster_start_logging(&cluster, 3, "debug");
  sftest_cluster_warm(&cluster);
}

static void stop(void)
{
  sftest_cluster_stop(&cluster);
}

/* How often daemons have said that, all together. */
static int count_lines(const char *text)
{
  char line[1024];
  int n = 0;
  for (int32_t i = 0; i < cluster.nnodes; i++) {
    FILE *log = fopen(cluster.nodes[i].log, "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log) != NULL)
      n += strstr(line, text) != NULL;
    fclose(log);
  }
  return n;
}

/* How often they have found a plan. */
static int count_shared(void)
{
  return count_lines("has the plan of graph");
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static int64_t root_value(int32_t rank, int64_t root, int64_t salt)
{
  return salt * 1000003 + rank * 100000 + root;
}

static int64_t leaf_value(int32_t rank, int64_t leaf, int64_t salt)
{
  return salt * 7919 + rank * 50000 + leaf;
}

static void check_bcast(sftest_rank_t *self, const sftest_graph_t *model, sf_graph_t *graph, int64_t salt)
{
  const sftest_part_t *part = &model->parts[self->rank];
  int64_t *roots = calloc((size_t)part->nroots + 1, sizeof *roots);
  int64_t *leaves = calloc((size_t)part->leaf_space + 1, sizeof *leaves);
  for (int64_t i = 0; i < part->nroots; i++)
    roots[i] = root_value(self->rank, i, salt);
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int64_t e = 0; e < part->nleaves; e++)
    SFTEST_REQUIRE(self,
                   leaves[part->edges[e].leaf] == root_value(part->edges[e].root_rank, part->edges[e].root, salt));
  free(roots);
  free(leaves);
}

static void check_reduce(sftest_rank_t *self, const sftest_graph_t *model, sf_graph_t *graph, int64_t salt)
{
  const sftest_part_t *part = &model->parts[self->rank];
  int64_t *expected = calloc((size_t)part->nroots + 1, sizeof *expected);
  int64_t *roots = calloc((size_t)part->nroots + 1, sizeof *roots);
  int64_t *leaves = calloc((size_t)part->leaf_space + 1, sizeof *leaves);
  for (int64_t i = 0; i < part->leaf_space; i++)
    leaves[i] = leaf_value(self->rank, i, salt);
  for (int32_t r = 0; r < model->size; r++)
    for (int64_t e = 0; e < model->parts[r].nleaves; e++)
      if (model->parts[r].edges[e].root_rank == self->rank)
        expected[model->parts[r].edges[e].root] += leaf_value(r, model->parts[r].edges[e].leaf, salt);
  SFTEST_OK(self, sf_reduce(graph, SF_INT64, leaves, roots, SF_SUM));
  SFTEST_REQUIRE(self, memcmp(roots, expected, (size_t)part->nroots * sizeof *roots) == 0);
  free(expected);
  free(roots);
  free(leaves);
}

static void check_graph(sftest_rank_t *self, const sftest_graph_t *model, sf_graph_t *graph, int64_t salt)
{
  check_bcast(self, model, graph, salt);
  check_reduce(self, model, graph, salt);
}

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

/* The same on all ranks, by the seed. */
typedef struct schedule {
  uint64_t seed;
  int steps;
  bool alike; /* all ranks always give the same edges in the same form */
  int nmodels;
  int64_t nvertices; /* of a rank, at most */
} schedule_t;

typedef struct live {
  sf_graph_t *graph;
  int model;
} live_t;

static void make_one(sftest_rank_t *self, sf_context_t *context, const schedule_t *schedule,
                     const sftest_graph_t models[], uint64_t *random, live_t *live)
{
  static const uint32_t flags[] = {SF_GRAPH_DEFAULT, SF_GRAPH_DEFAULT, SF_GRAPH_COPY, SF_GRAPH_REPRODUCIBLE};
  uint32_t chosen = flags[schedule->alike ? 0 : sftest_random(random) % 4];
  bool odd = !schedule->alike && sftest_random(random) % 4 == 0;
  int32_t odd_rank = (int32_t)(sftest_random(random) % (uint64_t)self->size);
  live->model = (int)(sftest_random(random) % (uint64_t)schedule->nmodels);
  SFTEST_OK(self, sftest_graph_create(&models[live->model], sf_group_world(context), odd && odd_rank == self->rank,
                                      chosen, &live->graph));
}

/* Regions of maps serve one graph after another: they do not pile up. */
static void check_mapped(sftest_rank_t *self)
{
  char line[512];
  int n = 0;
  FILE *file = fopen("/proc/self/maps", "r");
  SFTEST_REQUIRE(self, file != NULL);
  while (fgets(line, sizeof line, file) != NULL)
    n += strstr(line, "sf-trunks") != NULL;
  fclose(file);
  SFTEST_REQUIRE(self, n <= KEPT + LIVE + IDLE);
}

/* A rank that has no leaves in two models can't tell which of them is made again, but by its number of roots. */
static void make_models(sftest_graph_t models[], const schedule_t *schedule, int32_t size)
{
  int n = schedule->nmodels;
  for (int m = 0; m < n; m++) {
    sftest_graph_make(&models[m], schedule->seed + (uint64_t)m, size, schedule->nvertices);
    for (int32_t r = 0; r < size; r++)
      models[m].parts[r].nroots += (n + m - models[m].parts[r].nroots % n) % n;
  }
}

static int follow_schedule(sftest_rank_t *self)
{
  const schedule_t *schedule = self->argument;
  uint64_t random = schedule->seed;
  sftest_graph_t models[MODELS_MAX];
  live_t live[LIVE] = {{0}};
  sf_context_t *context = sftest_join(self);
  make_models(models, schedule, self->size);
  for (int step = 0; step < schedule->steps; step++) {
    live_t *slot = &live[sftest_random(&random) % LIVE];
    sftest_at(self, "step %d", step);
    SFTEST_OK(self, sf_graph_destroy(slot->graph));
    make_one(self, context, schedule, models, &random, slot);
    check_graph(self, &models[slot->model], slot->graph, step);
    const live_t *other = &live[sftest_random(&random) % LIVE]; /* of the same plan, perhaps */
    if (other->graph != NULL)
      check_graph(self, &models[other->model], other->graph, step + 1000);
  }
  check_mapped(self);
  for (int i = 0; i < LIVE; i++)
    SFTEST_OK(self, sf_graph_destroy(live[i].graph));
  for (int m = 0; m < schedule->nmodels; m++)
    sftest_graph_free(&models[m]);
  sftest_leave(self, context);
  return 0;
}

static void run_schedule(const int32_t places[], int32_t size, schedule_t schedule, int *shared_p)
{
  int before = count_shared();
  sftest_use_seed(schedule.seed);
  sftest_cluster_run(&cluster, places, size, follow_schedule, &schedule);
  *shared_p = count_shared() - before;
}

static const int32_t here[4] = {0, 0, 0, 0};
static const int32_t spread[][4] = {{0, 1, 0, 1}, {2, 0, 0, 1}, {1, 1, 1, 2}};

/* All but the first of each model share its plan; daemons of all nodes with ranks say so. */
START_TEST(alike_on_one_node)
{
  int shared;
  run_schedule(here, 4, (schedule_t){seed, 40, true, MODELS, FEW}, &shared);
  ck_assert_int_eq(shared, 40 - MODELS);
}
END_TEST

START_TEST(alike_over_nodes)
{
  static const int nodes[] = {2, 3, 2};
  int shared;
  run_schedule(spread[_i], 4, (schedule_t){seed + (uint64_t)_i, 40, true, MODELS, FEW}, &shared);
  ck_assert_int_eq(shared, (40 - MODELS) * nodes[_i]);
}
END_TEST

START_TEST(unlike_on_one_node)
{
  int shared;
  run_schedule(here, 4, (schedule_t){seed + 10, 60, false, MODELS, FEW}, &shared);
  ck_assert_int_gt(shared, 0);
  ck_assert_int_lt(shared, 60 - MODELS);
}
END_TEST

START_TEST(unlike_over_nodes)
{
  int shared;
  run_schedule(spread[_i], 4, (schedule_t){seed + 20 + (uint64_t)_i, 60, false, MODELS, FEW}, &shared);
  ck_assert_int_gt(shared, 0);
}
END_TEST

/* More graphs than plans are kept, whose maps are regions. */
START_TEST(long_maps)
{
  int shared;
  run_schedule(spread[_i], 4, (schedule_t){seed + 30 + (uint64_t)_i, 60, false, MODELS_MAX, 50000}, &shared);
}
END_TEST

/* ---- What must not be shared ------------------------------------------------------------------------------------- */

/* A ring of n edges, the last of which rank 1 moves by so much. */
static sf_status_t make_ring(sftest_rank_t *self, sf_group_t *group, int64_t n, int64_t moved, sf_graph_t **graph_p)
{
  int32_t size = sf_group_size(group), rank = sf_group_rank(group);
  int32_t *ranks = malloc((size_t)n * sizeof *ranks);
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
static int spoil_one(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  sf_group_t *world = sf_group_world(context);
  sf_graph_t *graph = NULL;
  for (int round = 0; round < 3; round++) {
    sftest_at(self, "round %d", round);
    SFTEST_OK(self, make_ring(self, world, N, 0, &graph));
    SFTEST_OK(self, sf_graph_destroy(graph));
    expect_bad(self, world, INT64_C(1) << 40);
  }
  sftest_leave(self, context);
  return 0;
}

START_TEST(bad_after_good_on_one_node)
{
  sftest_cluster_run(&cluster, here, 4, spoil_one, NULL);
}
END_TEST

START_TEST(bad_after_good_over_nodes)
{
  sftest_cluster_run(&cluster, spread[_i], 4, spoil_one, NULL);
}
END_TEST

/* ---- Embedded graphs ------------------------------------------------------------------------------------------- */

static bool is_chosen(int64_t vertex)
{
  return vertex % 3 != 1;
}

static int64_t choose(int64_t n, int64_t chosen[])
{
  int64_t nchosen = 0;
  for (int64_t i = 0; i < n; i++)
    if (is_chosen(i))
      chosen[nchosen++] = i;
  return nchosen;
}

/* An embedded graph, and one that is embedded in that. Each outlives its parent, whichever rank destroys what first,
 * and sends the values of the selected edges only. */
static int embed(sftest_rank_t *self)
{
  uint64_t random = *(const uint64_t *)self->argument;
  sf_context_t *context = sftest_join(self);
  sf_group_t *world = sf_group_world(context);
  for (int round = 0; round < 6; round++) {
    sftest_graph_t model;
    sf_graph_t *whole, *part, *less;
    sftest_at(self, "round %d", round);
    sftest_graph_make(&model, sftest_random(&random), self->size, round % 2 == 0 ? 200 : 3000);
    int64_t space = sftest_graph_space(&model, self->rank), n;
    int64_t *chosen = malloc(((size_t)space + 1) * sizeof *chosen);
    SFTEST_OK(self, sftest_graph_create(&model, world, true, SF_GRAPH_DEFAULT, &whole));
    n = choose(model.parts[self->rank].nroots, chosen);
    if (round < 3)
      SFTEST_OK(self, sf_graph_embed_roots(whole, n, chosen, &part));
    else
      SFTEST_OK(self, sf_graph_embed_leaves(whole, choose(space, chosen), chosen, &part));
    SFTEST_OK(self, sf_graph_destroy(whole));
    sftest_graph_thin(&model, is_chosen, round < 3);
    sftest_graph_check_info(self, &model, part, self->rank, self->places, true);
    check_graph(self, &model, part, round);
    n = round < 3 ? choose(space, chosen) : choose(model.parts[self->rank].nroots, chosen);
    SFTEST_OK(self, (round < 3 ? sf_graph_embed_leaves : sf_graph_embed_roots)(part, n, chosen, &less));
    if (self->rank % 2 == 0)
      SFTEST_OK(self, sf_graph_destroy(part));
    sftest_graph_thin(&model, is_chosen, round >= 3);
    sftest_graph_check_info(self, &model, less, self->rank, self->places, true);
    check_graph(self, &model, less, round + 100);
    if (self->rank % 2 != 0)
      SFTEST_OK(self, sf_graph_destroy(part));
    SFTEST_OK(self, sf_graph_destroy(less));
    free(chosen);
    sftest_graph_free(&model);
  }
  sftest_leave(self, context);
  return 0;
}

START_TEST(embedded_on_one_node)
{
  sftest_use_seed(seed);
  sftest_cluster_run(&cluster, here, 4, embed, &seed);
}
END_TEST

START_TEST(embedded_over_nodes)
{
  sftest_use_seed(seed);
  sftest_cluster_run(&cluster, spread[_i], 4, embed, &seed);
}
END_TEST

/* ---- Late words -------------------------------------------------------------------------------------------------- */

/* What test and ranks tell each other. */
typedef struct shared {
  _Atomic int ready;
  _Atomic int held;
  _Atomic int done; /* ranks of node 0 */
} shared_t;

/* A bad graph after a good one, then another good one. */
static int be_refused(sftest_rank_t *self)
{
  shared_t *shared = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_group_t *world = sf_group_world(context);
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
  sftest_leave(self, context);
  return 0;
}

/* What node 0 says is held: node 1 finds the graph bad and says so, which is all that node 0 needs, before it hears
 * that node 0 wants an earlier graph again. Its refusal comes when node 0 is done with the graph. */
START_TEST(late_refusal)
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
  sftest_job_end_well(&job, sftest_limit_ms(20000));
  sftest_loop_cluster_stop(&loop);
  sftest_shared_free(shared, sizeof *shared);
}
END_TEST

/* More graphs than plans are kept, on groups that come and go: the oldest are made from their edges again. */
static int forget(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
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
  sftest_leave(self, context);
  return 0;
}

START_TEST(forgotten_plans)
{
  int before = count_shared();
  sftest_cluster_run(&cluster, spread[1], 4, forget, NULL);
  ck_assert_int_eq(count_shared(), before);
}
END_TEST

static Suite *again_suite(void)
{
  Suite *suite = suite_create("graphs made again");
  TCase *one = tcase_create("one node"), *nodes = tcase_create("nodes"), *late = tcase_create("late words");
  tcase_add_unchecked_fixture(one, start_one, stop);
  tcase_add_test(one, alike_on_one_node);
  tcase_add_test(one, unlike_on_one_node);
  tcase_add_test(one, bad_after_good_on_one_node);
  tcase_add_test(one, embedded_on_one_node);
  suite_add_tcase(suite, one);
  tcase_add_unchecked_fixture(nodes, start_three, stop);
  tcase_add_loop_test(nodes, alike_over_nodes, 0, 3);
  tcase_add_loop_test(nodes, unlike_over_nodes, 0, 3);
  tcase_add_loop_test(nodes, long_maps, 0, 3);
  tcase_add_loop_test(nodes, bad_after_good_over_nodes, 0, 3);
  tcase_add_loop_test(nodes, embedded_over_nodes, 0, 3);
  tcase_add_test(nodes, forgotten_plans);
  suite_add_tcase(suite, nodes);
  tcase_add_test(late, late_refusal);
  suite_add_tcase(suite, late);
  return suite;
}

int main(void)
{
  seed = sftest_seed();
  return sftest_run(again_suite());
}

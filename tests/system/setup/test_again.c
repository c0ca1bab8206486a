/* Graphs that are made again with the same edges: whether their plans are shared, whatever the ranks do differently,
 * and whether what is shared carries the right data. On one node and over several. What must not be shared:
 * test_again_bad.c. */
#include "tests/system/model/graph.h"
#include "tests/system/setup/plan_cluster.h"

#define MODELS 3
#define MODELS_MAX 12
#define LIVE 3
#define KEPT 8  /* plans */
#define IDLE 2  /* regions of trunk maps that no plan needs */
#define FEW 200 /* vertices whose maps come in messages */

static uint64_t seed;

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

SFTEST_JOINED(follow_schedule)
{
  const schedule_t *schedule = self->argument;
  uint64_t random = schedule->seed;
  sftest_graph_t models[MODELS_MAX];
  live_t live[LIVE] = {{0}};
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
}

static void run_schedule(const int32_t places[], int32_t size, schedule_t schedule, int *shared_p)
{
  int before = sftest_count_shared_plans();
  sftest_use_seed(schedule.seed);
  sftest_cluster_run(&sftest_plan_cluster, places, size, follow_schedule, &schedule);
  *shared_p = sftest_count_shared_plans() - before;
}

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
SFTEST_JOINED(embed)
{
  uint64_t random = *(const uint64_t *)self->argument;
  for (int round = 0; round < 6; round++) {
    sftest_graph_t model;
    sf_graph_t *whole, *part, *less;
    sftest_at(self, "round %d", round);
    sftest_graph_make(&model, sftest_random(&random), self->size, round % 2 == 0 ? 200 : 3000);
    int64_t space = sftest_graph_space(&model, self->rank), n, *chosen = malloc(((size_t)space + 1) * sizeof *chosen);
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
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST_CASE(tcase_add_unchecked_fixture(tests, sftest_plans_on_one_node, sftest_plans_stop));

/* All but the first of each model share its plan; daemons of all nodes with ranks say so. */
SFTEST(alike_on_one_node)
{
  int shared;
  run_schedule(sftest_places_here, 4, (schedule_t){seed, 40, true, MODELS, FEW}, &shared);
  ck_assert_int_eq(shared, 40 - MODELS);
}

SFTEST(unlike_on_one_node)
{
  int shared;
  run_schedule(sftest_places_here, 4, (schedule_t){seed + 10, 60, false, MODELS, FEW}, &shared);
  ck_assert_int_gt(shared, 0);
  ck_assert_int_lt(shared, 60 - MODELS);
}

SFTEST(embedded_on_one_node)
{
  sftest_use_seed(seed);
  sftest_cluster_run(&sftest_plan_cluster, sftest_places_here, 4, embed, &seed);
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, sftest_plans_on_three_nodes, sftest_plans_stop));

SFTEST_FOR(alike_over_nodes, 3)
{
  static const int nodes[] = {2, 3, 2};
  int shared;
  run_schedule(sftest_places_spread[_i], 4, (schedule_t){seed + (uint64_t)_i, 40, true, MODELS, FEW}, &shared);
  ck_assert_int_eq(shared, (40 - MODELS) * nodes[_i]);
}

SFTEST_FOR(unlike_over_nodes, 3)
{
  int shared;
  run_schedule(sftest_places_spread[_i], 4, (schedule_t){seed + 20 + (uint64_t)_i, 60, false, MODELS, FEW}, &shared);
  ck_assert_int_gt(shared, 0);
}

/* More graphs than plans are kept, whose maps are regions. */
SFTEST_FOR(long_maps, 3)
{
  int shared;
  run_schedule(sftest_places_spread[_i], 4, (schedule_t){seed + 30 + (uint64_t)_i, 60, false, MODELS_MAX, 50000},
               &shared);
}

SFTEST_FOR(embedded_over_nodes, 3)
{
  sftest_use_seed(seed);
  sftest_cluster_run(&sftest_plan_cluster, sftest_places_spread[_i], 4, embed, &seed);
}

int main(void)
{
  seed = sftest_seed();
  return sftest_main();
}

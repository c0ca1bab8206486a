/* Jobs over several nodes: what travels between nodes, counted exactly, and what holds for operations there as it does
 * on one node. Many at a time: test_nodes_many.c; random graphs over nodes: test_properties.c; bad input:
 * test_setup_errors.c. */
#include "tests/system/cluster.h"
#include "tests/system/model/operation.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

/* ---- What travels ------------------------------------------------------------------------------------------------ */

#define EACH 1000 /* doubles that every rank needs of each other rank */
#define CALLS 10

static double root_value(int32_t rank, int64_t root)
{
  return 1e6 * rank + (double)root;
}

/* Leaf k * EACH + i on root i of rank k, except the rank itself. */
static void make_all_to_all(sftest_rank_t *self, sf_context_t *context, int64_t first_root, uint32_t flags,
                            sf_graph_t **graph_p)
{
  int64_t n = (int64_t)(self->size - 1) * EACH, k = 0;
  int32_t *ranks = malloc((size_t)n * sizeof *ranks);
  int64_t *leaves = malloc((size_t)n * sizeof *leaves), *roots = malloc((size_t)n * sizeof *roots);
  for (int32_t rank = 0; rank < self->size; rank++)
    for (int64_t i = 0; i < EACH && rank != self->rank; i++, k++) {
      ranks[k] = rank;
      roots[k] = first_root + i;
      leaves[k] = (int64_t)rank * EACH + i;
    }
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), first_root + EACH, n, leaves, ranks, roots, flags, graph_p));
  free(ranks);
  free(leaves);
  free(roots);
}

static void check_leaves(sftest_rank_t *self, const double leaves[])
{
  for (int32_t rank = 0; rank < self->size; rank++)
    for (int64_t i = 0; i < EACH && rank != self->rank; i++)
      SFTEST_REQUIRE(self, leaves[(int64_t)rank * EACH + i] == root_value(rank, i));
}

typedef struct exchange {
  bool reduce;
  uint32_t flags;
} exchange_t;

static void exchange_all(sftest_rank_t *self)
{
  const exchange_t *exchange = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph = NULL;
  make_all_to_all(self, context, 0, exchange->flags, &graph);
  double *roots = malloc(EACH * sizeof *roots), *leaves = calloc((size_t)self->size * EACH, sizeof *leaves);
  for (int64_t i = 0; i < EACH; i++)
    roots[i] = root_value(self->rank, i);
  for (int call = 0; call < CALLS; call++) {
    sftest_at(self, "call %d", call);
    if (exchange->reduce)
      SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM));
    else
      SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  }
  if (!exchange->reduce)
    check_leaves(self, leaves);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  free(roots);
  free(leaves);
}

/* What each of the calls has sent between nodes. */
static void expect_traffic(const int32_t places[], int32_t size, exchange_t exchange, uint64_t messages, uint64_t bytes)
{
  sftest_traffic_t before = sftest_cluster_traffic(&sftest_case_cluster);
  sftest_cluster_run(&sftest_case_cluster, places, size, exchange_all, &exchange);
  sftest_traffic_t after = sftest_cluster_traffic(&sftest_case_cluster);
  ck_assert_uint_eq(after.messages - before.messages, CALLS * messages);
  ck_assert_uint_eq(after.bytes - before.bytes, CALLS * bytes);
}

SFTEST_FIXTURE(sftest_two_nodes, sftest_stop_nodes);

SFTEST(counts)
{
  const exchange_t bcast = {0}, reduce = {.reduce = true},
                   reproducible = {.reduce = true, .flags = SF_GRAPH_REPRODUCIBLE};
  const int32_t uneven[] = {0, 0, 1}, one[] = {1, 0, 0, 0, 0, 0, 0}, all_here[] = {1, 1, 1, 1};
  int32_t block[8], cyclic[8];
  sftest_places_block(block, 8, 2);
  sftest_places_cyclic(cyclic, 8, 2);
  /* 4 ranks on each node, all of whose roots the other node needs once. */
  expect_traffic(block, 8, bcast, 2, 64000);
  expect_traffic(cyclic, 8, bcast, 2, 64000);
  expect_traffic(uneven, 3, bcast, 2, 24000);
  expect_traffic(one, 7, bcast, 2, 56000);
  expect_traffic(all_here, 4, bcast, 0, 0);
  /* Contributions of one node are combined before they travel, unless they are to be combined in the given order. */
  expect_traffic(block, 8, reduce, 2, 64000);
  expect_traffic(cyclic, 8, reduce, 2, 64000);
  expect_traffic(uneven, 3, reduce, 2, 24000);
  expect_traffic(block, 8, reproducible, 2, 4 * 64000);
}

/* ---- Large numbers ----------------------------------------------------------------------------------------------- */

#define FAR (INT64_C(5) << 32)

/* Roots above 2^32: of the array only the end is memory, as only there are roots that have leaves. */
static void use_far_roots(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph = NULL;
  make_all_to_all(self, context, FAR, 0, &graph);
  double *leaves = calloc((size_t)self->size * EACH, sizeof *leaves), *near = malloc(EACH * sizeof *near);
  for (int64_t i = 0; i < EACH; i++)
    near[i] = root_value(self->rank, i);
  double *far = (double *)((uintptr_t)near - (uintptr_t)FAR * sizeof *near);
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, far, leaves, SF_REPLACE));
  check_leaves(self, leaves);
  SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, leaves, far, SF_SUM));
  for (int64_t i = 0; i < EACH; i++)
    SFTEST_REQUIRE(self, near[i] == self->size * root_value(self->rank, i));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  free(leaves);
  free(near);
}

SFTEST(far_roots)
{
  const int32_t places[] = {0, 1, 0, 1, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 5, use_far_roots, NULL);
}

/* ---- Results under every placement ------------------------------------------------------------------------------- */

#define RESULTS_RANKS 6

typedef struct results {
  uint64_t seed;
  uint64_t hashes[RESULTS_RANKS]; /* of what the last job computed */
} results_t;

static uint64_t hash_bytes(const char *bytes, int64_t n)
{
  uint64_t hash = 1;
  for (int64_t i = 0; i < n; i++)
    hash = sftest_hash2(hash, (uint64_t)(unsigned char)bytes[i]);
  return hash;
}

/* One reduce of floating-point numbers without the flag: compared with nothing here. */
static void sum_freely(sftest_rank_t *self)
{
  results_t *results = self->argument;
  sf_context_t *context = sftest_join(self);
  sftest_graph_t model;
  sf_graph_t *graph = NULL;
  sftest_graph_make(&model, results->seed, self->size, 500);
  SFTEST_OK(self, sftest_graph_create(&model, sf_group_world(context), true, 0, &graph));
  sftest_operation_t operation = {.graph = &model, .unit = {SFTEST_DOUBLE, 3}, .op = SFTEST_SUM, .seed = results->seed};
  const sf_type_t *type = sftest_unit_make(operation.unit);
  int64_t unit_bytes = (int64_t)sftest_unit_size(operation.unit);
  int64_t nroots = sftest_operation_vertices(&operation, SFTEST_ROOTS, self->rank);
  char *roots = calloc((size_t)nroots + 1, (size_t)unit_bytes);
  char *leaves =
      calloc((size_t)sftest_operation_vertices(&operation, SFTEST_LEAVES, self->rank) + 1, (size_t)unit_bytes);
  sftest_operation_fill(&operation, SFTEST_ROOTS, self->rank, roots);
  sftest_operation_fill(&operation, SFTEST_LEAVES, self->rank, leaves);
  SFTEST_OK(self, sf_reduce(graph, type, leaves, roots, SF_SUM));
  results->hashes[self->rank] = hash_bytes(roots, nroots * unit_bytes);
  SFTEST_OK(self, sf_type_destroy(type));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_graph_free(&model);
  sftest_leave(self, context);
  free(roots);
  free(leaves);
}

SFTEST_FIXTURE(sftest_four_nodes, sftest_stop_nodes);

SFTEST(counts_over_four)
{
  int32_t places[8];
  sftest_places_cyclic(places, 8, 4);
  expect_traffic(places, 8, (exchange_t){0}, 12, 12 * 2 * 8000);
}

/* That results are those of the model under every placement is what test_properties shows. */
SFTEST(repeats)
{
  results_t *results = sftest_shared(sizeof *results);
  uint64_t first[RESULTS_RANKS], random = results->seed = sftest_seed();
  int32_t places[RESULTS_RANKS];
  sftest_use_seed(results->seed);
  sftest_places_random(places, RESULTS_RANKS, SFTEST_NODES_MAX, &random);
  for (int i = 0; i < 8; i++) {
    sftest_cluster_run(&sftest_case_cluster, places, RESULTS_RANKS, sum_freely, results);
    if (i == 0)
      memcpy(first, results->hashes, sizeof first);
    ck_assert_mem_eq(first, results->hashes, sizeof first);
  }
}

/* ---- Shared roots ------------------------------------------------------------------------------------------------ */

/* All leaves of all ranks are on root 0 of rank 1: the highest (rank, leaf) wins a replace. */
SFTEST_JOINED(replace_shared)
{
  int32_t ranks[3] = {1, 1, 1};
  int64_t zeros[3] = {0, 0, 0}, leaves_at[3] = {2, 0, 1};
  for (uint32_t flags = 0; flags <= SF_GRAPH_REPRODUCIBLE; flags += SF_GRAPH_REPRODUCIBLE) {
    for (int32_t highest = 0; highest < self->size; highest++) {
      sf_graph_t *graph = NULL;
      int64_t nleaves = self->rank <= highest ? 3 : 0;
      int64_t roots[1] = {-1}, leaves[3] = {10 * self->rank, 10 * self->rank + 1, 10 * self->rank + 2};
      sftest_at(self, "flags %u, highest rank %d", flags, highest);
      SFTEST_OK(self, sf_graph_create(world, 1, nleaves, leaves_at, ranks, zeros, flags, &graph));
      SFTEST_OK(self, sf_reduce(graph, SF_INT64, leaves, roots, SF_REPLACE));
      SFTEST_REQUIRE(self, roots[0] == (self->rank == 1 ? 10 * highest + 2 : -1));
      SFTEST_OK(self, sf_graph_destroy(graph));
    }
  }
}

SFTEST(replaces)
{
  static const int32_t placements[][5] = {{0, 1, 2, 3, 0}, {0, 0, 1, 1, 1}, {1, 0, 1, 0, 1}, {2, 2, 0, 2, 2}};
  for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++)
    sftest_cluster_run(&sftest_case_cluster, placements[i], 5, replace_shared, NULL);
}

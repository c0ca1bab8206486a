/* Every unit with every op that it has, not by chance as in test_properties and test_gather, but one after the other:
 * bcast, reduce and fetch_op on one random graph, on one node and over three, where contributions to fetch_ops travel
 * combined, against the serial models. */
#include "tests/system/cluster.h"
#include "tests/system/model/gather.h"
#include "tests/system/model/operation.h"

#define RANKS 6
#define NODES 3
#define VERTICES 24

/* ---- One operation ----------------------------------------------------------------------------------------------- */

static void expect_same(sftest_rank_t *self, sftest_unit_t unit, sftest_op_t op, const char *what, const char *found,
                        const char *expected, int64_t nunits)
{
  char text[80];
  sftest_describe(unit, op, text, sizeof text);
  int64_t byte = sftest_first_difference(found, expected, nunits * (int64_t)sftest_unit_size(unit));
  sftest_require(self, byte < 0, __FILE__, __LINE__, "%s, %s: byte %lld differs", what, text, (long long)byte);
}

static void move(sftest_rank_t *self, const sftest_slots_t *model, sftest_unit_t unit, sftest_op_t op, bool bcast)
{
  const sftest_operation_t what = {
      .graph = &model->graph, .bcast = bcast, .unit = unit, .op = op, .seed = (uint64_t)unit.base << 8 | (uint64_t)op};
  sftest_side_t side = bcast ? SFTEST_LEAVES : SFTEST_ROOTS;
  int64_t n = sftest_operation_vertices(&what, side, self->rank);
  char *arrays[2], *expected = malloc((size_t)n * sftest_unit_size(unit) + 1);
  for (int i = 0; i < 2; i++) {
    int64_t nunits = sftest_operation_vertices(&what, (sftest_side_t)i, self->rank);
    arrays[i] = malloc((size_t)nunits * sftest_unit_size(unit) + 1);
    sftest_operation_fill(&what, (sftest_side_t)i, self->rank, arrays[i]);
  }
  sftest_operation_fill(&what, side, self->rank, expected);
  sftest_operation_apply(&what, self->rank, expected);
  const sf_type_t *type = sftest_unit_make(unit);
  if (bcast)
    SFTEST_OK(self, sf_bcast(model->real, type, arrays[SFTEST_ROOTS], arrays[SFTEST_LEAVES], sftest_op_handle(op)));
  else
    SFTEST_OK(self, sf_reduce(model->real, type, arrays[SFTEST_LEAVES], arrays[SFTEST_ROOTS], sftest_op_handle(op)));
  expect_same(self, unit, op, bcast ? "bcast" : "reduce", arrays[side], expected, n);
  SFTEST_OK(self, sf_type_destroy(type));
  free(arrays[0]);
  free(arrays[1]);
  free(expected);
}

static void fetch(sftest_rank_t *self, const sftest_slots_t *model, sftest_unit_t unit, sftest_op_t op)
{
  static const sftest_place_t places[] = {PLACE_ROOTS, PLACE_LEAVES, PLACE_UPDATE};
  const sftest_gather_t what = {
      .kind = KIND_FETCH, .model = model, .unit = unit, .op = op, .seed = (uint64_t)unit.base << 8 | (uint64_t)op};
  char *arrays[PLACE_COUNT] = {NULL};
  for (int i = 0; i < 3; i++) {
    int64_t n = sftest_gather_vertices(&what, places[i], self->rank);
    arrays[places[i]] = malloc((size_t)n * sftest_unit_size(unit) + 1);
    sftest_gather_fill(&what, places[i], self->rank, arrays[places[i]]);
  }
  const sf_type_t *type = sftest_unit_make(unit);
  SFTEST_OK(self, sf_fetch_op(model->real, type, arrays[PLACE_ROOTS], arrays[PLACE_LEAVES], arrays[PLACE_UPDATE],
                              sftest_op_handle(op)));
  for (int i = 0; i < 3; i++) {
    int64_t n = sftest_gather_vertices(&what, places[i], self->rank);
    char *expected = malloc((size_t)n * sftest_unit_size(unit) + 1);
    sftest_gather_expect(&what, places[i], self->rank, expected);
    expect_same(self, unit, op, "fetch_op", arrays[places[i]], expected, n);
    free(expected);
    free(arrays[places[i]]);
  }
  SFTEST_OK(self, sf_type_destroy(type));
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

SFTEST_JOINED(do_all)
{
  uint64_t seed = *(const uint64_t *)self->argument;
  sftest_slots_t model = {.real = NULL};
  sftest_graph_make(&model.graph, seed, self->size, VERTICES);
  sftest_slots_number(&model);
  SFTEST_OK(self, sftest_graph_create(&model.graph, world, true, SF_GRAPH_REPRODUCIBLE, &model.real));
  sftest_multi_make(self, model.real);
  for (int base = 0; base < SFTEST_BASE_COUNT; base++)
    for (int op = 0; op < SFTEST_OP_COUNT; op++)
      for (int64_t count = 1; count <= 3 && sftest_op_applies((sftest_op_t)op, (sftest_base_t)base); count += 2) {
        sftest_unit_t unit = {(sftest_base_t)base, count};
        sftest_at(self, "base %d x %lld, op %d", base, (long long)count, op);
        move(self, &model, unit, (sftest_op_t)op, true);
        move(self, &model, unit, (sftest_op_t)op, false);
        fetch(self, &model, unit, (sftest_op_t)op);
      }
  SFTEST_OK(self, sf_graph_destroy(model.real));
  sftest_slots_free(&model);
}

SFTEST_CASE(sftest_cluster_for_case(tests, NODES));

/* On one node; in blocks, in which ranks of a node follow one another; and dealt out. */
SFTEST_FOR(every_unit_with_every_op, 3)
{
  static const int32_t here[RANKS] = {0}, blocks[RANKS] = {0, 0, 1, 1, 2, 2}, cyclic[RANKS] = {0, 1, 2, 0, 1, 2};
  static const int32_t *const places[] = {here, blocks, cyclic};
  uint64_t seed = sftest_seed();
  printf("SF_TEST_SEED=%llu\n", (unsigned long long)seed);
  sftest_cluster_run(&sftest_case_cluster, places[_i], RANKS, do_all, &seed);
}

/* Grids on 1 to 8 ranks of 1 to 3 nodes, compared with serial computations; arguments that make no sense. */
#include "tests/system/cluster.h"
#include "tests/system/grid/scene.h"

#define JOBS 6
#define GRIDS 8 /* of a job */

SFTEST_JOINED(check_grids)
{
  const uint64_t *seed = self->argument;
  for (uint64_t i = 0; i < GRIDS; i++)
    sftest_grid_check(self, context, *seed + i, false);
}

SFTEST_CASE(sftest_cluster_for_case(tests, 3));

SFTEST(test_grids)
{
  uint64_t first = sftest_seed(), random = first;
  for (uint64_t job = 0; job < JOBS; job++) {
    int32_t places[8], size = 1 + (int32_t)(sftest_random(&random) % 8);
    uint64_t seed = first + job * GRIDS;
    sftest_use_seed(first);
    sftest_places_choose(places, size, 3, &random);
    sftest_cluster_run(&sftest_case_cluster, places, size, check_grids, &seed);
  }
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static const sf_grid_options_t good = {.ndims = 3, .points = {8, 8, 8}, .radius = {{1, 1}, {1, 1}, {1, 1}}};

static void expect_bad(sftest_rank_t *self, sf_group_t *group, const sf_grid_options_t *options, sf_status_t status,
                       const char *detail)
{
  sf_grid_t *grid = NULL;
  SFTEST_EXPECT(self, sf_grid_create(group, options, &grid), status);
  SFTEST_DETAIL(self, detail);
  SFTEST_REQUIRE(self, grid == NULL);
}

SFTEST_JOINED(pass_bad_options)
{
  sf_group_t *group = world;
  sf_grid_options_t options = good;
  int last = self->rank == self->size - 1; /* the only one with an error, which all learn of */
#define WITH(field, value, detail)                                                                                     \
  options = good;                                                                                                      \
  if (last)                                                                                                            \
    options.field = value;                                                                                             \
  expect_bad(self, group, &options, SF_ERR_ARG, detail)
  WITH(ndims, 4, "ndims is 4");
  WITH(ndims, 0, "ndims is 0");
  WITH(points[1], 0, "points along axis 1 is 0");
  WITH(points[2], INT64_C(1) << 60, "points along axis 2 is 1152921504606846976; 1 to 1125899906842624 expected");
  WITH(points[2], INT64_C(1) << 50, "more than 2^50 points");
  WITH(radius[0][1], -1, "radius above along axis 0 is -1");
  WITH(reach, (sf_grid_reach_t)7, "reach is 7");
  WITH(steps, -2, "steps is -2");
  WITH(steps, INT32_MAX, "radius times steps is 2147483647 along axis 0; expected at most 1056");
  WITH(order[1], 1, "order is 0, 1, 0");
  WITH(padding[2], -1, "padding along axis 2 is -1");
  WITH(flags, 64, "flags is 64; 0 to 3 expected");
  WITH(subdomains, 5000, "subdomains is 5000");
  expect_bad(self, group, last ? NULL : &good, SF_ERR_ARG, "options is NULL");
  options = good;
  if (last)
    options.radius[2][0] = 2;
  expect_bad(self, group, &options, SF_ERR_MISMATCH, "radius below along axis 2 is 2, on rank 0 it is 1");
  options = good;
  options.periodic[0] = last;
  expect_bad(self, group, &options, SF_ERR_MISMATCH, "periodic along axis 0 is 1, on rank 0 it is 0");
}

SFTEST_JOINED(pass_bad_arguments)
{
  sf_group_t *group = world;
  sf_grid_t *grid = NULL;
  SFTEST_EXPECT(self, sf_grid_create(NULL, &good, &grid), SF_ERR_ARG);
  SFTEST_OK(self, sf_grid_create(group, &good, &grid));
  sf_grid_subdomain_t sub;
  sf_grid_exchange_t *exchange = NULL;
  int64_t units, point[3] = {0, 8, 0}, begin[3], end[3];
  SFTEST_EXPECT(self, sf_grid_subdomain(grid, 1, &sub), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_grid_subdomain(grid, 0, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_grid_array(grid, 1, &units, NULL), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_grid_step(grid, 0, 1, begin, end), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_grid_find(grid, point, &units, NULL, NULL), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "point 8; 0 to 7 expected");
  SFTEST_EXPECT(self, sf_grid_exchange_create(grid, 0, NULL, &exchange), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_grid_exchange_create(grid, SF_FIELDS_MAX + 1, &(sf_grid_field_t){0}, &exchange), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_grid_exchange_create(grid, 1, &(sf_grid_field_t){0}, &exchange), SF_ERR_ARG);
  SFTEST_OK(self, sf_grid_destroy(grid));
  SFTEST_OK(self, sf_grid_destroy(NULL));
  SFTEST_OK(self, sf_grid_exchange_destroy(NULL));
}

SFTEST(test_bad_options)
{
  const int32_t places[] = {0, 1, 0};
  sftest_cluster_run(&sftest_case_cluster, places, 3, pass_bad_options, NULL);
}

SFTEST(test_bad_arguments)
{
  const int32_t places[] = {0, 1, 0};
  sftest_cluster_run(&sftest_case_cluster, places, 3, pass_bad_arguments, NULL);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* The graph of a grid serves for other operations: contributions in halos are added to the points. */
SFTEST_JOINED(add_halos)
{
  sf_grid_options_t options = {.ndims = 1, .points = {4 * self->size}, .periodic = {true}, .radius = {{1, 2}}};
  sf_grid_t *grid;
  sf_grid_subdomain_t sub;
  sf_graph_t *graph;
  int32_t values[7] = {1, 0, 0, 0, 0, 2, 3}, expected[4] = {2, 3, 0, 1};
  SFTEST_OK(self, sf_grid_create(world, &options, &grid));
  SFTEST_OK(self, sf_grid_subdomain(grid, 0, &sub));
  SFTEST_REQUIRE(self, sub.origin == 1 && sub.extent[0] == 4 && sub.inner_begin[0] == 1 && sub.inner_end[0] == 2);
  SFTEST_OK(self, sf_grid_graph(grid, 0, 0, &graph));
  SFTEST_OK(self, sf_reduce(graph, SF_INT32, values, values, SF_SUM));
  SFTEST_REQUIRE(self, memcmp(values + 1, expected, sizeof expected) == 0);
  SFTEST_OK(self, sf_grid_destroy(grid));
}

SFTEST(test_reduce)
{
  const int32_t places[] = {0, 1, 2, 0};
  sftest_cluster_run(&sftest_case_cluster, places, 4, add_halos, NULL);
}

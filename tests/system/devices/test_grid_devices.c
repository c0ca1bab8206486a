/* Grids whose subdomains are on the host, and on devices of a stand-in for the driver, on one node and over several. */
#include <stdio.h>

#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/grid/scene.h"
#include "tests/unit/runner.h"

#define JOBS 4
#define GRIDS 5 /* of a job */

static int check_grids(sftest_rank_t *self)
{
  const uint64_t *seed = self->argument;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  for (uint64_t i = 0; i < GRIDS; i++)
    sftest_grid_check(self, context, *seed + i, true);
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_grids)
{
  uint64_t first = sftest_seed(), random = first;
  for (uint64_t job = 0; job < JOBS; job++) {
    int32_t places[4], size = 1 + (int32_t)(sftest_random(&random) % 4);
    uint64_t seed = first + job * GRIDS;
    sftest_use_seed(first);
    sftest_places_choose(places, size, 2, &random);
    sftest_cluster_run(&sftest_case_cluster, places, size, check_grids, &seed);
  }
}
END_TEST

static int name_bad_devices(sftest_rank_t *self)
{
  const int32_t none = 99;
  sf_grid_options_t options = {.ndims = 1, .points = {100}, .radius = {{1, 1}}, .devices = &none};
  sf_grid_t *grid = NULL;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  if (self->rank > 0)
    options.devices = NULL;
  SFTEST_EXPECT(self, sf_grid_create(sf_group_world(context), &options, &grid), SF_ERR_ARG);
  SFTEST_DETAIL(self, "no device 99");
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_bad_devices)
{
  const int32_t places[] = {0, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 2, name_bad_devices, NULL);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grids on devices");
  TCase *tests = tcase_create("grids");
  if (!sftest_device_for_programs())
    return sftest_device_run(suite);
  sftest_cluster_for_case(tests, 2);
  tcase_add_test(tests, test_grids);
  tcase_add_test(tests, test_bad_devices);
  suite_add_tcase(suite, tests);
  return sftest_device_run(suite);
}

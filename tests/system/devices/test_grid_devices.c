/* Grids whose subdomains are on the host, and on devices of a stand-in for the driver, on one node and over several. */
#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/grid/scene.h"

#define JOBS 4
#define GRIDS 5 /* of a job */

static void check_grids(sftest_rank_t *self)
{
  const uint64_t *seed = self->argument;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  for (uint64_t i = 0; i < GRIDS; i++)
    sftest_grid_check(self, context, *seed + i, true);
  sftest_leave(self, context);
}

SFTEST_CASE(sftest_cluster_for_case(tests, 2));

SFTEST(test_grids)
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

static void name_bad_devices(sftest_rank_t *self)
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
}

SFTEST(test_bad_devices)
{
  const int32_t places[] = {0, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 2, name_bad_devices, NULL);
}

/* ---- Errors of exchanges ----------------------------------------------------------------------------------------- */

/* One subdomain in host memory, one on a device: an exchange is four operations. */
typedef struct halves {
  sf_grid_t *grid;
  void *arrays[2];
  size_t device_bytes;
  sf_region_t *region; /* of the device's array */
  sf_grid_exchange_t *exchange;
} halves_t;

static void halves_init(sftest_rank_t *self, sf_context_t *context, halves_t *halves)
{
  const int32_t devices[] = {-1, 0};
  sf_grid_options_t options = {
      .ndims = 1, .points = {40}, .periodic = {true}, .radius = {{1, 1}}, .subdomains = 2, .devices = devices};
  int64_t units;
  SFTEST_OK(self, sf_grid_create(sf_group_world(context), &options, &halves->grid));
  SFTEST_OK(self, sf_grid_alloc(halves->grid, 0, SF_DOUBLE, &halves->arrays[0]));
  SFTEST_OK(self, sf_grid_array(halves->grid, 1, &units, NULL));
  halves->device_bytes = (size_t)units * sizeof(double);
  halves->arrays[1] = sftest_device_alloc(0, halves->device_bytes);
  SFTEST_OK(self, sf_register(context, halves->arrays[1], halves->device_bytes, SF_MEMORY_CUDA, &halves->region));
  sf_grid_field_t field = {SF_DOUBLE, halves->arrays};
  SFTEST_OK(self, sf_grid_exchange_create(halves->grid, 1, &field, &halves->exchange));
}

static void halves_free(sftest_rank_t *self, sf_context_t *context, halves_t *halves)
{
  SFTEST_OK(self, sf_grid_exchange_destroy(halves->exchange));
  SFTEST_OK(self, sf_unregister(halves->region));
  SFTEST_OK(self, sf_free(context, halves->arrays[0]));
  sftest_device_free(halves->arrays[1]);
  SFTEST_OK(self, sf_grid_destroy(halves->grid));
}

/* The first operation needs host memory only and begins; the second one finds that a buffer is not registered. */
static void begin_in_part(sftest_rank_t *self)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  halves_t halves;
  halves_init(self, context, &halves);
  SFTEST_OK(self, sf_grid_exchange(halves.exchange));
  SFTEST_OK(self, sf_unregister(halves.region));
  SFTEST_EXPECT(self, sf_grid_exchange(halves.exchange), SF_ERR_ARG);
  SFTEST_DETAIL(self, "not registered");
  SFTEST_OK(self, sf_register(context, halves.arrays[1], halves.device_bytes, SF_MEMORY_CUDA, &halves.region));
  SFTEST_OK(self, sf_grid_exchange(halves.exchange)); /* nothing was in flight */
  halves_free(self, context, &halves);
  sftest_leave(self, context);
}

static void destroy_in_flight(sftest_rank_t *self)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  halves_t halves;
  halves_init(self, context, &halves);
  SFTEST_OK(self, sf_grid_exchange_begin(halves.exchange));
  SFTEST_EXPECT(self, sf_grid_exchange_destroy(halves.exchange), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_grid_exchange_begin(halves.exchange), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_grid_exchange(halves.exchange), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_grid_exchange_destroy(halves.exchange), SF_ERR_STATE); /* all requests are in flight still */
  SFTEST_OK(self, sf_grid_exchange_end(halves.exchange));
  SFTEST_OK(self, sf_grid_exchange(halves.exchange));
  halves_free(self, context, &halves);
  sftest_leave(self, context);
}

static const sftest_rank_fn_t misuses[] = {begin_in_part, destroy_in_flight};

SFTEST_FOR(test_misuse, 2)
{
  const int32_t places[] = {0, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 2, misuses[_i], NULL);
}

int main(void)
{
  sftest_device_for_programs();
  return sftest_device_main(true);
}

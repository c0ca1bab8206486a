/* Memory of devices that ranks register, on a stand-in for the driver: what is refused, what failures do, and what
 * sfctl shows. That operations are right on any mix of memory is for test_properties. */
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define UNITS 100
#define SCATTERED 20

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST_JOB(test_without_driver, 1, sftest_run_alone(1, ranks, NULL))
{
  static double memory[UNITS];
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  SFTEST_EXPECT(self, sf_register(context, memory, sizeof memory, SF_MEMORY_CUDA, &region), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "/nowhere/libsf_cuda.so");
  SFTEST_REQUIRE(self, region == NULL);
  SFTEST_OK(self, sf_register(context, memory, sizeof memory, SF_MEMORY_DETECT, &region));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context));
}

SFTEST_JOB(test_register, sftest_device_is_there() ? 1 : 0, sftest_run_alone(1, ranks, NULL))
{
  static double memory[UNITS];
  sf_region_t *region = NULL, *other = NULL;
  sf_context_t *context = sftest_join(self);
  char *device = sftest_device_is_there() ? sftest_device_alloc(1, 1000) : NULL, text[64];
  size_t length_bytes = sftest_device_length(device); /* drivers may round up */
  SFTEST_EXPECT(self, sf_register(context, memory, sizeof memory, SF_MEMORY_CUDA, &region), SF_ERR_ARG);
  SFTEST_DETAIL(self, "is not CUDA device memory");
  SFTEST_EXPECT(self, sf_register(context, device + 10, length_bytes - 9, SF_MEMORY_CUDA, &region), SF_ERR_ARG);
  snprintf(text, sizeof text, "%zu bytes", length_bytes - 9);
  SFTEST_DETAIL(self, text);
  snprintf(text, sizeof text, "device %d ends after %zu", sftest_device_instead(1), length_bytes - 10);
  SFTEST_DETAIL(self, text);
  SFTEST_OK(self, sf_register(context, device + 10, 500, SF_MEMORY_CUDA, &region));
  SFTEST_EXPECT(self, sf_register(context, device, 11, SF_MEMORY_DETECT, &other), SF_ERR_EXISTS);
  SFTEST_OK(self, sf_register(context, device + 510, 490, SF_MEMORY_DETECT, &other));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context)); /* with a region left */
  sftest_device_free(device);
}

/* No kernel could use it. */
SFTEST_JOB(test_another_context, (sftest_device_is_there() && sftest_device_can_fail()) ? 1 : 0,
           sftest_run_alone(1, ranks, NULL))
{
  double values[UNITS] = {0};
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  char *device = sftest_device_alloc_elsewhere(0, sizeof values);
  SFTEST_EXPECT(self, sf_register(context, device, sizeof values, SF_MEMORY_CUDA, &region), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "in a context that is not the primary one of device 0");
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

/* A device's data must be registered, and must not end before the last vertex. */
SFTEST_JOB(test_use, sftest_device_is_there() ? 1 : 0, sftest_run_alone(1, ranks, NULL))
{
  double leaves[UNITS];
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  char *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof leaves + 8) : NULL;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, device + 8, leaves, SF_REPLACE), SF_ERR_RANGE);
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE), SF_ERR_ARG);
  SFTEST_DETAIL(self, "memory of device 0 that is not registered");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

/* A kernel that fails on one rank fails the graph on all. */
SFTEST_JOB(test_kernels_fail, (sftest_device_is_there() && sftest_device_can_fail()) ? 1 : 0,
           sftest_run_alone(3, ranks, NULL))
{
  double leaves[UNITS];
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:5", 1);
  char *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof leaves) : NULL;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  sf_status_t status = SF_OK;
  for (int i = 0; i < 1000 && status == SF_OK; i++)
    status = sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_SYS);
  SFTEST_DETAIL(self, "CUDA_ERROR_LAUNCH_FAILED");
  SFTEST_OK(self, sf_unregister(region));
  (void)sf_graph_destroy(graph);
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

/* Kernels can't use one rank's buffer, which is told before anybody else is; with another one all goes on. */
SFTEST_JOB(test_misaligned, sftest_device_is_there() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
{
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  double values[UNITS], found[UNITS];
  char *device = sftest_device_is_there() ? sftest_device_alloc(0, 2 * sizeof values) : NULL;
  double *roots = (double *)(void *)device;
  for (int i = 0; i < UNITS; i++)
    values[i] = self->rank + i;
  sftest_device_copy(roots, values, sizeof values);
  sftest_device_copy(device + sizeof values, values, sizeof values);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_register(context, device, 2 * sizeof values, SF_MEMORY_CUDA, &region));
  SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, roots, roots + UNITS, SF_REPLACE, NULL));
  SFTEST_OK(self, sf_streams_wait(graph));
  if (self->rank == 1) {
    SFTEST_EXPECT(self, sf_reduce(graph, SF_DOUBLE, roots + UNITS, device + 4, SF_SUM), SF_ERR_ARG);
    SFTEST_DETAIL(self, "rootdata");
    SFTEST_DETAIL(self, "not aligned to 8 bytes, as sum of double needs it");
    SFTEST_EXPECT(self, sf_reduce_on_stream(graph, SF_DOUBLE, device + 4, roots, SF_SUM, NULL), SF_ERR_ARG);
  }
  SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, roots + UNITS, roots, SF_SUM));
  sftest_device_copy(found, roots, sizeof found);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, found[i] == 2 * values[i]);
  SFTEST_OK(self, sf_bcast(graph, SF_INT8, device + 3, device + 3 + UNITS, SF_REPLACE)); /* which needs none */
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

/* One rank's device has no memory for a graph's indices: that graph fails, and others do not. */
SFTEST_JOB(test_no_memory, (sftest_device_is_there() && sftest_device_can_fail()) ? 1 : 0,
           sftest_run_alone(2, ranks, NULL))
{
  sf_context_t *context = sftest_join(self);
  sf_region_t *region = NULL;
  double values[SCATTERED];
  int32_t ranks[SCATTERED];
  int64_t numbers[SCATTERED];
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuMemAlloc:1", 1);
  double *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof values) : NULL;
  SFTEST_OK(self, sf_register(context, device, sizeof values, SF_MEMORY_CUDA, &region));
  for (int i = 0; i < SCATTERED; i++) {
    values[i] = 100 * self->rank + i;
    ranks[i] = 1 - self->rank;
    numbers[i] = i * i % SCATTERED;
  }
  sftest_device_copy(device, values, sizeof values);
  for (int round = 0; round < 3; round++) {
    sf_graph_t *graph;
    double leaves[SCATTERED] = {0};
    SFTEST_OK(self, sf_graph_create(sf_group_world(context), SCATTERED, SCATTERED, NULL, ranks, numbers,
                                    SF_GRAPH_DEFAULT, &graph));
    sf_status_t status = sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE);
    if (self->rank == 1 || status != SF_OK) /* which may have had all before */
      SFTEST_EXPECT(self, status, round == 0 ? SF_ERR_NOMEM : SF_OK);
    for (int i = 0; i < SCATTERED && round > 0; i++)
      SFTEST_REQUIRE(self, leaves[i] == (double)(100 * ranks[i] + numbers[i]));
    (void)sf_graph_destroy(graph);
  }
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

/* Graphs come and go, their lists of indices at the same addresses: each operation goes by those of its own graph. */
SFTEST_JOB(test_one_after_the_other, sftest_device_is_there() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
{
  double roots[UNITS], leaves[SCATTERED];
  int32_t ranks[SCATTERED];
  int64_t numbers[SCATTERED];
  uint64_t random = (uint64_t)self->rank;
  sf_context_t *context = sftest_join(self);
  sf_region_t *region = NULL;
  void *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof roots) : NULL;
  for (int i = 0; i < UNITS; i++)
    roots[i] = self->rank * UNITS + i;
  sftest_device_copy(device, roots, sizeof roots);
  SFTEST_OK(self, sf_register(context, device, sizeof roots, SF_MEMORY_CUDA, &region));
  for (int round = 0; round < 300; round++) {
    int64_t n = round % 2 == 0 ? SCATTERED : 5; /* in a cell or in a slot */
    sf_graph_t *graph;
    for (int64_t i = 0; i < n; i++) {
      ranks[i] = 1 - self->rank;
      numbers[i] = sftest_below(&random, UNITS);
    }
    SFTEST_OK(self, sf_graph_create(sf_group_world(context), UNITS, n, NULL, ranks, numbers, SF_GRAPH_DEFAULT, &graph));
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE));
    for (int64_t i = 0; i < n; i++)
      SFTEST_REQUIRE(self, leaves[i] == (double)(ranks[i] * UNITS + numbers[i]));
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
  SFTEST_OK(self, sf_unregister(region));
  sftest_leave(self, context);
  sftest_device_free(device);
}

SFTEST_JOB(test_sfctl, sftest_device_is_there() ? 1 : 0, sftest_run_alone(1, ranks, NULL))
{
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  char *device = sftest_device_is_there() ? sftest_device_alloc(0, 4096) : NULL;
  SFTEST_OK(self, sf_register(context, device, 4096, SF_MEMORY_DETECT, &region));
  sftest_sfctl(self->options.socket_path, (const char *const[]){"ranks", "--regions", NULL}, 0);
  SFTEST_REQUIRE(self, strstr(sftest_sfctl_out, "device") != NULL && strstr(sftest_sfctl_out, "in-place") != NULL);
  SFTEST_OK(self, sf_unregister(region));
  setenv("SF_DEVICE_SHARE", "off", 1);
  SFTEST_OK(self, sf_register(context, device, 4096, SF_MEMORY_CUDA, &region));
  sftest_sfctl(self->options.socket_path, (const char *const[]){"ranks", "--regions", NULL}, 0);
  SFTEST_REQUIRE(self, strstr(sftest_sfctl_out, "device") != NULL && strstr(sftest_sfctl_out, "staged") != NULL);
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

SFTEST_DEVICE_MAIN(false);

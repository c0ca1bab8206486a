/* Memory of devices, on a stand-in for the driver: what is refused, what failures do, and what sfctl shows. That
 * operations are right on any mix of memory is for test_properties. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define LIMIT_MS 20000
#define UNITS 100
#define SCATTERED 20

static void expect_detail(sftest_rank_t *self, const char *words)
{
  sftest_require(self, strstr(sf_error_detail(), words) != NULL, __FILE__, __LINE__, "\"%s\" lacks \"%s\"",
                 sf_error_detail(), words);
}

static void run(int32_t nranks, sftest_rank_fn_t function)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, nranks, function, NULL);
  sftest_node_stop(&node);
}

/* ---- Registering ------------------------------------------------------------------------------------------------- */

static int register_without_driver(sftest_rank_t *self)
{
  static double memory[UNITS];
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  SFTEST_EXPECT(self, sf_register(context, memory, sizeof memory, SF_MEMORY_CUDA, &region), SF_ERR_UNSUPPORTED);
  expect_detail(self, "/nowhere/libsf_cuda.so");
  SFTEST_REQUIRE(self, region == NULL);
  SFTEST_OK(self, sf_register(context, memory, sizeof memory, SF_MEMORY_DETECT, &region));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

static int register_badly(sftest_rank_t *self)
{
  static double memory[UNITS];
  sf_region_t *region = NULL, *other = NULL;
  sf_context_t *context = sftest_join(self);
  char *device = sftest_device_is_there() ? sftest_device_alloc(1, 1000) : NULL;
  SFTEST_EXPECT(self, sf_register(context, memory, sizeof memory, SF_MEMORY_CUDA, &region), SF_ERR_ARG);
  expect_detail(self, "is not CUDA device memory");
  SFTEST_EXPECT(self, sf_register(context, device + 10, 991, SF_MEMORY_CUDA, &region), SF_ERR_ARG);
  expect_detail(self, "991 bytes");
  expect_detail(self, "device 1 ends after 990");
  SFTEST_OK(self, sf_register(context, device + 10, 500, SF_MEMORY_CUDA, &region));
  SFTEST_EXPECT(self, sf_register(context, device, 11, SF_MEMORY_DETECT, &other), SF_ERR_EXISTS);
  SFTEST_OK(self, sf_register(context, device + 510, 490, SF_MEMORY_DETECT, &other));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_finalize(context)); /* with a region left */
  sftest_device_free(device);
  return 0;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* A device's data must be registered, and must not end before the last vertex. */
static int use_badly(sftest_rank_t *self)
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
  expect_detail(self, "memory of device 0 that is not registered");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
  return 0;
}

/* A kernel that fails on one rank fails the graph on all. */
static int fail_in_kernels(sftest_rank_t *self)
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
  expect_detail(self, "CUDA_ERROR_LAUNCH_FAILED");
  SFTEST_OK(self, sf_unregister(region));
  (void)sf_graph_destroy(graph);
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
  return 0;
}

/* Graphs come and go, their lists of indices at the same addresses: each operation goes by those of its own graph. */
static int follow_each_other(sftest_rank_t *self)
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
  return 0;
}

/* ---- sfctl ------------------------------------------------------------------------------------------------------- */

static int be_looked_at(sftest_rank_t *self)
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
  return 0;
}

/* ---- Cycles ------------------------------------------------------------------------------------------------------ */

/* One exchange of doubles between neighbours, on a graph and memory made for it and freed behind it. The driver's
 * stand-in ends a process that frees what another one has open. */
static void exchange_once(sftest_rank_t *self, sf_context_t *context, int round, bool leaves_on_device)
{
  double expected[UNITS], found[UNITS] = {0};
  int32_t left = (self->rank + self->size - 1) % self->size;
  sf_graph_t *graph;
  sf_region_t *regions[2] = {NULL, NULL};
  double *roots = sftest_device_is_there() ? sftest_device_alloc(round % SFTEST_DEVICES, sizeof expected) : NULL;
  double *leaves = leaves_on_device ? sftest_device_alloc(0, sizeof expected) : found;
  SFTEST_OK(self, sf_register(context, roots, sizeof expected, SF_MEMORY_CUDA, &regions[0]));
  SFTEST_OK(self, sf_register(context, leaves, sizeof expected, SF_MEMORY_DETECT, &regions[1]));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS,
                                     round % 2 == 0 ? SF_GRAPH_DEFAULT : SF_GRAPH_UNORDERED, &graph));
  for (int i = 0; i < UNITS; i++)
    expected[i] = 1000.0 * self->rank + i + round;
  sftest_device_copy(roots, expected, sizeof expected);
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  if (leaves_on_device)
    sftest_device_copy(found, leaves, sizeof found);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, found[i] == 1000.0 * left + i + round);
  SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM));
  sftest_device_copy(found, roots, sizeof found);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, found[i] == 2 * expected[i]);
  SFTEST_OK(self, sf_unregister(regions[0]));
  sftest_device_free(roots);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_unregister(regions[1]));
  if (leaves_on_device)
    sftest_device_free(leaves);
}

/* Descriptors of this process: each allocation of the stand-in's devices has one, also those of other processes. */
static int count_descriptors(void)
{
  int n = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (directory != NULL && readdir(directory) != NULL)
    n++;
  if (directory != NULL)
    closedir(directory);
  return n;
}

static long resident_kib(void)
{
  char line[256];
  long kib = 0;
  FILE *file = fopen("/proc/self/status", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kib) == 1)
      break;
  if (file != NULL)
    fclose(file);
  return kib;
}

/* SFTEST_CYCLES: how many, by hand. What is kept after some of them is all that is ever kept. */
static int cycle(sftest_rank_t *self)
{
  const char *wanted = getenv("SFTEST_CYCLES");
  int rounds = wanted != NULL ? atoi(wanted) : 90, descriptors = 0;
  long kib = 0;
  int64_t live = 0;
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < rounds; round++) {
    if (round == 30) {
      descriptors = count_descriptors();
      live = sftest_device_live();
      kib = resident_kib();
    }
    exchange_once(self, context, round, round % 3 != 0);
  }
  /* At either moment the other rank's roots may still be open, which may be told to close soon. */
  SFTEST_REQUIRE(self, sftest_device_live() <= live + 2);
  SFTEST_REQUIRE(self, count_descriptors() <= descriptors + 4);
  if (wanted != NULL)
    printf("rank %d: %d cycles, %d descriptors, %ld KiB resident; after 30 cycles %d and %ld\n", self->rank, rounds,
           count_descriptors(), resident_kib(), descriptors, kib);
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

/* What sfctl plan says of how this rank's values go. */
static void expect_way(sftest_rank_t *self, const char *way)
{
  char wanted[100];
  sftest_sfctl(self->options.socket_path, (const char *const[]){"graphs", "--json", NULL}, 0);
  const char *number = strstr(sftest_sfctl_out, "\"graph\":");
  SFTEST_REQUIRE(self, number != NULL);
  snprintf(wanted, sizeof wanted, "%d", atoi(number + strlen("\"graph\":")));
  sftest_sfctl(self->options.socket_path, (const char *const[]){"plan", wanted, "--pairs", "--json", NULL}, 0);
  const char *pair = strstr(sftest_sfctl_out, "\"pairs\":[");
  snprintf(wanted, sizeof wanted, "{\"from\":%d,\"to\":%d,", self->rank, (self->rank + 1) % self->size);
  pair = pair != NULL ? strstr(pair, wanted) : NULL;
  snprintf(wanted, sizeof wanted, "\"way\":\"%s\"}", way);
  const char *found = pair != NULL ? strstr(pair, "\"way\":") : NULL;
  SFTEST_REQUIRE(self, found != NULL && strncmp(found, wanted, strlen(wanted)) == 0);
}

static int go_all_ways(sftest_rank_t *self)
{
  double leaves[UNITS];
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  void *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof leaves) : NULL;
  if (self->rank == 1)
    setenv("SF_DEVICE_SHARE", "off", 1);
  SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE));
  expect_way(self, self->rank == 1 ? "slots" : "in-place");
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE)); /* nobody leaves before */
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
  return 0;
}

/* Rank 0 frees its memory too early, which rank 1 has open: each call says so, and rank 1 comes to no harm. */
static int free_too_early(sftest_rank_t *self)
{
  double leaves[UNITS];
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  sf_request_t *request = NULL;
  void *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof leaves) : NULL;
  SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE));
  if (self->rank == 0) {
    setenv("SFTEST_CUDA_LENIENT", "1", 1);
    sftest_device_free(device);
    SFTEST_EXPECT(self, sf_bcast_begin(graph, SF_DOUBLE, device, leaves, SF_REPLACE, &request), SF_ERR_STATE);
    expect_detail(self, "bcast: the memory of region 1, in which ");
    device = sftest_device_alloc(0, sizeof leaves); /* most likely where the other one was */
    SFTEST_EXPECT(self, sf_unregister(region), SF_ERR_STATE);
    expect_detail(self, "sf_unregister: the memory of region 1, in which ");
    SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  }
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
  return 0;
}

/* Where a driver lets nobody open others' memory, values are staged; nobody has to ask for it. */
static int be_refused(sftest_rank_t *self)
{
  setenv("SFTEST_CUDA_FAIL", self->rank == 0 ? "cuIpcOpenMemHandle:1" : "cuIpcGetMemHandle:1", 1);
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < 10; round++)
    exchange_once(self, context, round, true);
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

/* ---- Memory of the daemon's own ---------------------------------------------------------------------------------- */

/* One bcast from memory that the daemon has allocated, into such memory. */
static void exchange_allocated(sftest_rank_t *self, sf_context_t *context, int round)
{
  double expected[UNITS], found[UNITS];
  int32_t left = (self->rank + self->size - 1) % self->size;
  sf_graph_t *graph;
  void *roots = NULL, *leaves = NULL;
  SFTEST_OK(self, sf_alloc_on_device(context, round % SFTEST_DEVICES, sizeof expected, &roots));
  SFTEST_OK(self, sf_alloc_on_device(context, 0, sizeof found + 8, &leaves));
  sftest_device_copy(found, leaves, sizeof found);
  for (int i = 0; i < UNITS; i++) {
    SFTEST_REQUIRE(self, found[i] == 0);
    expected[i] = 1000.0 * self->rank + i + round;
  }
  sftest_device_copy(roots, expected, sizeof expected);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  sftest_device_copy(found, leaves, sizeof found);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, found[i] == 1000.0 * left + i + round);
  SFTEST_OK(self, sf_free(context, roots));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_free(context, leaves));
}

static int use_allocated(sftest_rank_t *self)
{
  void *memory = NULL, *other = NULL;
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < 10; round++)
    exchange_allocated(self, context, round);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, SFTEST_DEVICES, 8, &memory), SF_ERR_ARG);
  expect_detail(self, "device 2, of which there are 2");
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 0, &memory), SF_ERR_ARG);
  SFTEST_OK(self, sf_alloc_on_device(context, 1, 4096, &memory));
  SFTEST_EXPECT(self, sf_free(context, (char *)memory + 8), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(context, memory, 4096, SF_MEMORY_CUDA, &region), SF_ERR_EXISTS);
  sftest_sfctl(self->options.socket_path, (const char *const[]){"ranks", "--regions", NULL}, 0);
  SFTEST_REQUIRE(self,
                 strstr(sftest_sfctl_out, "device-alloc") != NULL && strstr(sftest_sfctl_out, "in-place") != NULL);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 100, &other));
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_finalize(context)); /* with some of it left */
  return 0;
}

/* The daemon's driver: to fail at the first, or no devices. */
static int find_no_room(sftest_rank_t *self)
{
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 12345, &memory), SF_ERR_NOMEM);
  expect_detail(self, "the daemon: CUDA: 12345 bytes of a device's memory: out of memory");
  SFTEST_REQUIRE(self, memory == NULL);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 12345, &memory));
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

static int find_no_devices(sftest_rank_t *self)
{
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 12345, &memory), SF_ERR_UNSUPPORTED);
  expect_detail(self, "the daemon: ");
  expect_detail(self, "no CUDA-capable device");
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

/* Rank 1 dies; what it had of the daemon, and rank 0 has open, stays until rank 0 lets it go. */
static int outlive_owner(sftest_rank_t *self)
{
  double leaves[UNITS];
  void *roots = NULL;
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, sizeof leaves, &roots));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  sf_status_t status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  if (self->rank == 1)
    raise(SIGKILL);
  while (status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  (void)sf_graph_destroy(graph);
  SFTEST_OK(self, sf_free(context, roots));
  (void)sf_finalize(context);
  return 0;
}

/* Rank 0 dies while it has rank 1's memory open: nobody waits for it. */
static int outlive_holder(sftest_rank_t *self)
{
  double leaves[UNITS];
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_region_t *region = NULL;
  void *device = sftest_device_is_there() ? sftest_device_alloc(0, sizeof leaves) : NULL;
  SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  sf_status_t status = sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE);
  if (self->rank == 0)
    raise(SIGKILL);
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_RANK_FAILED); /* it may die before rank 1 is done */
  SFTEST_OK(self, sf_unregister(region));
  (void)sf_graph_destroy(graph);
  (void)sf_finalize(context);
  return 0;
}

START_TEST(test_without_driver)
{
  run(1, register_without_driver);
}
END_TEST

START_TEST(test_register)
{
  run(1, register_badly);
}
END_TEST

START_TEST(test_use)
{
  run(1, use_badly);
}
END_TEST

START_TEST(test_kernels_fail)
{
  run(3, fail_in_kernels);
}
END_TEST

START_TEST(test_one_after_the_other)
{
  run(2, follow_each_other);
}
END_TEST

START_TEST(test_sfctl)
{
  run(1, be_looked_at);
}
END_TEST

START_TEST(test_cycles)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, cycle, NULL);
  sftest_job_wait(&job, getenv("SFTEST_CYCLES") != NULL ? 600000 : LIMIT_MS);
  sftest_job_expect_success(&job, 0);
  sftest_job_expect_success(&job, 1);
  sftest_node_stop(&node);
}
END_TEST

START_TEST(test_refused)
{
  run(2, be_refused);
}
END_TEST

START_TEST(test_ways)
{
  run(2, go_all_ways);
}
END_TEST

START_TEST(test_freed_too_early)
{
  run(2, free_too_early);
}
END_TEST

START_TEST(test_holder_dies)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, outlive_holder, NULL);
  sftest_job_wait(&job, LIMIT_MS);
  sftest_job_expect_success(&job, 1);
  sftest_node_stop(&node);
}
END_TEST

/* Memory of the daemon's is limited for each job. */
static int meet_quota(sftest_rank_t *self)
{
  void *memory = NULL, *other = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 700000, &memory));
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 1, 700000, &other), SF_ERR_LIMIT);
  expect_detail(self, "1 MiB of device memory");
  expect_detail(self, "max-device-memory");
  expect_detail(self, "has 700000 bytes of it, and wants 700000 more");
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 1, (1 << 20) + 1, &other), SF_ERR_LIMIT);
  SFTEST_OK(self, sf_alloc_on_device(context, 1, 1 << 20, &other));
  SFTEST_OK(self, sf_free(context, other));
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

START_TEST(test_quota)
{
  sftest_node_t node;
  sftest_device_for_programs();
  sftest_node_start(&node, (const char *const[]){"--max-device-memory=1", NULL});
  sftest_run_job(&node, 1, meet_quota, NULL);
  sftest_node_stop(&node);
}
END_TEST

/* The daemon's driver does not come back: it serves others meanwhile, and ends without it. */
static int meet_hung_driver(sftest_rank_t *self)
{
  _Atomic int *step = self->argument;
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  if (self->rank == 0) {
    *step = 1;
    SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 12345, &memory), SF_ERR_DAEMON_LOST);
  } else {
    while (*step == 0)
      sftest_sleep_ms(1);
    do
      sftest_sfctl(self->options.socket_path, (const char *const[]){"ranks", "--regions", NULL}, 0);
    while (strstr(sftest_sfctl_out, "device-alloc") == NULL);
    *step = 2;
  }
  (void)sf_finalize(context);
  return 0;
}

START_TEST(test_hung_driver)
{
  sftest_node_t node;
  sftest_job_t job;
  _Atomic int *step = sftest_shared(sizeof *step);
  sftest_device_for_programs();
  setenv("SFTEST_CUDA_FAIL", "cuMemAlloc:1", 1);
  setenv("SFTEST_CUDA_HANG", "1", 1);
  sftest_node_start(&node, NULL);
  unsetenv("SFTEST_CUDA_FAIL");
  unsetenv("SFTEST_CUDA_HANG");
  sftest_job_start(&job, &node, 2, meet_hung_driver, step);
  while (*step < 2)
    sftest_sleep_ms(1);
  sftest_node_end(&node);
  sftest_job_wait(&job, LIMIT_MS);
  sftest_job_expect_success(&job, 0);
  sftest_node_stop(&node);
  sftest_shared_free(step, sizeof *step);
}
END_TEST

/* failure: of the daemon's driver; NULL: none. */
static void run_allocating(int32_t nranks, sftest_rank_fn_t function, const char *failure)
{
  sftest_node_t node;
  sftest_device_for_programs();
  if (failure != NULL)
    setenv("SFTEST_CUDA_FAIL", failure, 1);
  sftest_node_start(&node, NULL);
  unsetenv("SFTEST_CUDA_FAIL");
  sftest_run_job(&node, nranks, function, NULL);
  sftest_node_stop(&node);
}

START_TEST(test_allocated)
{
  run_allocating(2, use_allocated, NULL);
}
END_TEST

START_TEST(test_no_room)
{
  run_allocating(1, find_no_room, "cuMemAlloc:1");
}
END_TEST

START_TEST(test_no_devices)
{
  run_allocating(1, find_no_devices, "cuInit:1");
}
END_TEST

START_TEST(test_owner_dies)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_device_for_programs();
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, outlive_owner, NULL);
  sftest_job_wait(&job, LIMIT_MS);
  sftest_job_expect_success(&job, 0);
  sftest_run_job(&node, 2, use_allocated, NULL); /* it goes on as if nothing had been */
  sftest_node_stop(&node);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("device");
  TCase *tests = tcase_create("device");
  tcase_add_test(tests, test_without_driver);
  if (sftest_device_is_there()) {
    tcase_add_test(tests, test_register);
    tcase_add_test(tests, test_use);
    tcase_add_test(tests, test_one_after_the_other);
    tcase_add_test(tests, test_sfctl);
    tcase_add_test(tests, test_cycles);
    tcase_add_test(tests, test_ways);
    tcase_add_test(tests, test_holder_dies);
    tcase_add_test(tests, test_allocated);
    tcase_add_test(tests, test_owner_dies);
    tcase_add_test(tests, test_quota);
  }
  if (sftest_device_is_there() && sftest_device_can_fail()) {
    tcase_add_test(tests, test_kernels_fail);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_freed_too_early);
    tcase_add_test(tests, test_no_room);
    tcase_add_test(tests, test_no_devices);
    tcase_add_test(tests, test_hung_driver);
  }
  if (!sftest_device_is_there())
    printf("note: the CUDA plugin was not built: only its absence is tested\n");
  suite_add_tcase(suite, tests);
  return sftest_run(suite);
}

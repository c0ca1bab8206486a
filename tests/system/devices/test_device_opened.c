/* Memory of a device that another rank opens, on a stand-in for the driver: by which way values go, that nothing is
 * kept of what was let go, and what becomes of memory freed too early or of ranks that die. */
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"
#include "tests/unit/descriptors.h"

#define UNITS 100

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

/* SFTEST_CYCLES: how many, by hand. What is kept after some of them is all that is ever kept: each allocation of the
 * stand-in's devices has a descriptor, also those of other processes. */
static void cycle(sftest_rank_t *self)
{
  const char *wanted = getenv("SFTEST_CYCLES");
  int rounds = wanted != NULL ? atoi(wanted) : 90, descriptors = 0;
  long kib = 0;
  int64_t live = 0;
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < rounds; round++) {
    if (round == 30) {
      descriptors = sftest_count_fds();
      live = sftest_device_live();
      kib = resident_kib();
    }
    exchange_once(self, context, round, round % 3 != 0);
  }
  /* At either moment the other rank's roots may still be open, which may be told to close soon. */
  SFTEST_REQUIRE(self, sftest_device_live() <= live + 2);
  SFTEST_REQUIRE(self, sftest_count_fds() <= descriptors + 4);
  if (wanted != NULL)
    printf("rank %d: %d cycles, %d descriptors, %ld KiB resident; after 30 cycles %d and %ld\n", self->rank, rounds,
           sftest_count_fds(), resident_kib(), descriptors, kib);
  SFTEST_OK(self, sf_finalize(context));
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

/* What sfctl plan says of how this rank's values go. */
static void expect_way(sftest_rank_t *self, const char *way)
{
  SFTEST_REQUIRE(
      self, sftest_sfctl_pair_is(self->options.socket_path, self->rank, (self->rank + 1) % self->size, "way", way));
}

/* A way that is switched off on all ranks, and what then becomes of values between two ranks: as sfctl plan calls it,
 * and the kernels that the reader launches for them. */
typedef struct way {
  const char *off; /* NULL: none */
  int other;       /* device on which rank 1's memory is; rank 0's is on device 0 */
  const char *name;
  int64_t nkernels;
  enum { ALLOCATED, MAPPED, MAPPED_FOR_SELF, POOLED, POOLED_FOR_SELF } memory;
} way_t;

static const way_t ways[] = {
    {NULL, 0, "in-place", 1, ALLOCATED},             /* the reader's kernel reads */
    {NULL, 1, "in-place", 1, ALLOCATED},             /* that of another device likewise */
    {NULL, 2, "in-place", 0, ALLOCATED},             /* kernels don't reach it: the driver copies */
    {"SF_DEVICE_PEER", 0, "in-place", 1, ALLOCATED}, /* nothing changes on one device */
    {"SF_DEVICE_PEER", 1, "in-place", 0, ALLOCATED}, /* the driver copies between two */
    {NULL, 0, "in-place", 1, MAPPED},                /* by a descriptor */
    {NULL, 0, "slots", 2, MAPPED_FOR_SELF},          /* which there is none for */
    {NULL, 0, "in-place", 1, POOLED},
    {NULL, 0, "slots", 2, POOLED_FOR_SELF},
    {"SF_DEVICE_SHARE", 0, "slots", 2, MAPPED},
    {"SF_DEVICE_SHARE", 0, "slots", 2,
     ALLOCATED}, /* the owner's kernel brings it to the host, and the reader's from there */
};

/* ---- The end of memory, and of ranks ----------------------------------------------------------------------------- */

/* Rank 0 dies while it has rank 1's memory open: nobody waits for it. */
static void outlive_holder(sftest_rank_t *self)
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
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST(test_cycles)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, cycle, NULL);
  sftest_job_end_well(&job);
  sftest_node_stop(&node);
}

/* Where a driver lets nobody open others' memory, values are staged; nobody has to ask for it. */
SFTEST_JOB(test_refused, sftest_device_can_fail() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
{
  setenv("SFTEST_CUDA_FAIL", self->rank == 0 ? "cuIpcOpenMemHandle:1" : "cuIpcGetMemHandle:1", 1);
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < 10; round++)
    exchange_once(self, context, round, true);
  SFTEST_OK(self, sf_finalize(context));
}

SFTEST_JOB(test_ways, sizeof ways / sizeof ways[0], sftest_run_alone(2, ranks, (void *)(uintptr_t)&ways[_i]))
{
  const way_t *way = self->argument;
  double values[UNITS];
  int device = self->rank == 0 ? 0 : way->other;
  sf_graph_t *graph;
  sf_region_t *regions[2];
  if (way->off != NULL)
    setenv(way->off, "off", 1);
  setenv("SFTEST_CUDA_DEVICES", "3", 1);
  sf_context_t *context = sftest_join(self);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  double *roots = way->memory == ALLOCATED ? sftest_device_alloc(device, sizeof values)
                  : way->memory >= POOLED  ? sftest_device_alloc_pooled(device, sizeof values, way->memory == POOLED)
                                           : sftest_device_alloc_virtual(device, sizeof values, way->memory == MAPPED);
  double *leaves = sftest_device_alloc(device, sizeof values);
  for (int i = 0; i < UNITS; i++)
    values[i] = 1000.0 * self->rank + i;
  sftest_device_copy(roots, values, sizeof values);
  SFTEST_OK(self, sf_register(context, roots, sizeof values, SF_MEMORY_CUDA, &regions[0]));
  SFTEST_OK(self, sf_register(context, leaves, sizeof values, SF_MEMORY_CUDA, &regions[1]));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE)); /* opens what is to be opened */
  int64_t before = sftest_device_can_fail() ? sftest_device_launched() : 0;
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  SFTEST_REQUIRE(self, !sftest_device_can_fail() || sftest_device_launched() - before == way->nkernels);
  expect_way(self, way->name);
  sftest_device_copy(values, leaves, sizeof values);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, values[i] == 1000.0 * ((self->rank + 1) % self->size) + i);
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE)); /* nobody leaves before */
  SFTEST_OK(self, sf_graph_destroy(graph));
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sf_unregister(regions[i]));
  if (way->memory == ALLOCATED || way->memory >= POOLED)
    sftest_device_free(roots);
  else
    sftest_device_free_virtual(roots);
  sftest_device_free(leaves);
  SFTEST_OK(self, sf_finalize(context));
}

/* Ranks differ: what the one does not let others read is copied, and the other one's is read. */
SFTEST_JOB(test_both_ways, 1, sftest_run_alone(2, ranks, NULL))
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
}

/* Rank 0 frees its memory too early, which rank 1 has open: each call says so, and rank 1 comes to no harm. */
SFTEST_JOB(test_freed_too_early, sftest_device_can_fail() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
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
    SFTEST_DETAIL(self, "bcast: the memory of region 1, in which ");
    device = sftest_device_alloc(0, sizeof leaves); /* most likely where the other one was */
    SFTEST_EXPECT(self, sf_unregister(region), SF_ERR_STATE);
    SFTEST_DETAIL(self, "sf_unregister: the memory of region 1, in which ");
    SFTEST_OK(self, sf_register(context, device, sizeof leaves, SF_MEMORY_CUDA, &region));
  }
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, device, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  sftest_device_free(device);
}

SFTEST(test_holder_dies)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, outlive_holder, NULL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, 0);
  sftest_node_stop(&node);
}

SFTEST_DEVICE_MAIN(true);

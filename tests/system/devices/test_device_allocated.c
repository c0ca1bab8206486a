/* Memory of devices that the library allocates for ranks, on a stand-in for the driver: exchanging with it, the limit
 * of a job, ranks that die, and a driver that fails. The daemon needs none. */
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define UNITS 100

/* failure: of the driver of the daemon, or of the ranks; NULL: none. */
static void run_allocating(int32_t nranks, sftest_rank_fn_t function, const char *daemon_failure, const char *failure)
{
  sftest_node_t node;
  sftest_device_for_programs();
  if (daemon_failure != NULL)
    setenv("SFTEST_CUDA_FAIL", daemon_failure, 1);
  sftest_node_start(&node, NULL);
  unsetenv("SFTEST_CUDA_FAIL");
  if (failure != NULL)
    setenv("SFTEST_CUDA_FAIL", failure, 1);
  sftest_run_job(&node, nranks, function, NULL);
  unsetenv("SFTEST_CUDA_FAIL");
  sftest_node_stop(&node);
}

/* ---- Use --------------------------------------------------------------------------------------------------------- */

/* One bcast from memory that the library has allocated, into such memory. */
static void exchange_allocated(sftest_rank_t *self, sf_context_t *context, int round)
{
  double expected[UNITS], found[UNITS];
  int32_t left = (self->rank + self->size - 1) % self->size;
  sf_graph_t *graph;
  void *roots = NULL, *leaves = NULL;
  SFTEST_OK(self, sf_alloc_on_device(context, sftest_device_instead(round), sizeof expected, &roots));
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

static void use_allocated(sftest_rank_t *self)
{
  void *memory = NULL, *other = NULL;
  sf_region_t *region = NULL;
  sf_context_t *context = sftest_join(self);
  const int last = sftest_device_instead(1);
  for (int round = 0; round < 10; round++)
    exchange_allocated(self, context, round);
  char refusal[64];
  snprintf(refusal, sizeof refusal, "device %d, of which there are %d", sftest_device_count(), sftest_device_count());
  SFTEST_EXPECT(self, sf_alloc_on_device(context, sftest_device_count(), 8, &memory), SF_ERR_ARG);
  SFTEST_DETAIL(self, refusal);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 0, &memory), SF_ERR_ARG);
  SFTEST_OK(self, sf_alloc_on_device(context, last, 4096, &memory));
  SFTEST_EXPECT(self, sf_free(context, (char *)memory + 8), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(context, memory, 4096, SF_MEMORY_CUDA, &region), SF_ERR_EXISTS);
  sftest_sfctl(self->options.socket_path, (const char *const[]){"ranks", "--regions", NULL}, 0);
  SFTEST_REQUIRE(self,
                 strstr(sftest_sfctl_out, "device-alloc") != NULL && strstr(sftest_sfctl_out, "in-place") != NULL);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 100, &other));
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_finalize(context)); /* with some of it left */
}

/* Such memory is limited for each job, by what it takes. */
static void meet_quota(sftest_rank_t *self)
{
  void *memory = NULL, *other = NULL;
  sf_context_t *context = sftest_join(self);
  const int last = sftest_device_instead(1);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 700000, &memory));
  SFTEST_EXPECT(self, sf_alloc_on_device(context, last, 700000, &other), SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "3 MiB of device memory");
  SFTEST_DETAIL(self, "max-device-memory");
  SFTEST_DETAIL(self, "has 2097152 bytes of it, and wants 2097152 more"); /* was allocated, and given up */
  SFTEST_EXPECT(self, sf_alloc_on_device(context, last, 1 << 20 | 1, &other), SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "has 2097152 bytes of it, and wants 2097152 more");
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_EXPECT(self, sf_alloc_on_device(context, last, (2 << 20) + 1, &other), SF_ERR_LIMIT);
  SFTEST_OK(self, sf_alloc_on_device(context, last, 2 << 20, &other));
  SFTEST_OK(self, sf_free(context, other));
  SFTEST_OK(self, sf_finalize(context));
}

/* Whole blocks, which are as large as the driver says, or 2 MiB: who opens the memory sees nobody else's. */
static void take_blocks(sftest_rank_t *self)
{
  static const size_t wanted_bytes[] = {1, 2 << 20, (2 << 20) + 1};
  const size_t block = *(size_t *)self->argument;
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  for (int i = 0; i < 3; i++) {
    SFTEST_OK(self, sf_alloc_on_device(context, 0, wanted_bytes[i], &memory));
    SFTEST_REQUIRE(self, sftest_device_length(memory) == (wanted_bytes[i] + block - 1) / block * block);
    SFTEST_OK(self, sf_free(context, memory));
  }
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, SIZE_MAX, &memory), SF_ERR_NOMEM);
  SFTEST_OK(self, sf_finalize(context));
}

/* Rank 1 dies; what it had allocated, and rank 0 has open, stays until rank 0 lets it go. */
static void outlive_owner(sftest_rank_t *self)
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
}

/* ---- Failures of the driver -------------------------------------------------------------------------------------- */

/* Memory that others can't open is staged. */
static void share_nothing(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  for (int round = 0; round < 2; round++)
    exchange_allocated(self, context, round);
  SFTEST_OK(self, sf_finalize(context));
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST(test_allocated)
{
  run_allocating(2, use_allocated, NULL, NULL);
}

SFTEST(test_quota)
{
  sftest_node_t node;
  sftest_device_for_programs();
  sftest_node_start(&node, (const char *const[]){"--max-device-memory=3", NULL});
  sftest_run_job(&node, 1, meet_quota, NULL);
  sftest_node_stop(&node);
}

static void run_blocks(const char *told, size_t block)
{
  sftest_device_for_programs();
  if (told != NULL)
    setenv("SFTEST_CUDA_BLOCK", told, 1);
  sftest_run_alone(1, take_blocks, &block);
}

SFTEST(test_blocks)
{
  run_blocks(NULL, 2 << 20);
}

SFTEST_FOR(test_large_blocks, sftest_device_can_fail() ? 1 : 0)
{
  run_blocks("8388608", 8 << 20);
}

SFTEST(test_owner_dies)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_device_for_programs();
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, outlive_owner, NULL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, 1);
  sftest_run_job(&node, 2, use_allocated, NULL); /* it goes on as if nothing had been */
  sftest_node_stop(&node);
}

SFTEST_JOB(test_no_room, sftest_device_can_fail() ? 1 : 0, run_allocating(1, ranks, NULL, "cuMemCreate:1"))
{
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 12345, &memory), SF_ERR_NOMEM);
  SFTEST_DETAIL(self, "CUDA: 12345 bytes of a device's memory: out of memory");
  SFTEST_REQUIRE(self, memory == NULL);
  SFTEST_OK(self, sf_alloc_on_device(context, 0, 12345, &memory));
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_finalize(context));
}

SFTEST_JOB(test_no_devices, sftest_device_can_fail() ? 1 : 0, run_allocating(1, ranks, NULL, "cuInit:1"))
{
  void *memory = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_EXPECT(self, sf_alloc_on_device(context, 0, 12345, &memory), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "no CUDA-capable device");
  SFTEST_OK(self, sf_finalize(context));
}

SFTEST_FOR(test_daemon_without, sftest_device_can_fail() ? 1 : 0)
{
  run_allocating(2, use_allocated, "cuInit:1", NULL);
}

SFTEST_FOR(test_not_shared, sftest_device_can_fail() ? 2 : 0)
{
  run_allocating(2, share_nothing, NULL,
                 _i == 0 ? "cuMemExportToShareableHandle:1" : "cuMemImportFromShareableHandle:1");
}

SFTEST_DEVICE_MAIN(true);

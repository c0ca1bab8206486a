/* Operations called by the host over nodes, with data on devices (a stand-in for the driver), over MPI and within one
 * process: wherever the data are, kernels that fail, and ranks and daemons that die. */
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/mpi_cluster.h"
#include "tests/system/work.h"

#define NODES 2
#define RANKS 4
#define UNITS 10000 /* of each rank: two ranks' doubles make a large message */
#define REPEATS 9   /* more than there are slots */
#define ALL 0xfffu

static const int32_t places[RANKS] = {0, 1, 0, 1}; /* all neighbours on the ring are of the other node */
static const int32_t three[] = {0, 1, 2, 0, 2, 1}; /* each rank of a node has another neighbour */
#define RANKS_OF_THREE 6

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

enum { ROOTS, LEAVES };

/* What ranks tell each other. */
typedef struct shared {
  const struct way *way;
  _Atomic int32_t rounds[RANKS_OF_THREE];
} shared_t;

typedef struct scene {
  sftest_rank_t *self;
  shared_t *shared;
  sf_context_t *context;
  sf_graph_t *graph;
  double *device[2];
  double *host[2];
  sf_region_t *regions[2];
  int64_t live; /* allocations, with the two */
  int32_t round;
} scene_t;

static void make_scene(sftest_rank_t *self, int device, scene_t *scene)
{
  size_t bytes = 2 * UNITS * sizeof(double);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  *scene = (scene_t){.self = self, .shared = self->argument, .context = sftest_join(self)};
  for (int side = 0; side < 2; side++) {
    scene->host[side] = calloc(1, bytes);
    scene->device[side] = sftest_device_alloc(device, bytes);
    SFTEST_OK(self, sf_register(scene->context, scene->device[side], bytes, SF_MEMORY_CUDA, &scene->regions[side]));
  }
  scene->live = sftest_device_live();
  SFTEST_OK(self, sftest_ring_create(sf_group_world(scene->context), UNITS, SF_GRAPH_DEFAULT, &scene->graph));
}

/* The job may have failed. Nothing stays open. */
static void free_scene(scene_t *scene)
{
  (void)sf_graph_destroy(scene->graph);
  for (int side = 0; side < 2; side++) {
    (void)sf_unregister(scene->regions[side]);
    sftest_device_free(scene->device[side]);
    free(scene->host[side]);
  }
  (void)sf_finalize(scene->context);
  SFTEST_REQUIRE(scene->self, sftest_device_live() == scene->live - 2);
}

/* Where that side of the rank is: bit 2r of on_host is for the roots of rank r, the next one for its leaves. */
static double *data_of(const scene_t *scene, int side, unsigned on_host)
{
  bool host = (on_host >> (2 * scene->self->rank + side) & 1) != 0;
  return host ? scene->host[side] : scene->device[side];
}

static double value_of(int32_t rank, int side, int64_t i, int32_t round)
{
  return 1e6 * (2 * rank + side) + 1e3 * (double)(i % 1000) + round;
}

static void fill(const scene_t *scene, int64_t n, unsigned on_host)
{
  double *values = malloc((size_t)n * sizeof *values);
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < n; i++)
      values[i] = value_of(scene->self->rank, side, i, scene->round);
    sftest_device_copy(data_of(scene, side, on_host), values, (size_t)n * sizeof *values);
  }
  free(values);
}

static void expect(const scene_t *scene, bool bcast, int64_t n, unsigned on_host)
{
  sftest_rank_t *self = scene->self;
  int target = bcast ? LEAVES : ROOTS;
  int32_t other = (self->rank + (bcast ? 1 : self->size - 1)) % self->size;
  double *found = malloc((size_t)n * sizeof *found);
  sftest_device_copy(found, data_of(scene, target, on_host), (size_t)n * sizeof *found);
  for (int64_t i = 0; i < n; i++) {
    double expected = value_of(other, 1 - target, i, scene->round);
    if (!bcast)
      expected += value_of(self->rank, target, i, scene->round);
    SFTEST_REQUIRE(self, found[i] == expected);
  }
  free(found);
}

static sf_status_t give(const scene_t *scene, bool bcast, const sf_type_t *type, unsigned on_host)
{
  double *roots = data_of(scene, ROOTS, on_host), *leaves = data_of(scene, LEAVES, on_host);
  return bcast ? sf_bcast(scene->graph, type, roots, leaves, SF_REPLACE)
               : sf_reduce(scene->graph, type, leaves, roots, SF_SUM);
}

/* n: doubles of each rank. */
static void operate(scene_t *scene, bool bcast, const sf_type_t *type, int64_t n, unsigned on_host)
{
  scene->round++;
  fill(scene, n, on_host);
  SFTEST_OK(scene->self, give(scene, bcast, type, on_host));
  expect(scene, bcast, n, on_host);
}

static void play_round(scene_t *scene, unsigned on_host)
{
  operate(scene, true, SF_DOUBLE, UNITS, on_host);
  operate(scene, false, SF_DOUBLE, UNITS, on_host);
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

typedef struct way {
  int devices; /* on which the ranks' memory is; the first one is: */
  int first;
  unsigned on_host;
} way_t;

static const way_t ways[] = {
    {1, 0, 0}, {2, 0, 0},       {1, 1, 0},
    {1, 0, 1}, {1, 0, 1u << 7}, {1, 0, 3}, /* roots of rank 0, leaves of rank 3, all of rank 0 */
    {2, 0, 3}, {1, 0, ALL},
};
#define WAYS (int)(sizeof ways / sizeof ways[0])

static void play_rounds(scene_t *scene, unsigned on_host)
{
  for (int i = 0; i < REPEATS; i++)
    play_round(scene, on_host);
}

static void go_one_way(sftest_rank_t *self)
{
  const way_t *way = ((shared_t *)self->argument)->way;
  scene_t scene;
  make_scene(self, way->first + self->rank / 2 % way->devices, &scene);
  play_rounds(&scene, way->on_host);
  free_scene(&scene);
}

static void run(const sftest_node_t nodes[], const int32_t places_of[], int32_t size, sftest_rank_fn_t run_rank,
                shared_t *shared)
{
  sftest_run_over(nodes, places_of, size, run_rank, shared);
}

static shared_t *share(const way_t *way)
{
  shared_t *shared = sftest_shared(sizeof *shared);
  shared->way = way;
  return shared;
}

static void share_and_run(const sftest_node_t nodes[], const int32_t places_of[], int32_t size,
                          sftest_rank_fn_t run_rank, const way_t *way)
{
  shared_t *shared = share(way);
  run(nodes, places_of, size, run_rank, shared);
}

static void go_all_ways(const sftest_node_t nodes[])
{
  for (int i = 0; i < WAYS; i++)
    share_and_run(nodes, places, RANKS, go_one_way, &ways[i]);
}

/* ---- Data of the host, and other units --------------------------------------------------------------------------- */

/* Wherever the data of each rank are, and with short and long units. */
static void mix(sftest_rank_t *self)
{
  scene_t scene;
  make_scene(self, 0, &scene);
  for (unsigned on_host = 0; on_host <= 255; on_host += 15)
    play_round(&scene, on_host);
  operate(&scene, true, SF_INT8, UNITS / 8, 0);
  operate(&scene, true, SF_DOUBLE_COMPLEX, 2 * UNITS, 0);
  free_scene(&scene);
}

/* ---- Workers of the daemons -------------------------------------------------------------------------------------- */

/* Payload for memory of sf_alloc arrives while the ranks are not there, between operations with data on devices. */
static void leave_to_workers(sftest_rank_t *self)
{
  scene_t scene;
  void *leaves;
  int32_t other = (self->rank + 1) % self->size;
  make_scene(self, 0, &scene);
  SFTEST_OK(self, sf_alloc(scene.context, UNITS * sizeof(double), &leaves));
  play_rounds(&scene, 0);
  for (int i = 0; i < REPEATS; i++) {
    sf_request_t *request;
    scene.round++;
    fill(&scene, UNITS, ALL);
    SFTEST_OK(self, sf_bcast_begin(scene.graph, SF_DOUBLE, scene.host[ROOTS], leaves, SF_REPLACE, &request));
    sftest_sleep_ms(5);
    SFTEST_OK(self, sf_wait(&request));
    for (int64_t k = 0; k < UNITS; k++)
      SFTEST_REQUIRE(self, ((double *)leaves)[k] == value_of(other, ROOTS, k, scene.round));
  }
  SFTEST_OK(self, sf_free(scene.context, leaves));
  free_scene(&scene);
}

/* ---- Kernels that fail ------------------------------------------------------------------------------------------- */

/* A kernel fails on one rank: all are told, by the driver's words. */
static void fail_in_kernels(sftest_rank_t *self)
{
  scene_t scene;
  sf_status_t status = SF_OK;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:150", 1);
  make_scene(self, 0, &scene);
  for (int i = 0; status == SF_OK; i++) {
    status = give(&scene, i % 2 == 0, SF_DOUBLE, 0);
    sftest_sleep_ms(1);
  }
  SFTEST_EXPECT(self, status, SF_ERR_SYS);
  SFTEST_DETAIL(self, "CUDA_ERROR_LAUNCH_FAILED");
  free_scene(&scene);
}

/* ---- Whoever dies ------------------------------------------------------------------------------------------------ */

#define KILLS 6
#define WITHIN_US 20000

/* Until something fails; what is called good is good. */
static void go_on(sftest_rank_t *self)
{
  scene_t scene;
  sf_status_t status = SF_OK;
  shared_t *shared = self->argument;
  make_scene(self, 0, &scene);
  shared->rounds[self->rank] = 1;
  for (int32_t i = 0; i < RANKS; i++) /* with graphs all have what fails */
    sftest_await(&shared->rounds[i], 1);
  while (status == SF_OK) {
    scene.round++;
    fill(&scene, UNITS, 0);
    status = give(&scene, true, SF_DOUBLE, 0);
    if (status == SF_OK)
      expect(&scene, true, UNITS, 0);
    shared->rounds[self->rank] = scene.round + 1;
  }
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST);
  free_scene(&scene);
}

/* One rank, at some time. */
static void kill_one(const sftest_node_t nodes[], uint64_t *random)
{
  sftest_job_t job;
  shared_t *shared = share(&ways[0]);
  int32_t victim = (int32_t)sftest_below(random, RANKS);
  sftest_job_start_over(&job, nodes, places, RANKS, go_on, shared);
  for (int32_t i = 0; i < RANKS; i++)
    sftest_await(&shared->rounds[i], 1);
  usleep((useconds_t)sftest_below(random, WITHIN_US));
  kill(job.pids[victim], SIGKILL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, victim);
}

/* ---- Over MPI ---------------------------------------------------------------------------------------------------- */

/* The daemons live on. */
SFTEST_IF(test_mpi, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  uint64_t random = sftest_seed();
  setenv("SFD_OFFLOAD_WORKERS", "2", 1);
  sftest_mpi_cluster_start(&cluster, NODES);
  unsetenv("SFD_OFFLOAD_WORKERS");
  go_all_ways(cluster.nodes);
  share_and_run(cluster.nodes, places, RANKS, mix, &ways[0]);
  share_and_run(cluster.nodes, places, RANKS, leave_to_workers, &ways[0]);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, &random);
  share_and_run(cluster.nodes, places, RANKS, go_one_way, &ways[0]);
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST_IF(test_three, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  sftest_mpi_cluster_start(&cluster, 3);
  share_and_run(cluster.nodes, three, RANKS_OF_THREE, go_one_way, &ways[5]);
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST_FOR(test_daemon_dies, sftest_mpi_cluster_lacks() == NULL ? NODES : 0)
{
  sftest_mpi_cluster_t cluster;
  sftest_job_t job;
  shared_t *shared = share(&ways[0]);
  sftest_mpi_cluster_start(&cluster, NODES);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, go_on, shared);
  for (int32_t i = 0; i < RANKS; i++)
    sftest_await(&shared->rounds[i], 3);
  kill(cluster.daemons[_i], SIGKILL);
  sftest_job_end_well(&job);
  sftest_mpi_cluster_stop(&cluster, true);
}

/* ---- Without MPI ------------------------------------------------------------------------------------------------- */

/* The same over a fabric within one process, which the sanitizers can watch. */
SFTEST(test_loop)
{
  sftest_loop_cluster_t cluster;
  uint64_t random = sftest_seed();
  sftest_loop_cluster_start(&cluster, NODES, 1, 0);
  share_and_run(cluster.nodes, places, RANKS, mix, &ways[0]);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, &random);
  go_all_ways(cluster.nodes);
  if (sftest_device_can_fail())
    share_and_run(cluster.nodes, places, RANKS, fail_in_kernels, &ways[0]);
  share_and_run(cluster.nodes, places, RANKS, go_one_way, &ways[0]);
  sftest_loop_cluster_stop(&cluster);
}

int main(void)
{
  if (sftest_mpi_cluster_lacks() != NULL)
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
  return sftest_device_main(true);
}

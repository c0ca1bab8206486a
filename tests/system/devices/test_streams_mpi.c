/* Operations on streams over nodes, over MPI and within one process, with large messages: wherever the data are,
 * whatever the devices can do, and whoever dies. */
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/mpi_cluster.h"
#include "tests/system/work.h"

#define NODES 2
#define RANKS 4
#define UNITS 10000 /* of each rank: two ranks' doubles make a large message */
#define REPEATS 6   /* more than there are slots */
#define ALL 255u

static const int32_t places[RANKS] = {0, 1, 0, 1}; /* all neighbours on the ring are of the other node */

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

enum { ROOTS, LEAVES };

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  double *device[2];
  double *host[2];
  sf_region_t *regions[2];
  int32_t round;
} scene_t;

static void set_scene(sftest_rank_t *self, sf_context_t *context, int device, scene_t *scene)
{
  size_t bytes = 2 * UNITS * sizeof(double);
  *scene = (scene_t){.self = self, .context = context};
  scene->stream = sftest_device_stream(device);
  for (int side = 0; side < 2; side++) {
    scene->host[side] = calloc(1, bytes);
    scene->device[side] = sftest_device_alloc(device, bytes);
    SFTEST_OK(self, sf_register(scene->context, scene->device[side], bytes, SF_MEMORY_CUDA, &scene->regions[side]));
  }
  SFTEST_OK(self, sftest_ring_create(sf_group_world(scene->context), UNITS, SF_GRAPH_DEFAULT, &scene->graph));
}

static void make_scene(sftest_rank_t *self, int device, scene_t *scene)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  set_scene(self, sftest_join(self), device, scene);
}

/* The job may have failed. */
static void clear_scene(scene_t *scene)
{
  (void)sf_graph_destroy(scene->graph);
  for (int side = 0; side < 2; side++) {
    (void)sf_unregister(scene->regions[side]);
    sftest_device_free(scene->device[side]);
    free(scene->host[side]);
  }
  sftest_device_stream_free(scene->stream);
}

static void free_scene(scene_t *scene)
{
  clear_scene(scene);
  (void)sf_finalize(scene->context);
}

/* Where that side of the rank is: bit 2r of on_host is for the roots of rank r, the next one for its leaves. */
static double *data_of(const scene_t *scene, int side, unsigned on_host)
{
  bool host = (on_host >> (2 * scene->self->rank + side) & 1) != 0;
  return host ? scene->host[side] : scene->device[side];
}

/* What a rank has there at first. */
static double value_of(int32_t rank, int side, int64_t i, int32_t round)
{
  return 1e6 * (2 * rank + side) + 1e3 * (double)(i % 1000) + round;
}

static sf_status_t give(const scene_t *scene, bool bcast, const sf_type_t *type, unsigned on_host)
{
  double *roots = data_of(scene, ROOTS, on_host), *leaves = data_of(scene, LEAVES, on_host);
  return bcast ? sf_bcast_on_stream(scene->graph, type, roots, leaves, SF_REPLACE, scene->stream)
               : sf_reduce_on_stream(scene->graph, type, leaves, roots, SF_SUM, scene->stream);
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
      expected = value_of(self->rank, target, i, scene->round) + REPEATS * expected;
    SFTEST_REQUIRE(self, found[i] == expected);
  }
  free(found);
}

static void operate(scene_t *scene, bool bcast, const sf_type_t *type, int64_t n, unsigned on_host)
{
  double *values = malloc((size_t)n * sizeof *values);
  scene->round++;
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < n; i++)
      values[i] = value_of(scene->self->rank, side, i, scene->round);
    sftest_device_copy(data_of(scene, side, on_host), values, (size_t)n * sizeof *values);
  }
  free(values);
  for (int i = 0; i < REPEATS; i++)
    SFTEST_OK(scene->self, give(scene, bcast, type, on_host));
  SFTEST_OK(scene->self, sf_streams_wait(scene->graph));
  expect(scene, bcast, n, on_host);
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

typedef struct way {
  const char *variable; /* of the ranks' environment; NULL: none */
  const char *value;
  int32_t whose; /* a rank's, or OF_RANKS */
  int devices;   /* on which the ranks' memory is; the first one is: */
  int first;
  unsigned on_host;
} way_t;

#define OF_RANKS (-1)

static const way_t ways[] = {
    {NULL, NULL, OF_RANKS, 1, 0, 0},
    {NULL, NULL, OF_RANKS, 2, 0, 0},
    {"SF_DEVICE_PEER", "off", OF_RANKS, 2, 0, 0},
    {"SF_STREAM_MEMOPS", "off", OF_RANKS, 1, 0, 0},
    {"SF_STREAM_MEMOPS", "off", OF_RANKS, 1, 1, 0}, /* device 1 would have to flush */
    /* roots of rank 0, leaves of rank 3: of two nodes */
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 0},
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 7},
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 0 | 1u << 7},
    {"SF_DEVICE_SHARE", "off", OF_RANKS, 1, 0, 0},
    {"SFTEST_CUDA_FAIL", "cuMemImportFromShareableHandle:1", 1, 1, 0, 0},
};
#define WAYS (int)(sizeof ways / sizeof ways[0])

static void go_one_way(sftest_rank_t *self)
{
  const way_t *way = self->argument;
  scene_t scene;
  if (way->variable != NULL && (way->whose == OF_RANKS || way->whose == self->rank))
    setenv(way->variable, way->value, 1);
  make_scene(self, way->first + self->rank / 2 % way->devices, &scene);
  operate(&scene, true, SF_DOUBLE, UNITS, way->on_host);
  operate(&scene, false, SF_DOUBLE, UNITS, way->on_host);
  free_scene(&scene);
}

static void run_over(const sftest_node_t nodes[], sftest_rank_fn_t run_rank, const void *argument)
{
  sftest_run_over(nodes, places, RANKS, run_rank, (void *)(uintptr_t)argument);
}

static void run(const sftest_mpi_cluster_t *cluster, sftest_rank_fn_t run_rank, const void *argument)
{
  run_over(cluster->nodes, run_rank, argument);
}

/* The daemons go on whatever was refused. */
SFTEST_IF(test_ways, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  sftest_mpi_cluster_start(&cluster, NODES);
  for (int i = 0; i < WAYS; i++)
    run(&cluster, go_one_way, &ways[i]);
  sftest_mpi_cluster_stop(&cluster, false);
}

/* ---- Data of the host, and other units --------------------------------------------------------------------------- */

static void mix(sftest_rank_t *self)
{
  scene_t scene;
  make_scene(self, 0, &scene);
  operate(&scene, true, SF_DOUBLE, UNITS, 0);
  for (unsigned i = 0; i < 2 * (ALL + 1); i += 1 + 37 * 2)
    operate(&scene, i % 2 == 0, SF_DOUBLE, UNITS, i / 2);
  operate(&scene, true, SF_DOUBLE, UNITS, ALL);
  operate(&scene, false, SF_DOUBLE, UNITS, ALL);
  free_scene(&scene);
}

static void be_small_or_wide(sftest_rank_t *self)
{
  scene_t scene;
  make_scene(self, 0, &scene);
  operate(&scene, true, SF_DOUBLE, UNITS, 0);
  operate(&scene, true, SF_INT8, UNITS / 8, 0);           /* in all a small message */
  operate(&scene, true, SF_DOUBLE_COMPLEX, 2 * UNITS, 0); /* larger than the first */
  free_scene(&scene);
}

SFTEST_IF(test_mixed, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  sftest_mpi_cluster_start(&cluster, NODES);
  run(&cluster, mix, NULL);
  run(&cluster, be_small_or_wide, NULL);
  sftest_mpi_cluster_stop(&cluster, false);
}

/* ---- Whoever dies ------------------------------------------------------------------------------------------------ */

#define KILLS 6
#define WITHIN_US 5000

/* Until something fails; what is called good is good. */
static void go_on(sftest_rank_t *self)
{
  scene_t scene;
  sf_status_t status = SF_OK;
  _Atomic int32_t *rounds = self->argument;
  make_scene(self, 0, &scene);
  rounds[self->rank] = 1;
  for (int32_t i = 0; i < RANKS; i++) /* with graphs all have what fails */
    sftest_await(&rounds[i], 1);
  while (status == SF_OK) {
    double *values = scene.host[ROOTS];
    scene.round++;
    for (int64_t i = 0; i < UNITS; i++)
      values[i] = value_of(self->rank, ROOTS, i, scene.round);
    sftest_device_copy(scene.device[ROOTS], values, UNITS * sizeof *values);
    for (int i = 0; i < REPEATS && status == SF_OK; i++)
      status = give(&scene, true, SF_DOUBLE, 0);
    if (status == SF_OK)
      status = sf_streams_wait(scene.graph);
    if (status == SF_OK)
      expect(&scene, true, UNITS, 0);
    rounds[self->rank] = scene.round + 1;
  }
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST);
  free_scene(&scene);
}

static void work(sftest_rank_t *self)
{
  scene_t scene;
  make_scene(self, 0, &scene);
  operate(&scene, true, SF_DOUBLE, UNITS, 0);
  free_scene(&scene);
}

/* One rank, some time after round n / 2 of it. */
static void kill_one(const sftest_node_t nodes[], int n, uint64_t *random)
{
  sftest_job_t job;
  _Atomic int32_t *rounds = sftest_shared(RANKS * sizeof *rounds);
  int32_t victim = (int32_t)sftest_below(random, RANKS);
  sftest_job_start_over(&job, nodes, places, RANKS, go_on, (void *)rounds);
  for (int32_t i = 0; i < RANKS; i++)
    sftest_await(&rounds[i], 1);
  sftest_await(&rounds[victim], 1 + n / 2);
  usleep((useconds_t)sftest_below(random, WITHIN_US)); /* at first all make their streams ready */
  kill(job.pids[victim], SIGKILL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, victim);
}

/* The daemons live on. */
SFTEST_IF(test_rank_dies, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  uint64_t random = sftest_seed();
  sftest_mpi_cluster_start(&cluster, NODES);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, n, &random);
  run(&cluster, work, NULL);
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST_FOR(test_daemon_dies, sftest_mpi_cluster_lacks() == NULL ? NODES : 0)
{
  sftest_mpi_cluster_t cluster;
  sftest_job_t job;
  _Atomic int32_t *rounds = sftest_shared(RANKS * sizeof *rounds);
  sftest_mpi_cluster_start(&cluster, NODES);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, go_on, (void *)rounds);
  for (int32_t i = 0; i < RANKS; i++)
    sftest_await(&rounds[i], 2);
  kill(cluster.daemons[_i], SIGKILL);
  sftest_job_end_well(&job);
  sftest_mpi_cluster_stop(&cluster, true);
}

/* ---- Several graphs ---------------------------------------------------------------------------------------------- */

/* From device to device in turns. */
static void take_turns(sftest_rank_t *self)
{
  scene_t scenes[3];
  make_scene(self, 0, &scenes[0]);
  set_scene(self, scenes[0].context, 1, &scenes[1]);
  for (int i = 0; i < 2; i++)
    operate(&scenes[i], true, SF_DOUBLE, UNITS, 0);
  set_scene(self, scenes[0].context, 1, &scenes[2]);
  operate(&scenes[2], true, SF_DOUBLE, UNITS, 0);
  for (int i = 0; i < 4; i++)
    operate(&scenes[i % 2], true, SF_DOUBLE, UNITS, 0);
  clear_scene(&scenes[2]);
  clear_scene(&scenes[1]);
  free_scene(&scenes[0]);
}

SFTEST_IF(test_graphs, sftest_mpi_cluster_lacks() == NULL)
{
  sftest_mpi_cluster_t cluster;
  sftest_mpi_cluster_start(&cluster, NODES);
  run(&cluster, take_turns, NULL);
  sftest_mpi_cluster_stop(&cluster, false);
}

/* ---- Without MPI ------------------------------------------------------------------------------------------------- */

/* The same over a fabric within one process, which the sanitizers can watch; and ranks that die. */
SFTEST(test_loop)
{
  sftest_loop_cluster_t cluster;
  uint64_t random = sftest_seed();
  sftest_loop_cluster_start(&cluster, NODES, 1, 0);
  run_over(cluster.nodes, mix, NULL);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, n, &random);
  run_over(cluster.nodes, work, NULL);
  sftest_loop_cluster_stop(&cluster);
}

int main(void)
{
  if (sftest_mpi_cluster_lacks() != NULL)
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
  return sftest_device_main(true);
}

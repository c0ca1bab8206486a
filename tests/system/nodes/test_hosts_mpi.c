/* Operations called by the host over nodes whose MPI takes memory of devices (a stand-in): which messages it is given
 * there when all ranks have come to use it, that all that is switched off or missing leads to pinned memory, data of
 * the host among them, and what becomes of kernels that fail, and of whoever dies. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/system/device_mpi.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define LIMIT_MS 40000
#define NODES 2
#define RANKS 4
#define UNITS 10000  /* of each rank: worth slots on a device */
#define REPEATS 6    /* more than there are slots */
#define IDLE 15      /* rounds in which nothing is to come to a device */
#define PATIENCE 500 /* and in which something is */
#define ALL 0xfffu

static const int32_t places[RANKS] = {0, 1, 0, 1}; /* all neighbours on the ring are of the other node */
static const int32_t three[] = {0, 1, 2, 0, 2, 1}; /* each rank of a node has another neighbour */
#define RANKS_OF_THREE 6

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

enum { ROOTS, LEAVES };

/* What ranks tell each other. */
typedef struct shared {
  const struct way *way;
  _Atomic int32_t arrived;
  _Atomic int32_t goes_on;       /* round */
  _Atomic int32_t ended;         /* the last round, plus 1; 0: not yet */
  _Atomic uint64_t *from_device; /* counts of messages, or of bytes */
  _Atomic uint64_t *to_device;
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
  const char *variable; /* of the environment; NULL: none */
  const char *value;
  int32_t whose; /* a rank's; else: */
  int devices;   /* on which the ranks' memory is; the first one is: */
  int first;
  unsigned on_host;
  uint64_t sent; /* messages from devices in a bcast and a reduce: */
  uint64_t received;
} way_t;

#define OF_RANKS (-1)
#define OF_DAEMONS (-2)

static const way_t ways[] = {
    {NULL, NULL, OF_RANKS, 1, 0, 0, 4, 4},
    /* those of one device are the other's kernels' to write, but not to read */
    {NULL, NULL, OF_RANKS, 2, 0, 0, 4, 0},
    {NULL, NULL, OF_RANKS, 1, 1, 0, 4, 0}, /* device 1 would have to flush */
    {"SFTEST_CUDA_ORDER", "off", OF_RANKS, 1, 0, 0, 4, 0},
    {"SFTEST_CUDA_ORDER", "off", OF_RANKS, 1, 1, 0, 4, 0},
    {"SF_DEVICE_PEER", "off", OF_RANKS, 2, 0, 0, 0, 0},
    {"SF_DEVICE_KERNEL", "off", OF_RANKS, 1, 0, 0, 0, 0},
    /* roots of rank 0, leaves of rank 3: of two nodes; then all of rank 0 */
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 0, 3, 3},
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 7, 3, 3},
    {NULL, NULL, OF_RANKS, 1, 0, 1u << 0 | 1u << 7, 2, 2},
    {NULL, NULL, OF_RANKS, 1, 0, 3, 2, 2},
    {NULL, NULL, OF_RANKS, 1, 0, ALL, 0, 0},
    {"SF_DEVICE_MPI", "off", OF_RANKS, 1, 0, 0, 0, 0},
    {"SF_DEVICE_MPI", "off", 0, 1, 0, 0, 2, 2},
    {"SF_DEVICE_SHARE", "off", OF_RANKS, 1, 0, 0, 0, 0},
    {"SFTEST_CUDA_FAIL", "cuIpcOpenMemHandle:1", 1, 1, 0, 0, 2, 2},
    {"SFD_DEVICE_MPI", "no", OF_DAEMONS, 1, 0, 0, 0, 0},
    {"SFD_MAX_DEVICE_MEMORY", "0", OF_DAEMONS, 1, 0, 0, 0, 0},
    {"SFTEST_CUDA_FAIL", "cuMemAlloc:1", OF_DAEMONS, 1, 0, 0, 0, 0},
    {"SFTEST_CUDA_FAIL", "cuIpcGetMemHandle:1", OF_DAEMONS, 1, 0, 0, 0, 0},
};
#define WAYS (int)(sizeof ways / sizeof ways[0])

/* All have done so many rounds; returns in rank 0 only when they have. */
static void meet(const scene_t *scene, int32_t round)
{
  atomic_fetch_add(&scene->shared->arrived, 1);
  while (scene->self->rank == 0 && atomic_load(&scene->shared->arrived) < (round + 1) * scene->self->size)
    sftest_sleep_ms(1);
}

/* Rank 0 looks whether the round had as many messages from devices and to them as there should be. */
static bool is_as_wanted(const shared_t *shared, uint64_t sent, uint64_t received)
{
  return *shared->from_device - sent == shared->way->sent && *shared->to_device - received == shared->way->received;
}

/* Rounds until some have been as wanted one behind the other, or one was not where all should be. */
static void play_rounds(scene_t *scene, unsigned on_host)
{
  shared_t *shared = scene->shared;
  const way_t *way = shared->way;
  uint64_t sent = *shared->from_device, received = *shared->to_device;
  int32_t good = 0, wanted = way->sent + way->received > 0 ? REPEATS : IDLE;
  for (int32_t round = 0; atomic_load(&shared->ended) == 0; round++) {
    play_round(scene, on_host);
    meet(scene, round);
    if (scene->self->rank == 0) {
      good = is_as_wanted(shared, sent, received) ? good + 1 : 0;
      sftest_at(scene->self, "round %d: %llu messages from devices and %llu to them, %llu and %llu expected", round,
                (unsigned long long)(*shared->from_device - sent), (unsigned long long)(*shared->to_device - received),
                (unsigned long long)way->sent, (unsigned long long)way->received);
      SFTEST_REQUIRE(scene->self, round < PATIENCE && (wanted == REPEATS || good > 0));
      sent = *shared->from_device;
      received = *shared->to_device;
      sftest_sleep_ms(1); /* the daemon allocates meanwhile */
      if (good == wanted)
        atomic_store(&shared->ended, round + 1);
      atomic_store(&shared->goes_on, round + 1);
    }
    sftest_await(&shared->goes_on, round + 1);
  }
}

static int go_one_way(sftest_rank_t *self)
{
  const way_t *way = ((shared_t *)self->argument)->way;
  scene_t scene;
  if (way->variable != NULL && (way->whose == OF_RANKS || way->whose == self->rank))
    setenv(way->variable, way->value, 1);
  make_scene(self, way->first + self->rank / 2 % way->devices, &scene);
  play_rounds(&scene, way->on_host);
  free_scene(&scene);
  return 0;
}

static void run(const sftest_node_t nodes[], const int32_t places_of[], int32_t size, sftest_rank_fn_t run_rank,
                shared_t *shared)
{
  sftest_job_t job;
  sftest_job_start_over(&job, nodes, places_of, size, run_rank, shared);
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  sftest_job_expect_all(&job);
}

static shared_t *share(const way_t *way, const sftest_device_mpi_t *counts)
{
  shared_t *shared = sftest_shared(sizeof *shared);
  shared->way = way;
  if (counts != NULL) {
    shared->from_device = (_Atomic uint64_t *)(uintptr_t)&counts->sent;
    shared->to_device = (_Atomic uint64_t *)(uintptr_t)&counts->received;
  }
  return shared;
}

static void go(const sftest_mpi_cluster_t *cluster, const sftest_device_mpi_t *counts, const way_t *way)
{
  shared_t *shared = share(way, counts);
  run(cluster->nodes, places, RANKS, go_one_way, shared);
  sftest_shared_free(shared, sizeof *shared);
}

START_TEST(test_ways)
{
  sftest_mpi_cluster_t cluster;
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
  for (int i = 0; i < WAYS; i++)
    if (ways[i].whose != OF_DAEMONS)
      go(&cluster, counts, &ways[i]);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

START_TEST(test_ways_of_daemons)
{
  for (int i = 0; i < WAYS; i++) {
    sftest_mpi_cluster_t cluster;
    if (ways[i].whose != OF_DAEMONS)
      continue;
    setenv(ways[i].variable, ways[i].value, 1);
    const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
    unsetenv(ways[i].variable);
    go(&cluster, counts, &ways[i]);
    sftest_device_mpi_stop(&cluster, false);
  }
}
END_TEST

/* Nobody waits for a driver that does not come back. */
START_TEST(test_driver_hangs)
{
  static const way_t way = {NULL, NULL, OF_RANKS, 1, 0, 0, 0, 0};
  sftest_mpi_cluster_t cluster;
  setenv("SFTEST_CUDA_FAIL", "cuMemsetD8:1", 1);
  setenv("SFTEST_CUDA_HANG", "1", 1);
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
  unsetenv("SFTEST_CUDA_FAIL");
  unsetenv("SFTEST_CUDA_HANG");
  go(&cluster, counts, &way);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

/* The data of rank 0, which alone of its node has to do with node 1, are on the host: the other's go to node 2 from
 * device to device. */
START_TEST(test_three)
{
  static const way_t way = {NULL, NULL, OF_RANKS, 1, 0, 3, 10, 10};
  sftest_mpi_cluster_t cluster;
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, 3);
  shared_t *shared = share(&way, counts);
  run(cluster.nodes, three, RANKS_OF_THREE, go_one_way, shared);
  sftest_shared_free(shared, sizeof *shared);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

/* ---- Data of the host, and other units --------------------------------------------------------------------------- */

/* Once there are slots on devices all pass through them that are large enough, wherever the data are. */
static int mix(sftest_rank_t *self)
{
  scene_t scene;
  shared_t *shared = self->argument;
  make_scene(self, 0, &scene);
  play_rounds(&scene, 0);
  uint64_t sent = *shared->from_device, received = *shared->to_device;
  uint64_t n = 0;
  int32_t met = shared->ended;
  for (unsigned on_host = 0; on_host <= 255; on_host += 15, n++)
    play_round(&scene, on_host);
  meet(&scene, met++);
  if (self->rank == 0) {
    SFTEST_REQUIRE(self, *shared->from_device - sent == n * shared->way->sent);
    SFTEST_REQUIRE(self, *shared->to_device - received == n * shared->way->received);
    atomic_store(&shared->goes_on, met);
  }
  sftest_await(&shared->goes_on, met);
  sent = *shared->from_device;
  operate(&scene, true, SF_INT8, UNITS / 8, 0);           /* in all less than is worth it */
  operate(&scene, true, SF_DOUBLE_COMPLEX, 2 * UNITS, 0); /* larger than the first */
  meet(&scene, met);
  SFTEST_REQUIRE(self, self->rank != 0 || *shared->from_device == sent);
  free_scene(&scene);
  return 0;
}

START_TEST(test_mixed)
{
  sftest_mpi_cluster_t cluster;
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
  shared_t *shared = share(&ways[0], counts);
  run(cluster.nodes, places, RANKS, mix, shared);
  sftest_shared_free(shared, sizeof *shared);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

/* ---- Workers of the daemons -------------------------------------------------------------------------------------- */

/* They unpack into memory of sf_alloc while the ranks are not there, but not what has come to a device. */
static int leave_to_workers(sftest_rank_t *self)
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
  return 0;
}

START_TEST(test_workers)
{
  sftest_mpi_cluster_t cluster;
  setenv("SFD_OFFLOAD_WORKERS", "2", 1);
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
  unsetenv("SFD_OFFLOAD_WORKERS");
  shared_t *shared = share(&ways[0], counts);
  run(cluster.nodes, places, RANKS, leave_to_workers, shared);
  sftest_shared_free(shared, sizeof *shared);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

/* ---- Kernels that fail ------------------------------------------------------------------------------------------- */

/* Once messages go from device to device a kernel fails on one rank: all are told, by the driver's words. */
static int fail_in_kernels(sftest_rank_t *self)
{
  scene_t scene;
  sf_status_t status = SF_OK;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:150", 1);
  make_scene(self, 0, &scene);
  uint64_t before = *scene.shared->from_device;
  for (int i = 0; status == SF_OK; i++) {
    status = give(&scene, i % 2 == 0, SF_DOUBLE, 0);
    sftest_sleep_ms(1);
  }
  SFTEST_REQUIRE(self, *scene.shared->from_device > before);
  SFTEST_EXPECT(self, status, SF_ERR_SYS);
  SFTEST_DETAIL(self, "CUDA_ERROR_LAUNCH_FAILED");
  free_scene(&scene);
  return 0;
}

/* ---- Whoever dies ------------------------------------------------------------------------------------------------ */

#define KILLS 6
#define WITHIN_US 20000

/* Until something fails; what is called good is good. */
static int go_on(sftest_rank_t *self)
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
  return 0;
}

/* One rank, while slots are being made and taken into use. */
static void kill_one(const sftest_node_t nodes[], uint64_t *random)
{
  sftest_job_t job;
  shared_t *shared = share(&ways[0], NULL);
  int32_t victim = (int32_t)sftest_below(random, RANKS);
  sftest_job_start_over(&job, nodes, places, RANKS, go_on, shared);
  for (int32_t i = 0; i < RANKS; i++)
    sftest_await(&shared->rounds[i], 1);
  usleep((useconds_t)sftest_below(random, WITHIN_US));
  kill(job.pids[victim], SIGKILL);
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  sftest_job_expect_all_but(&job, victim);
  sftest_shared_free(shared, sizeof *shared);
}

/* The daemons live on, and free what nobody has open any more: the stand-in for the driver ends a process that frees
 * what another one has open. Then MPI is given memory of devices again. */
START_TEST(test_rank_dies)
{
  sftest_mpi_cluster_t cluster;
  uint64_t random = sftest_seed();
  const sftest_device_mpi_t *counts = sftest_device_mpi_start(&cluster, NODES);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, &random);
  go(&cluster, counts, &ways[0]);
  sftest_device_mpi_stop(&cluster, false);
}
END_TEST

START_TEST(test_daemon_dies)
{
  sftest_mpi_cluster_t cluster;
  sftest_job_t job;
  shared_t *shared = share(&ways[0], sftest_device_mpi_start(&cluster, NODES));
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, go_on, shared);
  while (*shared->from_device == 0)
    sftest_sleep_ms(1);
  kill(cluster.daemons[_i], SIGKILL);
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  sftest_job_expect_all(&job);
  sftest_device_mpi_stop(&cluster, true);
  sftest_shared_free(shared, sizeof *shared);
}
END_TEST

/* ---- Without MPI ------------------------------------------------------------------------------------------------- */

/* The same over a fabric within one process, which the sanitizers can watch. It counts bytes, of both ways together. */
static void run_over_loop(const sftest_loop_cluster_t *cluster, sftest_rank_fn_t run_rank)
{
  static const uint64_t message = RANKS / NODES * UNITS * sizeof(double);
  static const way_t way = {NULL, NULL, OF_RANKS, 1, 0, 0, 8 * message, 8 * message};
  shared_t *shared = share(&way, NULL);
  shared->from_device = shared->to_device = &cluster->orders->device_bytes;
  run(cluster->nodes, places, RANKS, run_rank, shared);
  sftest_shared_free(shared, sizeof *shared);
}

START_TEST(test_loop)
{
  sftest_loop_cluster_t cluster;
  uint64_t random = sftest_seed();
  sftest_loop_take_devices();
  sftest_loop_cluster_start(&cluster, NODES, 1, 0);
  run_over_loop(&cluster, mix);
  for (int n = 0; n < KILLS; n++)
    kill_one(cluster.nodes, &random);
  run_over_loop(&cluster, mix);
  if (sftest_device_can_fail())
    run_over_loop(&cluster, fail_in_kernels);
  run_over_loop(&cluster, go_one_way);
  sftest_loop_cluster_stop(&cluster);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("operations of the host over a device-aware MPI");
  TCase *tests = tcase_create("hosts");
  const char *lacks = sftest_device_mpi_lacks();
  tcase_set_timeout(tests, 180);
  tcase_add_test(tests, test_loop);
  if (lacks != NULL) {
    printf("part skipped: %s\n", lacks);
  } else {
    tcase_add_test(tests, test_ways);
    tcase_add_test(tests, test_ways_of_daemons);
    tcase_add_test(tests, test_driver_hangs);
    tcase_add_test(tests, test_three);
    tcase_add_test(tests, test_mixed);
    tcase_add_test(tests, test_workers);
    tcase_add_test(tests, test_rank_dies);
    tcase_add_loop_test(tests, test_daemon_dies, 0, NODES);
  }
  suite_add_tcase(suite, tests);
  return sftest_device_run(suite);
}

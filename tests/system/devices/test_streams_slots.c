/* Operations on streams whose messages pass through slots on the reader's device, on a stand-in for the driver or
 * (SFTEST_CUDA=real) a real one: when they do, data of the host among them, larger units, and that nothing is kept,
 * whoever dies. */
#include <sys/time.h>

#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"
#include "tests/unit/descriptors.h"

#define UNITS 100
#define WIDE 100 /* doubles of a larger unit */

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* Roots and leaves of a ring, on the rank's device and on the host. */
typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  double *device[2]; /* roots, leaves */
  double *host[2];
  sf_region_t *regions[2];
  const sf_type_t *wide;
  double next; /* value that nothing has had yet */
} scene_t;

static void make_graph(scene_t *scene)
{
  SFTEST_OK(scene->self, sftest_ring_create(sf_group_world(scene->context), UNITS, SF_GRAPH_DEFAULT, &scene->graph));
}

static void make_scene(sftest_rank_t *self, int device, scene_t *scene)
{
  size_t bytes = UNITS * WIDE * sizeof(double);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  *scene = (scene_t){.self = self, .context = sftest_join(self), .next = 1e6 * self->rank};
  scene->stream = sftest_device_stream(device);
  SFTEST_OK(self, sf_type_create_block(WIDE, SF_DOUBLE, &scene->wide));
  for (int side = 0; side < 2; side++) {
    scene->host[side] = malloc(bytes);
    scene->device[side] = sftest_device_alloc(device, bytes);
    SFTEST_OK(self, sf_register(scene->context, scene->device[side], bytes, SF_MEMORY_CUDA, &scene->regions[side]));
  }
  make_graph(scene);
}

/* The graph is gone, and the job may have failed: returns the first error. */
static sf_status_t leave(scene_t *scene)
{
  sf_status_t status = SF_OK, next;
  for (int side = 0; side < 2; side++) {
    next = sf_unregister(scene->regions[side]);
    status = status == SF_OK ? next : status;
    sftest_device_free(scene->device[side]);
    free(scene->host[side]);
  }
  sftest_device_stream_free(scene->stream);
  SFTEST_OK(scene->self, sf_type_destroy(scene->wide));
  next = sf_finalize(scene->context);
  return status == SF_OK ? next : status;
}

static void free_scene(scene_t *scene)
{
  SFTEST_OK(scene->self, sf_graph_destroy(scene->graph));
  SFTEST_OK(scene->self, leave(scene));
}

/* Whether what a rank sends, or gets, is on the host: bits of rank 0, then of rank 1. */
#define SENDS_FROM_HOST 1u
#define GETS_ON_HOST 2u
#define ALL_ON_HOST 15u

/* Bcasts or reduces of values that the other rank, of two, can tell. */
static void operate(scene_t *scene, bool bcast, bool wide, unsigned on_host)
{
  sftest_rank_t *self = scene->self;
  int64_t n = UNITS * (wide ? WIDE : 1), from = bcast ? 0 : 1, to = 1 - from;
  unsigned here = on_host >> 2 * self->rank;
  bool host_from = (here & SENDS_FROM_HOST) != 0, host_to = (here & GETS_ON_HOST) != 0;
  size_t bytes = (size_t)n * sizeof(double);
  double values[UNITS * WIDE];
  for (int64_t i = 0; i < n; i++)
    values[i] = scene->next + (double)i;
  double *data[2];
  data[from] = host_from ? scene->host[from] : scene->device[from];
  data[to] = host_to ? scene->host[to] : scene->device[to];
  sftest_device_copy(data[from], values, bytes);
  const sf_type_t *type = wide ? scene->wide : SF_DOUBLE;
  for (int i = 0; i < 6; i++) /* more than there are slots */
    if (bcast)
      SFTEST_OK(self, sf_bcast_on_stream(scene->graph, type, data[0], data[1], SF_REPLACE, scene->stream));
    else
      SFTEST_OK(self, sf_reduce_on_stream(scene->graph, type, data[1], data[0], SF_REPLACE, scene->stream));
  SFTEST_OK(self, sf_streams_wait(scene->graph));
  sftest_device_copy(values, data[to], bytes);
  double expected = scene->next + (self->rank == 0 ? 1e6 : -1e6);
  for (int64_t i = 0; i < n; i++)
    SFTEST_REQUIRE(self, values[i] == expected + (double)i);
  scene->next += (double)n;
}

/* One device takes the place of all where there are no others. */
static void expect_slots(const scene_t *scene, const char *name)
{
  const char *socket = scene->self->options.socket_path;
  int32_t rank = scene->self->rank;
  if (sftest_device_count() == 1 && strcmp(name, "peer") == 0)
    name = "device";
  SFTEST_REQUIRE(scene->self, sftest_sfctl_pair_is(socket, rank, 1 - rank, "streams", name));
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

typedef struct way {
  const char *variable; /* of all ranks' environment; NULL: none */
  const char *value;
  int devices;         /* on which the ranks' memory is */
  unsigned on_host;    /* see operate */
  const char *quota;   /* option of the daemon; NULL: none */
  const char *name[2]; /* where slots are: for rank 1, for rank 0 if elsewhere */
} way_t;

static const way_t ways[] = {
    {NULL, NULL, 1, 0, NULL, {"device"}},
    {NULL, NULL, 2, 0, NULL, {"peer"}},
    {"SF_DEVICE_PEER", "off", 1, 0, NULL, {"device"}},
    {"SF_DEVICE_SHARE", "off", 1, 0, NULL, {"pinned"}},
    {NULL, NULL, 1, SENDS_FROM_HOST, NULL, {"pinned"}},
    {NULL, NULL, 1, GETS_ON_HOST << 2, NULL, {"pinned"}},
    {NULL, NULL, 1, ALL_ON_HOST, NULL, {"pinned"}},
    {NULL, NULL, 1, 0, "--max-device-memory=0", {"pinned"}},
    /* of the stand-in only: */
    {"SF_STREAM_MEMOPS", "off", 2, 0, NULL, {"pinned", "peer"}}, /* device 1 would have to flush */
    {"SF_DEVICE_PEER", "off", 2, 0, NULL, {"pinned"}},
    {"SFTEST_CUDA_FAIL", "cuMemImportFromShareableHandle:1", 1, 0, NULL, {"pinned"}},
};
#define WAYS (int)(sizeof ways / sizeof ways[0])
#define WAYS_OF_ALL (WAYS - 3)

static void go_one_way(sftest_rank_t *self)
{
  const way_t *way = self->argument;
  scene_t scene;
  if (way->variable != NULL)
    setenv(way->variable, way->value, 1);
  make_scene(self, self->rank % way->devices, &scene);
  for (int i = 0; i < 2; i++)
    operate(&scene, i == 0, false, way->on_host);
  expect_slots(&scene, way->name[self->rank == 1 && way->name[1] != NULL]);
  operate(&scene, true, false, 0); /* nobody leaves before */
  free_scene(&scene);
}

SFTEST_FOR(test_ways, sftest_device_can_fail() ? WAYS : WAYS_OF_ALL)
{
  sftest_node_t node;
  ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, (const char *const[]){ways[_i].quota, NULL});
  sftest_run_job(&node, 2, go_one_way, (void *)(uintptr_t)&ways[_i]);
  sftest_node_stop(&node);
}

/* The daemon has no driver, and needs none. */
SFTEST_JOB(test_without, sftest_device_can_fail() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
{
  scene_t scene;
  make_scene(self, 0, &scene);
  operate(&scene, true, false, 0);
  expect_slots(&scene, "device");
  operate(&scene, true, false, 0);
  free_scene(&scene);
}

/* ---- Data of the host, and larger units -------------------------------------------------------------------------- */

/* Once there are slots on devices all pass through them; those that are made for larger units depend on where the data
 * are by then. */
static void mix(sftest_rank_t *self)
{
  unsigned then_on_host = *(unsigned *)self->argument;
  scene_t scene;
  make_scene(self, self->rank, &scene);
  operate(&scene, true, false, 0);
  for (unsigned i = 0; i < 2 * (ALL_ON_HOST + 1); i++)
    operate(&scene, i % 2 == 0, false, i / 2);
  expect_slots(&scene, "peer");
  operate(&scene, false, true, then_on_host);
  expect_slots(&scene, then_on_host == 0 ? "peer" : "pinned");
  for (unsigned i = 0; i < 2 * (ALL_ON_HOST + 1); i++)
    operate(&scene, i % 2 == 0, i % 4 < 2, i / 2);
  free_scene(&scene);
}

SFTEST_FOR(test_mixed, 2)
{
  unsigned then_on_host = _i == 0 ? 0 : SENDS_FROM_HOST;
  ck_assert(sftest_device_for_programs());
  sftest_run_alone(2, mix, &then_on_host);
}

/* From pinned slots to those on the device. */
static void move_over(sftest_rank_t *self)
{
  scene_t scene;
  make_scene(self, self->rank, &scene);
  operate(&scene, true, false, GETS_ON_HOST);
  expect_slots(&scene, "pinned");
  operate(&scene, true, false, 0);
  expect_slots(&scene, "pinned");
  operate(&scene, true, true, 0);
  expect_slots(&scene, "peer");
  operate(&scene, false, false, SENDS_FROM_HOST);
  free_scene(&scene);
}

SFTEST(test_moved)
{
  ck_assert(sftest_device_for_programs());
  sftest_run_alone(2, move_over, NULL);
}

/* ---- Cycles ------------------------------------------------------------------------------------------------------ */

/* Graphs whose slots take all that the job may have, one after the other, each with larger ones after a while.
 * Each allocation of the stand-in's devices has a descriptor, also those of other processes. SFTEST_CYCLES: how many,
 * by hand. */
static void cycle(sftest_rank_t *self)
{
  const char *wanted = getenv("SFTEST_CYCLES");
  int rounds = wanted != NULL ? atoi(wanted) : 20, descriptors = 0;
  int64_t live = 0;
  scene_t scene;
  make_scene(self, 0, &scene);
  for (int round = 0; round < rounds; round++) {
    operate(&scene, true, round % 2 == 0, 0);
    operate(&scene, true, true, 0);
    SFTEST_OK(self, sf_graph_destroy(scene.graph));
    if (round == 1) {
      live = sftest_device_live();
      descriptors = sftest_count_fds();
    }
    SFTEST_REQUIRE(self, round < 1 || (sftest_device_live() == live && sftest_count_fds() == descriptors));
    make_graph(&scene);
  }
  operate(&scene, true, true, 0);
  expect_slots(&scene, "device");
  operate(&scene, true, true, 0);
  if (wanted != NULL)
    printf("rank %d: %d cycles, %d descriptors and %lld allocations, as after the first two\n", self->rank, rounds,
           descriptors, (long long)live);
  free_scene(&scene);
}

SFTEST(test_cycles)
{
  sftest_node_t node;
  sftest_job_t job;
  ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, (const char *const[]){"--max-device-memory=8", NULL}); /* old and new slots of both ranks */
  sftest_job_start(&job, &node, 2, cycle, NULL);
  sftest_job_end_well(&job);
  sftest_node_stop(&node);
}

/* ---- Ranks that die ---------------------------------------------------------------------------------------------- */

#define KILLS 8

static void die(int number)
{
  (void)number;
  raise(SIGKILL);
}

/* Wherever rank 0 is at that moment: making a graph or slots, larger ones, in the middle of messages, or at the end.
 * The others go on until they are told. */
static void meet_death(sftest_rank_t *self)
{
  sf_status_t status = SF_OK;
  scene_t scene;
  make_scene(self, self->rank % SFTEST_DEVICES, &scene);
  struct itimerval when = {.it_value = {.tv_usec = 1 + (suseconds_t)(*(uint64_t *)self->argument % 30000)}};
  if (self->rank == 0) {
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &when, NULL);
  }
  while (status == SF_OK) {
    for (int i = 0; i < 6 && status == SF_OK; i++)
      status = sf_bcast_on_stream(scene.graph, i < 3 ? SF_DOUBLE : scene.wide, scene.device[0], scene.device[1],
                                  SF_REPLACE, scene.stream);
    sf_status_t destroyed = sf_graph_destroy(scene.graph);
    status = status == SF_OK ? destroyed : status;
    scene.graph = NULL;
    if (status == SF_OK)
      status = sftest_ring_create(sf_group_world(scene.context), UNITS, SF_GRAPH_DEFAULT, &scene.graph);
  }
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  (void)leave(&scene);
}

/* The daemon frees all that ranks had of it, whoever has died. */
SFTEST_FOR(test_killed, sftest_device_can_fail() ? 1 : 0)
{
  sftest_node_t node;
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, NULL);
  for (int i = 0; i < sftest_scale(KILLS); i++) {
    uint64_t seed = sftest_hash2(random, (uint64_t)i);
    sftest_job_t job;
    sftest_job_start(&job, &node, 3, meet_death, &seed);
    sftest_job_wait(&job);
    sftest_job_expect_all_but(&job, 0);
    int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
    while (sftest_device_held(node.pid) > 0 && sftest_now_ms() < until)
      sftest_sleep_ms(2);
    ck_assert_int_eq(sftest_device_held(node.pid), 0);
  }
  sftest_node_stop(&node);
}

/* Neighbours in a chain of three; its ends share no edge. */
typedef struct chain {
  bool from_last; /* the last rank has the first root, and calls last */
  bool on_host;
  _Atomic bool far_end_returned;
} chain_t;

/* The first end begins with a larger unit only when the other end has done so and has gone on. */
static void grow_in_a_chain(sftest_rank_t *self)
{
  chain_t *chain = self->argument;
  scene_t scene;
  make_scene(self, 0, &scene);
  int32_t place = chain->from_last ? 2 - self->rank : self->rank;
  int32_t owner = chain->from_last ? self->rank + 1 : self->rank - 1;
  int64_t zero = 0, until = sftest_now_ms() + SFTEST_HANG_MS;
  double *roots = chain->on_host ? scene.host[0] : scene.device[0];
  double *leaves = chain->on_host ? scene.host[1] : scene.device[1];
  sf_graph_t *graph;
  sf_streamed_t *streamed;
  SFTEST_OK(self, sf_graph_create(sf_group_world(scene.context), 1, place > 0, &zero, &owner, &zero, SF_GRAPH_DEFAULT,
                                  &graph));
  SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, roots, leaves, SF_REPLACE, scene.stream));
  while (place == 0 && !chain->far_end_returned) {
    SFTEST_REQUIRE(self, sftest_now_ms() < until);
    sftest_sleep_ms(1);
  }
  SFTEST_OK(self, sf_bcast_begin_on_stream(graph, scene.wide, roots, leaves, SF_REPLACE, scene.stream, &streamed));
  if (place == 2)
    chain->far_end_returned = true;
  SFTEST_OK(self, sf_end_on_stream(&streamed, scene.stream));
  SFTEST_OK(self, sf_streams_wait(graph));
  SFTEST_OK(self, sf_graph_destroy(graph));
  free_scene(&scene);
}

SFTEST_FOR(test_chain, 4)
{
  chain_t *chain = sftest_shared(sizeof *chain);
  chain->from_last = (_i & 1) != 0;
  chain->on_host = (_i & 2) != 0;
  ck_assert(sftest_device_for_programs());
  sftest_run_alone(3, grow_in_a_chain, chain);
}

SFTEST_DEVICE_MAIN(true);

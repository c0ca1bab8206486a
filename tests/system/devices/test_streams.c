/* Operations on streams, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: random graphs with root and
 * leaf data on devices or the host as each rank likes, nobody waiting on the host for many operations, against the
 * model; with memory operations and without. */
#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/model/operation.h"
#include "tests/system/mpi_cluster.h"

#define JOBS 4
#define JOBS_OVER_NODES 3
#define SCENES 5
#define ROUNDS_MAX 12
#define PLACES SF_STREAMS_IN_FLIGHT
#define UNITS 100
#define UNIT_BYTES_MAX 48 /* three of the largest base type; as often as units are thick */
#define THICK 150         /* messages to other nodes are large then, and have fewer slots */

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* One side of an operation. */
typedef struct buffer {
  char *data; /* NULL: no bytes */
  size_t bytes;
  sf_region_t *region; /* NULL: memory of the host */
} buffer_t;

static int32_t thickness = 1;

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  int device;
  void *stream;
  uint64_t random; /* the same on all ranks */
  uint64_t own;
  sftest_graph_t graph;
  sf_graph_t *real;
  const int32_t *places; /* nodes, where contributions are combined before they travel; else NULL */
} scene_t;

static void make_buffer(const scene_t *scene, buffer_t *buffer, size_t bytes, bool on_device)
{
  *buffer = (buffer_t){.bytes = bytes};
  if (bytes == 0)
    return;
  buffer->data = on_device ? sftest_device_alloc(scene->device, bytes) : malloc(bytes);
  SFTEST_REQUIRE(scene->self, buffer->data != NULL);
  if (on_device)
    SFTEST_OK(scene->self, sf_register(scene->context, buffer->data, bytes, SF_MEMORY_CUDA, &buffer->region));
}

static void free_buffer(const scene_t *scene, buffer_t *buffer)
{
  SFTEST_OK(scene->self, sf_unregister(buffer->region));
  if (buffer->region != NULL)
    sftest_device_free(buffer->data);
  else
    free(buffer->data);
}

/* ---- One operation after the other, or some at once -------------------------------------------------------------- */

/* What has been given to the stream and is to be looked at later. */
typedef struct round {
  sftest_operation_t operation;
  char *before[2]; /* by side; read by the stream */
  char *after[2];  /* written by it */
  size_t bytes[2];
  sf_streamed_t *streamed;
} round_t;

static void give_fill(const scene_t *scene, round_t *round, const buffer_t buffers[2])
{
  for (int side = 0; side < 2; side++) {
    round->bytes[side] = (size_t)sftest_operation_vertices(&round->operation, (sftest_side_t)side, scene->self->rank) *
                         sftest_unit_size(round->operation.unit);
    round->before[side] = malloc(round->bytes[side] + 1);
    round->after[side] = malloc(round->bytes[side] + 1);
    sftest_operation_fill(&round->operation, (sftest_side_t)side, scene->self->rank, round->before[side]);
    if (round->bytes[side] > 0)
      sftest_device_stream_copy(buffers[side].data, round->before[side], round->bytes[side], scene->stream);
  }
}

static void give_begin(const scene_t *scene, round_t *round, const sf_type_t *type, const buffer_t buffers[2])
{
  const sf_op_t *op = sftest_op_handle(round->operation.op);
  char *roots = buffers[SFTEST_ROOTS].data, *leaves = buffers[SFTEST_LEAVES].data;
  if (round->operation.bcast)
    SFTEST_OK(scene->self,
              sf_bcast_begin_on_stream(scene->real, type, roots, leaves, op, scene->stream, &round->streamed));
  else
    SFTEST_OK(scene->self,
              sf_reduce_begin_on_stream(scene->real, type, leaves, roots, op, scene->stream, &round->streamed));
}

static void give_end(const scene_t *scene, round_t *round, const buffer_t buffers[2])
{
  SFTEST_OK(scene->self, sf_end_on_stream(&round->streamed, scene->stream));
  SFTEST_REQUIRE(scene->self, round->streamed == NULL);
  for (int side = 0; side < 2; side++)
    if (round->bytes[side] > 0)
      sftest_device_stream_copy(round->after[side], buffers[side].data, round->bytes[side], scene->stream);
}

static void check_and_free(const scene_t *scene, round_t *round)
{
  char text[80];
  sftest_side_t target = round->operation.bcast ? SFTEST_LEAVES : SFTEST_ROOTS;
  sftest_operation_apply(&round->operation, scene->self->rank, round->before[target]);
  sftest_describe(round->operation.unit, round->operation.op, text, sizeof text);
  for (int side = 0; side < 2; side++) {
    int64_t byte = sftest_first_difference(round->after[side], round->before[side], (int64_t)round->bytes[side]);
    sftest_require(scene->self, byte < 0, __FILE__, __LINE__, "%s, %s: %s differ from byte %lld on",
                   round->operation.bcast ? "bcast" : "reduce", text, side == SFTEST_ROOTS ? "roots" : "leaves",
                   (long long)byte);
    free(round->before[side]);
    free(round->after[side]);
  }
}

static sftest_operation_t choose_operation(scene_t *scene)
{
  sftest_operation_t operation = {
      .graph = &scene->graph, .seed = sftest_random(&scene->random), .places = scene->places};
  operation.bcast = sftest_below(&scene->random, 2) == 0;
  operation.unit.base = (sftest_base_t)sftest_below(&scene->random, SFTEST_BASE_COUNT);
  operation.unit.count = thickness * (1 + sftest_below(&scene->random, 3));
  do
    operation.op = (sftest_op_t)sftest_below(&scene->random, SFTEST_OP_COUNT);
  while (!sftest_op_applies(operation.op, operation.unit.base));
  return operation;
}

/* The largest unit first: there is no room for a larger one while operations are in flight. */
static void make_room(const scene_t *scene, const buffer_t buffers[2])
{
  const sf_type_t *largest;
  SFTEST_OK(scene->self, sf_type_create_opaque((size_t)(UNIT_BYTES_MAX * thickness), &largest));
  SFTEST_OK(scene->self, sf_bcast_on_stream(scene->real, largest, buffers[SFTEST_ROOTS].data,
                                            buffers[SFTEST_LEAVES].data, SF_REPLACE, scene->stream));
  SFTEST_OK(scene->self, sf_type_destroy(largest));
}

/* Each operation in buffers of its own place, of which there are as many as may be in flight; places are used again
 * without the host having waited for anything. */
static void play(scene_t *scene, int32_t at_once)
{
  round_t rounds[ROUNDS_MAX];
  buffer_t buffers[PLACES][2];
  const sf_type_t *types[ROUNDS_MAX];
  size_t vertices = (size_t)sftest_graph_space(&scene->graph, scene->self->rank);
  for (int place = 0; place < at_once; place++)
    for (int side = 0; side < 2; side++)
      make_buffer(scene, &buffers[place][side], vertices * UNIT_BYTES_MAX * (size_t)thickness,
                  sftest_below(&scene->own, thickness > 1 ? 12 : 3) > 0);
  if (at_once > 1)
    make_room(scene, buffers[0]);
  for (int first = 0; first + at_once <= ROUNDS_MAX; first += at_once) {
    for (int i = first; i < first + at_once; i++) {
      rounds[i].operation = choose_operation(scene);
      types[i] = sftest_unit_make(rounds[i].operation.unit);
      give_fill(scene, &rounds[i], buffers[i - first]);
      sftest_at(scene->self, "begin of round %d", i);
      give_begin(scene, &rounds[i], types[i], buffers[i - first]);
    }
    int shift = (int)sftest_below(&scene->own, at_once);
    for (int i = 0; i < at_once; i++)
      give_end(scene, &rounds[first + (i + shift) % at_once], buffers[(i + shift) % at_once]);
  }
  sftest_at(scene->self, "waiting for %d operations at a time", at_once);
  SFTEST_OK(scene->self, sf_streams_wait(scene->real));
  sftest_device_stream_finish(scene->stream);
  for (int i = 0; i < ROUNDS_MAX / at_once * at_once; i++) {
    check_and_free(scene, &rounds[i]);
    SFTEST_OK(scene->self, sf_type_destroy(types[i]));
  }
  for (int place = 0; place < at_once; place++)
    for (int side = 0; side < 2; side++)
      free_buffer(scene, &buffers[place][side]);
}

static void play_scene(scene_t *scene)
{
  int32_t size = scene->self->size;
  bool combined = sftest_below(&scene->random, 2) == 0;
  scene->places = combined ? scene->self->places : NULL;
  sftest_graph_make(&scene->graph, sftest_random(&scene->random), size, 1 + sftest_below(&scene->random, 60));
  SFTEST_OK(scene->self,
            sftest_graph_create(&scene->graph, sf_group_world(scene->context), sftest_below(&scene->own, 2) == 0,
                                combined ? SF_GRAPH_DEFAULT : SF_GRAPH_REPRODUCIBLE, &scene->real));
  scene->device = (int)sftest_below(&scene->own, SFTEST_DEVICES);
  scene->stream = sftest_device_stream(scene->device);
  play(scene, 1 + (int32_t)sftest_below(&scene->random, PLACES));
  SFTEST_OK(scene->self, sf_graph_destroy(scene->real));
  sftest_device_stream_free(scene->stream);
  sftest_graph_free(&scene->graph);
}

static uint64_t seed;

static void be_random(sftest_rank_t *self)
{
  scene_t scene = {.self = self, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
  if (sftest_below(&scene.own, 3) == 0)
    setenv(sftest_device_can_fail() ? "SFTEST_CUDA_MEMOPS" : "SF_STREAM_MEMOPS", "off", 1);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  scene.context = sftest_join(self);
  for (int i = 0; i < sftest_scale(SCENES); i++)
    play_scene(&scene);
  SFTEST_OK(self, sf_finalize(scene.context));
}

/* Without a driver in the daemon, and with one: there are slots on devices then. */
SFTEST_FOR(test_random, 2)
{
  sftest_node_t node;
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  if (_i == 1)
    ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, NULL);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : JOBS); i++) {
    seed = sftest_hash2(random, (uint64_t)i);
    sftest_run_job(&node, 1 + (int32_t)(seed % SFTEST_GROUP_MAX), be_random, NULL);
  }
  sftest_node_stop(&node);
}

/* Over nodes between which bytes travel in random pieces. */
SFTEST_FOR(test_random_nodes, 2)
{
  sftest_loop_jobs(2 + _i, JOBS_OVER_NODES, be_random, &seed);
}

/* The same with large messages. */
SFTEST_FOR(test_random_large, 2)
{
  thickness = THICK;
  sftest_avoid_nans();
  sftest_loop_jobs(2 + _i, JOBS_OVER_NODES, be_random, &seed);
}

/* The same over MPI. */
SFTEST_FOR(test_random_mpi, 2)
{
  sftest_mpi_cluster_t cluster;
  int32_t places[SFTEST_GROUP_MAX];
  uint64_t random = sftest_seed();
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_use_seed(random);
  thickness = THICK;
  sftest_avoid_nans();
  sftest_mpi_cluster_start(&cluster, 2 + _i);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : JOBS); i++) {
    uint64_t placing = seed = sftest_hash2(random, (uint64_t)i);
    int32_t size = 2 + (int32_t)(seed % (SFTEST_GROUP_MAX - 1));
    sftest_places_random(places, size, cluster.n, &placing);
    sftest_run_over(cluster.nodes, places, size, be_random, NULL);
  }
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST_DEVICE_MAIN(true);

/* Operations on streams, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: random graphs with root and
 * leaf data on devices or the host as each rank likes, nobody waiting on the host for many operations, against the
 * model; with memory operations and without; and what happens to streams that wait when a rank, the daemon or a kernel
 * dies. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/fake_device.h"
#include "tests/system/loop_cluster.h"
#include "tests/system/model_graph.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define LIMIT_MS 30000
#define JOBS 4
#define SCENES 5
#define ROUNDS_MAX 12
#define PLACES SF_STREAMS_IN_FLIGHT
#define UNITS 100
#define UNIT_BYTES_MAX 48 /* three of the largest base type */

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* One side of an operation. */
typedef struct buffer {
  char *data; /* NULL: no bytes */
  size_t bytes;
  sf_region_t *region; /* NULL: memory of the host */
} buffer_t;

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  int device;
  void *stream;
  uint64_t random; /* the same on all ranks */
  uint64_t own;
  sftest_graph_t graph;
  sf_graph_t *real;
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
  sftest_operation_t operation = {.graph = &scene->graph, .seed = sftest_random(&scene->random)};
  operation.bcast = sftest_below(&scene->random, 2) == 0;
  operation.unit.base = (sftest_base_t)sftest_below(&scene->random, SFTEST_BASE_COUNT);
  operation.unit.count = 1 + sftest_below(&scene->random, 3);
  do
    operation.op = (sftest_op_t)sftest_below(&scene->random, SFTEST_OP_COUNT);
  while (!sftest_op_applies(operation.op, operation.unit.base));
  return operation;
}

/* The largest unit first: there is no room for a larger one while operations are in flight. */
static void make_room(const scene_t *scene, const buffer_t buffers[2])
{
  const sf_type_t *largest;
  SFTEST_OK(scene->self, sf_type_create_opaque(UNIT_BYTES_MAX, &largest));
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
      make_buffer(scene, &buffers[place][side], vertices * UNIT_BYTES_MAX, sftest_below(&scene->own, 3) > 0);
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
  sftest_graph_make(&scene->graph, sftest_random(&scene->random), size, 1 + sftest_below(&scene->random, 60));
  SFTEST_OK(scene->self, sftest_graph_create(&scene->graph, sf_group_world(scene->context),
                                             sftest_below(&scene->own, 2) == 0, SF_GRAPH_DEFAULT, &scene->real));
  scene->device = (int)sftest_below(&scene->own, SFTEST_DEVICES);
  scene->stream = sftest_device_stream(scene->device);
  play(scene, 1 + (int32_t)sftest_below(&scene->random, PLACES));
  SFTEST_OK(scene->self, sf_graph_destroy(scene->real));
  sftest_device_stream_free(scene->stream);
  sftest_graph_free(&scene->graph);
}

static uint64_t seed;

static int be_random(sftest_rank_t *self)
{
  scene_t scene = {.self = self, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
  if (sftest_below(&scene.own, 3) == 0)
    setenv(sftest_device_can_fail() ? "SFTEST_CUDA_MEMOPS" : "SF_STREAM_MEMOPS", "off", 1);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  scene.context = sftest_join(self);
  for (int i = 0; i < sftest_scale(SCENES); i++)
    play_scene(&scene);
  SFTEST_OK(self, sf_finalize(scene.context));
  return 0;
}

START_TEST(test_random)
{
  sftest_node_t node;
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  sftest_node_start(&node, NULL);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : JOBS); i++) {
    seed = sftest_hash2(random, (uint64_t)i);
    sftest_run_job(&node, 1 + (int32_t)(seed % SFTEST_GROUP_MAX), be_random, NULL);
  }
  sftest_node_stop(&node);
}
END_TEST

/* ---- A ring of devices ------------------------------------------------------------------------------------------- */

typedef struct ring {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  double *roots;
  double *leaves;
  sf_region_t *regions[2];
  double host[UNITS];
} ring_t;

static void make_ring(sftest_rank_t *self, ring_t *ring)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  ring->self = self;
  ring->context = sftest_join(self);
  ring->stream = sftest_device_stream(0);
  ring->roots = sftest_device_alloc(0, sizeof ring->host);
  ring->leaves = sftest_device_alloc(0, sizeof ring->host);
  SFTEST_OK(self, sf_register(ring->context, ring->roots, sizeof ring->host, SF_MEMORY_CUDA, &ring->regions[0]));
  SFTEST_OK(self, sf_register(ring->context, ring->leaves, sizeof ring->host, SF_MEMORY_CUDA, &ring->regions[1]));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(ring->context), UNITS, SF_GRAPH_DEFAULT, &ring->graph));
  for (int i = 0; i < UNITS; i++)
    ring->host[i] = 1000.0 * self->rank + i;
  sftest_device_copy(ring->roots, ring->host, sizeof ring->host);
}

static sf_status_t bcast_ring(const ring_t *ring)
{
  return sf_bcast_on_stream(ring->graph, SF_DOUBLE, ring->roots, ring->leaves, SF_REPLACE, ring->stream);
}

static void expect_leaves(ring_t *ring)
{
  int32_t next = (ring->self->rank + 1) % ring->self->size,
          before = (ring->self->rank + ring->self->size - 1) % ring->self->size;
  SFTEST_OK(ring->self, sf_streams_wait(ring->graph));
  sftest_device_copy(ring->host, ring->leaves, sizeof ring->host);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(ring->self, ring->host[i] == 1000.0 * next + i || ring->host[i] == 1000.0 * before + i);
}

/* The graph may have failed. */
static void free_ring(ring_t *ring)
{
  (void)sf_graph_destroy(ring->graph);
  (void)sf_unregister(ring->regions[0]);
  (void)sf_unregister(ring->regions[1]);
  (void)sf_finalize(ring->context);
  sftest_device_free(ring->roots);
  sftest_device_free(ring->leaves);
  sftest_device_stream_free(ring->stream);
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static void add_up(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)in, (void)inout, (void)n, (void)unit_bytes, (void)context;
}

static int be_refused(sftest_rank_t *self)
{
  ring_t ring;
  sf_streamed_t *some[SF_STREAMS_IN_FLIGHT + 1] = {NULL};
  const sf_op_t *op;
  const sf_type_t *block;
  sf_region_t *freed;
  make_ring(self, &ring);
  void *other = sftest_device_stream(1);
  double *elsewhere = sftest_device_alloc(1, sizeof ring.host);
  SFTEST_OK(self, sf_op_create(add_up, NULL, &op));
  SFTEST_EXPECT(self, sf_bcast_on_stream(NULL, SF_DOUBLE, ring.roots, ring.leaves, SF_SUM, ring.stream), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, op, ring.stream),
                SF_ERR_UNSUPPORTED);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_BAND, ring.stream),
                SF_ERR_ARG);
  SFTEST_OK(self, bcast_ring(&ring));
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots + 1, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, elsewhere, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_ARG);
  SFTEST_DETAIL(self, "not registered");
  SFTEST_OK(self, sf_register(ring.context, elsewhere, sizeof ring.host, SF_MEMORY_CUDA, &freed));
  sftest_device_free(elsewhere);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, elsewhere, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_STATE);
  SFTEST_DETAIL(self, "freed before sf_unregister");
  SFTEST_EXPECT(self, sf_unregister(freed), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_SUM, other), SF_ERR_ARG);
  SFTEST_DETAIL(self, "device 0");
  SFTEST_OK(self, sf_end_on_stream(&some[0], ring.stream));
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    SFTEST_OK(self, sf_bcast_begin_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, ring.stream,
                                             &some[i]));
  SFTEST_EXPECT(self,
                sf_bcast_begin_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, ring.stream,
                                         &some[SF_STREAMS_IN_FLIGHT]),
                SF_ERR_LIMIT);
  SFTEST_OK(self, sf_type_create_block(2, SF_DOUBLE, &block));
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, block, ring.roots, ring.leaves, SF_REPLACE, ring.stream),
                SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_graph_destroy(ring.graph), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_finalize(ring.context), SF_ERR_STATE);
  for (int i = SF_STREAMS_IN_FLIGHT - 1; i >= 0; i--)
    SFTEST_OK(self, sf_end_on_stream(&some[i], ring.stream));
  expect_leaves(&ring);
  SFTEST_OK(self, sf_type_destroy(block));
  SFTEST_OK(self, sf_op_destroy(op));
  free_ring(&ring);
  sftest_device_stream_free(other);
  return 0;
}

START_TEST(test_refusals)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, 3, be_refused, NULL);
  sftest_node_stop(&node);
}
END_TEST

/* ---- Ranks that differ ------------------------------------------------------------------------------------------- */

typedef enum differing { AT_FIRST, ODD_ONE_EARLY, ODD_ONE_LATE, DIFFERINGS } differing_t;

typedef struct difference {
  differing_t how;
  _Atomic int32_t ready; /* ranks that have begun what all call alike */
} difference_t;

/* The first operation of all agrees on room: who differs there is told, and all may try again. */
static void differ_at_first(ring_t *ring)
{
  bool odd = ring->self->rank == 0;
  SFTEST_EXPECT(
      ring->self,
      sf_bcast_on_stream(ring->graph, odd ? SF_DOUBLE : SF_FLOAT, ring->roots, ring->leaves, SF_REPLACE, ring->stream),
      SF_ERR_MISMATCH);
  SFTEST_DETAIL(ring->self, "rank 0 called bcast(double, replace)");
  SFTEST_DETAIL(ring->self, "called bcast(float, replace)");
  SFTEST_OK(ring->self, bcast_ring(ring));
  expect_leaves(ring);
}

/* One rank waits for the others to make more room, while they need none. */
static void differ_in_size(ring_t *ring, difference_t *difference)
{
  bool odd = ring->self->rank == 0;
  const sf_type_t *unit = odd ? SF_DOUBLE : SF_FLOAT;
  SFTEST_OK(ring->self, sf_bcast_on_stream(ring->graph, SF_FLOAT, ring->roots, ring->leaves, SF_SUM, ring->stream));
  difference->ready++;
  while (difference->ready < ring->self->size)
    sftest_sleep_ms(1);
  if (odd == (difference->how == ODD_ONE_LATE))
    sftest_sleep_ms(20);
  sf_status_t status = sf_bcast_on_stream(ring->graph, unit, ring->roots, ring->leaves, SF_REPLACE, ring->stream);
  SFTEST_REQUIRE(ring->self, status == SF_ERR_MISMATCH || (!odd && status == SF_OK));
  while (sf_streams_check(ring->graph) == SF_OK) /* until the one that has seen it tells */
    sftest_sleep_ms(1);
  SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), SF_ERR_MISMATCH);
  SFTEST_DETAIL(ring->self, "operation 2 on streams");
  SFTEST_DETAIL(ring->self, "rank 0 called bcast(double, replace)");
  SFTEST_DETAIL(ring->self, "called bcast(float, replace)");
}

static int differ(sftest_rank_t *self)
{
  ring_t ring;
  difference_t *difference = self->argument;
  make_ring(self, &ring);
  if (difference->how == AT_FIRST)
    differ_at_first(&ring);
  else
    differ_in_size(&ring, difference);
  free_ring(&ring);
  return 0;
}

START_TEST(test_differing)
{
  sftest_node_t node;
  difference_t *difference = sftest_shared(sizeof *difference);
  difference->how = (differing_t)_i;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, 4, differ, difference);
  sftest_node_stop(&node);
  sftest_shared_free(difference, sizeof *difference);
}
END_TEST

/* One rank can't pin its memory: all learn it, and it can be tried again. */
static int fail_to_pin(sftest_rank_t *self)
{
  ring_t ring;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuMemHostRegister:1", 1);
  make_ring(self, &ring);
  SFTEST_EXPECT(self, bcast_ring(&ring), SF_ERR_NOMEM);
  SFTEST_OK(self, bcast_ring(&ring));
  expect_leaves(&ring);
  free_ring(&ring);
  return 0;
}

START_TEST(test_no_pinning)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, 3, fail_to_pin, NULL);
  sftest_node_stop(&node);
}
END_TEST

/* Ranks without a driver: the text says what is missing. */
static int lack_driver(sftest_rank_t *self)
{
  double values[UNITS] = {0};
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_EXPECT(self, sf_bcast_on_stream(graph, SF_DOUBLE, values, values, SF_SUM, NULL), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "/nowhere/libsf_cuda.so");
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, values, values, SF_SUM));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
  return 0;
}

START_TEST(test_no_driver)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, 2, lack_driver, NULL);
  sftest_node_stop(&node);
}
END_TEST

/* Ranks of other nodes are not reached: all ranks learn it, and ordinary operations go on. */
static int reach_over(sftest_rank_t *self)
{
  ring_t ring;
  make_ring(self, &ring);
  SFTEST_EXPECT(self, bcast_ring(&ring), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "ranks of one node only");
  SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE));
  expect_leaves(&ring);
  free_ring(&ring);
  return 0;
}

START_TEST(test_nodes)
{
  static const int32_t places[] = {0, 0, 1};
  sftest_loop_cluster_t cluster;
  sftest_job_t job;
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  sftest_job_start_over(&job, cluster.nodes, places, 3, reach_over, NULL);
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  sftest_job_expect_all(&job);
  sftest_loop_cluster_stop(&cluster);
}
END_TEST

/* ---- Many graphs ------------------------------------------------------------------------------------------------- */

static int make_and_free(sftest_rank_t *self)
{
  ring_t ring;
  sf_graph_t *graph;
  int64_t live = 0;
  make_ring(self, &ring);
  for (int i = 0; i < sftest_scale(30); i++) {
    SFTEST_OK(self, sftest_ring_create(sf_group_world(ring.context), UNITS, SF_GRAPH_DEFAULT, &graph));
    for (int k = 0; k < 3; k++)
      SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, ring.stream));
    SFTEST_OK(self, sf_graph_destroy(graph)); /* waits for the stream */
    if (i == 0)
      live = sftest_device_live();
    SFTEST_REQUIRE(self, sftest_device_live() == live);
  }
  sftest_device_stream_finish(ring.stream);
  free_ring(&ring);
  return 0;
}

START_TEST(test_many)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, 2, make_and_free, NULL);
  sftest_node_stop(&node);
}
END_TEST

/* Rank 1 goes on with a graph that rank 0 has destroyed: the areas of the next one are others. */
static int go_on_alone(sftest_rank_t *self)
{
  ring_t ring;
  sf_graph_t *first, *second;
  sf_streamed_t *streamed;
  _Atomic int *step = self->argument;
  make_ring(self, &ring);
  first = ring.graph;
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, bcast_ring(&ring));
  expect_leaves(&ring);
  if (self->rank == 0)
    SFTEST_OK(self, sf_graph_destroy(first));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(ring.context), UNITS, SF_GRAPH_DEFAULT, &second));
  ring.graph = second;
  SFTEST_OK(self, bcast_ring(&ring));
  SFTEST_OK(self, sf_streams_wait(second));
  if (self->rank == 1) {
    SFTEST_OK(self, sf_bcast_begin_on_stream(first, SF_DOUBLE, ring.leaves, ring.leaves, SF_REPLACE, ring.stream,
                                             &streamed)); /* of rank 0's values */
    SFTEST_OK(self, sf_streams_wait(first));
    *step = 1;
    sftest_sleep_ms(20);
  }
  while (*step == 0)
    sftest_sleep_ms(1);
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    SFTEST_OK(self, bcast_ring(&ring));
  SFTEST_OK(self, sf_streams_wait(second));
  sftest_device_copy(ring.host, ring.leaves, sizeof ring.host);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, ring.host[i] == 1000.0 * (1 - self->rank) + i);
  (*step)++;
  while (*step < 3)
    sftest_sleep_ms(1);
  if (self->rank == 1)
    raise(SIGKILL); /* its first graph can't be ended any more */
  free_ring(&ring);
  return 0;
}

START_TEST(test_gone_graph)
{
  sftest_node_t node;
  sftest_job_t job;
  _Atomic int *step = sftest_shared(sizeof *step);
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, go_on_alone, step);
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  sftest_job_expect_success(&job, 0);
  sftest_node_stop(&node);
  sftest_shared_free(step, sizeof *step);
}
END_TEST

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

typedef enum fate { RANK_DIES, DAEMON_DIES, CALLS_DIFFER, KERNEL_FAILS, FATES } fate_t;

typedef struct plot {
  fate_t fate;
  bool memops;
  _Atomic int32_t waiting; /* ranks whose streams wait for what does not come, and rank 0 when it has seen them all */
} plot_t;

static sf_status_t expected_of(fate_t fate)
{
  return fate == RANK_DIES      ? SF_ERR_RANK_FAILED
         : fate == DAEMON_DIES  ? SF_ERR_DAEMON_LOST
         : fate == CALLS_DIFFER ? SF_ERR_MISMATCH
                                : SF_ERR_SYS;
}

/* Rank 0 begins nothing more: the others' streams wait, until they are let go. */
static void play_fate(ring_t *ring, plot_t *plot)
{
  sf_streamed_t *streamed = NULL;
  if (ring->self->rank > 0) {
    sf_status_t status = SF_OK;
    for (int i = 0; i < 7 && status == SF_OK; i++)
      status = bcast_ring(ring);
    SFTEST_REQUIRE(ring->self, status == SF_OK || status == expected_of(plot->fate));
    plot->waiting++;
    sftest_device_stream_finish(ring->stream);
    SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), expected_of(plot->fate));
    SFTEST_EXPECT(ring->self, bcast_ring(ring), expected_of(plot->fate));
    return;
  }
  while (plot->waiting < ring->self->size - 1)
    sftest_sleep_ms(1);
  plot->waiting++;
  if (plot->fate == RANK_DIES)
    raise(SIGKILL);
  if (plot->fate == CALLS_DIFFER)
    SFTEST_EXPECT(
        ring->self,
        sf_reduce_begin_on_stream(ring->graph, SF_DOUBLE, ring->leaves, ring->roots, SF_SUM, ring->stream, &streamed),
        SF_ERR_MISMATCH);
  if (plot->fate == KERNEL_FAILS)
    SFTEST_EXPECT(ring->self, bcast_ring(ring), SF_ERR_SYS);
  while (sf_streams_check(ring->graph) == SF_OK) /* DAEMON_DIES */
    sftest_sleep_ms(1);
}

static int meet_fate(sftest_rank_t *self)
{
  ring_t ring;
  plot_t *plot = self->argument;
  if (!plot->memops)
    setenv("SF_STREAM_MEMOPS", "off", 1);
  if (plot->fate == KERNEL_FAILS && self->rank == 0) /* the first one behind three operations */
    setenv("SFTEST_CUDA_FAIL", plot->memops ? "cuLaunchKernel:7" : "cuLaunchKernel:13", 1);
  make_ring(self, &ring);
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, bcast_ring(&ring));
  expect_leaves(&ring);
  play_fate(&ring, plot);
  free_ring(&ring);
  return 0;
}

static void run_fate(fate_t fate, bool memops)
{
  sftest_node_t node;
  sftest_job_t job;
  plot_t *plot = sftest_shared(sizeof *plot);
  plot->fate = fate;
  plot->memops = memops;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 3, meet_fate, plot);
  if (fate == DAEMON_DIES) {
    while (plot->waiting < 3)
      sftest_sleep_ms(1);
    sftest_node_kill(&node);
  }
  sftest_job_wait(&job, sftest_limit_ms(LIMIT_MS));
  for (int32_t rank = fate == RANK_DIES; rank < 3; rank++)
    sftest_job_expect_success(&job, rank);
  sftest_node_stop(&node);
  sftest_shared_free(plot, sizeof *plot);
}

START_TEST(test_fates)
{
  run_fate((fate_t)(_i / 2), _i % 2 == 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("streams");
  TCase *tests = tcase_create("streams");
  tcase_add_test(tests, test_no_driver);
  if (sftest_device_is_there()) {
    tcase_add_test(tests, test_random);
    tcase_add_test(tests, test_refusals);
    tcase_add_loop_test(tests, test_differing, 0, DIFFERINGS);
    tcase_add_test(tests, test_nodes);
    tcase_add_test(tests, test_many);
    tcase_add_test(tests, test_gone_graph);
    tcase_add_loop_test(tests, test_fates, 0, sftest_device_can_fail() ? 2 * FATES : 2 * KERNEL_FAILS);
  }
  if (sftest_device_is_there() && sftest_device_can_fail())
    tcase_add_test(tests, test_no_pinning);
  if (!sftest_device_is_there())
    printf("note: the CUDA plugin was not built: only its absence is tested\n");
  suite_add_tcase(suite, tests);
  return sftest_run(suite);
}

/* Gather, scatter and fetch_op on streams, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: random graphs
 * on one node and over two, slots and leaves on a device or the host as each rank likes, against the model; and what
 * becomes of the graph if the streams of its multi-graph fail. */
#include "tests/system/buffers.h"
#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/model/gather.h"
#include "tests/system/model/operation.h"
#include "tests/system/work.h"

#define JOBS 3
#define SCENES 4
#define ROUNDS 6
#define UNIT_BYTES_MAX 48 /* three of the largest base type */

static uint64_t seed;

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  void *stream;
  uint64_t random; /* the same on all ranks */
  uint64_t own;
  sftest_slots_t model;
} scene_t;

static sftest_gather_t choose(scene_t *scene)
{
  sftest_gather_t act = {.model = &scene->model, .seed = sftest_random(&scene->random), .op = 0};
  act.kind = (sftest_kind_t)sftest_below(&scene->random, KIND_FETCH + 1);
  act.unit.base = (sftest_base_t)sftest_below(&scene->random, SFTEST_BASE_COUNT);
  act.unit.count = 1 + sftest_below(&scene->random, 3);
  act.own_op = act.kind == KIND_FETCH && sftest_below(&scene->random, 5) == 0;
  act.one_array = act.kind == KIND_FETCH && sftest_below(&scene->random, 4) == 0;
  while (act.kind == KIND_FETCH && !act.own_op && !sftest_op_applies(act.op, act.unit.base))
    act.op = (sftest_op_t)sftest_below(&scene->random, SFTEST_OP_COUNT);
  return act;
}

/* Roots that an op of the application combines are on the host. */
static void make(scene_t *scene, const sftest_gather_t *act, sftest_place_t place, sftest_buffer_t *buffer)
{
  int64_t bytes = sftest_gather_vertices(act, place, scene->self->rank) * (int64_t)sftest_unit_size(act->unit);
  bool on_device = sftest_below(&scene->own, 3) > 0 && !(act->own_op && place == PLACE_ROOTS);
  sftest_buffer_make(scene->self, scene->context, on_device ? SFTEST_DEVICE : SFTEST_PLAIN, bytes, 0, buffer);
  sftest_gather_fill(act, place, scene->self->rank, buffer->view);
  sftest_buffer_put(buffer);
}

static void check(const scene_t *scene, const sftest_gather_t *act, sftest_place_t place, sftest_buffer_t *buffer)
{
  static const char *const kinds[] = {"gather", "scatter", "fetch_op"};
  static const char *const places[] = {"roots", "slots", "leaves", "fetched values"};
  char *expected = malloc((size_t)buffer->bytes + 1), text[80];
  sftest_gather_expect(act, place, scene->self->rank, expected);
  sftest_buffer_get(buffer);
  int64_t byte = sftest_first_difference(buffer->view, expected, buffer->bytes);
  sftest_describe(act->unit, act->op, text, sizeof text);
  sftest_require(scene->self, byte < 0, __FILE__, __LINE__, "%s of %s%s: %s differ from byte %lld on", kinds[act->kind],
                 text, act->own_op ? " (own op)" : "", places[place], (long long)byte);
  free(expected);
  sftest_buffer_free(scene->self, buffer);
}

/* An operation, begun. */
typedef struct round {
  sftest_gather_t act;
  const sf_type_t *type;
  const sf_op_t *op;
  sftest_buffer_t buffers[PLACE_COUNT];
  sf_streamed_t *streamed;
} round_t;

static void begin(scene_t *scene, round_t *round)
{
  round->act = choose(scene);
  const sftest_gather_t *act = &round->act;
  sf_graph_t *graph = scene->model.real;
  sf_streamed_t **streamed = &round->streamed;
  round->type = sftest_unit_make(act->unit);
  round->op = sftest_op_handle(act->op);
  if (act->own_op)
    SFTEST_OK(scene->self, sf_op_create(sftest_mix, &sftest_mix_by, &round->op));
  for (int place = 0; place < PLACE_COUNT; place++)
    make(scene, act, (sftest_place_t)place, &round->buffers[place]);
  void *slots = round->buffers[PLACE_SLOTS].data, *leaves = round->buffers[PLACE_LEAVES].data;
  if (act->kind == KIND_GATHER)
    SFTEST_OK(scene->self, sf_gather_begin_on_stream(graph, round->type, leaves, slots, scene->stream, streamed));
  else if (act->kind == KIND_SCATTER)
    SFTEST_OK(scene->self, sf_scatter_begin_on_stream(graph, round->type, slots, leaves, scene->stream, streamed));
  else
    SFTEST_OK(scene->self,
              sf_fetch_op_begin_on_stream(graph, round->type, round->buffers[PLACE_ROOTS].data, leaves,
                                          round->buffers[act->one_array ? PLACE_LEAVES : PLACE_UPDATE].data, round->op,
                                          scene->stream, streamed));
}

static void check_and_free(const scene_t *scene, round_t *round)
{
  for (int place = 0; place < PLACE_COUNT; place++)
    check(scene, &round->act, (sftest_place_t)place, &round->buffers[place]);
  SFTEST_OK(scene->self, sf_type_destroy(round->type));
  if (round->act.own_op)
    SFTEST_OK(scene->self, sf_op_destroy(round->op));
}

/* The largest unit first: there is no room for a larger one while operations are in flight. */
static void make_room(const scene_t *scene)
{
  const sf_type_t *largest;
  char none[1024 * UNIT_BYTES_MAX];
  SFTEST_OK(scene->self, sf_type_create_opaque(UNIT_BYTES_MAX, &largest));
  SFTEST_OK(scene->self,
            sf_fetch_op_on_stream(scene->model.real, largest, none, none, none, SF_REPLACE, scene->stream));
  SFTEST_OK(scene->self, sf_streams_wait(scene->model.real));
  SFTEST_OK(scene->self, sf_type_destroy(largest));
}

/* One after the other, or two at once that are ended in any order. */
static void play(scene_t *scene)
{
  round_t rounds[2];
  int at_once = 1 + (int)sftest_below(&scene->random, 2), first = (int)sftest_below(&scene->own, at_once);
  if (at_once > 1)
    make_room(scene);
  for (int i = 0; i < ROUNDS; i += at_once) {
    for (int k = 0; k < at_once; k++)
      begin(scene, &rounds[k]);
    for (int k = 0; k < at_once; k++)
      SFTEST_OK(scene->self, sf_end_on_stream(&rounds[(k + first) % at_once].streamed, scene->stream));
    SFTEST_OK(scene->self, sf_streams_wait(scene->model.real));
    for (int k = 0; k < at_once; k++)
      check_and_free(scene, &rounds[k]);
  }
}

SFTEST_JOB(test_random, 2, sftest_loop_jobs(1 + _i, JOBS, ranks, &seed))
{
  scene_t scene = {.self = self, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
  SFTEST_REQUIRE(self, sftest_device_is_there());
  scene.context = sftest_join(self);
  scene.stream = sftest_device_stream(0);
  for (int i = 0; i < sftest_scale(SCENES); i++) {
    sftest_graph_make(&scene.model.graph, sftest_random(&scene.random), self->size,
                      1 + sftest_below(&scene.random, 40));
    sftest_slots_number(&scene.model);
    SFTEST_OK(self, sftest_graph_create(&scene.model.graph, sf_group_world(scene.context), true, SF_GRAPH_DEFAULT,
                                        &scene.model.real));
    play(&scene);
    SFTEST_OK(self, sf_graph_destroy(scene.model.real));
    sftest_slots_free(&scene.model);
  }
  sftest_device_stream_free(scene.stream);
  sftest_leave(self, scene.context);
}

/* ---- Ranks that differ ------------------------------------------------------------------------------------------- */

/* Of two nodes, one gathers and the other scatters: all are told, of the graph itself. */
static void differ(sftest_rank_t *self)
{
  double values[100] = {0};
  sf_graph_t *graph;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  void *stream = sftest_device_stream(0);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 100, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_gather_on_stream(graph, SF_DOUBLE, values, values, stream));
  sf_status_t status = self->rank == 0 ? sf_gather_on_stream(graph, SF_DOUBLE, values, values, stream)
                                       : sf_scatter_on_stream(graph, SF_DOUBLE, values, values, stream);
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_MISMATCH);
  SFTEST_SLEEP_WHILE(sf_streams_check(graph) == SF_OK);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, values, values, SF_SUM), SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "operation 2 on streams");
  SFTEST_DETAIL(self, "called gather(double, replace)");
  SFTEST_DETAIL(self, "called scatter(double, replace)");
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  sftest_device_stream_free(stream);
}

SFTEST(test_differing)
{
  sftest_loop_run_alone(2, (const int32_t[]){0, 1, 1}, 3, differ, NULL);
}

SFTEST_DEVICE_MAIN(true);

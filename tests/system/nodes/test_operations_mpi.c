/* Operations called by the host whose data are on devices, over nodes: all kinds on random graphs against the model,
 * each rank's data on devices or the host as it likes, some operations at a time. Over a fabric within one process,
 * which the sanitizers can watch, and over MPI. */
#include "tests/system/buffers.h"
#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/model/gather.h"
#include "tests/system/model/operation.h"
#include "tests/system/mpi_cluster.h"

#define JOBS 2
#define MPI_JOBS 1
#define SCENES 2
#define ROUNDS 24
#define AT_ONCE 6 /* more than there are slots */
#define THICK 200 /* so that messages are large */
#define UNIT_BYTES_MAX (48 * THICK)

static uint64_t seed;

/* ---- One operation ----------------------------------------------------------------------------------------------- */

/* Of either model. */
typedef struct round {
  bool of_graph; /* bcast or reduce: */
  sftest_operation_t operation;
  sftest_gather_t act; /* else */
  const sf_type_t *type;
  const sf_op_t *op;
  sftest_buffer_t buffers[PLACE_COUNT];
  sf_request_t *request;
} round_t;

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  int device;      /* where most of the rank's data are */
  uint64_t random; /* the same on all ranks */
  uint64_t own;
  bool combined;
  sftest_slots_t model;
  round_t rounds[AT_ONCE];
} scene_t;

static sftest_unit_t choose_unit(uint64_t *random)
{
  sftest_unit_t unit = {.base = (sftest_base_t)sftest_below(random, SFTEST_BASE_COUNT)};
  unit.count = (sftest_below(random, 6) == 0 ? 1 : THICK) * (1 + sftest_below(random, 3));
  return unit;
}

static sftest_op_t choose_op(uint64_t *random, sftest_base_t base)
{
  sftest_op_t op;
  do
    op = (sftest_op_t)sftest_below(random, SFTEST_OP_COUNT);
  while (!sftest_op_applies(op, base));
  return op;
}

static void choose(scene_t *scene, round_t *round)
{
  uint64_t *random = &scene->random;
  sftest_unit_t unit = choose_unit(random);
  *round = (round_t){.of_graph = sftest_below(random, 2) == 0, .type = sftest_unit_make(unit)};
  if (round->of_graph) {
    round->operation = (sftest_operation_t){.graph = &scene->model.graph,
                                            .bcast = sftest_below(random, 2) == 0,
                                            .unit = unit,
                                            .op = choose_op(random, unit.base),
                                            .seed = sftest_random(random),
                                            .places = scene->combined ? scene->self->places : NULL};
    round->op = sftest_op_handle(round->operation.op);
    return;
  }
  sftest_gather_t *act = &round->act;
  *act = (sftest_gather_t){.kind = (sftest_kind_t)sftest_below(random, KIND_COUNT),
                           .model = &scene->model,
                           .unit = unit,
                           .op = choose_op(random, unit.base),
                           .seed = sftest_random(random)};
  act->own_op =
      act->kind == KIND_REDUCE || act->kind == KIND_BCAST || (act->kind == KIND_FETCH && sftest_below(random, 5) == 0);
  act->one_array = act->kind == KIND_FETCH && sftest_below(random, 4) == 0;
  if (act->own_op)
    SFTEST_OK(scene->self, sf_op_create(sftest_mix, &sftest_mix_by, &round->op));
  else
    round->op = sftest_op_handle(act->op);
}

static int64_t vertices_of(const scene_t *scene, const round_t *round, sftest_place_t place)
{
  if (!round->of_graph)
    return sftest_gather_vertices(&round->act, place, scene->self->rank);
  if (place != PLACE_ROOTS && place != PLACE_LEAVES)
    return 0;
  return sftest_operation_vertices(&round->operation, place == PLACE_ROOTS ? SFTEST_ROOTS : SFTEST_LEAVES,
                                   scene->self->rank);
}

static void fill(const scene_t *scene, const round_t *round, sftest_place_t place, char *array)
{
  int32_t rank = scene->self->rank;
  if (round->of_graph)
    sftest_operation_fill(&round->operation, place == PLACE_ROOTS ? SFTEST_ROOTS : SFTEST_LEAVES, rank, array);
  else
    sftest_gather_fill(&round->act, place, rank, array);
}

/* Mostly on one device, also of another one, or of the host. */
static void make_buffer(scene_t *scene, const round_t *round, sftest_place_t place, sftest_buffer_t *buffer)
{
  sftest_unit_t unit = round->of_graph ? round->operation.unit : round->act.unit;
  int64_t bytes = vertices_of(scene, round, place) * (int64_t)sftest_unit_size(unit);
  uint64_t random = sftest_random(&scene->own), low = (UINT64_C(1) << 40) - 1;
  sftest_memory_t memory = sftest_below(&scene->own, 12) > 0
                               ? SFTEST_DEVICE + (sftest_memory_t)sftest_below(&scene->own, 2)
                               : (sftest_memory_t)sftest_below(&scene->own, SFTEST_HOST_MEMORY_COUNT);
  if (sftest_below(&scene->own, 12) > 0)
    random = (random & low) | (uint64_t)scene->device << 40;
  sftest_buffer_make(scene->self, scene->context, memory, bytes, random, buffer);
  if (bytes > 0) {
    fill(scene, round, place, buffer->view);
    sftest_buffer_put(buffer);
  }
}

static sf_status_t begin_act(const scene_t *scene, round_t *round)
{
  sf_graph_t *graph = scene->model.real;
  void *roots = round->buffers[PLACE_ROOTS].data, *leaves = round->buffers[PLACE_LEAVES].data;
  void *slots = round->buffers[PLACE_SLOTS].data;
  void *update = round->act.one_array ? leaves : round->buffers[PLACE_UPDATE].data;
  sftest_kind_t kind = round->of_graph ? (round->operation.bcast ? KIND_BCAST : KIND_REDUCE) : round->act.kind;
  switch (kind) {
  case KIND_GATHER:
    return sf_gather_begin(graph, round->type, leaves, slots, &round->request);
  case KIND_SCATTER:
    return sf_scatter_begin(graph, round->type, slots, leaves, &round->request);
  case KIND_FETCH:
    return sf_fetch_op_begin(graph, round->type, roots, leaves, update, round->op, &round->request);
  case KIND_REDUCE:
    return sf_reduce_begin(graph, round->type, leaves, roots, round->op, &round->request);
  default:
    return sf_bcast_begin(graph, round->type, roots, leaves, round->op, &round->request);
  }
}

static void begin(scene_t *scene, round_t *round)
{
  choose(scene, round);
  for (int place = 0; place < PLACE_COUNT; place++)
    make_buffer(scene, round, (sftest_place_t)place, &round->buffers[place]);
  SFTEST_OK(scene->self, begin_act(scene, round));
}

static void describe(const round_t *round, char *text, size_t size)
{
  static const char *const kinds[] = {"gather", "scatter", "fetch_op", "reduce", "bcast"};
  char unit[80];
  if (round->of_graph)
    sftest_describe(round->operation.unit, round->operation.op, unit, sizeof unit);
  else
    sftest_describe(round->act.unit, round->act.op, unit, sizeof unit);
  snprintf(text, size, "%s of %s%s", kinds[round->of_graph ? 4 - !round->operation.bcast : (int)round->act.kind], unit,
           !round->of_graph && round->act.own_op ? " (own op)" : "");
}

static void check(const scene_t *scene, const round_t *round, sftest_place_t place, const sftest_buffer_t *buffer)
{
  sftest_place_t target = round->of_graph && round->operation.bcast ? PLACE_LEAVES : PLACE_ROOTS;
  char *expected = malloc((size_t)buffer->bytes + 1), text[200];
  if (round->of_graph) {
    fill(scene, round, place, expected);
    if (place == target)
      sftest_operation_apply(&round->operation, scene->self->rank, expected);
  } else {
    sftest_gather_expect(&round->act, place, scene->self->rank, expected);
  }
  sftest_buffer_get(buffer);
  int64_t byte = sftest_first_difference(buffer->view, expected, buffer->bytes);
  describe(round, text, sizeof text);
  sftest_require(scene->self, byte < 0, __FILE__, __LINE__, "%s: array %d, in %s memory, differs from byte %lld on",
                 text, (int)place, sftest_memory_name(buffer->memory), (long long)byte);
  free(expected);
}

static void end(scene_t *scene, round_t *round)
{
  char text[200];
  bool done = sftest_below(&scene->own, 2) == 0;
  describe(round, text, sizeof text);
  sftest_at(scene->self, "end of %s", text);
  if (done)
    SFTEST_OK(scene->self, sf_wait(&round->request));
  while (!done)
    SFTEST_OK(scene->self, sf_test(&round->request, &done));
  for (int place = 0; place < PLACE_COUNT; place++) {
    if (round->buffers[place].bytes > 0)
      check(scene, round, (sftest_place_t)place, &round->buffers[place]);
    sftest_buffer_free(scene->self, &round->buffers[place]);
  }
  SFTEST_OK(scene->self, sf_type_destroy(round->type));
  if (!round->of_graph && round->act.own_op)
    SFTEST_OK(scene->self, sf_op_destroy(round->op));
}

/* ---- Many -------------------------------------------------------------------------------------------------------- */

static void play(scene_t *scene)
{
  int at_once = 1 + (int)sftest_below(&scene->random, AT_ONCE);
  for (int i = 0; i + at_once <= sftest_scale(ROUNDS); i += at_once) {
    for (int k = 0; k < at_once; k++)
      begin(scene, &scene->rounds[k]);
    int shift = (int)sftest_below(&scene->own, at_once);
    for (int k = 0; k < at_once; k++)
      end(scene, &scene->rounds[(k + shift) % at_once]);
  }
}

static void play_scene(scene_t *scene)
{
  sftest_rank_t *self = scene->self;
  scene->combined = sftest_below(&scene->random, 2) == 0;
  scene->device =
      (int)sftest_below(sftest_below(&scene->random, 2) == 0 ? &scene->own : &scene->random, SFTEST_DEVICES);
  sftest_graph_make(&scene->model.graph, sftest_random(&scene->random), self->size,
                    10 + sftest_below(&scene->random, 50));
  sftest_slots_number(&scene->model);
  SFTEST_OK(self, sftest_graph_create(&scene->model.graph, sf_group_world(scene->context), true,
                                      scene->combined ? SF_GRAPH_DEFAULT : SF_GRAPH_REPRODUCIBLE, &scene->model.real));
  if (sftest_below(&scene->random, 4) > 0)
    play(scene);
  SFTEST_OK(self, sf_graph_destroy(scene->model.real));
  sftest_slots_free(&scene->model);
}

static void be_random(sftest_rank_t *self)
{
  scene_t *scene = malloc(sizeof *scene);
  *scene = (scene_t){.self = self, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
  SFTEST_REQUIRE(self, sftest_device_is_there());
  scene->context = sftest_join(self);
  for (int i = 0; i < sftest_scale(SCENES); i++)
    play_scene(scene);
  sftest_leave(self, scene->context);
  free(scene);
}

static void run_job(const sftest_node_t nodes[], int32_t nnodes, uint64_t job_seed)
{
  int32_t places[SFTEST_GROUP_MAX];
  uint64_t placing = seed = job_seed;
  int32_t size = 2 + (int32_t)(seed % (SFTEST_GROUP_MAX - 1));
  sftest_places_random(places, size, nnodes, &placing);
  sftest_run_over(nodes, places, size, be_random, NULL);
}

SFTEST_FOR(test_loop, 2)
{
  sftest_loop_cluster_t cluster;
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  sftest_avoid_nans();
  sftest_loop_cluster_start(&cluster, 2 + _i, 1, random | 1);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : JOBS); i++)
    run_job(cluster.nodes, cluster.n, sftest_hash2(random, (uint64_t)i));
  sftest_loop_cluster_stop(&cluster);
}

/* With workers of the daemons, which take what comes for the host to the host only. */
SFTEST_FOR(test_mpi, 2)
{
  sftest_mpi_cluster_t cluster;
  uint64_t random = sftest_seed();
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_use_seed(random);
  setenv("SFD_OFFLOAD_WORKERS", "2", 1);
  sftest_avoid_nans();
  sftest_mpi_cluster_start(&cluster, 2 + _i);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : MPI_JOBS); i++)
    run_job(cluster.nodes, cluster.n, sftest_hash2(random, (uint64_t)i));
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST_DEVICE_MAIN(true);

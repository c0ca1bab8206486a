/* Gather, scatter and fetch_op, and operations with ops of the application, on random graphs, in every form, with every
 * unit and op, compared bit by bit with a serial model, on one node and over several, with the ranks placed in every
 * way; and what the library tells of the edges that they depend on. Each job does a few random cases, all functions of
 * one seed. */
#include <sys/resource.h>

#include "tests/system/buffers.h"
#include "tests/system/cluster.h"
#include "tests/system/forms.h"
#include "tests/system/model/gather.h"
#include "tests/system/model/operation.h"

#define GRAPHS_MAX 2
#define ACTS_MAX 12
#define CASES 8 /* of one job */
#define BYTES_MAX 200000

/* An operation on this rank. */
typedef struct act {
  sftest_gather_t what;
  const sf_type_t *type;
  const sf_op_t *handle;
  sftest_buffer_t buffers[PLACE_COUNT];
} act_t;

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_group_t *group;
  int32_t rank;
  uint64_t random; /* the same on all ranks */
  uint64_t own;    /* this rank's own choices */
  sftest_form_t form;
  int32_t nmodels;
  sftest_slots_t models[GRAPHS_MAX];
  int32_t nacts;
  act_t acts[ACTS_MAX];
} scene_t;

/* ---- One operation ----------------------------------------------------------------------------------------------- */

static int64_t choose_count(uint64_t *random, sftest_base_t base)
{
  int64_t size = (int64_t)sftest_base_size(base);
  switch (sftest_below(random, 12)) {
  case 0:
    return 1000;
  case 1:
    return 40000 / size + 1 + sftest_below(random, 100);
  case 2:
  case 3:
    return 1 + sftest_below(random, 9);
  default:
    return 1;
  }
}

static void choose(scene_t *scene, act_t *act)
{
  uint64_t *random = &scene->random;
  const sftest_slots_t *model = &scene->models[sftest_below(random, scene->nmodels)];
  int64_t most = 1;
  *act = (act_t){.what = {.kind = (sftest_kind_t)sftest_below(random, KIND_COUNT), .model = model}};
  act->what.own_op = act->what.kind == KIND_REDUCE || act->what.kind == KIND_BCAST ||
                     (act->what.kind == KIND_FETCH && sftest_below(random, 3) == 0);
  act->what.commutative = sftest_below(random, 2) == 0;
  act->what.one_array = act->what.kind == KIND_FETCH && sftest_below(random, 4) == 0;
  for (int32_t rank = 0; rank < model->graph.size; rank++)
    for (int place = 0; place < PLACE_UPDATE; place++)
      most = sftest_gather_vertices(&act->what, (sftest_place_t)place, rank) > most
                 ? sftest_gather_vertices(&act->what, (sftest_place_t)place, rank)
                 : most;
  do {
    act->what.unit.base = (sftest_base_t)sftest_below(random, SFTEST_BASE_COUNT);
    act->what.unit.count = choose_count(random, act->what.unit.base);
  } while (act->what.unit.count > 1 && (int64_t)sftest_unit_size(act->what.unit) * most > BYTES_MAX);
  do {
    act->what.op = (sftest_op_t)sftest_below(random, SFTEST_OP_COUNT);
  } while (!sftest_op_applies(act->what.op, act->what.unit.base));
}

static void make_act(scene_t *scene, act_t *act)
{
  size_t unit_bytes = sftest_unit_size(act->what.unit);
  act->type = sftest_unit_make(act->what.unit);
  act->handle = sftest_op_handle(act->what.op);
  if (act->what.own_op && act->what.commutative)
    SFTEST_OK(scene->self, sf_op_create(sftest_add, NULL, &act->handle));
  else if (act->what.own_op)
    SFTEST_OK(scene->self, sf_op_create(sftest_mix, &sftest_mix_by, &act->handle));
  for (int place = 0; place < PLACE_COUNT; place++)
    sftest_buffer_make(scene->self, scene->context, (sftest_memory_t)sftest_below(&scene->own, sftest_memory_count()),
                       sftest_gather_vertices(&act->what, (sftest_place_t)place, scene->rank) * (int64_t)unit_bytes,
                       sftest_random(&scene->own), &act->buffers[place]);
}

static void free_act(scene_t *scene, act_t *act)
{
  SFTEST_OK(scene->self, sf_type_destroy(act->type));
  if (act->what.own_op)
    SFTEST_OK(scene->self, sf_op_destroy(act->handle));
  for (int place = 0; place < PLACE_COUNT; place++)
    sftest_buffer_free(scene->self, &act->buffers[place]);
}

static const char *name_of(const void *test, int32_t i)
{
  static const char *const kinds[] = {"gather", "scatter", "fetch_op", "reduce", "bcast"};
  return kinds[((const scene_t *)test)->acts[i].what.kind];
}

static void fill(void *test, int32_t i, uint64_t seed)
{
  scene_t *scene = test;
  act_t *act = &scene->acts[i];
  act->what.seed = seed;
  for (int place = 0; place < PLACE_COUNT; place++)
    sftest_gather_fill(&act->what, (sftest_place_t)place, scene->rank, act->buffers[place].view);
  for (int place = 0; place < PLACE_COUNT; place++)
    sftest_buffer_put(&act->buffers[place]);
}

static void check(void *test, int32_t i)
{
  scene_t *scene = test;
  const act_t *act = &scene->acts[i];
  static const char *const places[] = {"root", "slot", "leaf", "leafupdate"};
  char text[80];
  sftest_describe(act->what.unit, act->what.op, text, sizeof text);
  for (int place = 0; place < PLACE_COUNT; place++) {
    int64_t unit_bytes = (int64_t)sftest_unit_size(act->what.unit);
    int64_t bytes = sftest_gather_vertices(&act->what, (sftest_place_t)place, scene->rank) * unit_bytes;
    char *expected = malloc((size_t)bytes + 1);
    sftest_gather_expect(&act->what, (sftest_place_t)place, scene->rank, expected);
    sftest_buffer_get(&act->buffers[place]);
    int64_t byte = sftest_first_difference(act->buffers[place].view, expected, bytes);
    sftest_require(scene->self, byte < 0, __FILE__, __LINE__,
                   "%s, %s%s, form %d, operation %d of %d: group rank %d of %d, %s %lld, byte %lld differs",
                   name_of(scene, i), text, act->what.own_op ? " (own op)" : "", (int)scene->form, i, scene->nacts,
                   scene->rank, act->what.model->graph.size, places[place], (long long)(byte / unit_bytes),
                   (long long)(byte % unit_bytes));
    free(expected);
  }
}

typedef struct arrays {
  char *roots, *slots, *leaves, *update;
} arrays_t;

static arrays_t arrays_of(const act_t *act)
{
  return (arrays_t){act->buffers[PLACE_ROOTS].data, act->buffers[PLACE_SLOTS].data, act->buffers[PLACE_LEAVES].data,
                    act->buffers[act->what.one_array ? PLACE_LEAVES : PLACE_UPDATE].data};
}

static sf_status_t call(void *test, int32_t i)
{
  const act_t *act = &((const scene_t *)test)->acts[i];
  arrays_t a = arrays_of(act);
  sf_graph_t *graph = act->what.model->real;
  switch (act->what.kind) {
  case KIND_GATHER:
    return sf_gather(graph, act->type, a.leaves, a.slots);
  case KIND_SCATTER:
    return sf_scatter(graph, act->type, a.slots, a.leaves);
  case KIND_FETCH:
    return sf_fetch_op(graph, act->type, a.roots, a.leaves, a.update, act->handle);
  case KIND_REDUCE:
    return sf_reduce(graph, act->type, a.leaves, a.roots, act->handle);
  default:
    return sf_bcast(graph, act->type, a.roots, a.leaves, act->handle);
  }
}

static sf_status_t begin(void *test, int32_t i, sf_request_t **request_p)
{
  const act_t *act = &((const scene_t *)test)->acts[i];
  arrays_t a = arrays_of(act);
  sf_graph_t *graph = act->what.model->real;
  switch (act->what.kind) {
  case KIND_GATHER:
    return sf_gather_begin(graph, act->type, a.leaves, a.slots, request_p);
  case KIND_SCATTER:
    return sf_scatter_begin(graph, act->type, a.slots, a.leaves, request_p);
  case KIND_FETCH:
    return sf_fetch_op_begin(graph, act->type, a.roots, a.leaves, a.update, act->handle, request_p);
  case KIND_REDUCE:
    return sf_reduce_begin(graph, act->type, a.leaves, a.roots, act->handle, request_p);
  default:
    return sf_bcast_begin(graph, act->type, a.roots, a.leaves, act->handle, request_p);
  }
}

static sf_status_t init(void *test, int32_t i, sf_request_t **request_p)
{
  const act_t *act = &((const scene_t *)test)->acts[i];
  arrays_t a = arrays_of(act);
  sf_graph_t *graph = act->what.model->real;
  switch (act->what.kind) {
  case KIND_GATHER:
    return sf_gather_init(graph, act->type, a.leaves, a.slots, request_p);
  case KIND_SCATTER:
    return sf_scatter_init(graph, act->type, a.slots, a.leaves, request_p);
  case KIND_FETCH:
    return sf_fetch_op_init(graph, act->type, a.roots, a.leaves, a.update, act->handle, request_p);
  case KIND_REDUCE:
    return sf_reduce_init(graph, act->type, a.leaves, a.roots, act->handle, request_p);
  default:
    return sf_bcast_init(graph, act->type, a.roots, a.leaves, act->handle, request_p);
  }
}

static const sftest_operations_t operations = {
    .name = name_of, .fill = fill, .call = call, .begin = begin, .init = init, .check = check};

/* Where several operations are in flight the multi-graphs have to be there. */
static void make_multis(scene_t *scene)
{
  sf_graph_t *multi;
  for (int32_t i = 0; i < scene->nmodels; i++)
    SFTEST_OK(scene->self, sf_graph_multi(scene->models[i].real, &multi));
}

static void play(scene_t *scene)
{
  sftest_play_t play = {.self = scene->self,
                        .operations = &operations,
                        .test = scene,
                        .form = scene->form,
                        .n = scene->nacts,
                        .keep_requests = sftest_below(&scene->random, 2) == 0,
                        .random = &scene->random,
                        .own = sftest_random(&scene->own)};
  if (scene->form != SFTEST_BLOCKING && scene->form != SFTEST_PERSISTENT)
    make_multis(scene);
  sftest_play(&play);
}

/* ---- A case ------------------------------------------------------------------------------------------------------ */

/* The world, or a group of some ranks backwards that is destroyed while its graphs are still there. */
static sf_group_t *choose_group(scene_t *scene)
{
  int32_t world = scene->self->size, ranks[SFTEST_GROUP_MAX], n = 0;
  if (sftest_below(&scene->random, 2) == 0)
    return sf_group_world(scene->context);
  uint64_t set = sftest_random(&scene->random);
  for (int32_t rank = world - 1; rank >= 0; rank--)
    if ((set >> rank & 1) != 0)
      ranks[n++] = rank;
  if ((set >> scene->self->rank & 1) == 0)
    return NULL;
  sf_group_t *group;
  SFTEST_OK(scene->self, sf_group_create(scene->context, n, ranks, 5, &group));
  return group;
}

static void make_models(scene_t *scene)
{
  scene->nmodels = 1 + (int32_t)sftest_below(&scene->random, GRAPHS_MAX);
  for (int32_t i = 0; i < scene->nmodels; i++) {
    sftest_slots_t *model = &scene->models[i];
    uint32_t flags = (uint32_t)sftest_below(&scene->random, 4); /* all combinations */
    int64_t most = sftest_below(&scene->random, 8) == 0 ? 2500 : 120;
    *model = (sftest_slots_t){.real = NULL};
    sftest_at(scene->self, "creation of graph %d", i);
    sftest_graph_make(&model->graph, sftest_random(&scene->random), sf_group_size(scene->group), most);
    sftest_slots_number(model);
    SFTEST_OK(scene->self,
              sftest_graph_create(&model->graph, scene->group, sftest_below(&scene->own, 2) == 0, flags, &model->real));
    if (sftest_below(&scene->random, 2) == 0)
      sftest_multi_make(scene->self, model->real);
  }
}

static void run_case(scene_t *scene)
{
  scene->group = choose_group(scene);
  if (scene->group == NULL)
    return;
  scene->rank = sf_group_rank(scene->group);
  make_models(scene);
  if (scene->group != sf_group_world(scene->context))
    SFTEST_OK(scene->self, sf_group_destroy(scene->group));
  for (int32_t i = 0; i < scene->nmodels; i++)
    sftest_slots_ask(scene->self, &scene->models[i], scene->rank, &scene->random);
  scene->form = (sftest_form_t)sftest_below(&scene->random, SFTEST_FORM_COUNT);
  scene->nacts = 1 + (int32_t)sftest_below(&scene->random, ACTS_MAX);
  for (int32_t i = 0; i < scene->nacts; i++) {
    choose(scene, &scene->acts[i]);
    make_act(scene, &scene->acts[i]);
  }
  play(scene);
  for (int32_t i = 0; i < scene->nmodels; i++)
    sftest_slots_ask(scene->self, &scene->models[i], scene->rank, &scene->random);
  for (int32_t i = 0; i < scene->nacts; i++)
    free_act(scene, &scene->acts[i]);
  for (int32_t i = 0; i < scene->nmodels; i++) {
    sftest_at(scene->self, "destruction of graph %d", i);
    SFTEST_OK(scene->self, sf_graph_destroy(scene->models[i].real));
    sftest_slots_free(&scene->models[i]);
  }
}

SFTEST_JOINED(run_cases)
{
  uint64_t job_seed = *(const uint64_t *)self->argument;
  scene_t *scene = malloc(sizeof *scene);
  for (int i = 0; i < CASES; i++) {
    uint64_t seed = sftest_hash2(job_seed, (uint64_t)i);
    *scene =
        (scene_t){.self = self, .context = context, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
    run_case(scene);
  }
  free(scene);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static void run_job(const sftest_cluster_t *cluster)
{
  int32_t places[SFTEST_GROUP_MAX];
  uint64_t seed = sftest_seed(), random = sftest_hash(seed);
  sftest_use_seed(seed);
  int32_t size = 1 + (int32_t)sftest_below(&random, SFTEST_GROUP_MAX);
  sftest_places_choose(places, size, cluster->nnodes, &random);
  sftest_cluster_run(cluster, places, size, run_cases, &seed);
}

static void run_jobs(int32_t max_nodes, int njobs)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, max_nodes);
  for (int i = 0; i < sftest_rounds(njobs); i++)
    run_job(&cluster);
  sftest_cluster_stop(&cluster);
}

SFTEST(one_node)
{
  run_jobs(1, 6);
}

SFTEST(several_nodes)
{
  run_jobs(3, 8);
}

/* ---- Few leaves on many roots ------------------------------------------------------------------------------------ */

#define MANY_ROOTS 50000000
#define FEW 3
#define ROOM_KIB 65536 /* 8 bytes for each root would be six times that */

static long peak_kib(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void add_bytes(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)unit_bytes;
  (void)context;
  for (int64_t i = 0; i < n; i++)
    ((uint8_t *)inout)[i] = (uint8_t)(((uint8_t *)inout)[i] + ((const uint8_t *)in)[i]);
}

/* Two leaves of each rank on the last root of rank 0, and one in between: what the operations need is for these. */
SFTEST_JOINED(use_few_roots)
{
  static const int32_t ranks[FEW] = {0};
  static const int64_t indices[FEW] = {MANY_ROOTS - 1, MANY_ROOTS / 2, MANY_ROOTS - 1};
  int64_t nroots = self->rank == 0 ? MANY_ROOTS : 0;
  uint8_t *roots = calloc((size_t)nroots + 1, 1), leaves[FEW] = {1, 2, 4}, before[FEW] = {0}, slots[2 * FEW * 2] = {0};
  const sf_op_t *op;
  sf_graph_t *graph;
  SFTEST_OK(self, sf_graph_create(world, nroots, FEW, NULL, ranks, indices, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_op_create(add_bytes, NULL, &op));
  long least = peak_kib();
  SFTEST_OK(self, sf_reduce(graph, SF_UINT8, leaves, roots, op));
  SFTEST_OK(self, sf_fetch_op(graph, SF_UINT8, roots, leaves, before, SF_SUM));
  SFTEST_OK(self, sf_fetch_op(graph, SF_UINT8, roots, leaves, before, op));
  SFTEST_OK(self, sf_gather(graph, SF_UINT8, leaves, slots));
  sftest_require(self, peak_kib() - least < ROOM_KIB, __FILE__, __LINE__, "took %ld KiB", peak_kib() - least);
  SFTEST_REQUIRE(self,
                 before[0] == 20 + self->rank * 5 && before[1] == 8 + self->rank * 2 && before[2] == before[0] + 1);
  SFTEST_REQUIRE(self, self->rank > 0 || (roots[MANY_ROOTS - 1] == 30 && roots[MANY_ROOTS / 2] == 12 && slots[0] == 2));
  SFTEST_REQUIRE(self, self->rank > 0 || (slots[1] == 2 && slots[2] == 1 && slots[5] == 4));
  SFTEST_OK(self, sf_op_destroy(op));
  SFTEST_OK(self, sf_graph_destroy(graph));
  free(roots);
}

SFTEST_FOR(few_roots_of_many, 2)
{
  static const int32_t places[][2] = {{0, 0}, {0, 1}};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 1 + _i);
  sftest_cluster_run(&cluster, places[_i], 2, use_few_roots, NULL);
  sftest_cluster_stop(&cluster);
}

/* A rank in chaos: see chaos.h. */
#include "tests/system/failure/chaos.h"

#include "tests/system/model/gather.h"
#include "tests/system/work.h"

#define MODELS 3
#define LIVE 3

typedef struct live {
  sf_graph_t *graph;
  int model;
} live_t;

typedef struct scene {
  sftest_rank_t *self;
  sftest_chaos_t *play;
  sf_context_t *context;
  uint64_t random; /* the same on all ranks */
  uint64_t own;    /* this rank's own choices */
  int64_t step;
  sftest_slots_t models[MODELS];
  live_t live[LIVE];
  sf_status_t status; /* not SF_OK: somebody has died */
} scene_t;

/* Whether it succeeded; it may fail only if somebody dies. */
static bool went(scene_t *scene, sf_status_t status)
{
  if (scene->status != SF_OK)
    return false;
  if (scene->play->ending != SFTEST_ENDING_ONE_DIES)
    SFTEST_OK(scene->self, status);
  else if (status != SF_OK)
    SFTEST_EXPECT(scene->self, status, SF_ERR_RANK_FAILED);
  scene->status = status;
  return status == SF_OK;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static sf_status_t operate(const sftest_gather_t *what, sf_graph_t *graph, char *arrays[])
{
  switch (what->kind) {
  case KIND_GATHER:
    return sf_gather(graph, SF_INT64, arrays[PLACE_LEAVES], arrays[PLACE_SLOTS]);
  case KIND_SCATTER:
    return sf_scatter(graph, SF_INT64, arrays[PLACE_SLOTS], arrays[PLACE_LEAVES]);
  case KIND_FETCH:
    return sf_fetch_op(graph, SF_INT64, arrays[PLACE_ROOTS], arrays[PLACE_LEAVES], arrays[PLACE_UPDATE], SF_SUM);
  case KIND_REDUCE:
    return sf_reduce(graph, SF_INT64, arrays[PLACE_LEAVES], arrays[PLACE_ROOTS], SF_SUM);
  default:
    return sf_bcast(graph, SF_INT64, arrays[PLACE_ROOTS], arrays[PLACE_LEAVES], SF_SUM);
  }
}

static void exchange(scene_t *scene, const sftest_slots_t *model, sf_graph_t *graph, int32_t rank)
{
  static const sftest_kind_t kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_GATHER, KIND_SCATTER, KIND_FETCH};
  sftest_gather_t what = {.kind = kinds[sftest_below(&scene->random, 5)],
                          .model = model,
                          .unit = {SFTEST_INT64, 1},
                          .op = SFTEST_SUM,
                          .seed = sftest_random(&scene->random)};
  char *arrays[PLACE_COUNT];
  size_t bytes[PLACE_COUNT];
  for (int place = 0; place < PLACE_COUNT; place++) {
    bytes[place] = (size_t)sftest_gather_vertices(&what, (sftest_place_t)place, rank) * sizeof(int64_t);
    arrays[place] = malloc(bytes[place] + 1);
    sftest_gather_fill(&what, (sftest_place_t)place, rank, arrays[place]);
  }
  bool good = went(scene, operate(&what, graph, arrays));
  for (int place = 0; place < PLACE_COUNT; place++) {
    char *expected = malloc(bytes[place] + 1);
    sftest_gather_expect(&what, (sftest_place_t)place, rank, expected);
    if (good)
      sftest_require(scene->self, memcmp(arrays[place], expected, bytes[place]) == 0, __FILE__, __LINE__,
                     "step %d, kind %d, array %d", (int)scene->step, (int)what.kind, place);
    free(expected);
    free(arrays[place]);
  }
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* One more graph of the world: perhaps of edges that an earlier one had, perhaps on some ranks only in another form. */
static void make_graph(scene_t *scene)
{
  static const uint32_t flags[] = {SF_GRAPH_DEFAULT, SF_GRAPH_DEFAULT, SF_GRAPH_DEFAULT, SF_GRAPH_COPY};
  live_t *slot = &scene->live[sftest_below(&scene->random, LIVE)];
  uint32_t chosen = flags[sftest_below(&scene->random, 4)];
  bool odd = sftest_below(&scene->random, 4) == 0;
  int64_t odd_rank = sftest_below(&scene->random, scene->self->size);
  int model = (int)sftest_below(&scene->random, MODELS);
  SFTEST_OK(scene->self, sf_graph_destroy(slot->graph));
  slot->graph = NULL;
  slot->model = model;
  sf_status_t status = sftest_graph_create(&scene->models[model].graph, sf_group_world(scene->context),
                                           odd && odd_rank == scene->self->rank, chosen, &slot->graph);
  if (went(scene, status))
    exchange(scene, &scene->models[model], slot->graph, scene->self->rank);
}

static void use_graph(scene_t *scene)
{
  const live_t *slot = &scene->live[sftest_below(&scene->random, LIVE)];
  if (slot->graph != NULL)
    exchange(scene, &scene->models[slot->model], slot->graph, scene->self->rank);
}

enum { RING = 5 };

typedef enum fault { NO_FAULT, BAD_ROOT, SAME_LEAF, BAD_RANK, OTHER_FLAGS, FAULTS } fault_t;

/* A ring that this rank gets wrong in a way of its own. */
static sf_status_t make_ring(scene_t *scene, fault_t fault, sf_graph_t **graph_p)
{
  int32_t size = scene->self->size, rank = scene->self->rank, ranks[RING];
  int64_t roots[RING], leaves[RING];
  for (int i = 0; i < RING; i++) {
    ranks[i] = (rank + i) % size;
    roots[i] = leaves[i] = i;
  }
  if (fault == BAD_ROOT)
    roots[3] = RING + rank;
  else if (fault == SAME_LEAF)
    leaves[4] = leaves[rank % 4];
  else if (fault == BAD_RANK)
    ranks[2] = size + rank;
  return sf_graph_create(sf_group_world(scene->context), RING, RING, leaves, ranks, roots,
                         fault == OTHER_FLAGS ? SF_GRAPH_COPY : SF_GRAPH_DEFAULT, graph_p);
}

/* A ring, perhaps after a good one, that some ranks get wrong; all hear of the same. Not all have other flags. */
static void make_bad_graph(scene_t *scene)
{
  static const sf_status_t expected[] = {
      [BAD_ROOT] = SF_ERR_RANGE, [SAME_LEAF] = SF_ERR_ARG, [BAD_RANK] = SF_ERR_RANGE, [OTHER_FLAGS] = SF_ERR_MISMATCH};
  uint64_t bad = 1 + (uint64_t)sftest_below(&scene->random, (1 << scene->self->size) - 2);
  fault_t fault = 1 + (fault_t)sftest_below(&scene->random, FAULTS - 1);
  bool is_bad = (bad >> scene->self->rank & 1) != 0;
  sf_graph_t *good = NULL, *graph = NULL;
  if (sftest_below(&scene->random, 2) == 0 && went(scene, make_ring(scene, NO_FAULT, &good)))
    SFTEST_OK(scene->self, sf_graph_destroy(good));
  if (scene->status != SF_OK)
    return;
  sf_status_t status = make_ring(scene, is_bad ? fault : NO_FAULT, &graph);
  SFTEST_REQUIRE(scene->self, graph == NULL);
  if (scene->play->ending == SFTEST_ENDING_ONE_DIES && status == SF_ERR_RANK_FAILED) {
    scene->status = status;
    return;
  }
  snprintf(scene->play->details[scene->step][scene->self->rank], sizeof scene->play->details[0][0], "%s",
           sf_error_detail());
  SFTEST_EXPECT(scene->self, status, expected[fault]);
}

/* A graph on some of the ranks, backwards; the group is destroyed before or after it. */
static void use_group(scene_t *scene)
{
  int32_t ranks[SFTEST_CHAOS_RANKS], n = 0, here = -1;
  uint64_t set = 1 + (uint64_t)sftest_below(&scene->random, (1 << scene->self->size) - 1);
  uint64_t seed = sftest_random(&scene->random);
  bool early = sftest_below(&scene->random, 2) == 0;
  sf_group_t *group = NULL;
  sf_graph_t *graph = NULL;
  sftest_slots_t model = {.real = NULL};
  scene_t inner = *scene;
  scene->random = seed;
  for (int32_t rank = scene->self->size - 1; rank >= 0; rank--)
    if ((set >> rank & 1) != 0) {
      here = rank == scene->self->rank ? n : here;
      ranks[n++] = rank;
    }
  if (here < 0)
    return;
  if (!went(scene, sf_group_create(scene->context, n, ranks, (int32_t)(seed % 3), &group)))
    return;
  sftest_graph_make(&model.graph, seed, n, 60);
  sftest_slots_number(&model);
  inner.random = sftest_hash(seed);
  for (int i = 0; i < 2 && inner.status == SF_OK; i++) {
    if (went(&inner, sftest_graph_create(&model.graph, group, false, SF_GRAPH_DEFAULT, &graph)))
      exchange(&inner, &model, graph, here);
    if (i == 0) {
      SFTEST_OK(scene->self, sf_graph_destroy(graph));
      graph = NULL;
    }
  }
  scene->status = inner.status;
  if (early)
    SFTEST_OK(scene->self, sf_group_destroy(group));
  SFTEST_OK(scene->self, sf_graph_destroy(graph));
  if (!early)
    SFTEST_OK(scene->self, sf_group_destroy(group));
  sftest_slots_free(&model);
}

static bool is_even(int64_t vertex)
{
  return vertex % 2 == 0;
}

/* A part of a graph, whose whole goes before it is used. Perhaps some ranks select what isn't there: then all hear of
 * that. */
static void take_part(scene_t *scene)
{
  int64_t n = 0;
  bool some = sftest_below(&scene->random, 3) == 0;
  uint64_t bad = some ? (uint64_t)sftest_below(&scene->random, INT64_C(1) << scene->self->size) : 0;
  bool by_roots = sftest_below(&scene->random, 2) == 0;
  sf_graph_t *whole = NULL, *part = NULL;
  sftest_slots_t model = {.real = NULL};
  sftest_graph_make(&model.graph, sftest_random(&scene->random), scene->self->size, 60);
  const sftest_part_t *own = &model.graph.parts[scene->self->rank];
  int64_t most = by_roots ? own->nroots : own->leaf_space, *even = malloc(((size_t)most + 1) * sizeof *even);
  if (went(scene, sftest_graph_create(&model.graph, sf_group_world(scene->context), false, SF_GRAPH_DEFAULT, &whole))) {
    for (int64_t i = 0; i < most; i += 2)
      even[n++] = i;
    if ((bad >> scene->self->rank & 1) != 0)
      even[n++] = -1;
    sf_status_t status = (by_roots ? sf_graph_embed_roots : sf_graph_embed_leaves)(whole, n, even, &part);
    SFTEST_REQUIRE(scene->self, (part != NULL) == (status == SF_OK) && (bad == 0 || status != SF_OK));
    if (bad == 0 || status != SF_ERR_RANGE)
      went(scene, status);
  }
  free(even);
  SFTEST_OK(scene->self, sf_graph_destroy(whole));
  sftest_graph_thin(&model.graph, is_even, by_roots);
  sftest_slots_number(&model);
  if (part != NULL)
    exchange(scene, &model, part, scene->self->rank);
  SFTEST_OK(scene->self, sf_graph_destroy(part));
  sftest_slots_free(&model);
}

/* ---- A rank ------------------------------------------------------------------------------------------------------ */

static void take_step(scene_t *scene)
{
  static void (*const steps[])(scene_t *) = {make_graph,     make_graph, make_graph, use_graph,
                                             make_bad_graph, use_group,  take_part,  take_part};
  static const char *const names[] = {"graph",     "graph", "graph", "use of a graph",
                                      "bad graph", "group", "part",  "part"};
  int64_t which = sftest_below(&scene->random, 8);
  sftest_at(scene->self, "step %d, %s", (int)scene->step, names[which]);
  if (sftest_below(&scene->own, 4) == 0)
    usleep((unsigned)sftest_below(&scene->own, 3000));
  steps[which](scene);
}

static void destroy_graphs(scene_t *scene)
{
  for (int i = 0; i < LIVE; i++) {
    sftest_at(scene->self, "destruction of graph %d", i);
    SFTEST_OK(scene->self, sf_graph_destroy(scene->live[i].graph));
  }
}

/* The victim has left: what needs it fails, what doesn't goes on. */
static void go_on_without(scene_t *scene, int32_t victim)
{
  int32_t ranks[SFTEST_CHAOS_RANKS], n = 0, size = scene->self->size;
  int64_t model = sftest_below(&scene->random, MODELS);
  sf_graph_t *graph = NULL;
  sf_group_t *group;
  for (int32_t rank = 0; rank < size; rank++)
    if (rank != victim)
      ranks[n++] = rank;
  sftest_at(scene->self, "graph with a rank that leaves");
  SFTEST_EXPECT(scene->self,
                sftest_graph_create(&scene->models[model].graph, sf_group_world(scene->context), false, 0, &graph),
                SF_ERR_STATE);
  sftest_at(scene->self, "group of those who stay");
  SFTEST_OK(scene->self, sf_group_create(scene->context, n, ranks, 9, &group));
  sftest_at(scene->self, "graph of those who stay");
  sftest_slots_t rest = {.real = NULL};
  sftest_graph_make(&rest.graph, scene->play->seed, n, 60);
  sftest_slots_number(&rest);
  SFTEST_OK(scene->self, sftest_graph_create(&rest.graph, group, false, 0, &graph));
  exchange(scene, &rest, graph, sf_group_rank(group));
  SFTEST_OK(scene->self, sf_graph_destroy(graph));
  SFTEST_OK(scene->self, sf_group_destroy(group));
  sftest_slots_free(&rest);
}

/* Who leaves does so when the others have got what it took part in: they would wait for that only for a second. */
static void let_all_end(scene_t *scene)
{
  sftest_at(scene->self, "waiting for the others");
  atomic_fetch_add(&scene->play->done, 1);
  SFTEST_SLEEP_WHILE(scene->self->rank == scene->play->victim && atomic_load(&scene->play->done) < scene->self->size);
}

/* Until the test has looked at the daemons. */
static void be_looked_at(scene_t *scene)
{
  sftest_at(scene->self, "waiting for the test");
  atomic_fetch_add(&scene->play->done, 1);
  SFTEST_SLEEP_WHILE(atomic_load(&scene->play->over) == 0);
}

void sftest_live_in_chaos(sftest_rank_t *self)
{
  static scene_t scene;
  sftest_chaos_t *play = self->argument;
  scene = (scene_t){.self = self,
                    .play = play,
                    .random = sftest_hash(play->seed),
                    .own = sftest_hash2(play->seed, (uint64_t)self->rank)};
  for (int m = 0; m < MODELS; m++) {
    sftest_graph_make(&scene.models[m].graph, play->seed + (uint64_t)m, self->size, 60);
    sftest_slots_number(&scene.models[m]);
  }
  sftest_at(self, "sf_init");
  scene.context = sftest_join(self);
  for (scene.step = 0; scene.step < play->nsteps && scene.status == SF_OK; scene.step++) {
    if (play->ending == SFTEST_ENDING_ONE_DIES && self->rank == play->victim && scene.step == play->fatal)
      raise(SIGKILL);
    take_step(&scene);
  }
  destroy_graphs(&scene);
  if (play->ending == SFTEST_ENDING_ONE_LEAVES)
    let_all_end(&scene);
  if (play->ending == SFTEST_ENDING_ONE_LEAVES && self->rank != play->victim)
    go_on_without(&scene, play->victim);
  if (play->ending == SFTEST_ENDING_TOGETHER)
    be_looked_at(&scene);
  sftest_at(self, "sf_finalize");
  sf_status_t status = sf_finalize(scene.context);
  if (play->ending != SFTEST_ENDING_ONE_DIES || scene.status != SF_OK || status != SF_OK) /* it may have left before */
    SFTEST_EXPECT(self, status, play->ending == SFTEST_ENDING_ONE_DIES ? SF_ERR_RANK_FAILED : SF_OK);
}

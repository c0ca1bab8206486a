/* Exchanges on random graphs against a serial model: each rank knows what every root sends in every operation, and
 * compares. Sizes change from operation to operation, on some ranks only; each rank chooses by itself in which form it
 * calls; several operations are in flight at the same time, with bcasts between them; now and then there is not enough
 * room for a block. */
#include "client/graph/graph.h"
#include "tests/system/cluster.h"

#define RANKS_MAX 5
#define ROOTS_MAX 24
#define LEAVES_MAX 60
#define BATCHES 60
#define FLYING 4 /* operations of a batch */
#define JOBS 6
#define GUARD 0x5a

typedef struct scene {
  uint64_t seed;
  bool unreadable; /* no rank can read the memory of others */
} scene_t;

typedef struct world {
  sftest_rank_t *self;
  const scene_t *scene;
  sf_context_t *context;
  sf_graph_t *graph;
  int32_t nroots[RANKS_MAX];
  int32_t nleaves;
  int64_t leaf[LEAVES_MAX];
  int32_t root_rank[LEAVES_MAX];
  int64_t root[LEAVES_MAX];
  int64_t leaf_space;
  uint64_t mine; /* random numbers of this rank alone */
} world_t;

/* How a rank calls an exchange. */
typedef enum form { BEGIN, PERSISTENT, PROBE, RECEIVE, FORMS } form_t;

typedef struct flight {
  bool is_bcast;
  form_t form;
  int operation;
  sf_request_t *request;
  sf_request_t *persistent; /* made with the first batch, used in all */
  sf_block_t root[ROOTS_MAX];
  sf_block_t leaf[2 * LEAVES_MAX];
  size_t bytes[2 * LEAVES_MAX];
  char *memory[2];
  size_t room[2];
  bool in_alloc[2];
  bool is_short;
  int64_t number[2 * LEAVES_MAX]; /* of a bcast */
  int64_t numbers[ROOTS_MAX];
} flight_t;

/* ---- The model --------------------------------------------------------------------------------------------------- */

static uint64_t mix(const scene_t *scene, uint64_t a, uint64_t b, uint64_t c)
{
  uint64_t state = scene->seed ^ a << 48 ^ b << 32 ^ c;
  return sftest_random(&state);
}

/* Bytes that a root sends in an operation. Most operations are small; large ones go by other ways. */
static size_t size_of(const scene_t *scene, int32_t rank, int64_t root, int operation)
{
  static const size_t bounds[] = {1, 9, 30, 200, 3000, 20000, 100000, 700000, 2000000};
  uint64_t kind = mix(scene, 1, 0, (uint64_t)operation) % 40;
  uint64_t random = mix(scene, 2 + (uint64_t)rank, (uint64_t)root, (uint64_t)operation);
  size_t bound = bounds[kind < 8 ? kind : 2 + kind % 3];
  return random % 3 == 0 ? bound - 1 : (random >> 8) % bound;
}

static char byte_of(int32_t rank, int64_t root, int operation, size_t i)
{
  return (char)(rank * 31 + root * 7 + operation * 3 + (int64_t)(i % 253));
}

static int32_t ranks_of(const world_t *world)
{
  return world->self->size;
}

/* The same on all ranks, except what is this rank's own. */
static void choose_graph(world_t *world)
{
  const scene_t *scene = world->scene;
  int32_t n = 0, used[2 * LEAVES_MAX] = {0};
  for (int32_t rank = 0; rank < ranks_of(world); rank++)
    world->nroots[rank] = (int32_t)(mix(scene, 20, (uint64_t)rank, 0) % ROOTS_MAX);
  int32_t wanted = (int32_t)(mix(scene, 21, (uint64_t)world->self->rank, 0) % LEAVES_MAX);
  for (int32_t i = 0; i < wanted; i++) {
    uint64_t random = mix(scene, 22, (uint64_t)world->self->rank, (uint64_t)i);
    int32_t rank = (int32_t)(random % (uint64_t)ranks_of(world)), leaf = (int32_t)((random >> 8) % (2 * LEAVES_MAX));
    if (world->nroots[rank] == 0 || used[leaf]++ != 0)
      continue;
    world->leaf[n] = leaf;
    world->root_rank[n] = rank;
    world->root[n++] = (int64_t)((random >> 20) % (uint64_t)world->nroots[rank]);
    world->leaf_space = leaf >= world->leaf_space ? leaf + 1 : world->leaf_space;
  }
  world->nleaves = n;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static char *take(world_t *world, flight_t *flight, int side, size_t bytes)
{
  if (bytes <= flight->room[side])
    return flight->memory[side];
  if (flight->memory[side] != NULL && flight->in_alloc[side])
    SFTEST_OK(world->self, sf_free(world->context, flight->memory[side]));
  else
    free(flight->memory[side]);
  flight->in_alloc[side] = sftest_random(&world->mine) % 2 == 0;
  flight->room[side] = 2 * bytes;
  void *memory = NULL;
  if (flight->in_alloc[side])
    SFTEST_OK(world->self, sf_alloc(world->context, flight->room[side], &memory));
  else
    memory = malloc(flight->room[side]);
  return flight->memory[side] = memory;
}

static void give(world_t *world, flight_t *flight)
{
  for (int side = 0; side < 2; side++) {
    if (flight->in_alloc[side])
      SFTEST_OK(world->self, sf_free(world->context, flight->memory[side]));
    else
      free(flight->memory[side]);
  }
  SFTEST_OK(world->self, sf_request_free(&flight->persistent));
}

static void fill_roots(world_t *world, flight_t *flight)
{
  int32_t rank = world->self->rank;
  size_t bytes = 1;
  for (int32_t i = 0; i < world->nroots[rank]; i++)
    bytes += flight->root[i].bytes = size_of(world->scene, rank, i, flight->operation);
  char *to = take(world, flight, 0, bytes);
  for (int32_t i = 0; i < world->nroots[rank]; i++) {
    flight->root[i].data = flight->root[i].bytes > 0 ? to : NULL;
    for (size_t k = 0; k < flight->root[i].bytes; k++)
      *to++ = byte_of(rank, i, flight->operation, k);
  }
}

static size_t expected_bytes(const world_t *world, const flight_t *flight, int32_t i)
{
  return size_of(world->scene, world->root_rank[i], world->root[i], flight->operation);
}

/* As much room as will be needed, or more, or now and then less. */
static void make_room(world_t *world, flight_t *flight)
{
  size_t bytes = 1, less = sftest_random(&world->mine) % 8 == 0;
  flight->is_short = false;
  memset(flight->leaf, 0xff, sizeof flight->leaf); /* elements that no leaf has are never looked at */
  for (int32_t i = 0; i < world->nleaves; i++) {
    size_t need = expected_bytes(world, flight, i), room = need + sftest_random(&world->mine) % 3;
    if (less && sftest_random(&world->mine) % 4 == 0)
      room = need / 2;
    flight->is_short |= room < need;
    flight->leaf[world->leaf[i]].bytes = room;
    bytes += room + 1;
  }
  char *to = take(world, flight, 1, bytes);
  memset(to, GUARD, bytes);
  for (int32_t i = 0; i < world->nleaves; i++) {
    sf_block_t *leaf = &flight->leaf[world->leaf[i]];
    leaf->data = leaf->bytes > 0 ? to : NULL;
    to += leaf->bytes + 1;
  }
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void begin(world_t *world, flight_t *flight)
{
  sftest_rank_t *self = world->self;
  if (flight->is_bcast) {
    for (int32_t i = 0; i < world->nroots[self->rank]; i++)
      flight->numbers[i] = self->rank * 1000 + i + flight->operation * 10000;
    SFTEST_OK(self,
              sf_bcast_begin(world->graph, SF_INT64, flight->numbers, flight->number, SF_REPLACE, &flight->request));
    return;
  }
  flight->form = (form_t)(sftest_random(&world->mine) % FORMS);
  fill_roots(world, flight);
  make_room(world, flight);
  memset(flight->bytes, 0xee, sizeof flight->bytes);
  if (flight->form == PERSISTENT) {
    if (flight->persistent == NULL)
      SFTEST_OK(self, sf_exchange_init(world->graph, flight->root, flight->leaf, flight->bytes, &flight->persistent));
    SFTEST_OK(self, sf_start(flight->persistent));
    flight->request = flight->persistent;
  } else {
    SFTEST_OK(self, sf_exchange_begin(world->graph, flight->root, flight->form == BEGIN ? flight->leaf : NULL,
                                      flight->form == PROBE ? NULL : flight->bytes, &flight->request));
  }
}

static void check_sizes(world_t *world, const flight_t *flight)
{
  for (int32_t i = 0; i < world->nleaves; i++)
    sftest_require(world->self, flight->bytes[world->leaf[i]] == expected_bytes(world, flight, i), __FILE__, __LINE__,
                   "leaf %lld: %zu bytes, expected %zu", (long long)world->leaf[i], flight->bytes[world->leaf[i]],
                   expected_bytes(world, flight, i));
}

/* Exchanges without memory get it. */
static void supply(world_t *world, flight_t *flight)
{
  sftest_rank_t *self = world->self;
  bool done = false;
  if (flight->is_bcast || flight->form < PROBE)
    return;
  if (flight->form == PROBE) {
    SFTEST_OK(self, sf_exchange_probe(flight->request, flight->bytes));
    check_sizes(world, flight);
  }
  if (world->nleaves > 0) {
    SFTEST_OK(self, sf_test(&flight->request, &done));
    SFTEST_REQUIRE(self, !done);
    SFTEST_EXPECT(self, sf_wait(&flight->request), SF_ERR_STATE);
    SFTEST_DETAIL(self, "sf_exchange_receive");
  }
  SFTEST_OK(self, sf_exchange_receive(flight->request, flight->leaf));
  if (world->nleaves > 0)
    SFTEST_EXPECT(self, sf_exchange_receive(flight->request, flight->leaf), SF_ERR_STATE);
}

static void check_data(world_t *world, const flight_t *flight)
{
  for (int32_t i = 0; i < world->nleaves; i++) {
    const sf_block_t *leaf = &flight->leaf[world->leaf[i]];
    const char *data = leaf->data;
    size_t bytes = expected_bytes(world, flight, i);
    for (size_t k = 0; data != NULL && k <= leaf->bytes; k++) {
      char expected =
          k < bytes && k < leaf->bytes ? byte_of(world->root_rank[i], world->root[i], flight->operation, k) : GUARD;
      if (data[k] != expected)
        sftest_require(world->self, false, __FILE__, __LINE__, "leaf %lld: byte %zu of %zu (room %zu) is %d, not %d",
                       (long long)world->leaf[i], k, bytes, leaf->bytes, data[k], expected);
    }
  }
}

static void end(world_t *world, flight_t *flight)
{
  sftest_rank_t *self = world->self;
  if (flight->is_bcast) {
    SFTEST_OK(self, sf_wait(&flight->request));
    for (int32_t i = 0; i < world->nleaves; i++)
      SFTEST_REQUIRE(self, flight->number[world->leaf[i]] ==
                               world->root_rank[i] * 1000 + world->root[i] + flight->operation * 10000);
    return;
  }
  SFTEST_EXPECT(self, sf_wait(&flight->request), flight->is_short ? SF_ERR_RANGE : SF_OK);
  if (flight->is_short)
    SFTEST_DETAIL(self, "there is room for");
  check_sizes(world, flight);
  check_data(world, flight);
}

static void run_batch(world_t *world, flight_t flights[], int batch)
{
  int n = 1 + (int)(mix(world->scene, 30, 0, (uint64_t)batch) % FLYING);
  int first = (int)(sftest_random(&world->mine) % (uint64_t)n);
  for (int k = 0; k < n; k++) {
    flights[k].operation = batch * FLYING + k;
    flights[k].is_bcast = mix(world->scene, 31, (uint64_t)k, (uint64_t)batch) % 4 == 0;
    sftest_at(world->self, "batch %d: begin %d of %d", batch, k, n);
    begin(world, &flights[k]);
  }
  for (int k = 0; k < n; k++) {
    sftest_at(world->self, "batch %d: supply %d of %d, form %d", batch, k, n, (int)flights[k].form);
    supply(world, &flights[k]);
  }
  for (int k = 0; k < n; k++) {
    sftest_at(world->self, "batch %d: end %d of %d, form %d", batch, (first + k) % n, n, (int)flights[k].form);
    end(world, &flights[(first + k) % n]);
  }
}

static void run_rank(sftest_rank_t *self)
{
  world_t *world = calloc(1, sizeof *world);
  flight_t *flights = calloc(FLYING, sizeof *flights);
  world->self = self;
  world->scene = self->argument;
  world->context = sftest_join(self);
  world->mine = mix(world->scene, 3, (uint64_t)self->rank, 0);
  choose_graph(world);
  SFTEST_OK(self, sf_graph_create(sf_group_world(world->context), world->nroots[self->rank], world->nleaves,
                                  world->leaf, world->root_rank, world->root, SF_GRAPH_DEFAULT, &world->graph));
  for (int32_t i = 0; world->scene->unreadable && i < world->graph->nlanes; i++)
    world->graph->lanes[i].peer_can_read = false;
  for (int batch = 0; batch < BATCHES; batch++)
    run_batch(world, flights, batch);
  for (int k = 0; k < FLYING; k++)
    give(world, &flights[k]);
  SFTEST_OK(self, sf_graph_destroy(world->graph));
  sftest_leave(self, world->context);
  free(flights);
  free(world);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST(test_random)
{
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_t node;
  uint64_t random = sftest_seed();
  sftest_node_start(&node, NULL);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : JOBS); i++) {
    *scene = (scene_t){.seed = i == 0 ? random : sftest_hash2(random, (uint64_t)i)};
    scene->unreadable = scene->seed / RANKS_MAX % 3 == 0;
    sftest_use_seed(scene->seed);
    sftest_run_job(&node, 1 + (int32_t)(scene->seed % RANKS_MAX), run_rank, scene);
  }
  sftest_node_stop(&node);
}

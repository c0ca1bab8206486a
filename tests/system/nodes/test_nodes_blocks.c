/* Exchanges of blocks between nodes: random graphs against a serial model, with lengths that change at any call on some
 * ranks; what becomes of an exchange if a rank calls something else, dies, or writes nonsense into
 * what the ranks of its node share. */
#include <sys/mman.h>

#include "client/engine/trunk.h"
#include "client/graph/graph.h"
#include "client/graph/trunk_types.h"
#include "shm/trunk/blocks.h"
#include "tests/system/cluster.h"
#include "tests/system/model/blocks.h"
#include "tests/system/work.h"

/* ---- Random graphs ----------------------------------------------------------------------------------------------- */

#define GRAPHS 12
#define CALLS 60
#define IN_FLIGHT 12 /* more than a trunk has slots */

typedef struct play {
  uint64_t seed;
  int64_t vertices;
  size_t longest;
} play_t;

/* So many exchanges in flight at once, on each rank in ways of its own. Those without memory hold up later ones, so all
 * end in order. */
static void make_some(sftest_blocks_t all[], int n, uint64_t call, uint64_t *own)
{
  for (int i = 0; i < n; i++) {
    int64_t way = sftest_below(own, SFTEST_BLOCKS_WAYS);
    if (way == SFTEST_BLOCKS_AT_ONCE && n > 1)
      way = SFTEST_BLOCKS_BEGUN;
    sftest_blocks_begin(&all[i], call + (uint64_t)i, (sftest_blocks_way_t)way, sftest_below(own, 20) == 0);
  }
  for (int i = 0; i < n; i++)
    sftest_blocks_end(&all[i]);
}

static void play_randomly(sftest_rank_t *self)
{
  const play_t *play = self->argument;
  sftest_forest_t forest;
  sftest_blocks_t all[IN_FLIGHT];
  sf_graph_t *graph;
  uint64_t random = play->seed, own = sftest_hash2(play->seed, (uint64_t)self->rank);
  sf_context_t *context = sftest_join(self);
  sftest_forest_random(&forest, play->seed, self->size, play->vertices);
  sftest_forest_create(self, &forest, sf_group_world(context), &graph);
  for (int i = 0; i < IN_FLIGHT; i++)
    sftest_blocks_make(&all[i], self, &forest, graph, play->seed, play->longest);
  for (int call = 0, n; call < CALLS; call += n) {
    n = (int)(sftest_below(&random, 3) == 0 ? 1 + sftest_below(&random, IN_FLIGHT) : 1);
    sftest_at(self, "calls %d to %d", call, call + n - 1);
    make_some(all, n, (uint64_t)call, &own);
    if (sftest_below(&random, 10) == 0) /* operations of other kinds in between */
      sftest_forest_expect(self, &forest, sf_group_world(context), graph);
  }
  for (int i = 0; i < IN_FLIGHT; i++)
    sftest_blocks_free(&all[i]);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  sftest_forest_free(&forest);
}

static void play_over_nodes(int graphs, int64_t vertices, size_t longest)
{
  for (int i = 0; i < sftest_scale(graphs); i++) {
    int32_t places[SFTEST_GROUP_MAX];
    play_t play = {sftest_seed(), vertices, longest};
    uint64_t random = sftest_hash(play.seed);
    int32_t size = 2 + (int32_t)sftest_below(&random, SFTEST_GROUP_MAX - 1);
    sftest_use_seed(play.seed);
    sftest_places_choose(places, size, sftest_case_cluster.nnodes, &random);
    sftest_cluster_run(&sftest_case_cluster, places, size, play_randomly, &play);
  }
}

SFTEST_FIXTURE(sftest_two_nodes, sftest_stop_nodes);

SFTEST(random_graphs)
{
  play_over_nodes(GRAPHS, 30, 3000);
}

/* From nothing to what takes all protocols, on graphs that let sizes differ much. */
SFTEST(long_blocks)
{
  play_over_nodes(GRAPHS / 4, 6, (size_t)1 << 20);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

#define FAILING_SIZE 4

/* Blocks of each rank to all, as long as that goes well. */
static sf_status_t exchange_until(sftest_rank_t *self, sf_graph_t *graph, int calls, size_t bytes)
{
  static char memory[FAILING_SIZE + 1][10000];
  sf_block_t root = {memory[FAILING_SIZE], bytes}, leaves[FAILING_SIZE];
  size_t got[FAILING_SIZE];
  sf_status_t status = SF_OK;
  for (int32_t r = 0; r < FAILING_SIZE; r++)
    leaves[r] = (sf_block_t){memory[r], sizeof memory[r]};
  for (int call = 0; call < calls && status == SF_OK; call++) {
    sftest_at(self, "call %d", call);
    root.bytes = bytes / (size_t)(1 + call % 7);
    status = sf_exchange(graph, &root, leaves, got);
  }
  return status;
}

static sf_graph_t *connect_all(sftest_rank_t *self, sf_context_t *context)
{
  sf_graph_t *graph;
  static const int32_t ranks[FAILING_SIZE] = {0, 1, 2, 3};
  static const int64_t roots[FAILING_SIZE] = {0};
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), 1, FAILING_SIZE, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

SFTEST_JOINED(call_something_else)
{
  sf_graph_t *graph = connect_all(self, context);
  double roots[1] = {0}, leaves[FAILING_SIZE];
  sf_status_t status = exchange_until(self, graph, 5, 100);
  if (status == SF_OK && self->rank == 3)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  if (status == SF_OK)
    status = exchange_until(self, graph, 1, 100);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "exchange");
  SFTEST_DETAIL(self, "bcast(");
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(mismatch)
{
  static const int32_t together[] = {0, 0, 1, 1}, alone[] = {0, 0, 0, 1};
  sftest_cluster_run(&sftest_case_cluster, together, FAILING_SIZE, call_something_else, NULL);
  sftest_cluster_run(&sftest_case_cluster, alone, FAILING_SIZE, call_something_else, NULL);
}

#define TOO_MUCH (((size_t)1 << 38) + 4096)

/* A message that no slot can hold: all get the error, nobody hangs. */
SFTEST_JOINED(send_too_much)
{
  sf_graph_t *graph = connect_all(self, context);
  sf_block_t root = {NULL, TOO_MUCH}, leaves[FAILING_SIZE] = {{NULL, 0}};
  root.data = mmap(NULL, TOO_MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SFTEST_REQUIRE(self, root.data != MAP_FAILED);
  sf_status_t status = exchange_until(self, graph, 1, 100);
  if (status == SF_OK && self->rank == 1)
    status = sf_exchange(graph, &root, leaves, NULL);
  /* Who is on its node may have ended that call, with the beginning of the block. */
  for (int calls = 0; calls < 3 && (status == SF_OK || status == SF_ERR_RANGE); calls++)
    status = exchange_until(self, graph, 1, 100);
  SFTEST_EXPECT(self, status, SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "units of 274877906944 bytes exceed 1099511627776 bytes");
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(too_much)
{
  static const int32_t places[] = {0, 0, 1, 1};
  sftest_cluster_run(&sftest_case_cluster, places, FAILING_SIZE, send_too_much, NULL);
}

/* ---- Deaths and nonsense ----------------------------------------------------------------------------------------- */

typedef struct scene {
  _Atomic int ready;
  uint64_t seed;
  bool writes; /* rank 3 writes nonsense, else it only dies */
} scene_t;

/* Numbers near those that are right, and others; no class that would fill the machine's memory. */
static uint64_t nonsense(uint64_t *random)
{
  static const uint64_t classes[] = {0, 1, 4, 5, 8, 12, 16, 41, 200, 255};
  uint64_t class = classes[sftest_below(random, 10)] << SFSHM_BLOCKS_CLASS_SHIFT;
  uint64_t low = sftest_random(random) >> (8 + sftest_below(random, 56));
  return sftest_below(random, 2) == 0 ? low : class | low;
}

static uint64_t nonsense_unit(uint64_t *random)
{
  static const uint64_t units[] = {0, 1, 8, 15, 16, 17, 100, 1000, 70000, (UINT64_C(1) << 40) + 1, UINT64_MAX};
  return units[sftest_below(random, 11)];
}

static void write_tables(const sf_graph_t *graph, uint64_t *random)
{
  for (sfc_exchange_t *exchange = graph->trunks->exchanges; exchange != NULL; exchange = exchange->next)
    for (uint32_t side = 0; side < graph->trunks->map->nsides; side++) {
      const sfshm_side_slots_t *slots = &exchange->slots[side];
      if (slots->send_stride == 0 || slots->receive_stride == 0)
        continue;
      uint64_t slot = sftest_below(random, 2) == 0 ? sfshm_send_slot(slots, (uint64_t)sftest_below(random, 8))
                                                   : sfshm_receive_slot(slots, (uint64_t)sftest_below(random, 8));
      sfshm_block_entry_t *entry = (void *)((char *)exchange->region.base + slot);
      *(sftest_below(random, 2) == 0 ? &entry->place : &entry->bytes) = nonsense(random);
    }
}

/* What members write, and what they may write although only the daemon should. */
static void write_flows(const sf_graph_t *graph, uint64_t *random)
{
  for (uint32_t side = 0; side < graph->trunks->map->nsides; side++) {
    sfshm_flow_t *flow = &graph->trunks->board->flows[side];
    int64_t slot = sftest_below(random, SFSHM_TRUNK_SLOTS);
    flow->reserved[slot] = nonsense(random);
    flow->class_hint = (uint64_t)sftest_below(random, 12) * (uint64_t)sftest_below(random, 2);
    flow->unit_bytes[slot] = nonsense_unit(random);
  }
}

/* Rank 3 dies, perhaps after it has written nonsense for a while; all others get an error. */
static void survive(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph = connect_all(self, context);
  uint64_t random = scene->seed;
  sf_status_t status = exchange_until(self, graph, 5, 5000);
  SFTEST_OK(self, status);
  scene->ready++;
  sftest_await(&scene->ready, FAILING_SIZE);
  if (self->rank == 3 && !scene->writes)
    raise(SIGKILL);
  for (int i = 0; self->rank == 3 && i < 300; i++) {
    write_flows(graph, &random);
    write_tables(graph, &random);
    if (i % 100 == 0)
      sftest_sleep_ms(5);
  }
  if (self->rank == 3)
    _exit(0);
  while (status == SF_OK)
    status = exchange_until(self, graph, 100, 5000);
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || scene->writes);
  (void)sf_finalize(context);
}

static void run_scene(bool writes)
{
  static const int32_t places[] = {0, 1, 0, 1};
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_job_t job;
  scene->seed = sftest_seed();
  scene->writes = writes;
  sftest_use_seed(scene->seed);
  sftest_job_start_over(&job, sftest_case_cluster.nodes, places, FAILING_SIZE, survive, scene);
  sftest_job_wait(&job);
  if (writes)
    sftest_job_expect_all(&job);
  else
    sftest_job_expect_all_but(&job, 3);
}

SFTEST(deaths)
{
  for (int i = 0; i < 3; i++)
    run_scene(false);
  sftest_cluster_warm(&sftest_case_cluster);
}

SFTEST(hostile_members)
{
  for (int i = 0; i < sftest_scale(8); i++)
    run_scene(true);
  sftest_cluster_warm(&sftest_case_cluster);
}

SFTEST_FIXTURE(sftest_three_nodes, sftest_stop_nodes);
SFTEST_AGAIN(random_graphs, 1);

/* A graph that fails while one rank makes, at the first use that needs them, what all make together: multi-graph, edges
 * by rank, streams. The others know already that the graph has failed when they come; all have to hear of it. Ranks are
 * on one node and on several. */
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define RANKS 3
#define UNITS SFTEST_DEVICE_RING_UNITS

typedef enum use {
  MULTI,
  LEAF_RANKS, /* over nodes only: on one it takes nobody else */
  FETCH,
  FETCH_INIT,
  GATHER,
  HOST_USES,
  STREAM = HOST_USES,
  GATHER_ON_STREAM, /* of a graph without multi-graph, */
  FETCH_ON_STREAM,
  GATHER_IN_MULTI, /* and of one that has it */
  FETCH_IN_MULTI,
  USES
} use_t;

typedef struct scene {
  use_t use;
  _Atomic int entered; /* rank 0 is about to use the graph */
} scene_t;

static sf_status_t use_host(sf_graph_t *graph, use_t use)
{
  static double roots[UNITS], leaves[UNITS], slots[UNITS];
  sf_graph_ranks_t ranks;
  sf_graph_t *multi;
  sf_request_t *request;
  switch (use) {
  case MULTI:
    return sf_graph_multi(graph, &multi);
  case LEAF_RANKS:
    return sf_graph_leaf_ranks(graph, &ranks);
  case FETCH:
    return sf_fetch_op(graph, SF_DOUBLE, roots, leaves, leaves, SF_SUM);
  case FETCH_INIT:
    return sf_fetch_op_init(graph, SF_DOUBLE, roots, leaves, leaves, SF_SUM, &request);
  default:
    return sf_gather(graph, SF_DOUBLE, leaves, slots);
  }
}

static sf_status_t use_device(const sftest_device_ring_t *ring, use_t use)
{
  switch (use) {
  case STREAM:
    return sftest_device_ring_bcast(ring);
  case GATHER_ON_STREAM:
  case GATHER_IN_MULTI:
    return sf_gather_on_stream(ring->graph, SF_DOUBLE, ring->leaves, ring->roots, ring->stream);
  default:
    return sf_fetch_op_on_stream(ring->graph, SF_DOUBLE, ring->roots, ring->leaves, ring->leaves, SF_SUM, ring->stream);
  }
}

/* Ranks 1 and 2 call different operations, while rank 0 has gone on to what all do together. */
static void spoil(sftest_rank_t *self, sf_graph_t *graph, scene_t *scene)
{
  double roots[UNITS] = {0}, leaves[UNITS];
  if (self->rank == 0) {
    atomic_store(&scene->entered, 1);
    return;
  }
  sftest_await(&scene->entered, 1);
  sftest_sleep_ms(50); /* until it waits there */
  SFTEST_EXPECT(self, sf_bcast(graph, self->rank == 1 ? SF_DOUBLE : SF_FLOAT, roots, leaves, SF_REPLACE),
                SF_ERR_MISMATCH);
}

/* Once more: what has failed is not half made. */
static void expect_failure(sftest_rank_t *self, sf_status_t status, int round)
{
  sftest_at(self, "round %d", round);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "bcast(");
}

SFTEST_JOINED(use_host_late)
{
  scene_t *scene = self->argument;
  sf_graph_t *graph, *other;
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &other));
  spoil(self, graph, scene);
  for (int round = 0; round < 2; round++)
    expect_failure(self, use_host(graph, scene->use), round);
  sftest_ring_expect_working(self, world, other, UNITS);
  SFTEST_OK(self, use_host(other, FETCH));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_graph_destroy(other));
}

static void use_device_late(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sftest_device_ring_t ring;
  sf_graph_t *multi;
  sftest_device_ring_make(self, &ring);
  if (scene->use >= GATHER_IN_MULTI)
    SFTEST_OK(self, sf_graph_multi(ring.graph, &multi));
  spoil(self, ring.graph, scene);
  for (int round = 0; round < 2; round++)
    expect_failure(self, use_device(&ring, scene->use), round);
  sftest_device_ring_free(&ring);
}

static const int32_t placements[][RANKS] = {{0, 0, 0}, {0, 1, 1}, {0, 1, 0}, {0, 1, 2}};
#define NPLACEMENTS ((int)(sizeof placements / sizeof placements[0]))

SFTEST_FOR(test_late, (sftest_device_is_there() ? USES : HOST_USES) * NPLACEMENTS)
{
  static sftest_loop_cluster_t loop;
  int placement = _i % NPLACEMENTS;
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->use = (use_t)(_i / NPLACEMENTS);
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  if (scene->use != LEAF_RANKS || placement > 0) {
    sftest_run_over(loop.nodes, placements[placement], RANKS, scene->use < HOST_USES ? use_host_late : use_device_late,
                    scene);
  }
  sftest_loop_cluster_stop(&loop);
}

SFTEST_DEVICE_MAIN(false);

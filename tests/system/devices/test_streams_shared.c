/* Slots on devices of graphs that live together, on a stand-in for the driver: they are in the same memory of each
 * rank, where none has another one's values. */
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define RANKS 3
#define GRAPHS 5
#define UNITS SFTEST_DEVICE_RING_UNITS

static double value_of(int32_t rank, int round, int i)
{
  return 1e6 * round + 1000.0 * rank + i;
}

/* As many as there are slots are under way on each graph before the next one's. */
static void operate(sftest_device_ring_t *ring, sf_graph_t *const graphs[], int n, int round)
{
  int32_t next = (ring->self->rank + 1) % RANKS, before = (ring->self->rank + RANKS - 1) % RANKS;
  for (int i = 0; i < UNITS; i++)
    ring->host[i] = value_of(ring->self->rank, round, i);
  sftest_device_copy(ring->roots, ring->host, sizeof ring->host);
  for (int i = 0; i < 4 * n; i++) {
    ring->graph = graphs[i % n];
    SFTEST_OK(ring->self, sftest_device_ring_bcast(ring));
  }
  for (int i = 0; i < n; i++)
    SFTEST_OK(ring->self, sf_streams_wait(graphs[i]));
  sftest_device_copy(ring->host, ring->leaves, sizeof ring->host);
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(ring->self,
                   ring->host[i] == value_of(next, round, i) || ring->host[i] == value_of(before, round, i));
}

static void expect_on_device(const sftest_device_ring_t *ring)
{
  const char *socket = ring->self->options.socket_path;
  int32_t rank = ring->self->rank, next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
  SFTEST_REQUIRE(ring->self, sftest_sfctl_pair_is(socket, rank, next, "streams", "device") ||
                                 sftest_sfctl_pair_is(socket, rank, before, "streams", "device"));
}

static void share(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sf_graph_t *graphs[GRAPHS];
  sftest_device_ring_make(self, &ring);
  for (int n = 1; n <= GRAPHS; n++) {
    if (n > 1)
      SFTEST_OK(self, sftest_ring_create(sf_group_world(ring.context), UNITS, SF_GRAPH_DEFAULT, &ring.graph));
    graphs[n - 1] = ring.graph;
    operate(&ring, graphs, n, n);
  }
  for (int n = 0; n < GRAPHS - 1; n++)
    SFTEST_OK(self, sf_graph_destroy(graphs[n]));
  operate(&ring, &graphs[GRAPHS - 1], 1, 0);
  expect_on_device(&ring);                   /* as it was when the others were there */
  operate(&ring, &graphs[GRAPHS - 1], 1, 0); /* nobody leaves before */
  ring.graph = graphs[GRAPHS - 1];
  sftest_device_ring_free(&ring);
}

/* The job may have one block of the driver's for each rank. */
SFTEST_FOR(test_shared_memory, sftest_device_can_fail() ? 1 : 0)
{
  sftest_node_t node;
  ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, (const char *const[]){"--max-device-memory=6", NULL});
  sftest_run_job(&node, RANKS, share, NULL);
  sftest_node_stop(&node);
}

SFTEST_DEVICE_MAIN(true);

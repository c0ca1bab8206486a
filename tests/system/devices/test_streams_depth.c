/* What streams have little of, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: room for hosts that run
 * far ahead, as a stream takes some 1,000 pieces of work, and holds up the call that gives it more; and queues. */
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/work.h"

#define CALLS 600
#define STREAMS 12 /* more than a device has queues unless it is told so */
#define FEW 20     /* which a stream takes in any case */

/* Rank 0 gives all that it can before rank 1 gives anything. */
typedef struct ahead {
  bool dies; /* rank 1, instead of giving anything */
  _Atomic int given;
} ahead_t;

static void be_behind(sftest_rank_t *self, ahead_t *ahead)
{
  SFTEST_SLEEP_WHILE(ahead->given < FEW);
  sftest_sleep_ms(200); /* for as long as the stream has room */
  if (sftest_device_can_fail())
    SFTEST_REQUIRE(self, ahead->given < CALLS);
  if (ahead->dies)
    raise(SIGKILL);
}

static void run_ahead(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  ahead_t *ahead = self->argument;
  sf_status_t status = SF_OK;
  sftest_device_ring_make(self, &ring);
  SFTEST_OK(self, sftest_device_ring_bcast(&ring)); /* collective */
  if (self->rank == 1)
    be_behind(self, ahead);
  for (int i = 0; i < CALLS && status == SF_OK; i++) {
    status = sftest_device_ring_bcast(&ring);
    ahead->given += self->rank == 0;
  }
  SFTEST_EXPECT(self, status, ahead->dies ? SF_ERR_RANK_FAILED : SF_OK);
  if (status == SF_OK)
    sftest_device_ring_wait(&ring);
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(test_ahead, 2)
{
  sftest_node_t node;
  sftest_job_t job;
  ahead_t *ahead = sftest_shared(sizeof *ahead);
  ahead->dies = _i == 1;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, run_ahead, ahead);
  sftest_job_wait(&job);
  if (ahead->dies)
    sftest_job_expect_all_but(&job, 1);
  else
    sftest_job_expect_all(&job);
  sftest_node_stop(&node);
}

/* Graphs on streams of their own, which the ranks call in opposite order, once each, or in the same order: the first
 * takes a queue of the device for each stream, the second any number of them. */
typedef struct crossing {
  const char *queues;
  bool opposite;
} crossing_t;

/* All parts of the leaves, which the streams have written at the same time. */
static void expect_parts(sftest_device_ring_t *ring, double *parts)
{
  double *leaves = ring->leaves;
  for (int i = 0; i < STREAMS; i++) {
    ring->leaves = parts + i * SFTEST_DEVICE_RING_UNITS;
    sftest_device_ring_expect(ring);
  }
  ring->leaves = leaves;
}

static void cross(sftest_rank_t *self)
{
  static const size_t parts_bytes = STREAMS * SFTEST_DEVICE_RING_UNITS * sizeof(double);
  sftest_device_ring_t ring;
  sf_region_t *region;
  sf_graph_t *graphs[STREAMS];
  void *streams[STREAMS];
  const crossing_t *crossing = self->argument;
  bool back = crossing->opposite && self->rank == 1;
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", crossing->queues, 1);
  sftest_device_ring_make(self, &ring);
  double *parts = sftest_device_alloc(0, parts_bytes);
  SFTEST_OK(self, sf_register(ring.context, parts, parts_bytes, SF_MEMORY_CUDA, &region));
  for (int i = 0; i < STREAMS; i++) {
    streams[i] = sftest_device_stream(0);
    SFTEST_OK(self,
              sftest_ring_create(sf_group_world(ring.context), SFTEST_DEVICE_RING_UNITS, SF_GRAPH_DEFAULT, &graphs[i]));
    SFTEST_OK(self, sf_bcast_on_stream(graphs[i], SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, streams[i]));
    SFTEST_OK(self, sf_streams_wait(graphs[i]));
  }
  for (int i = 0; i < STREAMS; i++) {
    int k = back ? STREAMS - 1 - i : i;
    double *leaves = parts + k * SFTEST_DEVICE_RING_UNITS;
    SFTEST_OK(self, sf_bcast_on_stream(graphs[k], SF_DOUBLE, ring.roots, leaves, SF_REPLACE, streams[k]));
  }
  for (int i = 0; i < STREAMS; i++)
    SFTEST_OK(self, sf_streams_wait(graphs[i]));
  expect_parts(&ring, parts);
  for (int i = 0; i < STREAMS; i++) {
    SFTEST_OK(self, sf_graph_destroy(graphs[i]));
    sftest_device_stream_free(streams[i]);
  }
  SFTEST_OK(self, sf_unregister(region));
  sftest_device_free(parts);
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(test_crossing, 2)
{
  static const crossing_t crossings[] = {{"32", true}, {"1", false}};
  sftest_run_alone(2, cross, (void *)(uintptr_t)&crossings[_i]);
}

SFTEST_DEVICE_MAIN(true);

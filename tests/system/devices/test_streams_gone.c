/* Streams and the end of what they work with, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: graphs
 * that are destroyed while operations are on their way, here or in another rank; and what happens to streams that wait
 * when a rank, the daemon or a kernel dies. */
#include <pthread.h>
#include <sys/time.h>

#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/work.h"

#define UNITS SFTEST_DEVICE_RING_UNITS

/* ---- Many graphs ------------------------------------------------------------------------------------------------- */

static void make_and_free(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sf_graph_t *graph;
  int64_t live = 0;
  _Atomic int *counted = self->argument;
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < sftest_scale(30); i++) {
    SFTEST_OK(self, sftest_ring_create(sf_group_world(ring.context), UNITS, SF_GRAPH_DEFAULT, &graph));
    for (int k = 0; k < 3; k++)
      SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, ring.stream));
    SFTEST_OK(self, sf_graph_destroy(graph)); /* waits for the stream */
    if (i == 0)
      live = sftest_device_live();
    SFTEST_REQUIRE(self, sftest_device_live() == live);
  }
  atomic_fetch_add(counted, 1);
  sftest_await(counted, 2); /* the memory of a rank that leaves counts no longer */
  sftest_device_stream_finish(ring.stream);
  sftest_device_ring_free(&ring);
}

/* Also with slots on devices. */
SFTEST_FOR(test_many, 2)
{
  _Atomic int *counted = sftest_shared(sizeof *counted);
  if (_i == 1)
    ck_assert(sftest_device_for_programs());
  sftest_run_alone(2, make_and_free, counted);
}

/* Rank 1 goes on with a graph that rank 0 has destroyed: the areas of the next one are others. */
static void go_on_alone(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sf_graph_t *first, *second;
  sf_streamed_t *streamed;
  _Atomic int *step = self->argument;
  sftest_device_ring_make(self, &ring);
  first = ring.graph;
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  if (self->rank == 0)
    SFTEST_OK(self, sf_graph_destroy(first));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(ring.context), UNITS, SF_GRAPH_DEFAULT, &second));
  ring.graph = second;
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  SFTEST_OK(self, sf_streams_wait(second));
  if (self->rank == 1) {
    SFTEST_OK(self, sf_bcast_begin_on_stream(first, SF_DOUBLE, ring.leaves, ring.leaves, SF_REPLACE, ring.stream,
                                             &streamed)); /* of rank 0's values */
    SFTEST_OK(self, sf_streams_wait(first));
    *step = 1;
    sftest_sleep_ms(20);
  }
  sftest_await(step, 1);
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  (*step)++;
  sftest_await(step, 3);
  if (self->rank == 1)
    raise(SIGKILL); /* its first graph can't be ended any more */
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(test_gone_graph, 2)
{
  sftest_node_t node;
  sftest_job_t job;
  _Atomic int *step = sftest_shared(sizeof *step);
  if (_i == 1)
    ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, go_on_alone, step);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, 1);
  sftest_node_stop(&node);
}

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
static void play_fate(sftest_device_ring_t *ring, plot_t *plot)
{
  sf_streamed_t *streamed = NULL;
  if (ring->self->rank > 0) {
    sf_status_t status = SF_OK;
    for (int i = 0; i < 7 && status == SF_OK; i++)
      status = sftest_device_ring_bcast(ring);
    SFTEST_REQUIRE(ring->self, status == SF_OK || status == expected_of(plot->fate));
    plot->waiting++;
    sftest_device_stream_finish(ring->stream);
    SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), expected_of(plot->fate));
    SFTEST_EXPECT(ring->self, sftest_device_ring_bcast(ring), expected_of(plot->fate));
    return;
  }
  sftest_await(&plot->waiting, ring->self->size - 1);
  plot->waiting++;
  if (plot->fate == RANK_DIES)
    raise(SIGKILL);
  if (plot->fate == CALLS_DIFFER)
    SFTEST_EXPECT(
        ring->self,
        sf_reduce_begin_on_stream(ring->graph, SF_DOUBLE, ring->leaves, ring->roots, SF_SUM, ring->stream, &streamed),
        SF_ERR_MISMATCH);
  if (plot->fate == KERNEL_FAILS)
    SFTEST_EXPECT(ring->self, sftest_device_ring_bcast(ring), SF_ERR_SYS);
  while (sf_streams_check(ring->graph) == SF_OK) /* DAEMON_DIES */
    sftest_sleep_ms(1);
}

static void meet_fate(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  plot_t *plot = self->argument;
  sftest_device_ring_begin(self, plot->memops, plot->fate == KERNEL_FAILS, &ring);
  play_fate(&ring, plot);
  sftest_device_ring_free(&ring);
}

/* on_device: ranks share memory of devices, so that slots are there. */
static void run_fate(fate_t fate, bool memops, bool on_device)
{
  sftest_node_t node;
  sftest_job_t job;
  plot_t *plot = sftest_shared(sizeof *plot);
  plot->fate = fate;
  plot->memops = memops;
  if (on_device)
    ck_assert(sftest_device_for_programs());
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 3, meet_fate, plot);
  if (fate == DAEMON_DIES) {
    sftest_await(&plot->waiting, 3);
    sftest_node_kill(&node);
  }
  sftest_job_wait(&job);
  if (fate == RANK_DIES)
    sftest_job_expect_all_but(&job, 0);
  else
    sftest_job_expect_all(&job);
  sftest_node_stop(&node);
}

SFTEST_FOR(test_fates, sftest_device_can_fail() ? 4 * FATES : 4 * KERNEL_FAILS)
{
  run_fate((fate_t)(_i / 4), _i % 2 == 0, _i / 2 % 2 == 0);
}

/* ---- Memory that is open ----------------------------------------------------------------------------------------- */

typedef struct holding {
  bool unregisters; /* rank 0, before it dies: it waits for rank 1 then */
  _Atomic int waiting;
} holding_t;

static void die(int number)
{
  (void)number;
  raise(SIGKILL);
}

/* Rank 1 has rank 0's roots open, which the driver closes only when the stream has come to its end, and that waits for
 * rank 0. */
static void hold_open(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  holding_t *holding = self->argument;
  sftest_device_ring_make(self, &ring);
  SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE));
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  if (self->rank == 0) {
    sftest_await(&holding->waiting, 1);
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = holding->unregisters ? 100000 : 1}}, NULL);
    if (holding->unregisters)
      (void)sf_unregister(ring.regions[0]);
    for (;;)
      pause();
  }
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  holding->waiting = 1;
  SFTEST_EXPECT(self, sf_streams_wait(ring.graph), SF_ERR_RANK_FAILED);
  sftest_device_ring_free(&ring);
}

/* Rank 0's second thread waits for rank 1 to close memory, which is done only when rank 1's stream has come to its end.
 * Until then both do other things with devices, without which rank 0 doesn't come to what the stream waits for. */
static void *unregister(void *argument)
{
  sftest_device_ring_t *ring = argument;
  SFTEST_OK(ring->self, sf_unregister(ring->regions[0]));
  ring->regions[0] = NULL;
  return NULL;
}

static void go_on_meanwhile(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  pthread_t thread;
  holding_t *holding = self->argument;
  double *other;
  sf_region_t *region;
  sftest_device_ring_make(self, &ring);
  other = sftest_device_alloc(0, sizeof ring.host);
  SFTEST_OK(self, sf_register(ring.context, other, sizeof ring.host, SF_MEMORY_CUDA, &region));
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, i == 0 ? other : ring.roots, ring.leaves, SF_REPLACE));
  SFTEST_OK(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, other, ring.leaves, SF_REPLACE, ring.stream));
  SFTEST_OK(self, sf_streams_wait(ring.graph));
  if (self->rank == 0) {
    sftest_await(&holding->waiting, 1);
    SFTEST_REQUIRE(self, pthread_create(&thread, NULL, unregister, &ring) == 0);
    sftest_sleep_ms(50);
    holding->waiting = 2;
  } else {
    SFTEST_OK(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, other, ring.leaves, SF_REPLACE, ring.stream));
    holding->waiting = 1;
    sftest_await(&holding->waiting, 2);
  }
  SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, other, ring.host, SF_REPLACE));
  if (self->rank == 0) {
    SFTEST_OK(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, other, ring.leaves, SF_REPLACE, ring.stream));
    SFTEST_REQUIRE(self, pthread_join(thread, NULL) == 0);
  }
  SFTEST_OK(self, sf_streams_wait(ring.graph));
  SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, other, ring.host, SF_REPLACE)); /* nobody leaves before */
  SFTEST_OK(self, sf_unregister(region));
  sftest_device_free(other);
  sftest_device_ring_free(&ring);
}

SFTEST(test_going_on)
{
  holding_t *holding = sftest_shared(sizeof *holding);
  sftest_run_alone(2, go_on_meanwhile, holding);
}

SFTEST_FOR(test_open, 2)
{
  sftest_node_t node;
  sftest_job_t job;
  holding_t *holding = sftest_shared(sizeof *holding);
  holding->unregisters = _i == 1;
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, hold_open, holding);
  sftest_job_wait(&job);
  sftest_job_expect_success(&job, 1);
  sftest_node_stop(&node);
}

SFTEST_DEVICE_MAIN(true);

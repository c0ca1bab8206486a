/* Streams that wait for ranks of other nodes, on a stand-in for the driver or (SFTEST_CUDA=real) a real one, when a
 * rank, a daemon or a kernel dies, or when nodes call different operations: all streams go on, and all ranks are told.
 */
#include "shm/trunk/trunk.h"
#include "tests/system/cluster.h"
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"

#define RANKS 4
#define UNITS SFTEST_DEVICE_RING_UNITS

static const int32_t places[RANKS] = {0, 0, 1, 1};

/* ---- One rank calls nothing more, or something else -------------------------------------------------------------- */

typedef enum fate {
  RANK_DIES,
  ITS_DAEMON_DIES,
  OTHER_DAEMON_DIES,
  RANKS_DIFFER,
  NODES_DIFFER,
  KERNEL_FAILS,
  FATES
} fate_t;

/* How far test_held is; other tests hold nothing up. */
typedef enum held { NOT_YET, WILL_NOT_LEAVE, HAS_NOT_LEFT } held_t;

typedef struct plot {
  fate_t fate;
  bool memops;
  _Atomic int32_t ready;   /* ranks that have ended what all call alike */
  _Atomic int32_t waiting; /* ranks whose streams wait for what does not come, and rank 0 when it has seen them all */
  bool holds;
  _Atomic held_t held;       /* what is sent to node 0, if something is held up; then: */
  _Atomic int32_t ntold;     /* ranks that have heard of the end */
  _Atomic bool ended[RANKS]; /* whether all is done that was given to the rank's stream */
} plot_t;

static int32_t lost_node(fate_t fate)
{
  return fate == ITS_DAEMON_DIES ? 0 : fate == OTHER_DAEMON_DIES ? 1 : -1;
}

static sf_status_t expected_of(const plot_t *plot, int32_t rank)
{
  switch (plot->fate) {
  case RANKS_DIFFER:
  case NODES_DIFFER:
    return SF_ERR_MISMATCH;
  case KERNEL_FAILS:
    return SF_ERR_SYS;
  default:
    return lost_node(plot->fate) == places[rank] ? SF_ERR_DAEMON_LOST : SF_ERR_RANK_FAILED;
  }
}

/* Whether the rank takes the villain's side: all ranks of its node differ from those of the other one. */
static bool differs(const plot_t *plot, int32_t rank)
{
  return plot->fate == NODES_DIFFER && places[rank] == 0;
}

static sf_status_t reduce_ring(const sftest_device_ring_t *ring)
{
  return sf_reduce_on_stream(ring->graph, SF_DOUBLE, ring->leaves, ring->roots, SF_SUM, ring->stream);
}

/* What others found is on its way. */
static void hear_of_end(const sftest_device_ring_t *ring)
{
  SFTEST_SLEEP_WHILE(sf_streams_check(ring->graph) == SF_OK);
}

static void expect_end(const sftest_device_ring_t *ring, plot_t *plot)
{
  sf_status_t expected = expected_of(plot, ring->self->rank);
  if (plot->holds)
    hear_of_end(ring);
  plot->ntold++;
  sftest_device_stream_finish(ring->stream);
  plot->ended[ring->self->rank] = true;
  hear_of_end(ring);
  SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), expected);
  SFTEST_EXPECT(ring->self, sftest_device_ring_bcast(ring), expected);
}

/* More than may be under way, unless the end comes first. */
static void wait_on_stream(const sftest_device_ring_t *ring, plot_t *plot)
{
  sf_status_t status = SF_OK;
  for (int i = 0; i < SFSHM_TRUNK_SLOTS + 3 && status == SF_OK; i++)
    status = differs(plot, ring->self->rank) ? reduce_ring(ring) : sftest_device_ring_bcast(ring);
  SFTEST_REQUIRE(ring->self, status == SF_OK || status == expected_of(plot, ring->self->rank));
  plot->waiting++;
  expect_end(ring, plot);
}

static void be_villain(const sftest_device_ring_t *ring, plot_t *plot)
{
  sf_status_t status = SF_OK;
  SFTEST_SLEEP_WHILE(plot->waiting < RANKS - 1 || (plot->holds && plot->held < HAS_NOT_LEFT));
  plot->waiting++;
  if (plot->fate == RANK_DIES)
    raise(SIGKILL);
  if (plot->fate == RANKS_DIFFER || plot->fate == NODES_DIFFER)
    status = reduce_ring(ring);
  if (plot->fate == KERNEL_FAILS)
    status = sftest_device_ring_bcast(ring);
  SFTEST_REQUIRE(ring->self, status == SF_OK || status == expected_of(plot, 0));
  if (plot->fate != KERNEL_FAILS)
    expect_end(ring, plot);
}

static void meet_fate(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  plot_t *plot = self->argument;
  sftest_device_ring_begin(self, plot->memops, plot->fate == KERNEL_FAILS, &ring);
  plot->ready++;
  SFTEST_SLEEP_WHILE(plot->holds && plot->held < WILL_NOT_LEAVE);
  sftest_await(&plot->ready, RANKS); /* whoever waits longer must not hear of what comes */
  if (self->rank == 0)
    be_villain(&ring, plot);
  else
    wait_on_stream(&ring, plot);
  sftest_device_ring_free(&ring);
}

static void run_fate(fate_t fate, bool memops)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  plot_t *plot = sftest_shared(sizeof *plot);
  plot->fate = fate;
  plot->memops = memops;
  sftest_cluster_start(&cluster, 2);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, meet_fate, plot);
  if (lost_node(fate) >= 0) {
    sftest_await(&plot->waiting, RANKS);
    sftest_cluster_kill(&cluster, lost_node(fate));
  }
  sftest_job_wait(&job);
  if (fate == RANK_DIES)
    sftest_job_expect_all_but(&job, 0);
  else
    sftest_job_expect_all(&job);
  sftest_cluster_stop(&cluster);
}

SFTEST_FOR(test_fates, sftest_device_can_fail() ? 2 * FATES : 2 * KERNEL_FAILS)
{
  run_fate((fate_t)(_i / 2), _i % 2 == 0);
}

/* ---- At any moment ----------------------------------------------------------------------------------------------- */

#define STEPS 5
#define KILLS 4

/* Leaves become roots, by the stream, so that values go round the ring; hosts look now and then. Whatever dies: what is
 * called good is good. */
static void go_round(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sf_status_t status = SF_OK;
  _Atomic int32_t *rounds = self->argument;
  sftest_device_ring_make(self, &ring);
  int32_t step = 0; /* from which rank values come, which the first one tells */
  for (int32_t round = 0; status == SF_OK; round++) {
    for (int i = 0; i < STEPS && status == SF_OK; i++) {
      status = sftest_device_ring_bcast(&ring);
      sftest_device_stream_copy(ring.roots, ring.leaves, sizeof ring.host, ring.stream);
    }
    if (status == SF_OK)
      status = sf_streams_wait(ring.graph);
    if (status != SF_OK)
      break;
    sftest_device_stream_finish(ring.stream);
    sftest_device_copy(ring.host, ring.roots, sizeof ring.host);
    if (round == 0)
      step = ((int32_t)(ring.host[0] / 1000) - self->rank + 2 * RANKS) % RANKS;
    int32_t from = (self->rank + (round + 1) * step) % RANKS;
    for (int i = 0; i < UNITS; i++)
      SFTEST_REQUIRE(self, ring.host[i] == 1000.0 * from + i);
    rounds[self->rank] = round + 1;
  }
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST);
  sftest_device_ring_free(&ring);
}

SFTEST(test_any_moment)
{
  uint64_t random = sftest_seed();
  for (int n = 0; n < KILLS; n++) {
    sftest_cluster_t cluster;
    sftest_job_t job;
    _Atomic int32_t *rounds = sftest_shared(RANKS * sizeof *rounds);
    int32_t victim = (int32_t)sftest_below(&random, RANKS), first = 1 + (int32_t)sftest_below(&random, 8);
    bool daemon = sftest_below(&random, 2) == 0;
    sftest_cluster_start(&cluster, 2);
    sftest_job_start_over(&job, cluster.nodes, places, RANKS, go_round, (void *)rounds);
    sftest_await(&rounds[victim], first);
    if (daemon)
      sftest_cluster_kill(&cluster, places[victim]);
    else
      kill(job.pids[victim], SIGKILL);
    sftest_job_wait(&job);
    if (daemon)
      sftest_job_expect_all(&job);
    else
      sftest_job_expect_all_but(&job, victim);
    sftest_cluster_stop(&cluster);
  }
}

/* ---- Messages that are held up ----------------------------------------------------------------------------------- */

/* A kernel of rank 0 fails while messages have not left their slots on node 1: the streams there wait until these have,
 * and not for ever. */
SFTEST_FOR(test_held, sftest_device_can_fail() ? 1 : 0)
{
  sftest_loop_cluster_t cluster;
  sftest_job_t job;
  plot_t *plot = sftest_shared(sizeof *plot);
  plot->fate = KERNEL_FAILS;
  plot->memops = plot->holds = true;
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, meet_fate, plot);
  sftest_await(&plot->ready, RANKS);
  sftest_loop_cluster_order(&cluster, SFTEST_LOOP_HOLD, 1, 0);
  plot->held = WILL_NOT_LEAVE;
  SFTEST_SLEEP_WHILE(sftest_loop_cluster_order(&cluster, SFTEST_LOOP_BYTES, 1, 0) < UNITS * sizeof(double));
  plot->held = HAS_NOT_LEFT;
  sftest_await(&plot->ntold, RANKS - 1);
  sftest_sleep_ms(20); /* for what must not happen */
  ck_assert(!plot->ended[2] && !plot->ended[3]);
  sftest_loop_cluster_order(&cluster, SFTEST_LOOP_LET_GO, 1, 0);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&cluster);
}

/* ---- Nobody sends ------------------------------------------------------------------------------------------------ */

/* The owner of all roots wants contributions, the owner of all leaves values: neither sends, and both are asked. */
static void wait_in_vain(sftest_rank_t *self)
{
  double values[UNITS] = {0};
  int32_t ranks[UNITS] = {0}, indices[UNITS];
  sf_graph_t *graph;
  bool owner = self->rank == 0;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  void *stream = sftest_device_stream(0);
  for (int i = 0; i < UNITS; i++)
    indices[i] = i;
  SFTEST_OK(self, sf_graph_create_i32(sf_group_world(context), owner ? UNITS : 0, owner ? 0 : UNITS, NULL, ranks,
                                      indices, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, values, values, SF_REPLACE, stream));
  if (owner)
    SFTEST_OK(self, sf_reduce_on_stream(graph, SF_DOUBLE, values, values, SF_SUM, stream));
  else
    SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, values, values, SF_REPLACE, stream));
  sftest_device_stream_finish(stream);
  SFTEST_EXPECT(self, sf_streams_wait(graph), SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "operation 2 on streams");
  SFTEST_DETAIL(self, "reduce(double, sum)");
  SFTEST_DETAIL(self, "bcast(double, replace)");
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  sftest_device_stream_free(stream);
}

SFTEST(test_nobody_sends)
{
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  sftest_run_over(cluster.nodes, (const int32_t[]){0, 1}, 2, wait_in_vain, NULL);
  sftest_loop_cluster_stop(&cluster);
}

/* ---- What waits on the multi-graph ------------------------------------------------------------------------------- */

/* Rank 0 waits for what rank 1 does not send on the multi-graph, having heard before that streams of the graph differ.
 */
typedef enum wait_for {
  WAIT_ON_HOST,
  WAIT_FOR_STREAMS,
  DESTROY_GRAPH,
  FINALIZE,
  WAITS,
} wait_for_t;

typedef struct vain {
  wait_for_t wait;
  _Atomic bool waiting;
} vain_t;

static void wait_on_multi(const sftest_device_ring_t *ring, vain_t *vain, double slots[])
{
  sf_request_t *request = NULL;
  SFTEST_OK(ring->self, sftest_device_ring_bcast(ring));
  if (vain->wait == WAIT_ON_HOST)
    SFTEST_OK(ring->self, sf_gather_begin(ring->graph, SF_DOUBLE, ring->host, slots, &request));
  else
    SFTEST_OK(ring->self, sf_gather_on_stream(ring->graph, SF_DOUBLE, ring->leaves, slots, ring->stream));
  vain->waiting = true;
  if (vain->wait == WAIT_ON_HOST)
    SFTEST_EXPECT(ring->self, sf_wait(&request), SF_ERR_MISMATCH);
  else if (vain->wait == WAIT_FOR_STREAMS)
    SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), SF_ERR_MISMATCH);
  if (vain->wait != FINALIZE)
    SFTEST_OK(ring->self, sf_graph_destroy(ring->graph));
}

static void refuse_multi(const sftest_device_ring_t *ring, const vain_t *vain, double slots[])
{
  SFTEST_SLEEP_WHILE(!vain->waiting);
  sf_status_t status = reduce_ring(ring);
  SFTEST_REQUIRE(ring->self, status == SF_OK || status == SF_ERR_MISMATCH);
  SFTEST_SLEEP_WHILE(sf_streams_check(ring->graph) == SF_OK);
  SFTEST_EXPECT(ring->self, sf_gather(ring->graph, SF_DOUBLE, ring->host, slots), SF_ERR_MISMATCH);
  SFTEST_OK(ring->self, sf_graph_destroy(ring->graph));
}

static void wait_on_kin(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  double slots[UNITS];
  vain_t *vain = self->argument;
  sftest_device_ring_make(self, &ring);
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  SFTEST_OK(self, sf_gather(ring.graph, SF_DOUBLE, ring.host, slots));
  SFTEST_OK(self, sf_gather_on_stream(ring.graph, SF_DOUBLE, ring.leaves, slots, ring.stream));
  SFTEST_OK(self, sf_streams_wait(ring.graph));
  if (self->rank == 0)
    wait_on_multi(&ring, vain, slots);
  else
    refuse_multi(&ring, vain, slots);
  if (self->rank != 0 || vain->wait != FINALIZE)
    ring.graph = NULL;
  sftest_device_ring_free(&ring);
}

SFTEST(test_kin)
{
  sftest_loop_cluster_t cluster;
  vain_t *vain = sftest_shared(sizeof *vain);
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  for (wait_for_t wait = 0; wait < WAITS; wait++) {
    *vain = (vain_t){.wait = wait};
    sftest_run_over(cluster.nodes, (const int32_t[]){0, 1}, 2, wait_on_kin, vain);
  }
  sftest_loop_cluster_stop(&cluster);
}

SFTEST_DEVICE_MAIN(true);

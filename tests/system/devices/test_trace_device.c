/* sfctl trace of what devices do, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: pieces of work of
 * ordinary operations and of those on streams, when nobody waits for them, when there are more than can be watched, and
 * when a kernel fails. */
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"
#include "tests/system/trace_rules.h"
#include "tests/system/work.h"

#define RANKS 2
#define UNITS SFTEST_DEVICE_RING_UNITS
#define CALLS 5
#define QUEUED 60 /* operations, of four pieces and an end each: more than are watched, fewer than a stream takes */

static sftest_node_t node;

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static void start(void)
{
  sftest_node_start(&node, NULL);
  sftest_sfctl(node.socket, WORDS("trace", "start"), 0);
}

static void stop(void)
{
  sftest_trace_free();
  sftest_node_stop(&node);
}

SFTEST_FIXTURE(start, stop);

/* The daemon keeps what its ranks have written. */
static void run_job(int32_t size, sftest_rank_fn_t function, void *argument)
{
  sftest_job_t job;
  sftest_job_start(&job, &node, size, function, argument);
  sftest_job_end_well(&job);
}

static void dump(void)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", node.directory);
  sftest_sfctl(node.socket, WORDS("trace", "dump", "--output", path), 0);
  sftest_trace_read(path);
  ck_assert_int_eq(unlink(path), 0);
  sftest_trace_check();
}

/* What devices did for operations lies within these: their clock is another one. */
static void expect_within(const char *work, const char *operation)
{
  for (unsigned process = 1; process <= RANKS + 1; process++) { /* the daemon is one, too */
    sftest_trace_span_t pieces = sftest_trace_span(process, 'X', work);
    double begin_us = sftest_trace_span(process, 'b', operation).begin_us;
    double end_us = sftest_trace_span(process, 'e', operation).end_us;
    ck_assert_msg(pieces.begin_us >= begin_us - 0.001 && pieces.end_us <= end_us + 0.001,
                  "process %u: %s from %.3f to %.3f, %s from %.3f to %.3f", process, work, pieces.begin_us,
                  pieces.end_us, operation, begin_us, end_us);
  }
}

/* ---- On streams -------------------------------------------------------------------------------------------------- */

/* The host waits for nothing before the end. */
static void use_streams(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < CALLS; i++)
    SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  sftest_device_ring_free(&ring);
}

/* By pinned slots, and by those on the device. */
SFTEST_FOR(streams, 2)
{
  if (_i == 0)
    setenv("SF_DEVICE_SHARE", "off", 1);
  run_job(RANKS, use_streams, NULL);
  dump();
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "stream waits for rank"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "kernel to host for rank"), _i == 0 ? CALLS * RANKS : 0);
  ck_assert_int_eq(sftest_trace_count('X', "kernel from host for rank"), _i == 0 ? CALLS * RANKS : 0);
  ck_assert_int_eq(sftest_trace_count('X', "kernel"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('M', "thread_name"), 2 * RANKS);
  expect_within("stream waits", "bcast");
  expect_within("kernel", "bcast");
}

/* Host functions in the place of kernels, and edges within the rank. */
static void use_both(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  double leaves[UNITS];
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < CALLS; i++)
    SFTEST_OK(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, leaves, SF_REPLACE, ring.stream));
  SFTEST_OK(self, sf_graph_destroy(ring.graph)); /* what nobody has asked for is told in the end */
  ring.graph = NULL;
  for (int i = 0; i < UNITS; i++)
    SFTEST_REQUIRE(self, leaves[i] == i);
  sftest_device_ring_free(&ring);
}

SFTEST(within_a_rank)
{
  run_job(1, use_both, NULL);
  dump();
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), CALLS);
  ck_assert_int_eq(sftest_trace_count('X', "stream waits"), 0);
  ck_assert_int_eq(sftest_trace_count('X', "kernel to host"), CALLS);
  ck_assert_int_eq(sftest_trace_count('X', "host function"), CALLS);
}

/* Rank 0 gives all before rank 1 gives anything, so that its stream waits. */
static void queue_many(sftest_rank_t *self)
{
  _Atomic bool *all_given = self->argument;
  sftest_device_ring_t ring;
  sftest_device_ring_make(self, &ring);
  SFTEST_OK(self, sftest_device_ring_bcast(&ring)); /* collective */
  SFTEST_SLEEP_WHILE(self->rank == 1 && !*all_given);
  for (int i = 0; i < QUEUED; i++)
    SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  *all_given = true;
  sftest_device_ring_wait(&ring);
  sftest_device_ring_free(&ring);
}

SFTEST(more_than_are_watched)
{
  _Atomic bool *all_given = sftest_shared(sizeof *all_given);
  run_job(RANKS, queue_many, all_given);
  dump();
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), (QUEUED + 1) * RANKS);
  ck_assert_int_lt(sftest_trace_count('X', "kernel"), 2 * (QUEUED + 1) * RANKS);
}

/* ---- Ordinary operations ----------------------------------------------------------------------------------------- */

static void use_memory(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  setenv("SF_DEVICE_SHARE", "off", 1);
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < CALLS; i++)
    SFTEST_OK(self, sf_bcast(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE));
  sftest_device_ring_expect(&ring);
  sftest_device_ring_free(&ring);
}

static void read_each_other(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < CALLS; i++)
    SFTEST_OK(self, sf_reduce(ring.graph, SF_DOUBLE, ring.leaves, ring.roots, SF_SUM));
  sftest_device_ring_free(&ring);
}

SFTEST(by_way_of_the_host)
{
  run_job(RANKS, use_memory, NULL);
  dump();
  ck_assert_int_eq(sftest_trace_count('X', "kernel to host"), CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "kernel from host"), CALLS * RANKS);
  expect_within("kernel", "bcast");
}

SFTEST(within_a_device)
{
  run_job(RANKS, read_each_other, NULL);
  dump();
  ck_assert_int_ge(sftest_trace_count('X', "kernel"), CALLS * RANKS);
  expect_within("kernel", "reduce");
  int before = sftest_trace_count('X', "kernel");
  sftest_sfctl(node.socket, WORDS("trace", "stop"), 0);
  run_job(RANKS, read_each_other, NULL);
  dump();
  ck_assert_int_eq(sftest_trace_count('X', "kernel"), before);
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */

static void fail_in_kernels(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  sf_status_t status = SF_OK;
  bool on_streams = *(bool *)self->argument;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:5", 1);
  sftest_device_ring_make(self, &ring);
  for (int i = 0; i < 1000 && status == SF_OK; i++)
    status = on_streams ? sftest_device_ring_bcast(&ring)
                        : sf_bcast(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE);
  if (on_streams)
    status = sf_streams_wait(ring.graph);
  SFTEST_EXPECT(self, status, SF_ERR_SYS);
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(a_kernel_fails, sftest_device_can_fail() ? 2 : 0)
{
  bool on_streams = _i != 0;
  run_job(RANKS, fail_in_kernels, &on_streams);
  dump();
  ck_assert_int_ge(sftest_trace_count('b', "bcast(double, replace)"), 1);
}

SFTEST_DEVICE_MAIN(true);

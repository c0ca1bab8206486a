/* Operations on streams that are refused, on a stand-in for the driver or (SFTEST_CUDA=real) a real one: wrong
 * arguments, ranks that call different operations, memory that can't be pinned, no driver, ranks of other nodes. */
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define UNITS SFTEST_DEVICE_RING_UNITS

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static void add_up(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)in, (void)inout, (void)n, (void)unit_bytes, (void)context;
}

/* One more than may be in flight; and what is refused while some are. */
static void fill_flight(sftest_rank_t *self, sftest_device_ring_t *ring)
{
  sf_streamed_t *some[SF_STREAMS_IN_FLIGHT + 1] = {NULL};
  const sf_type_t *block;
  SFTEST_OK(self, sf_end_on_stream(&some[0], ring->stream));
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    SFTEST_OK(self, sf_bcast_begin_on_stream(ring->graph, SF_DOUBLE, ring->roots, ring->leaves, SF_REPLACE,
                                             ring->stream, &some[i]));
  SFTEST_EXPECT(self,
                sf_bcast_begin_on_stream(ring->graph, SF_DOUBLE, ring->roots, ring->leaves, SF_REPLACE, ring->stream,
                                         &some[SF_STREAMS_IN_FLIGHT]),
                SF_ERR_LIMIT);
  SFTEST_OK(self, sf_type_create_block(2, SF_DOUBLE, &block));
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring->graph, block, ring->roots, ring->leaves, SF_REPLACE, ring->stream),
                SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_graph_destroy(ring->graph), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_finalize(ring->context), SF_ERR_STATE);
  for (int i = SF_STREAMS_IN_FLIGHT - 1; i >= 0; i--)
    SFTEST_OK(self, sf_end_on_stream(&some[i], ring->stream));
  SFTEST_OK(self, sf_type_destroy(block));
}

SFTEST_JOB(test_refusals, sftest_device_is_there() ? 1 : 0, sftest_run_alone(3, ranks, NULL))
{
  sftest_device_ring_t ring;
  const sf_op_t *op;
  sf_region_t *freed;
  sftest_device_ring_make(self, &ring);
  void *other = sftest_device_stream(1);
  double *elsewhere = sftest_device_alloc(1, sizeof ring.host);
  SFTEST_OK(self, sf_op_create(add_up, NULL, &op));
  SFTEST_EXPECT(self, sf_bcast_on_stream(NULL, SF_DOUBLE, ring.roots, ring.leaves, SF_SUM, ring.stream), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, op, ring.stream),
                SF_ERR_UNSUPPORTED);
  SFTEST_EXPECT(self,
                sf_fetch_op_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, ring.leaves, op, ring.stream),
                SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "rootdata is on a device");
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_BAND, ring.stream),
                SF_ERR_ARG);
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots + 1, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, elsewhere, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_ARG);
  SFTEST_DETAIL(self, "not registered");
  SFTEST_OK(self, sf_register(ring.context, elsewhere, sizeof ring.host, SF_MEMORY_CUDA, &freed));
  sftest_device_free(elsewhere);
  SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, elsewhere, ring.leaves, SF_SUM, ring.stream),
                SF_ERR_STATE);
  SFTEST_DETAIL(self, "freed before sf_unregister");
  SFTEST_EXPECT(self, sf_unregister(freed), SF_ERR_STATE);
  if (sftest_device_count() > 1) {
    SFTEST_EXPECT(self, sf_bcast_on_stream(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_SUM, other), SF_ERR_ARG);
    SFTEST_DETAIL(self, "device 0");
  }
  fill_flight(self, &ring);
  sftest_device_ring_wait(&ring);
  SFTEST_OK(self, sf_op_destroy(op));
  sftest_device_ring_free(&ring);
  sftest_device_stream_free(other);
}

/* A graph is not destroyed while operations on streams of its multi-graph's multi-graph have not been ended. */
SFTEST_JOB(test_kept, sftest_device_is_there() ? 1 : 0, sftest_run_alone(2, ranks, NULL))
{
  sftest_device_ring_t ring;
  sf_graph_t *multi;
  sf_streamed_t *streamed;
  sftest_device_ring_make(self, &ring);
  SFTEST_OK(self, sf_graph_multi(ring.graph, &multi));
  SFTEST_OK(self, sf_graph_multi(multi, &multi));
  SFTEST_OK(self,
            sf_bcast_begin_on_stream(multi, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE, ring.stream, &streamed));
  SFTEST_EXPECT(self, sf_graph_destroy(ring.graph), SF_ERR_STATE);
  SFTEST_DETAIL(self, "operations on streams have not been ended");
  SFTEST_OK(self, sf_end_on_stream(&streamed, ring.stream));
  SFTEST_OK(self, sf_graph_destroy(ring.graph));
  ring.graph = NULL;
  sftest_device_ring_free(&ring);
}

/* ---- Ranks that differ ------------------------------------------------------------------------------------------- */

typedef enum differing { AT_FIRST, ODD_ONE_EARLY, ODD_ONE_LATE, DIFFERINGS } differing_t;

typedef struct difference {
  differing_t how;
  _Atomic int32_t ready; /* ranks that have begun what all call alike */
} difference_t;

/* The first operation of all agrees on room: who differs there is told, and all may try again. */
static void differ_at_first(sftest_device_ring_t *ring)
{
  bool odd = ring->self->rank == 0;
  SFTEST_EXPECT(
      ring->self,
      sf_bcast_on_stream(ring->graph, odd ? SF_DOUBLE : SF_FLOAT, ring->roots, ring->leaves, SF_REPLACE, ring->stream),
      SF_ERR_MISMATCH);
  SFTEST_DETAIL(ring->self, "rank 0 called bcast(double, replace)");
  SFTEST_DETAIL(ring->self, "called bcast(float, replace)");
  SFTEST_OK(ring->self, sftest_device_ring_bcast(ring));
  sftest_device_ring_wait(ring);
}

/* One rank waits for the others to make more room, while they need none. */
static void differ_in_size(sftest_device_ring_t *ring, difference_t *difference)
{
  bool odd = ring->self->rank == 0;
  const sf_type_t *unit = odd ? SF_DOUBLE : SF_FLOAT;
  SFTEST_OK(ring->self, sf_bcast_on_stream(ring->graph, SF_FLOAT, ring->roots, ring->leaves, SF_SUM, ring->stream));
  difference->ready++;
  sftest_await(&difference->ready, ring->self->size);
  if (odd == (difference->how == ODD_ONE_LATE))
    sftest_sleep_ms(20);
  sf_status_t status = sf_bcast_on_stream(ring->graph, unit, ring->roots, ring->leaves, SF_REPLACE, ring->stream);
  SFTEST_REQUIRE(ring->self, status == SF_ERR_MISMATCH || (!odd && status == SF_OK));
  while (sf_streams_check(ring->graph) == SF_OK) /* until the one that has seen it tells */
    sftest_sleep_ms(1);
  SFTEST_EXPECT(ring->self, sf_streams_wait(ring->graph), SF_ERR_MISMATCH);
  SFTEST_DETAIL(ring->self, "operation 2 on streams");
  SFTEST_DETAIL(ring->self, "rank 0 called bcast(double, replace)");
  SFTEST_DETAIL(ring->self, "called bcast(float, replace)");
}

static void differ(sftest_rank_t *self)
{
  sftest_device_ring_t ring;
  difference_t *difference = self->argument;
  sftest_device_ring_make(self, &ring);
  if (difference->how == AT_FIRST)
    differ_at_first(&ring);
  else
    differ_in_size(&ring, difference);
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(test_differing, sftest_device_is_there() ? DIFFERINGS : 0)
{
  difference_t *difference = sftest_shared(sizeof *difference);
  difference->how = (differing_t)_i;
  sftest_run_alone(4, differ, difference);
}

/* Some call their first operation on streams, for which all meet, the others one on the host, whose data do not come.
 */
typedef struct mixed {
  bool odd_one_on_host; /* or all others */
  int32_t odd;
} mixed_t;

static void mix_up(sftest_rank_t *self)
{
  const mixed_t *mixed = self->argument;
  sftest_device_ring_t ring;
  sftest_device_ring_make(self, &ring);
  bool on_host = (self->rank == mixed->odd) == mixed->odd_one_on_host;
  sf_status_t status = on_host ? SF_OK : sftest_device_ring_bcast(&ring);
  while (on_host && status == SF_OK)
    status = sf_bcast(ring.graph, SF_DOUBLE, ring.roots, ring.leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "called bcast(double, replace)");
  SFTEST_DETAIL(self, "called what makes the graph ready for streams");
  sftest_device_ring_free(&ring);
}

SFTEST_FOR(test_mixed, sftest_device_is_there() ? 6 : 0)
{
  static const int32_t placements[][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}};
  static sftest_loop_cluster_t loop;
  sftest_loop_cluster_start(&loop, 3, 0, 0);
  for (mixed_t mixed = {_i % 2 != 0, 0}; mixed.odd < 3; mixed.odd++) {
    sftest_run_over(loop.nodes, placements[_i / 2], 3, mix_up, &mixed);
  }
  sftest_loop_cluster_stop(&loop);
}

/* One rank can't pin its memory: all learn it, and it can be tried again. */
SFTEST_JOB(test_no_pinning, (sftest_device_is_there() && sftest_device_can_fail()) ? 1 : 0,
           sftest_run_alone(3, ranks, NULL))
{
  sftest_device_ring_t ring;
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuMemHostRegister:1", 1);
  sftest_device_ring_make(self, &ring);
  SFTEST_EXPECT(self, sftest_device_ring_bcast(&ring), SF_ERR_NOMEM);
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_device_ring_wait(&ring);
  sftest_device_ring_free(&ring);
}

/* Ranks without a driver: the text says what is missing. */
SFTEST_JOB(test_no_driver, 1, sftest_run_alone(2, ranks, NULL))
{
  double values[UNITS] = {0};
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_EXPECT(self, sf_bcast_on_stream(graph, SF_DOUBLE, values, values, SF_SUM, NULL), SF_ERR_UNSUPPORTED);
  SFTEST_DETAIL(self, "/nowhere/libsf_cuda.so");
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, values, values, SF_SUM));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_finalize(context));
}

SFTEST_DEVICE_MAIN(false);

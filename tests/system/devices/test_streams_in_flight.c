/* As many operations on streams in flight as are allowed, both ways between two nodes, of small and of large messages:
 * each stream begins all of them before it ends one, in any order. */
#include "shm/trunk/trunk.h"
#include "tests/system/cluster.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"

#define ROUNDS 6
#define IN_FLIGHT SF_STREAMS_IN_FLIGHT

/* The byte that the root of a rank has everywhere in operation i of a round. */
static int value_of(int32_t rank, int round, int i)
{
  return (round * IN_FLIGHT + i) * 2 + rank;
}

static void expect_values(sftest_rank_t *self, const unsigned char *leaf, size_t bytes, int round, int i)
{
  int expected = value_of(1 - self->rank, round, i);
  for (size_t k = 0; k < bytes; k++)
    sftest_require(self, leaf[k] == expected, __FILE__, __LINE__, "byte %zu of operation %d of round %d is %d, not %d",
                   k, i, round, leaf[k], expected);
}

static void play_round(sftest_rank_t *self, sf_graph_t *graph, size_t bytes, int round, void *stream)
{
  unsigned char *roots[IN_FLIGHT], *leaves[IN_FLIGHT];
  sf_streamed_t *streamed[IN_FLIGHT];
  const sf_type_t *type;
  SFTEST_OK(self, sf_type_create_opaque((int64_t)bytes, &type));
  for (int i = 0; i < IN_FLIGHT; i++) {
    roots[i] = malloc(bytes);
    leaves[i] = calloc(1, bytes);
    memset(roots[i], value_of(self->rank, round, i), bytes);
    SFTEST_OK(self, sf_bcast_begin_on_stream(graph, type, roots[i], leaves[i], SF_REPLACE, stream, &streamed[i]));
  }
  for (int i = 0; i < IN_FLIGHT; i++)
    SFTEST_OK(self, sf_end_on_stream(&streamed[(i + round + self->rank) % IN_FLIGHT], stream));
  sftest_at(self, "waiting for round %d of %zu bytes", round, bytes);
  SFTEST_OK(self, sf_streams_wait(graph));
  sftest_device_stream_finish(stream);
  for (int i = 0; i < IN_FLIGHT; i++) {
    expect_values(self, leaves[i], bytes, round, i);
    free(roots[i]);
    free(leaves[i]);
  }
  SFTEST_OK(self, sf_type_destroy(type));
}

static void play(sftest_rank_t *self)
{
  int32_t other = 1 - self->rank;
  int64_t root = 0;
  sf_graph_t *graph;
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  void *stream = sftest_device_stream(0);
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 1, NULL, &other, &root, SF_GRAPH_DEFAULT, &graph));
  for (int round = 0; round < ROUNDS; round++)
    play_round(self, graph, round % 3 == 1 ? 8 : SFSHM_TRUNK_LARGE + 1, round, stream);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  sftest_device_stream_free(stream);
}

SFTEST(test_all_in_flight)
{
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  sftest_run_over(cluster.nodes, (const int32_t[]){0, 1}, 2, play, NULL);
  sftest_loop_cluster_stop(&cluster);
}

SFTEST_DEVICE_MAIN(true);

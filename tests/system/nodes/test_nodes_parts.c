/* Large messages between nodes, which travel in parts: results are those of a serial computation, whatever the order
 * of the values in the message, the number of members, and the number of operations in flight. */
#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define RANKS 4
#define LEAVES 30011 /* of each rank; a prime number */
#define ROOTS 20000
#define IN_FLIGHT 3
#define ROUNDS 6

/* Ways to choose the root of a leaf. */
typedef enum form {
  IN_ORDER, /* leaf i on root i of the rank that is two further, modulo the number of roots */
  MIXED,    /* on any root of that rank */
  SPREAD,   /* on any root of any rank */
  FORMS
} form_t;

typedef struct edges {
  int32_t rank[LEAVES];
  int64_t root[LEAVES];
} edges_t;

static void find_edges(form_t form, int32_t rank, edges_t *edges)
{
  uint64_t state = (uint64_t)rank * 77 + form + 1;
  for (int64_t i = 0; i < LEAVES; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    edges->rank[i] = form == SPREAD ? (int32_t)(state >> 33) % RANKS : (rank + 2) % RANKS;
    edges->root[i] = form == IN_ORDER ? i % ROOTS : (int64_t)(state >> 20) % ROOTS;
  }
}

static double root_value(int32_t rank, int64_t root, int round)
{
  return rank * 1e6 + (double)root + round * 1e8;
}

static void expect_bcasts(sftest_rank_t *self, sf_graph_t *graph, const edges_t *edges, int round)
{
  static double roots[IN_FLIGHT][ROOTS], leaves[IN_FLIGHT][LEAVES];
  sf_request_t *requests[IN_FLIGHT];
  for (int k = 0; k < IN_FLIGHT; k++) {
    for (int64_t i = 0; i < ROOTS; i++)
      roots[k][i] = root_value(self->rank, i, round + k);
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, roots[k], leaves[k], SF_REPLACE, &requests[k]));
  }
  for (int k = 0; k < IN_FLIGHT; k++) {
    SFTEST_OK(self, sf_wait(&requests[k]));
    for (int64_t i = 0; i < LEAVES; i++)
      SFTEST_REQUIRE(self, leaves[k][i] == root_value(edges->rank[i], edges->root[i], round + k));
  }
}

/* Sums of integers have one result in any order. */
static void expect_sums(sftest_rank_t *self, sf_graph_t *graph, form_t form, int round)
{
  static int64_t leaves[LEAVES], roots[ROOTS], expected[ROOTS];
  static edges_t others;
  for (int64_t i = 0; i < ROOTS; i++)
    roots[i] = expected[i] = i + round;
  for (int32_t rank = 0; rank < RANKS; rank++) {
    find_edges(form, rank, &others);
    for (int64_t i = 0; i < LEAVES; i++)
      if (others.rank[i] == self->rank)
        expected[others.root[i]] += rank * 1000 + i * round;
  }
  for (int64_t i = 0; i < LEAVES; i++)
    leaves[i] = self->rank * 1000 + i * round;
  SFTEST_OK(self, sf_reduce(graph, SF_INT64, leaves, roots, SF_SUM));
  for (int64_t i = 0; i < ROOTS; i++)
    SFTEST_REQUIRE(self, roots[i] == expected[i]);
}

/* Fields whose units differ: parts end within a unit. Numbers of roots and leaves serve as one, three and one value. */
static void expect_fields(sftest_rank_t *self, sf_graph_t *graph, const edges_t *edges, int round)
{
  static double doubles[2][LEAVES];
  static int16_t triples[2][3 * LEAVES];
  static uint8_t bytes[2][LEAVES];
  const sf_type_t *triple;
  SFTEST_OK(self, sf_type_create_block(3, SF_INT16, &triple));
  for (int64_t i = 0; i < ROOTS; i++) {
    doubles[0][i] = root_value(self->rank, i, round);
    bytes[0][i] = (uint8_t)(self->rank + i % 50 + round);
    for (int64_t k = 0; k < 3; k++)
      triples[0][3 * i + k] = (int16_t)(self->rank * 100 + i % 1000 + k + round);
  }
  const sf_field_t fields[] = {{triple, triples[0], triples[1], SF_REPLACE},
                               {SF_DOUBLE, doubles[0], doubles[1], SF_REPLACE},
                               {SF_UINT8, bytes[0], bytes[1], SF_REPLACE}};
  SFTEST_OK(self, sf_bcast_v(graph, 3, fields));
  for (int64_t i = 0; i < LEAVES; i++) {
    int32_t rank = edges->rank[i];
    int64_t root = edges->root[i];
    SFTEST_REQUIRE(self, doubles[1][i] == root_value(rank, root, round));
    SFTEST_REQUIRE(self, bytes[1][i] == (uint8_t)(rank + root % 50 + round));
    for (int64_t k = 0; k < 3; k++)
      SFTEST_REQUIRE(self, triples[1][3 * i + k] == (int16_t)(rank * 100 + root % 1000 + k + round));
  }
  SFTEST_OK(self, sf_type_destroy(triple));
}

/* Sums modulo 2^8 and 2^16, in any order. */
static void expect_field_sums(sftest_rank_t *self, sf_graph_t *graph, form_t form, int round)
{
  static uint8_t byte_roots[ROOTS], byte_leaves[LEAVES];
  static int16_t roots[ROOTS], leaves[LEAVES];
  static uint8_t byte_sums[ROOTS];
  static int16_t sums[ROOTS];
  static edges_t others;
  for (int64_t i = 0; i < ROOTS; i++) {
    byte_roots[i] = byte_sums[i] = (uint8_t)i;
    roots[i] = sums[i] = (int16_t)i;
  }
  for (int32_t rank = 0; rank < RANKS; rank++) {
    find_edges(form, rank, &others);
    for (int64_t i = 0; i < LEAVES; i++)
      if (others.rank[i] == self->rank) {
        byte_sums[others.root[i]] = (uint8_t)(byte_sums[others.root[i]] + rank + i % 13);
        sums[others.root[i]] = (int16_t)(sums[others.root[i]] + rank + i % 17 + round);
      }
  }
  for (int64_t i = 0; i < LEAVES; i++) {
    byte_leaves[i] = (uint8_t)(self->rank + i % 13);
    leaves[i] = (int16_t)(self->rank + i % 17 + round);
  }
  const sf_field_t added[] = {{SF_UINT8, byte_roots, byte_leaves, SF_SUM}, {SF_INT16, roots, leaves, SF_SUM}};
  SFTEST_OK(self, sf_reduce_v(graph, 2, added));
  SFTEST_REQUIRE(self, memcmp(byte_roots, byte_sums, sizeof byte_sums) == 0);
  SFTEST_REQUIRE(self, memcmp(roots, sums, sizeof sums) == 0);
}

SFTEST_JOINED(operate)
{
  static edges_t edges;
  for (form_t form = 0; form < FORMS; form++) {
    sf_graph_t *graph;
    sftest_at(self, "form %d", (int)form);
    find_edges(form, self->rank, &edges);
    SFTEST_OK(self, sf_graph_create(world, ROOTS, LEAVES, NULL, edges.rank, edges.root, SF_GRAPH_DEFAULT, &graph));
    for (int round = 1; round <= ROUNDS; round++) {
      expect_bcasts(self, graph, &edges, round);
      expect_sums(self, graph, form, round);
      expect_fields(self, graph, &edges, round);
      expect_field_sums(self, graph, form, round);
    }
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
}

/* One member of each node, two, and three beside one. */
SFTEST_CASE(tcase_set_timeout(tests, 0));

SFTEST_FOR(values_of_parts, 3)
{
  static const int32_t places[][RANKS] = {{0, 1, 2, 3}, {0, 0, 1, 1}, {0, 1, 0, 0}};
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, RANKS, 1, 0);
  sftest_run_over(cluster.nodes, places[_i], RANKS, operate, NULL);
  sftest_loop_cluster_stop(&cluster);
}

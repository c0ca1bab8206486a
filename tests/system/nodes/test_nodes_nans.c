/* NaNs in maxima and minima over nodes: the result does not depend on the order in which they come. */
#include <math.h>

#include "client/core/context.h"
#include "client/engine/trunk.h"
#include "client/graph/graph.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define NAN_RANKS 4
#define NAN_LEAVES 2 /* of each rank but the first, on every root */
#define NAN_ROOTS 1458

typedef struct pair {
  double value;
  int32_t index;
} pair_t;

/* Root i is present (0), and leaf k on it (1 ..): in every order NaNs and others, as the digits of i say. */
static pair_t nan_case(int64_t i, int k)
{
  static const double values[] = {(double)NAN, 5, 7};
  if (k == 0)
    return (pair_t){i % 2 == 0 ? 6 : (double)NAN, 100};
  for (i /= 2; k > 1; k--)
    i /= 3;
  return (pair_t){values[i % 3], k + 10};
}

static pair_t nan_expected(int64_t i, bool max, bool pairs)
{
  pair_t present = nan_case(i, 0);
  for (int k = 1; k <= (NAN_RANKS - 1) * NAN_LEAVES; k++) {
    pair_t in = nan_case(i, k);
    bool wins = max ? in.value > present.value : in.value < present.value;
    if (wins || (pairs && in.value == present.value && in.index < present.index))
      present = in;
  }
  return present;
}

static void expect_nans(sftest_rank_t *self, sf_graph_t *graph, bool max, bool pairs)
{
  static pair_t roots[NAN_ROOTS], leaves[NAN_ROOTS * NAN_LEAVES];
  static double plain_roots[NAN_ROOTS], plain_leaves[NAN_ROOTS * NAN_LEAVES];
  sftest_at(self, "%s of %s", max ? "max" : "min", pairs ? "pairs" : "doubles");
  for (int64_t i = 0; i < NAN_ROOTS; i++) {
    plain_roots[i] = (roots[i] = nan_case(i, 0)).value;
    for (int k = 0; k < NAN_LEAVES && self->rank > 0; k++) {
      pair_t *leaf = &leaves[i * NAN_LEAVES + k];
      *leaf = nan_case(i, (self->rank - 1) * NAN_LEAVES + k + 1);
      plain_leaves[i * NAN_LEAVES + k] = leaf->value;
    }
  }
  if (pairs)
    SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE_INT32, leaves, roots, max ? SF_MAXLOC : SF_MINLOC));
  else
    SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, plain_leaves, plain_roots, max ? SF_MAX : SF_MIN));
  for (int64_t i = 0; i < NAN_ROOTS && self->rank == 0; i++) {
    pair_t expected = nan_expected(i, max, pairs);
    double found = pairs ? roots[i].value : plain_roots[i];
    sftest_require(self, found == expected.value || (isnan(found) && isnan(expected.value)), __FILE__, __LINE__,
                   "root %lld: found %g, expected %g", (long long)i, found, expected.value);
    SFTEST_REQUIRE(self, !pairs || roots[i].index == expected.index);
  }
}

SFTEST_JOINED(reduce_nans)
{
  static int32_t ranks[NAN_ROOTS * NAN_LEAVES];
  static int64_t indices[NAN_ROOTS * NAN_LEAVES];
  bool root = self->rank == 0;
  sf_graph_t *graph;
  for (int64_t i = 0; i < NAN_ROOTS * NAN_LEAVES; i++)
    indices[i] = i / NAN_LEAVES;
  SFTEST_OK(self, sf_graph_create(world, root ? NAN_ROOTS : 0, root ? 0 : NAN_ROOTS * NAN_LEAVES, NULL, ranks, indices,
                                  SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < 4; i++)
    expect_nans(self, graph, i % 2 == 0, i / 2 == 1);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* As on one node, which is the first case. */
SFTEST_FOR(nans_come_in_any_order, 5)
{
  static const int32_t places[][NAN_RANKS] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 1, 2}, {1, 0, 1, 0}, {0, 1, 2, 1}};
  sftest_loop_run_alone(3, places[_i], NAN_RANKS, reduce_nans, NULL);
}

/* Graphs that are ready after one round of set-up: that they are and work. Edge lists that are read late, and ranks
 * that lie or die: test_at_once_broken.c. */
#include "client/core/context.h"
#include "client/core/group.h"
#include "client/setup/edge_loans.h"
#include "client/setup/lane_addresses.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/setup/crossed_edges.h"

/* Requests to the daemon that making the graph takes, when all else is known. */
static int count_requests(sftest_rank_t *self, sf_context_t *context, int64_t number, bool both_ways)
{
  sf_graph_t *graph = NULL;
  uint64_t before = context->control.last_request;
  SFTEST_OK(self, sftest_crossed_create(self, context, number, both_ways, &graph));
  int n = (int)(context->control.last_request - before);
  sftest_crossed_expect(self, graph, number, both_ways);
  SFTEST_OK(self, sf_graph_destroy(graph));
  return n;
}

SFTEST_JOINED_JOB(one_round_if_edges_lead_both_ways, 1, sftest_run_alone(SFTEST_CROSSED_RANKS, ranks, NULL))
{
  (void)count_requests(self, context, 0, true); /* maps the others' inboxes */
  SFTEST_REQUIRE(self, count_requests(self, context, 1, true) == 1);
  SFTEST_REQUIRE(self, count_requests(self, context, 2, false) == 2);
  SFTEST_REQUIRE(self, count_requests(self, context, 3, true) == 1);
  SFTEST_REQUIRE(self, count_requests(self, context, 3, true) == 1); /* again */
}

/* Edges to other nodes need no lanes. */
SFTEST_JOINED(count_rounds_far)
{
  bool pair = self->places[0] == self->places[1];
  (void)count_requests(self, context, 0, true); /* opens what graphs over nodes share */
  SFTEST_REQUIRE(self, count_requests(self, context, 1, true) == 1);
  SFTEST_REQUIRE(self, count_requests(self, context, 2, false) == (pair ? 2 : 1));
  SFTEST_REQUIRE(self, count_requests(self, context, 1, true) == 1); /* again */
}

SFTEST_FOR(one_round_over_nodes, 2)
{
  static const int32_t places[][SFTEST_CROSSED_RANKS] = {{0, 0, 1}, {0, 1, 2}};
  sftest_loop_run_alone(SFTEST_CROSSED_RANKS, places[_i], SFTEST_CROSSED_RANKS, count_rounds_far, NULL);
}

/* Many graphs in a row, some of them kept for a while, by ranks that are slow now and then. */
SFTEST_JOINED(make_many)
{
  enum { ROUNDS = 150, HELD = 5 };
  sf_graph_t *held[HELD] = {NULL};
  uint64_t random = sftest_seed() + (uint64_t)self->rank;
  for (int64_t round = 0; round < sftest_scale(ROUNDS); round++) {
    int place = (int)(round % HELD);
    sftest_at(self, "graph %lld", (long long)round);
    SFTEST_OK(self, sf_graph_destroy(held[place]));
    if (sftest_below(&random, 4) == 0)
      usleep((useconds_t)sftest_below(&random, 500));
    SFTEST_OK(self, sftest_crossed_create(self, context, round, round % 7 != 0, &held[place]));
    if (sftest_below(&random, 2) == 0)
      usleep((useconds_t)sftest_below(&random, 100));
    sftest_crossed_expect(self, held[place], round, round % 7 != 0);
  }
  for (int i = 0; i < HELD; i++)
    SFTEST_OK(self, sf_graph_destroy(held[i]));
  SFTEST_REQUIRE(self, context->loans == NULL);
}

SFTEST(many_in_a_row)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, SFTEST_CROSSED_RANKS, make_many, NULL);
  sftest_node_stop(&node);
}

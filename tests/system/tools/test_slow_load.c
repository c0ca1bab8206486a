/* A job that is slow as a link or a root has too much to do: the commands of docs/slow-job.md lead to it, each in three
 * steps at most. */
#include "tests/system/sfctl.h"
#include "tests/system/tools/slow_job.h"

/* ---- A hot root -------------------------------------------------------------------------------------------------- */

#define HOT_ROOT 17
#define HOT_LEAVES 1400 /* of each rank on that root of the culprit */
#define COLD_LEAVES 200 /* and on roots of its own, each one */

SFTEST_JOINED(reduce_to_a_hot_root)
{
  enum { NLEAVES = HOT_LEAVES + COLD_LEAVES };
  sftest_slow_t *told = self->argument;
  int32_t ranks[NLEAVES];
  int64_t roots[NLEAVES];
  static double values[COLD_LEAVES], leaves[NLEAVES];
  sf_graph_t *hot = NULL, *star = sftest_slow_star(self, context);
  for (int i = 0; i < NLEAVES; i++) {
    ranks[i] = i < HOT_LEAVES ? SFTEST_CULPRIT : self->rank;
    roots[i] = i < HOT_LEAVES ? HOT_ROOT : i - HOT_LEAVES;
  }
  SFTEST_OK(self, sf_graph_create(world, COLD_LEAVES, NLEAVES, NULL, ranks, roots, SF_GRAPH_DEFAULT, &hot));
  while (sftest_slow_goes_on(self, star)) {
    SFTEST_OK(self, sf_reduce(hot, SF_DOUBLE, leaves, values, SF_SUM));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(hot));
  SFTEST_OK(self, sf_graph_destroy(star));
}

SFTEST(a_hot_root)
{
  char wanted[160], graph[32];
  const int hot = SFTEST_SLOW_RANKS * HOT_LEAVES, all = SFTEST_SLOW_RANKS * (HOT_LEAVES + COLD_LEAVES);
  sftest_slow_start(reduce_to_a_hot_root);
  sftest_slow_await_rounds(1);
  snprintf(wanted, sizeof wanted,
           "rank %d has %d of %d edges on its roots, %.1f times the mean; root %d of rank %d has %d leaves\n",
           SFTEST_CULPRIT, hot + COLD_LEAVES, all, (double)(hot + COLD_LEAVES) * SFTEST_SLOW_RANKS / all, HOT_ROOT,
           SFTEST_CULPRIT, hot + 1);
  sftest_slow_ask(WORDS("graphs"));
  sftest_expect_in(sftest_sfctl_out, wanted);
  sftest_slow_ask(WORDS("graphs", "--json"));
  snprintf(graph, sizeof graph, "%llu", (unsigned long long)sftest_sfctl_number("\"root\":17,", "graph"));
  sftest_slow_ask(WORDS("plan", "--pairs", graph));
  sftest_expect_in(sftest_sfctl_out, wanted);
  snprintf(wanted, sizeof wanted, " %d on root %d of rank %d\n", HOT_LEAVES, HOT_ROOT, SFTEST_CULPRIT);
  sftest_expect_in(sftest_sfctl_out, wanted);
  sftest_slow_end();
}

/* ---- A saturated link, at last: the process moves to another network --------------------------------------------- */

#define NHOSTS 2
#define MUCH 50000 /* values to the other node in each round: 0.16 s at the rate of the link */
#define RATE "20mbit"

static sftest_hosts_t hosts;
static const char *lacks; /* why there are no hosts */

static void make_hosts(void)
{
  lacks = sftest_hosts_make(&hosts, NHOSTS);
  if (lacks != NULL || sftest_hosts_limit(&hosts, 1, RATE))
    return;
  lacks = "links can't be limited (tc)";
  sftest_hosts_end(&hosts);
}

static void end_hosts(void)
{
  if (lacks == NULL)
    sftest_hosts_end(&hosts);
}

/* Ranks alternate between the nodes: all that is sent is sent between these. */
SFTEST_JOINED(exchange_much)
{
  sftest_slow_t *told = self->argument;
  static int32_t ranks[MUCH];
  static int64_t roots[MUCH];
  static double values[MUCH], leaves[MUCH];
  sf_graph_t *much = NULL, *star = sftest_slow_star(self, context);
  for (int i = 0; i < MUCH; i++) {
    ranks[i] = (self->rank + 1) % self->size;
    roots[i] = i;
  }
  SFTEST_OK(self, sf_graph_create(world, MUCH, MUCH, NULL, ranks, roots, SF_GRAPH_DEFAULT, &much));
  while (sftest_slow_goes_on(self, star)) {
    SFTEST_OK(self, sf_bcast(much, SF_DOUBLE, values, leaves, SF_REPLACE));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(much));
  SFTEST_OK(self, sf_graph_destroy(star));
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, make_hosts, end_hosts));

SFTEST(a_saturated_link)
{
  const int32_t places[NHOSTS] = {0, 1};
  if (lacks != NULL) {
    printf("part skipped: a saturated link: %s\n", lacks);
    return;
  }
  sftest_cluster_start_on(&sftest_slow_cluster, &hosts);
  sftest_slow = sftest_shared(sizeof *sftest_slow);
  sftest_job_start_over(&sftest_slow_job, sftest_slow_cluster.nodes, places, NHOSTS, exchange_much, sftest_slow);
  sftest_job_await(&sftest_slow_job, &sftest_slow->rounds[0], 1);
  sftest_slow_ask(WORDS("top", "-b", "-n", "1", "-d", "2", "--json", "--all-nodes", "ranks"));
  ck_assert_msg(sftest_slow_share_of("\"rank\":1,", "node_wait_share") > 0.5, "%s", sftest_sfctl_out);
  sftest_slow_ask(WORDS("top", "-b", "-n", "1", "-d", "2", "--json", "channels"));
  ck_assert_msg(sftest_slow_share_of("\"node\":1,", "busy_share") > 0.5, "%s", sftest_sfctl_out);
  sftest_slow_ask(WORDS("metrics"));
  sftest_expect_in(sftest_sfctl_out, "sfd_peer_send_queue_bytes{peer=\"1\"} ");
  sftest_slow_end();
}

/* A job that hangs, as ranks are stopped or leave an operation out, or that has a hot root: faults are planted, and the
 * commands of docs/slow-job.md lead to them, each in three steps at most. What shows in times: test_slow_times.c. */
#include "tests/system/sfctl.h"
#include "tests/system/tools/slow_job.h"

/* ---- A stopped rank ---------------------------------------------------------------------------------------------- */

static uint64_t number_of(int32_t rank, const char *member)
{
  char fragment[32];
  snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
  return sftest_sfctl_number(fragment, member);
}

/* Until something is stuck, and the text is in what is said of it. */
static void await_stuck(const char *wanted)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  sftest_sfctl_t run;
  do {
    sftest_sfctl_start(&run, sftest_slow_cluster.nodes[0].socket, WORDS("stuck", "--threshold", "0.2"), NULL);
    sftest_sfctl_finish(&run);
  } while (strstr(sftest_sfctl_out, wanted) == NULL && sftest_now_ms() < until);
  sftest_expect_in(sftest_sfctl_out, wanted);
}

static void stop_culprit(void)
{
  sftest_slow_await_rounds(10);
  sftest_slow->hold = true;
  sftest_job_await(&sftest_slow_job, &sftest_slow->held, 1);
  sftest_job_signal(&sftest_slow_job, SFTEST_CULPRIT, SIGSTOP);
  sftest_slow->hold = false;
}

/* Waits that last are counted: monitoring sees them before they end. */
SFTEST(a_stopped_rank_in_the_metrics)
{
  char line[160];
  setenv("SFD_STALL_AFTER", "0.2", 1);
  sftest_slow_start(sftest_slow_follow);
  unsetenv("SFD_STALL_AFTER");
  stop_culprit();
  snprintf(line, sizeof line, "sfd_job_stalled{job_id=\"1\",job_name=\"%s\"} 1\n", sftest_slow_job.name);
  sftest_sfctl_await(sftest_slow_cluster.nodes[0].socket, WORDS("metrics"), line);
  sftest_sfctl_await(sftest_slow_cluster.nodes[0].socket, WORDS("metrics"), "sfd_jobs_stalled 1\n");
  sftest_slow_ask(WORDS("ranks", "--json"));
  uint64_t waited_ns = number_of(SFTEST_CULPRIT + 1, "waited_ns"),
           waited_for_ns = number_of(SFTEST_CULPRIT, "waited_for_ns");
  sftest_sleep_ms(100);
  sftest_slow_ask(WORDS("ranks", "--json"));
  ck_assert_uint_ge(number_of(SFTEST_CULPRIT + 1, "waited_ns"), waited_ns + 100000000);
  ck_assert_uint_ge(number_of(SFTEST_CULPRIT, "waited_for_ns"), waited_for_ns + 100000000);
  ck_assert_uint_ge(number_of(SFTEST_CULPRIT + 1, "oldest_wait_ns"), 300000000);
  ck_assert_uint_eq(number_of(SFTEST_CULPRIT, "oldest_wait_ns"), 0);
  waited_ns = number_of(SFTEST_CULPRIT + 1, "waited_ns");
  sftest_job_signal(&sftest_slow_job, SFTEST_CULPRIT, SIGCONT);
  sftest_slow_await_rounds(sftest_slow->rounds[SFTEST_CULPRIT] + 10);
  sftest_slow_ask(WORDS("ranks", "--json"));
  ck_assert_uint_ge(number_of(SFTEST_CULPRIT + 1, "waited_ns"), waited_ns);
  snprintf(line, sizeof line, "sfd_job_stalled{job_id=\"1\",job_name=\"%s\"} 0\n", sftest_slow_job.name);
  sftest_sfctl_await(sftest_slow_cluster.nodes[0].socket, WORDS("metrics"), line);
  sftest_slow_end();
}

/* In the list of the page: top shows that all wait, and stuck whom for. */
SFTEST(a_stopped_rank_in_stuck)
{
  char wanted[120];
  sftest_slow_start(sftest_slow_follow);
  stop_culprit();
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, stopped) has not begun it", SFTEST_CULPRIT,
           (int)sftest_slow_job.pids[SFTEST_CULPRIT]);
  await_stuck(wanted);
  sftest_slow_ask(WORDS("top", "-b", "-n", "1", "-d", "0.2", "--json", "jobs"));
  ck_assert_msg(sftest_slow_share_of("\"view\":\"jobs\"", "wait_share") > 0.8, "%s", sftest_sfctl_out); /* 7 of 8 */
  sftest_job_signal(&sftest_slow_job, SFTEST_CULPRIT, SIGCONT);
  sftest_slow_end();
}

/* ---- A forgotten operation --------------------------------------------------------------------------------------- */

/* As follow, but the culprit leaves bcasts out. Nobody comes to an end: the job is to be killed. */
static void forget_one(sftest_rank_t *self)
{
  sftest_slow_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  const int32_t before = (self->rank + SFTEST_SLOW_RANKS - 1) % SFTEST_SLOW_RANKS, zero = 0;
  const int64_t index = 0;
  double value = 0, leaf = 0;
  sf_status_t status = SF_OK;
  sf_graph_t *ring = NULL, *star = NULL;
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), self->rank == 0, 1, NULL, &zero, &index, SF_GRAPH_DEFAULT, &star));
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 1, NULL, &before, &index, SF_GRAPH_DEFAULT, &ring));
  for (int i = 0; status == SF_OK; i++) {
    if (self->rank != SFTEST_CULPRIT || i < 10)
      status = sf_bcast(ring, SF_DOUBLE, &value, &leaf, SF_REPLACE);
    if (status == SF_OK)
      status = sf_bcast(star, SF_DOUBLE, &value, &leaf, SF_REPLACE);
    told->rounds[self->rank]++;
  }
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED);
}

SFTEST(a_forgotten_operation)
{
  char wanted[120];
  sftest_slow_start(forget_one);
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, sleeping) has not begun it: it waits on graph ", SFTEST_CULPRIT,
           (int)sftest_slow_job.pids[SFTEST_CULPRIT]);
  await_stuck(wanted);
  sftest_expect_in(sftest_sfctl_out, "bcast(double, replace) number 11 has kept ranks waiting for");
  sftest_slow_ask(WORDS("kill", sftest_slow_job.name));
  sftest_slow_end();
}

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

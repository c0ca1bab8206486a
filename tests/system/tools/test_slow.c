/* A job that is slow or hangs, as ranks are slow, stopped, or leave an operation out: faults are planted, and the
 * commands of docs/slow-job.md lead to them, each in three steps at most. Too much load: test_slow_load.c. */
#include "tests/system/sfctl.h"
#include "tests/system/tools/slow_job.h"

#define SLOW_MS 15 /* more than a rank that is ready waits for a core */

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

/* All ranks contribute to a root of each, in the order of ranks; one comes late each time. */
SFTEST_JOINED(reduce_with_a_slow_rank)
{
  sftest_slow_t *told = self->argument;
  int32_t ranks[SFTEST_SLOW_RANKS];
  int64_t roots[SFTEST_SLOW_RANKS] = {0};
  double root = 0, leaves[SFTEST_SLOW_RANKS] = {0};
  sf_graph_t *all = NULL, *star = sftest_slow_star(self, context);
  for (int32_t r = 0; r < SFTEST_SLOW_RANKS; r++)
    ranks[r] = r;
  SFTEST_OK(self, sf_graph_create(world, 1, SFTEST_SLOW_RANKS, NULL, ranks, roots, SF_GRAPH_DEFAULT, &all));
  while (sftest_slow_goes_on(self, star)) {
    if (self->rank == SFTEST_CULPRIT)
      sftest_sleep_ms(sftest_limit_ms(SLOW_MS));
    SFTEST_OK(self, sf_reduce(all, SF_DOUBLE, leaves, &root, SF_SUM));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(all));
  SFTEST_OK(self, sf_graph_destroy(star));
}

/* A ring in which each rank waits for the one before it. */
SFTEST_JOINED(follow)
{
  sftest_slow_t *told = self->argument;
  const int32_t before = (self->rank + SFTEST_SLOW_RANKS - 1) % SFTEST_SLOW_RANKS;
  const int64_t index = 0;
  double root = 0, leaf = 0;
  sf_graph_t *ring = NULL, *star = sftest_slow_star(self, context);
  SFTEST_OK(self, sf_graph_create(world, 1, 1, NULL, &before, &index, SF_GRAPH_DEFAULT, &ring));
  while (sftest_slow_goes_on(self, star)) {
    if (self->rank == SFTEST_CULPRIT && told->pause_ms > 0)
      sftest_sleep_ms(told->pause_ms);
    while (self->rank == SFTEST_CULPRIT && told->hold) {
      told->held = 1;
      sftest_sleep_ms(1);
    }
    SFTEST_OK(self, sf_bcast(ring, SF_DOUBLE, &root, &leaf, SF_REPLACE));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(ring));
  SFTEST_OK(self, sf_graph_destroy(star));
}

/* ---- A slow rank ------------------------------------------------------------------------------------------------- */

/* How many lines of a trace have both texts. */
static int count_lines_with(const char *trace, const char *a, const char *b)
{
  int n = 0;
  for (const char *line = trace; *line != '\0';) {
    size_t len = strcspn(line, "\n");
    n += memmem(line, len, a, strlen(a)) != NULL && memmem(line, len, b, strlen(b)) != NULL;
    line += line[len] == '\n' ? len + 1 : len;
  }
  return n;
}

static char *read_trace(void)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", sftest_slow_cluster.nodes[0].directory);
  sftest_slow_ask(WORDS("trace", "dump", "--output", path));
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  char *text = calloc(1, 64 << 20);
  ck_assert_ptr_nonnull(text);
  text[fread(text, 1, (64 << 20) - 1, file)] = '\0';
  fclose(file);
  remove(path);
  return text;
}

/* What a rank is in the trace. */
static void find_process(const char *trace, int32_t rank, char pid[32])
{
  char name[32];
  snprintf(name, sizeof name, " rank %d, node 0", rank);
  const char *at = strstr(trace, name);
  ck_assert_msg(at != NULL, "no%s", name);
  while (strncmp(at, "\"pid\":", 6) != 0)
    at--;
  snprintf(pid, 32, "%.*s", (int)strcspn(at, ",") + 1, at);
}

/* Contributions of later ranks come before the slow one's, and are combined after it: they are not waited for. */
SFTEST(a_slow_rank_in_the_trace)
{
  sftest_slow_start(reduce_with_a_slow_rank);
  sftest_slow_await_rounds(1);
  sftest_slow_ask(WORDS("trace", "start"));
  sftest_slow_await_rounds(sftest_slow->rounds[SFTEST_CULPRIT] + 40);
  sftest_slow_ask(WORDS("trace", "stop"));
  char *trace = read_trace();
  for (int32_t r = 0; r < SFTEST_SLOW_RANKS; r++) {
    char pid[32], index[32];
    find_process(trace, r, pid);
    snprintf(index, sizeof index, "\"sort_index\":%d}", r + 1); /* behind the daemon */
    ck_assert_int_eq(count_lines_with(trace, pid, index), 1);
    int all = count_lines_with(trace, "\"wait for rank ", pid),
        right = count_lines_with(trace, "\"wait for rank 5\"", pid);
    ck_assert_msg(r == SFTEST_CULPRIT || 2 * right > all, "rank %d: %d of %d waits are for the slow rank", r, right,
                  all);
  }
  free(trace);
  sftest_slow_end();
}

/* The rank in the first row of top, by the column; in front of it is the node, as all are asked. */
static int32_t first_in_top(const char *column)
{
  sftest_slow_ask(WORDS("top", "-b", "-n", "1", "-d", "2", "--all-nodes", "--sort", column, "ranks"));
  const char *titles = strstr(sftest_sfctl_out, " RANK JOB ");
  ck_assert_msg(titles != NULL, "%s", sftest_sfctl_out);
  return (int32_t)strtol(strchr(titles, '\n') + 5, NULL, 10);
}

/* Others wait most for the one that they wait for in the end: also where each waits for the one before it, on one node,
 * or on another one. */
SFTEST(a_slow_rank_in_top)
{
  const sftest_rank_fn_t jobs[] = {reduce_with_a_slow_rank, follow, follow};
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
    sftest_slow_start_over(i < 2 ? 1 : 2, jobs[i]);
    sftest_slow->pause_ms = (int32_t)sftest_limit_ms(SLOW_MS);
    sftest_slow_await_rounds(10);
    ck_assert_msg(first_in_top("WAITED") == SFTEST_CULPRIT, "%s", sftest_sfctl_out);
    sftest_slow_end();
  }
}

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
  sftest_slow_start(follow);
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
  sftest_slow_start(follow);
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

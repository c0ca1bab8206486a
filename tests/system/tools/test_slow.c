/* A job that is slow or hangs: faults are planted, and the commands of docs/slow-job.md lead to them, each in three
 * steps at most. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/unit/runner.h"

#define RANKS 8
#define CULPRIT 5
#define SLOW_MS 15 /* more than a rank that is ready waits for a core */
#define LIMIT_MS 30000

typedef struct scene {
  _Atomic int32_t rounds[RANKS];
  _Atomic bool over, hold; /* hold: the culprit, outside of calls */
  _Atomic int held;
  _Atomic int pause_ms; /* that the culprit takes in each round of the ring */
} scene_t;

static sftest_cluster_t cluster;
static sftest_job_t job;
static scene_t *scene;

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

/* Until the test says so, and then so long that no rank is left alone: rank 0 decides before the bcast that tells. */
static bool goes_on(sftest_rank_t *self, sf_graph_t *star)
{
  const scene_t *told = self->argument;
  int32_t own = told->over, over = 0;
  SFTEST_OK(self, sf_bcast(star, SF_INT32, &own, &over, SF_REPLACE));
  return over == 0;
}

static sf_graph_t *make_star(sftest_rank_t *self, sf_context_t *context)
{
  const int32_t rank = 0;
  const int64_t root = 0;
  sf_graph_t *star = NULL;
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), self->rank == 0, 1, NULL, &rank, &root, SF_GRAPH_DEFAULT, &star));
  return star;
}

/* All ranks contribute to a root of each, in the order of ranks; one comes late each time. */
static int reduce_with_a_slow_rank(sftest_rank_t *self)
{
  scene_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  int32_t ranks[RANKS];
  int64_t roots[RANKS] = {0};
  double root = 0, leaves[RANKS] = {0};
  sf_graph_t *all = NULL, *star = make_star(self, context);
  for (int32_t r = 0; r < RANKS; r++)
    ranks[r] = r;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, RANKS, NULL, ranks, roots, SF_GRAPH_DEFAULT, &all));
  while (goes_on(self, star)) {
    if (self->rank == CULPRIT)
      sftest_sleep_ms(sftest_limit_ms(SLOW_MS));
    SFTEST_OK(self, sf_reduce(all, SF_DOUBLE, leaves, &root, SF_SUM));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(all));
  SFTEST_OK(self, sf_graph_destroy(star));
  sftest_leave(self, context);
  return 0;
}

/* A ring in which each rank waits for the one before it. */
static int follow(sftest_rank_t *self)
{
  scene_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  const int32_t before = (self->rank + RANKS - 1) % RANKS;
  const int64_t index = 0;
  double root = 0, leaf = 0;
  sf_graph_t *ring = NULL, *star = make_star(self, context);
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 1, NULL, &before, &index, SF_GRAPH_DEFAULT, &ring));
  while (goes_on(self, star)) {
    if (self->rank == CULPRIT && told->pause_ms > 0)
      sftest_sleep_ms(told->pause_ms);
    while (self->rank == CULPRIT && told->hold) {
      told->held = 1;
      sftest_sleep_ms(1);
    }
    SFTEST_OK(self, sf_bcast(ring, SF_DOUBLE, &root, &leaf, SF_REPLACE));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(ring));
  SFTEST_OK(self, sf_graph_destroy(star));
  sftest_leave(self, context);
  return 0;
}

static void start_over(int32_t nnodes, sftest_rank_fn_t run)
{
  int32_t places[RANKS];
  sftest_places_cyclic(places, RANKS, nnodes);
  sftest_cluster_start(&cluster, nnodes);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, run, scene);
}

static void start(sftest_rank_fn_t run)
{
  start_over(1, run);
}

static void await_rounds(int32_t n)
{
  sftest_job_await(&job, &scene->rounds[CULPRIT], n);
}

static void end(void)
{
  scene->over = true;
  sftest_job_end_well(&job, sftest_limit_ms(LIMIT_MS));
  sftest_shared_free(scene, sizeof *scene);
  sftest_cluster_stop(&cluster);
}

static void ask(const char *const words[])
{
  sftest_sfctl(cluster.nodes[0].socket, words, 0);
}

/* Of the JSON of top. */
static double share_of(const char *fragment, const char *name)
{
  char member[48];
  snprintf(member, sizeof member, "\"%s\":", name);
  const char *row = strstr(sftest_sfctl_out, fragment);
  const char *at = row != NULL ? strstr(row, member) : NULL;
  ck_assert_msg(at != NULL, "no %s behind %s in: %s", name, fragment, sftest_sfctl_out);
  return strtod(at + strlen(member), NULL);
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
  snprintf(path, sizeof path, "%s/trace.json", cluster.nodes[0].directory);
  ask(WORDS("trace", "dump", "--output", path));
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
START_TEST(a_slow_rank_in_the_trace)
{
  start(reduce_with_a_slow_rank);
  await_rounds(1);
  ask(WORDS("trace", "start"));
  await_rounds(scene->rounds[CULPRIT] + 40);
  ask(WORDS("trace", "stop"));
  char *trace = read_trace();
  for (int32_t r = 0; r < RANKS; r++) {
    char pid[32], index[32];
    find_process(trace, r, pid);
    snprintf(index, sizeof index, "\"sort_index\":%d}", r + 1); /* behind the daemon */
    ck_assert_int_eq(count_lines_with(trace, pid, index), 1);
    int all = count_lines_with(trace, "\"wait for rank ", pid),
        right = count_lines_with(trace, "\"wait for rank 5\"", pid);
    ck_assert_msg(r == CULPRIT || 2 * right > all, "rank %d: %d of %d waits are for the slow rank", r, right, all);
  }
  free(trace);
  end();
}
END_TEST

/* The rank in the first row of top, by the column; in front of it is the node, as all are asked. */
static int32_t first_in_top(const char *column)
{
  ask(WORDS("top", "-b", "-n", "1", "-d", "0.5", "--all-nodes", "--sort", column, "ranks"));
  const char *titles = strstr(sftest_sfctl_out, " RANK JOB ");
  ck_assert_msg(titles != NULL, "%s", sftest_sfctl_out);
  return (int32_t)strtol(strchr(titles, '\n') + 5, NULL, 10);
}

/* Others wait most for the one that they wait for in the end: also where each waits for the one before it, on one node,
 * or on another one. */
START_TEST(a_slow_rank_in_top)
{
  const sftest_rank_fn_t jobs[] = {reduce_with_a_slow_rank, follow, follow};
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
    start_over(i < 2 ? 1 : 2, jobs[i]);
    scene->pause_ms = (int32_t)sftest_limit_ms(SLOW_MS);
    await_rounds(10);
    ck_assert_msg(first_in_top("WAITED") == CULPRIT, "%s", sftest_sfctl_out);
    end();
  }
}
END_TEST

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
  int64_t until = sftest_now_ms() + sftest_limit_ms(LIMIT_MS);
  sftest_sfctl_t run;
  do {
    sftest_sfctl_start(&run, cluster.nodes[0].socket, WORDS("stuck", "--threshold", "0.2"), NULL);
    sftest_sfctl_finish(&run);
  } while (strstr(sftest_sfctl_out, wanted) == NULL && sftest_now_ms() < until);
  sftest_expect_in(sftest_sfctl_out, wanted);
}

static void stop_culprit(void)
{
  await_rounds(10);
  scene->hold = true;
  sftest_job_await(&job, &scene->held, 1);
  sftest_job_signal(&job, CULPRIT, SIGSTOP);
  scene->hold = false;
}

/* Waits that last are counted: monitoring sees them before they end. */
START_TEST(a_stopped_rank_in_the_metrics)
{
  char line[160];
  setenv("SFD_STALL_AFTER", "0.2", 1);
  start(follow);
  unsetenv("SFD_STALL_AFTER");
  stop_culprit();
  snprintf(line, sizeof line, "sfd_job_stalled{job_id=\"1\",job_name=\"%s\"} 1\n", job.name);
  sftest_sfctl_await(cluster.nodes[0].socket, WORDS("metrics"), line);
  sftest_sfctl_await(cluster.nodes[0].socket, WORDS("metrics"), "sfd_jobs_stalled 1\n");
  ask(WORDS("ranks", "--json"));
  uint64_t waited_ns = number_of(CULPRIT + 1, "waited_ns"), waited_for_ns = number_of(CULPRIT, "waited_for_ns");
  sftest_sleep_ms(100);
  ask(WORDS("ranks", "--json"));
  ck_assert_uint_ge(number_of(CULPRIT + 1, "waited_ns"), waited_ns + 100000000);
  ck_assert_uint_ge(number_of(CULPRIT, "waited_for_ns"), waited_for_ns + 100000000);
  ck_assert_uint_ge(number_of(CULPRIT + 1, "oldest_wait_ns"), 300000000);
  ck_assert_uint_eq(number_of(CULPRIT, "oldest_wait_ns"), 0);
  waited_ns = number_of(CULPRIT + 1, "waited_ns");
  sftest_job_signal(&job, CULPRIT, SIGCONT);
  await_rounds(scene->rounds[CULPRIT] + 10);
  ask(WORDS("ranks", "--json"));
  ck_assert_uint_ge(number_of(CULPRIT + 1, "waited_ns"), waited_ns);
  snprintf(line, sizeof line, "sfd_job_stalled{job_id=\"1\",job_name=\"%s\"} 0\n", job.name);
  sftest_sfctl_await(cluster.nodes[0].socket, WORDS("metrics"), line);
  end();
}
END_TEST

/* In the list of the page: top shows that all wait, and stuck whom for. */
START_TEST(a_stopped_rank_in_stuck)
{
  char wanted[120];
  start(follow);
  stop_culprit();
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, stopped) has not begun it", CULPRIT, (int)job.pids[CULPRIT]);
  await_stuck(wanted);
  ask(WORDS("top", "-b", "-n", "1", "-d", "0.2", "--json", "jobs"));
  ck_assert_msg(share_of("\"view\":\"jobs\"", "wait_share") > 0.8, "%s", sftest_sfctl_out); /* 7 of 8 */
  sftest_job_signal(&job, CULPRIT, SIGCONT);
  end();
}
END_TEST

/* ---- A forgotten operation --------------------------------------------------------------------------------------- */

/* As follow, but the culprit leaves bcasts out. Nobody comes to an end: the job is to be killed. */
static int forget_one(sftest_rank_t *self)
{
  scene_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  const int32_t before = (self->rank + RANKS - 1) % RANKS, zero = 0;
  const int64_t index = 0;
  double value = 0, leaf = 0;
  sf_status_t status = SF_OK;
  sf_graph_t *ring = NULL, *star = NULL;
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), self->rank == 0, 1, NULL, &zero, &index, SF_GRAPH_DEFAULT, &star));
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 1, NULL, &before, &index, SF_GRAPH_DEFAULT, &ring));
  for (int i = 0; status == SF_OK; i++) {
    if (self->rank != CULPRIT || i < 10)
      status = sf_bcast(ring, SF_DOUBLE, &value, &leaf, SF_REPLACE);
    if (status == SF_OK)
      status = sf_bcast(star, SF_DOUBLE, &value, &leaf, SF_REPLACE);
    told->rounds[self->rank]++;
  }
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED);
  return 0;
}

START_TEST(a_forgotten_operation)
{
  char wanted[120];
  start(forget_one);
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, sleeping) has not begun it: it waits on graph ", CULPRIT,
           (int)job.pids[CULPRIT]);
  await_stuck(wanted);
  sftest_expect_in(sftest_sfctl_out, "bcast(double, replace) number 11 has kept ranks waiting for");
  ask(WORDS("kill", job.name));
  end();
}
END_TEST

/* ---- A saturated link -------------------------------------------------------------------------------------------- */

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
static int exchange_much(sftest_rank_t *self)
{
  scene_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  static int32_t ranks[MUCH];
  static int64_t roots[MUCH];
  static double values[MUCH], leaves[MUCH];
  sf_graph_t *much = NULL, *star = make_star(self, context);
  for (int i = 0; i < MUCH; i++) {
    ranks[i] = (self->rank + 1) % self->size;
    roots[i] = i;
  }
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), MUCH, MUCH, NULL, ranks, roots, SF_GRAPH_DEFAULT, &much));
  while (goes_on(self, star)) {
    SFTEST_OK(self, sf_bcast(much, SF_DOUBLE, values, leaves, SF_REPLACE));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(much));
  SFTEST_OK(self, sf_graph_destroy(star));
  sftest_leave(self, context);
  return 0;
}

START_TEST(a_saturated_link)
{
  const int32_t places[NHOSTS] = {0, 1};
  if (lacks != NULL) {
    printf("part skipped: a saturated link: %s\n", lacks);
    return;
  }
  sftest_cluster_start_on(&cluster, &hosts);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start_over(&job, cluster.nodes, places, NHOSTS, exchange_much, scene);
  sftest_job_await(&job, &scene->rounds[0], 1);
  ask(WORDS("top", "-b", "-n", "1", "-d", "0.5", "--json", "--all-nodes", "ranks"));
  ck_assert_msg(share_of("\"rank\":1,", "node_wait_share") > 0.5, "%s", sftest_sfctl_out);
  ask(WORDS("top", "-b", "-n", "1", "-d", "0.5", "--json", "channels"));
  ck_assert_msg(share_of("\"node\":1,", "busy_share") > 0.5, "%s", sftest_sfctl_out);
  ask(WORDS("metrics"));
  sftest_expect_in(sftest_sfctl_out, "sfd_peer_send_queue_bytes{peer=\"1\"} ");
  end();
}
END_TEST

/* ---- A hot root -------------------------------------------------------------------------------------------------- */

#define HOT_ROOT 17
#define HOT_LEAVES 1400 /* of each rank on that root of the culprit */
#define COLD_LEAVES 200 /* and on roots of its own, each one */

static int reduce_to_a_hot_root(sftest_rank_t *self)
{
  enum { NLEAVES = HOT_LEAVES + COLD_LEAVES };
  scene_t *told = self->argument;
  sf_context_t *context = sftest_join(self);
  int32_t ranks[NLEAVES];
  int64_t roots[NLEAVES];
  static double values[COLD_LEAVES], leaves[NLEAVES];
  sf_graph_t *hot = NULL, *star = make_star(self, context);
  for (int i = 0; i < NLEAVES; i++) {
    ranks[i] = i < HOT_LEAVES ? CULPRIT : self->rank;
    roots[i] = i < HOT_LEAVES ? HOT_ROOT : i - HOT_LEAVES;
  }
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), COLD_LEAVES, NLEAVES, NULL, ranks, roots, SF_GRAPH_DEFAULT, &hot));
  while (goes_on(self, star)) {
    SFTEST_OK(self, sf_reduce(hot, SF_DOUBLE, leaves, values, SF_SUM));
    told->rounds[self->rank]++;
  }
  SFTEST_OK(self, sf_graph_destroy(hot));
  SFTEST_OK(self, sf_graph_destroy(star));
  sftest_leave(self, context);
  return 0;
}

START_TEST(a_hot_root)
{
  char wanted[160], graph[32];
  const int hot = RANKS * HOT_LEAVES, all = RANKS * (HOT_LEAVES + COLD_LEAVES);
  start(reduce_to_a_hot_root);
  await_rounds(1);
  snprintf(wanted, sizeof wanted,
           "rank %d has %d of %d edges on its roots, %.1f times the mean; root %d of rank %d has %d leaves\n", CULPRIT,
           hot + COLD_LEAVES, all, (double)(hot + COLD_LEAVES) * RANKS / all, HOT_ROOT, CULPRIT, hot + 1);
  ask(WORDS("graphs"));
  sftest_expect_in(sftest_sfctl_out, wanted);
  ask(WORDS("graphs", "--json"));
  snprintf(graph, sizeof graph, "%llu", (unsigned long long)sftest_sfctl_number("\"root\":17,", "graph"));
  ask(WORDS("plan", "--pairs", graph));
  sftest_expect_in(sftest_sfctl_out, wanted);
  snprintf(wanted, sizeof wanted, " %d on root %d of rank %d\n", HOT_LEAVES, HOT_ROOT, CULPRIT);
  sftest_expect_in(sftest_sfctl_out, wanted);
  end();
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("slow jobs");
  TCase *tc = tcase_create("slow jobs");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, a_slow_rank_in_the_trace);
  tcase_add_test(tc, a_slow_rank_in_top);
  tcase_add_test(tc, a_stopped_rank_in_the_metrics);
  tcase_add_test(tc, a_stopped_rank_in_stuck);
  tcase_add_test(tc, a_forgotten_operation);
  tcase_add_test(tc, a_hot_root);
  suite_add_tcase(s, tc);
  TCase *links = tcase_create("links");
  tcase_set_timeout(links, 60);
  tcase_add_unchecked_fixture(links, make_hosts, end_hosts);
  tcase_add_test(links, a_saturated_link);
  suite_add_tcase(s, links); /* at last: the process moves to another network */
  return s;
}

int main(void)
{
  return sftest_run(suite());
}

/* sfctl stuck: a rank that is stopped in the middle of exchanges is named, with its process and the place where
 * the graph was made; also when the daemon does not answer. */
#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"

#define RANKS 4
#define EXCHANGES 1000
#define STOPPED 2
#define THRESHOLD "0.5"

typedef struct scene {
  _Atomic int32_t done[RANKS]; /* exchanges */
  _Atomic bool go_on;
  _Atomic int32_t line; /* where the graph is made */
} scene_t;

static sftest_cluster_t cluster;
static sftest_job_t job;
static scene_t *scene;

static const char *const out = sftest_sfctl_out;

/* Exchanges with both neighbours in a ring. The first is waited for, so that the rank is stopped in the middle. */
SFTEST_JOINED(exchange)
{
  scene_t *told = self->argument;
  const int32_t ranks[] = {(self->rank + 1) % self->size, (self->rank + self->size - 1) % self->size};
  const int64_t roots[] = {0, 0};
  double root = self->rank, leaves[2];
  sf_graph_t *graph = NULL;
  told->line = __LINE__ + 1;
  SFTEST_OK(self, sf_graph_create(world, 1, 2, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < EXCHANGES; i++) {
    sftest_at(self, "exchange %d", i);
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, &root, leaves, SF_REPLACE));
    SFTEST_REQUIRE(self, leaves[0] == ranks[0] && leaves[1] == ranks[1]);
    told->done[self->rank]++;
    SFTEST_SLEEP_WHILE(i == EXCHANGES / 2 && !told->go_on);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Stops a rank in the middle; the others go on until they wait for it. */
static void begin(int32_t nnodes, const int32_t places[], const char *log_level)
{
  sftest_cluster_start_logging(&cluster, nnodes, log_level);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, exchange, scene);
  for (int32_t r = 0; r < RANKS; r++)
    SFTEST_SLEEP_WHILE(scene->done[r] <= EXCHANGES / 2);
  sftest_job_signal(&job, STOPPED, SIGSTOP);
  scene->go_on = true;
}

static void end(void)
{
  sftest_job_signal(&job, STOPPED, SIGCONT);
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

/* sfctl does not wait for long for a daemon that does not answer: on a busy machine that may be one that serves, too.
 */
static bool is_silent(void)
{
  return strstr(out, "sfd does not answer") != NULL || strstr(out, "\"daemon_answers\":false") != NULL;
}

/* Asks until something is stuck. If the daemon serves, it must say so. */
static void ask_of(const char *socket, bool json, bool serves)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  sftest_sfctl_t run;
  do {
    sftest_sfctl_start(
        &run, socket,
        json ? WORDS("stuck", "--json", "--threshold", THRESHOLD) : WORDS("stuck", "--threshold", THRESHOLD), NULL);
    sftest_sfctl_finish(&run);
    ck_assert_str_eq(sftest_sfctl_err, "");
  } while ((sftest_sfctl_code == 0 || (serves && is_silent())) && sftest_now_ms() < until);
  ck_assert_msg(sftest_sfctl_code == 1, "exit status %d: %s", sftest_sfctl_code, out);
  ck_assert_msg(is_silent() == !serves, "%s", out);
}

static void ask(const char *socket, bool json)
{
  ask_of(socket, json, true);
}

/* Asks node 0, whose daemon serves, until it has answered in time. */
static void ask_with(const char *const words[], int code)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  sftest_sfctl_t run;
  do {
    sftest_sfctl_start(&run, cluster.nodes[0].socket, words, NULL);
    sftest_sfctl_finish(&run);
    ck_assert_str_eq(sftest_sfctl_err, "");
  } while (is_silent() && sftest_now_ms() < until);
  ck_assert_msg(sftest_sfctl_code == code, "exit status %d: %s", sftest_sfctl_code, out);
}

/* The rank that has not begun, its process, and the source line. */
static void expect_named(const char *socket, bool serves)
{
  char wanted[128];
  ask_of(socket, true, serves);
  snprintf(wanted, sizeof wanted, "\"rank\":%d,\"node\":%d,\"pid\":%d,\"process\":\"stopped\"", STOPPED,
           job.places[STOPPED], (int)job.pids[STOPPED]);
  sftest_expect_in(out, wanted);
  snprintf(wanted, sizeof wanted, "\"begun\":%d,\"completed\":%d,\"does\":\"not-begun\",\"waiting_s\":null",
           EXCHANGES / 2 + 1, EXCHANGES / 2 + 1);
  sftest_expect_in(out, wanted);
  snprintf(wanted, sizeof wanted, "\"place\":\"tests/system/tools/test_stuck.c:%d\"", scene->line);
  sftest_expect_in(out, wanted);
  sftest_expect_in(out, "\"call\":\"bcast(double, replace)\"");
  ask_of(socket, false, serves);
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, stopped) has not begun it", STOPPED, (int)job.pids[STOPPED]);
  sftest_expect_in(out, wanted);
}

SFTEST(on_one_node)
{
  char wanted[32];
  const int32_t places[RANKS] = {0};
  begin(1, places, NULL);
  expect_named(cluster.nodes[0].socket, true);
  snprintf(wanted, sizeof wanted, "\"waits_for_ranks\":[%d]", STOPPED);
  ask(cluster.nodes[0].socket, true);
  sftest_expect_in(out, wanted);
  ck_assert_int_eq(sftest_count_lines(out), 1);
  kill(cluster.nodes[0].pid, SIGSTOP);
  expect_named(cluster.nodes[0].socket, false);
  kill(cluster.nodes[0].pid, SIGCONT);
  ask_with(WORDS("stuck", "--threshold", "3600"), 0);
  sftest_expect_in(out, "nothing is stuck: none of 4 ranks has waited for 3600 s\n");
  snprintf(wanted, sizeof wanted, "\nbut rank %d of job ", STOPPED);
  sftest_expect_in(out, wanted);
  sftest_expect_in(out, "node 0) is stopped: others may wait for it elsewhere");
  ck_assert_int_eq(sftest_count_lines(out), 2);
  end();
}

/* From either node; and what is known if the other node's daemon does not answer. */
SFTEST(over_two_nodes)
{
  char wanted[64];
  const int32_t places[RANKS] = {0, 0, 1, 1};
  begin(2, places, NULL);
  expect_named(cluster.nodes[0].socket, true);
  expect_named(cluster.nodes[1].socket, true);
  ask(cluster.nodes[0].socket, true);
  snprintf(wanted, sizeof wanted, "\"ranks_known\":%d,\"nodes_missing\":[]", RANKS);
  sftest_expect_in(out, wanted);
  sftest_expect_in(out, "\"waits_for_nodes\":[1]");
  kill(cluster.nodes[1].pid, SIGSTOP);
  ask_with(WORDS("stuck", "--json", "--threshold", THRESHOLD, "--timeout", "2"), 1);
  kill(cluster.nodes[1].pid, SIGCONT);
  sftest_expect_in(out, "\"ranks_known\":2,\"nodes_missing\":[1]");
  end();
}

/* Lines of the log that tell of the operation that waits for the stopped rank; wanted is in all of them. */
static int count_told(const char *wanted)
{
  char line[2048], operation[32];
  int n = 0;
  snprintf(operation, sizeof operation, " number %d ", EXCHANGES / 2 + 2);
  FILE *log = fopen(cluster.nodes[0].log, "re");
  ck_assert_ptr_nonnull(log);
  while (fgets(line, sizeof line, log) != NULL) {
    if (strstr(line, "is stuck: graph ") == NULL || strstr(line, operation) == NULL)
      continue;
    sftest_expect_in(line, wanted);
    n++;
  }
  fclose(log);
  return n;
}

SFTEST(in_the_log)
{
  char wanted[64];
  const int32_t places[RANKS] = {0};
  setenv("SFD_STALL_AFTER", "0.2", 1);
  begin(1, places, "warn");
  unsetenv("SFD_STALL_AFTER");
  snprintf(wanted, sizeof wanted, "rank %d (pid %d, stopped) has not begun it", STOPPED, (int)job.pids[STOPPED]);
  while (count_told(wanted) == 0)
    sftest_sleep_ms(10);
  sftest_sleep_ms(500); /* in which the daemon looks again */
  ck_assert_int_eq(count_told(wanted), 1);
  end();
}

/* Contributions to one root of rank 0, which begins when the others have: more than slots hold. One rank stops short.
 */
SFTEST_JOINED(contribute_ahead)
{
  enum { ALL = 12, SHORT = 10 };
  scene_t *told = self->argument;
  const int32_t rank = 0;
  const int64_t number = 0;
  double root = 0, leaf = 1;
  sf_graph_t *graph = NULL;
  SFTEST_OK(self,
            sf_graph_create(world, self->rank == 0, self->rank != 0, NULL, &rank, &number, SF_GRAPH_DEFAULT, &graph));
  SFTEST_SLEEP_WHILE(self->rank == 0 && (told->done[1] < ALL || told->done[STOPPED] < SHORT || told->done[3] < ALL));
  for (int i = 0; i < ALL; i++) {
    SFTEST_SLEEP_WHILE(self->rank == STOPPED && i == SHORT && !told->go_on);
    SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, &leaf, &root, SF_SUM));
    told->done[self->rank]++;
  }
  SFTEST_REQUIRE(self, self->rank != 0 || root == ALL * (RANKS - 1));
  SFTEST_SLEEP_WHILE(!told->go_on);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Whose contribution came before its turn is not waited for, wherever it lies. */
SFTEST(behind_the_turn)
{
  char wanted[32];
  sftest_cluster_start(&cluster, 1);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start(&job, &cluster.nodes[0], RANKS, contribute_ahead, scene);
  SFTEST_SLEEP_WHILE(scene->done[0] == 0);
  ask(cluster.nodes[0].socket, true);
  snprintf(wanted, sizeof wanted, "\"waits_for_ranks\":[%d]", STOPPED);
  sftest_expect_in(out, wanted);
  scene->go_on = true;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

/* All ranks make a graph but one, which comes later. */
SFTEST_JOINED(come_late)
{
  scene_t *told = self->argument;
  sf_graph_t *graph = NULL;
  SFTEST_SLEEP_WHILE(self->rank == STOPPED && !told->go_on);
  SFTEST_OK(self, sf_graph_create(world, 1, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(in_set_up)
{
  char wanted[64];
  sftest_cluster_start(&cluster, 1);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start(&job, &cluster.nodes[0], RANKS, come_late, scene);
  do
    ask(cluster.nodes[0].socket, true);
  while (strstr(out, "\"rank\":3,") == NULL || strstr(out, "\"rank\":0,") == NULL);
  sftest_expect_in(out, "\"call\":\"sf_graph_create\",\"place\":\"tests/system/tools/test_stuck.c:");
  snprintf(wanted, sizeof wanted, "\"rank\":%d,", STOPPED);
  ck_assert_ptr_null(strstr(out, wanted));
  ask(cluster.nodes[0].socket, false);
  sftest_expect_in(out, "ranks wait in calls that others have to make, too:\n");
  ck_assert_msg(sftest_count_lines(out) == 2 + RANKS, "%s", out);
  scene->go_on = true;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

/* All ranks come but one. */
static void come_last(sftest_rank_t *self)
{
  scene_t *told = self->argument;
  SFTEST_SLEEP_WHILE(self->rank == STOPPED && !told->go_on);
  sftest_leave(self, sftest_join(self));
}

SFTEST(in_init)
{
  char wanted[200];
  const int32_t places[RANKS] = {0, 0, 1, 1};
  sftest_cluster_start(&cluster, 2);
  scene = sftest_shared(sizeof *scene);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, come_last, scene);
  do
    ask(cluster.nodes[0].socket, true);
  while (strstr(out, "\"rank\":3,") == NULL || strstr(out, "\"rank\":0,") == NULL ||
         strstr(out, "\"rank\":1,") == NULL);
  sftest_expect_in(out, "\"call\":\"sf_init\",\"place\":null,");
  snprintf(wanted, sizeof wanted, "\"absent\":[{\"job_id\":0,\"job\":\"%s\",\"rank\":%d}],\"stalls\":[]}", job.name,
           STOPPED);
  sftest_expect_in(out, wanted);
  ask(cluster.nodes[0].socket, false);
  snprintf(wanted, sizeof wanted, "of job %s 1 of %d ranks are not known: rank %d\n", job.name, RANKS, STOPPED);
  sftest_expect_in(out, wanted);
  scene->go_on = true;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

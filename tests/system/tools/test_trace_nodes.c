/* sfctl trace over two nodes: the file that is written holds to the rules of its format, and says what was done. */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/trace_rules.h"

#define NODES 2
#define RANKS 4
#define CALLS 20
#define JOBS 8

static sftest_cluster_t cluster;
static const int32_t places[RANKS] = {0, 0, 1, 1};

/* ---- A job to trace ---------------------------------------------------------------------------------------------- */

/* Neighbours in a ring of four, two and two on a node: ways within and between nodes. Two operations in flight. */
SFTEST_JOINED(exchange)
{
  const int32_t ranks[] = {(self->rank + 1) % RANKS, (self->rank + RANKS - 1) % RANKS};
  const int64_t indices[] = {0, 0};
  double root = self->rank, sum = 0, leaves[2], ones[2] = {1, 1};
  sf_graph_t *graph = NULL;
  sf_request_t *first, *second;
  SFTEST_OK(self, sf_graph_create(world, 1, 2, NULL, ranks, indices, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < CALLS; i++) {
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, leaves, SF_REPLACE, &first));
    SFTEST_OK(self, sf_reduce_begin(graph, SF_DOUBLE, ones, &sum, SF_SUM, &second));
    SFTEST_OK(self, sf_wait(&second));
    SFTEST_OK(self, sf_wait(&first));
  }
  SFTEST_REQUIRE(self, sum == 2 * CALLS);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void start(void)
{
  sftest_cluster_start(&cluster, NODES);
}

static void stop(void)
{
  sftest_trace_free();
  sftest_cluster_stop(&cluster);
}

SFTEST_FIXTURE(start, stop);

/* The daemons keep what its ranks have written. */
static void run_job(void)
{
  sftest_run_over(cluster.nodes, places, RANKS, exchange, NULL);
}

static void load(const char *path)
{
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "dump", "--output", path), 0);
  ck_assert_str_eq(sftest_sfctl_out, "");
  sftest_trace_read(path);
  ck_assert_int_eq(unlink(path), 0);
}

static void dump(const char *path)
{
  load(path);
  sftest_trace_check();
}

SFTEST(a_job_over_two_nodes)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", cluster.nodes[0].directory);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "dump"), 1);
  sftest_expect_in(sftest_sfctl_err, "nothing has been traced");
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "begin"), 2);
  sftest_expect_in(sftest_sfctl_err, "expected start, stop or dump");
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "start"), 0);
  run_job();
  dump(path);
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('b', "reduce(double, sum)"), CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "send to rank"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "unpack from rank"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "send to node"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "unpack from node"), 2 * CALLS * RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "depart to node"), 2 * CALLS * NODES);
  ck_assert_int_eq(sftest_trace_count('X', "arrive from node"), 2 * CALLS * NODES);
  ck_assert_int_ge(sftest_trace_count('X', "frame out to node"), 1);
  ck_assert_int_eq(sftest_trace_count('X', "sort edges"), RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "plan"), RANKS);
  ck_assert_int_eq(sftest_trace_count('X', "connect"), 0); /* of two nodes: the graph is ready without a second round */
  /* Rank to rank; to the daemon, between daemons, and from there; and frames, some of which were under way already. */
  int nflows = sftest_trace_count('s', "message"), nmessages = 2 * CALLS * (3 * RANKS + NODES);
  ck_assert_int_gt(nflows, nmessages);
  ck_assert_int_le(nflows, nmessages + sftest_trace_count('X', "frame in from node"));
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "stop"), 0);
  run_job(); /* leaves nothing more */
  dump(path);
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), CALLS * RANKS);
}

/* More than another node's daemon answers at once, of ranks that have gone. */
SFTEST(several_jobs)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", cluster.nodes[0].directory);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "start"), 0);
  for (int i = 0; i < JOBS; i++)
    run_job();
  load(path);
  ck_assert_int_eq(sftest_trace_count('b', "bcast(double, replace)"), JOBS * CALLS * RANKS);
}

/* ---- The demo ---------------------------------------------------------------------------------------------------- */

#define ENOUGH 40 /* operations of a rank */

/* Where this program's build directory is, or BUILD. */
static void find_build(char path[PATH_MAX])
{
  const char *build = getenv("BUILD");
  ssize_t n = build != NULL ? snprintf(path, PATH_MAX, "%.4000s", build) : readlink("/proc/self/exe", path, PATH_MAX);
  ck_assert(n > 0 && n < PATH_MAX);
  path[n] = '\0';
  for (int up = 0; build == NULL && up < 3; up++)
    *strrchr(path, '/') = '\0';
}

/* Its daemons' sockets will be in the directory. It is long; nobody waits for its end. */
static pid_t start_demo(const char *build, const char *directory)
{
  char sfrun[PATH_MAX + 16], cg[PATH_MAX + 16];
  snprintf(sfrun, sizeof sfrun, "%s/sfrun", build);
  snprintf(cg, sizeof cg, "%s/examples/cg", build);
  if (access(cg, X_OK) != 0 || sftest_is_sanitized())
    return 0;
  fflush(NULL);
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid > 0)
    return pid;
  int null = open("/dev/null", O_RDWR);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  setenv("XDG_RUNTIME_DIR", directory, 1);
  unsetenv("SF_SOCKET");
  setenv("PMIX_MCA_gds", "hash", 1); /* with locks in shared memory PMIx hangs if a killed process held one */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  execl(sfrun, "sfrun", "--quiet", "--nodes", "2", "--distribution", "cyclic", "-n", "4", "--", cg, "--grid",
        "80,80,160", (char *)NULL);
  _exit(127);
}

/* Until sfctl succeeds there and has said the text; the demo must not have ended. */
static void ask_demo(pid_t demo, const char *directory, const char *const words[], const char *text)
{
  char pattern[160];
  glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s/sfrun-*/sfd.0.sock", directory);
  do {
    ck_assert_msg(waitpid(demo, NULL, WNOHANG) == 0, "the demo has ended");
    globfree(&found);
    sftest_sfctl_code = -1;
    if (glob(pattern, 0, NULL, &found) == 0) {
      sftest_sfctl_t run;
      sftest_sfctl_start(&run, found.gl_pathv[0], words, NULL);
      sftest_sfctl_finish(&run);
    }
    sftest_sleep_ms(20);
  } while (sftest_sfctl_code != 0 || strstr(sftest_sfctl_out, text) == NULL);
  globfree(&found);
}

SFTEST(the_demo)
{
  char build[PATH_MAX], path[128];
  const char *directory = cluster.nodes[0].directory;
  uint64_t completed = 0;
  find_build(build);
  snprintf(path, sizeof path, "%s/demo.json", directory);
  pid_t demo = start_demo(build, directory);
  if (demo == 0) {
    puts("part skipped: the demo is not built, or its MPI would be reported by the sanitizers");
    return;
  }
  ask_demo(demo, directory, WORDS("trace", "start"), "");
  while (completed < ENOUGH) {
    ask_demo(demo, directory, WORDS("ranks", "--json"), "\"completed\"");
    completed = sftest_sfctl_number("\"rank\":0,", "completed");
  }
  ask_demo(demo, directory, WORDS("trace", "dump", "--output", path), "");
  kill(demo, SIGTERM);
  ck_assert_int_eq(waitpid(demo, NULL, 0), demo);
  sftest_trace_read(path);
  ck_assert_int_eq(unlink(path), 0);
  sftest_trace_check();
  ck_assert_int_ge(sftest_trace_count('b', "bcast"), ENOUGH);
  ck_assert_int_ge(sftest_trace_count('s', "message"), ENOUGH);
  ck_assert_int_ge(sftest_trace_count('X', "arrive from node"), 1);
}

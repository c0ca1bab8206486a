/* A job that is slow as a rank is, or a link: the commands of docs/slow-job.md lead to it, each in three steps at most.
 * They compare times, in which a machine with other things to do has its part. */
#include "tests/system/sfctl.h"
#include "tests/system/tools/slow_job.h"

/* ---- A slow rank ------------------------------------------------------------------------------------------------- */

#define SLOW_MS 15 /* more than a rank that is ready waits for a core */

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

#define ROUNDS 40 /* in the trace */

/* Contributions of later ranks come before the slow one's, and are combined after it: they are not waited for. */
SFTEST(a_slow_rank_in_the_trace)
{
  sftest_slow_start(reduce_with_a_slow_rank);
  sftest_slow_await_rounds(1);
  sftest_slow_ask(WORDS("trace", "start"));
  sftest_slow_await_rounds(sftest_slow->rounds[SFTEST_CULPRIT] + ROUNDS);
  sftest_slow_ask(WORDS("trace", "stop"));
  char *trace = read_trace();
  for (int32_t r = 0; r < SFTEST_SLOW_RANKS; r++) {
    char pid[32], index[32];
    find_process(trace, r, pid);
    snprintf(index, sizeof index, "\"sort_index\":%d}", r + 1); /* behind the daemon */
    ck_assert_int_eq(count_lines_with(trace, pid, index), 1);
    int right = count_lines_with(trace, "\"wait for rank 5\"", pid);
    ck_assert_msg(r == SFTEST_CULPRIT || 2 * right > ROUNDS, "rank %d waits for the slow rank in %d of %d rounds", r,
                  right, ROUNDS);
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
  const sftest_rank_fn_t jobs[] = {reduce_with_a_slow_rank, sftest_slow_follow, sftest_slow_follow};
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
    sftest_slow_start_over(i < 2 ? 1 : 2, jobs[i]);
    sftest_slow->pause_ms = (int32_t)sftest_limit_ms(SLOW_MS);
    sftest_slow_await_rounds(10);
    ck_assert_msg(first_in_top("WAITED") == SFTEST_CULPRIT, "%s", sftest_sfctl_out);
    sftest_slow_end();
  }
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

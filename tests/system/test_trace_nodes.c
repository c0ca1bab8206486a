/* sfctl trace over two nodes: the file that is written holds to the rules of its format - every begin has its end,
 * every flow its two ends, time does not go backwards on a track, what a thread does is nested - and says what was
 * done. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/unit/runner.h"

#define NODES 2
#define RANKS 4
#define CALLS 20
#define JOBS 8
#define LIMIT_MS 30000

static sftest_cluster_t cluster;
static const int32_t places[RANKS] = {0, 0, 1, 1};

/* ---- A job to trace ---------------------------------------------------------------------------------------------- */

/* Neighbours in a ring of four, two and two on a node: ways within and between nodes. Two operations in flight. */
static int exchange(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  const int32_t ranks[] = {(self->rank + 1) % RANKS, (self->rank + RANKS - 1) % RANKS};
  const int64_t indices[] = {0, 0};
  double root = self->rank, sum = 0, leaves[2], ones[2] = {1, 1};
  sf_graph_t *graph = NULL;
  sf_request_t *first, *second;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, 2, NULL, ranks, indices, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < CALLS; i++) {
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, leaves, SF_REPLACE, &first));
    SFTEST_OK(self, sf_reduce_begin(graph, SF_DOUBLE, ones, &sum, SF_SUM, &second));
    SFTEST_OK(self, sf_wait(&second));
    SFTEST_OK(self, sf_wait(&first));
  }
  SFTEST_REQUIRE(self, sum == 2 * CALLS);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

/* ---- Reading the file -------------------------------------------------------------------------------------------- */

#define MAX_EVENTS 40000
#define MAX_DEPTH 16

typedef struct event {
  char phase;
  unsigned pid, tid;
  double ts, dur;
  char id[64], category[32], name[160];
} event_t;

static event_t *events;
static int nevents;

static bool text_of(const char *line, const char *member, char *to, size_t size)
{
  char key[32];
  snprintf(key, sizeof key, "\"%s\":", member);
  const char *at = strstr(line, key);
  if (at == NULL)
    return false;
  at += strlen(key);
  bool quoted = *at == '"';
  at += quoted;
  snprintf(to, size, "%.*s", (int)strcspn(at, quoted ? "\"" : "},"), at);
  return true;
}

static double number_of(const char *line, const char *member)
{
  char text[64], *end;
  ck_assert_msg(text_of(line, member, text, sizeof text), "no %s in %s", member, line);
  double number = strtod(text, &end);
  ck_assert_msg(*end == '\0' && end != text, "%s is no number in %s", member, line);
  return number;
}

/* Each event is an object on a line of its own. */
static void read_event(const char *line)
{
  char phase[8];
  ck_assert_int_lt(nevents, MAX_EVENTS);
  event_t *event = &events[nevents++];
  ck_assert(text_of(line, "ph", phase, sizeof phase) && strlen(phase) == 1);
  *event =
      (event_t){.phase = phase[0], .pid = (unsigned)number_of(line, "pid"), .tid = (unsigned)number_of(line, "tid")};
  event->ts = number_of(line, "ts");
  event->dur = event->phase == 'X' ? number_of(line, "dur") : 0;
  text_of(line, "id", event->id, sizeof event->id);
  text_of(line, "cat", event->category, sizeof event->category);
  ck_assert_msg(text_of(line, "name", event->name, sizeof event->name), "no name in %s", line);
}

static void read_file(const char *path)
{
  static char line[4096];
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  nevents = 0;
  ck_assert(fgets(line, sizeof line, file) != NULL);
  ck_assert_str_eq(line, "{\"traceEvents\":[\n");
  while (fgets(line, sizeof line, file) != NULL && line[0] == '{')
    read_event(line);
  ck_assert_msg(line[0] == ']' && line[strlen(line) - 2] == '}', "the file ends in %s", line);
  fclose(file);
}

/* ---- The rules --------------------------------------------------------------------------------------------------- */

/* Of events with an id: what begins ends, once, and not before. */
static void check_pairs(char begin, char end)
{
  for (int i = 0; i < nevents; i++) {
    const event_t *event = &events[i];
    int partners = 0;
    if (event->phase != begin && event->phase != end)
      continue;
    for (int k = 0; k < nevents; k++) {
      const event_t *other = &events[k];
      if (other->phase != (event->phase == begin ? end : begin) || strcmp(other->id, event->id) != 0 ||
          strcmp(other->category, event->category) != 0)
        continue;
      partners++;
      ck_assert(event->phase == begin ? other->ts >= event->ts && k > i : other->ts <= event->ts && k < i);
    }
    ck_assert_msg(partners == 1, "%s %s has %d partners", event->category, event->id, partners);
  }
}

static bool is_timed(const event_t *event)
{
  return event->phase != 'M';
}

/* Events stand in the order of time; slices of a thread lie within each other, or apart. */
static void check_track(unsigned pid, unsigned tid)
{
  double ends[MAX_DEPTH], last = 0;
  int depth = 0;
  for (int i = 0; i < nevents; i++) {
    const event_t *event = &events[i];
    if (!is_timed(event) || event->pid != pid || event->tid != tid)
      continue;
    ck_assert_double_ge(event->ts, last);
    last = event->ts;
    if (event->phase != 'X')
      continue;
    while (depth > 0 && ends[depth - 1] <= event->ts + 0.0005)
      depth--;
    ck_assert_msg(depth == 0 || event->ts + event->dur <= ends[depth - 1] + 0.0005, "\"%s\" at %f overlaps",
                  event->name, event->ts);
    ck_assert_int_lt(depth, MAX_DEPTH);
    ends[depth++] = event->ts + event->dur;
  }
}

/* Each end of a flow lies in a slice of its thread. */
static void check_bound(const event_t *flow)
{
  for (int i = 0; i < nevents; i++)
    if (events[i].phase == 'X' && events[i].pid == flow->pid && events[i].tid == flow->tid &&
        events[i].ts <= flow->ts + 0.0005 && flow->ts <= events[i].ts + events[i].dur + 0.0005)
      return;
  ck_abort_msg("flow %s at %f lies in no slice", flow->id, flow->ts);
}

static int count(char phase, const char *name)
{
  int n = 0;
  for (int i = 0; i < nevents; i++)
    n += events[i].phase == phase && strstr(events[i].name, name) == events[i].name;
  return n;
}

static void check_rules(void)
{
  check_pairs('b', 'e');
  check_pairs('s', 'f');
  for (int i = 0; i < nevents; i++) {
    if (events[i].phase == 'X')
      check_track(events[i].pid, events[i].tid);
    if (events[i].phase == 's' || events[i].phase == 'f')
      check_bound(&events[i]);
  }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void start(void)
{
  sftest_cluster_start(&cluster, NODES);
  events = calloc(MAX_EVENTS, sizeof *events);
}

static void stop(void)
{
  free(events);
  sftest_cluster_stop(&cluster);
}

/* The daemons keep what its ranks have written. */
static void run_job(void)
{
  sftest_job_t job;
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, exchange, NULL);
  sftest_job_wait(&job, LIMIT_MS);
  sftest_job_expect_all(&job);
}

static void load(const char *path)
{
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "dump", "--output", path), 0);
  ck_assert_str_eq(sftest_sfctl_out, "");
  read_file(path);
  ck_assert_int_eq(unlink(path), 0);
}

static void dump(const char *path)
{
  load(path);
  check_rules();
}

START_TEST(a_job_over_two_nodes)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", cluster.nodes[0].directory);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "dump"), 1);
  sftest_expect_in(sftest_sfctl_err, "nothing has been traced");
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "start"), 0);
  run_job();
  dump(path);
  ck_assert_int_eq(count('b', "bcast(double, replace)"), CALLS * RANKS);
  ck_assert_int_eq(count('b', "reduce(double, sum)"), CALLS * RANKS);
  ck_assert_int_eq(count('X', "send to rank"), 2 * CALLS * RANKS);
  ck_assert_int_eq(count('X', "unpack from rank"), 2 * CALLS * RANKS);
  ck_assert_int_eq(count('X', "send to node"), 2 * CALLS * RANKS);
  ck_assert_int_eq(count('X', "unpack from node"), 2 * CALLS * RANKS);
  ck_assert_int_eq(count('X', "depart to node"), 2 * CALLS * NODES);
  ck_assert_int_eq(count('X', "arrive from node"), 2 * CALLS * NODES);
  ck_assert_int_ge(count('X', "frame out to node"), 1);
  ck_assert_int_eq(count('X', "sort edges"), RANKS);
  ck_assert_int_eq(count('X', "connect"), RANKS);
  /* Rank to rank; to the daemon, between daemons, and from there; and frames, some of which were under way already. */
  int nflows = count('s', "message"), nmessages = 2 * CALLS * (3 * RANKS + NODES);
  ck_assert_int_gt(nflows, nmessages);
  ck_assert_int_le(nflows, nmessages + count('X', "frame in from node"));
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "stop"), 0);
  run_job(); /* leaves nothing more */
  dump(path);
  ck_assert_int_eq(count('b', "bcast(double, replace)"), CALLS * RANKS);
}
END_TEST

/* More than another node's daemon answers at once, of ranks that have gone. */
START_TEST(several_jobs)
{
  char path[128];
  snprintf(path, sizeof path, "%s/trace.json", cluster.nodes[0].directory);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("trace", "start"), 0);
  for (int i = 0; i < JOBS; i++)
    run_job();
  load(path);
  ck_assert_int_eq(count('b', "bcast(double, replace)"), JOBS * CALLS * RANKS);
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("trace");
  TCase *tc = tcase_create("nodes");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, start, stop);
  tcase_add_test(tc, a_job_over_two_nodes);
  tcase_add_test(tc, several_jobs);
  suite_add_tcase(s, tc);
  return s;
}

int main(void)
{
  return sftest_run(suite());
}

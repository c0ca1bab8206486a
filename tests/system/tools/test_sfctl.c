/* sfctl against a real daemon with real jobs: what it shows of them. */
#include "daemon/base/copy_costs.h"
#include "daemon/base/copy_costs_cache.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

/* Whatever way they went; which one is chosen is not sfctl's. */
static uint64_t sent_bytes(const char *fragment)
{
  return sftest_sfctl_number(fragment, "bytes_inline") + sftest_sfctl_number(fragment, "bytes_slots") +
         sftest_sfctl_number(fragment, "bytes_in_place") + sftest_sfctl_number(fragment, "bytes_vm_read");
}

/* ---- Jobs to look at --------------------------------------------------------------------------------------------- */

#define RANKS 2
#define UNITS 100
#define BCASTS 3
#define REDUCES 2
#define REGISTERED_BYTES 12345

typedef struct scene {
  _Atomic int32_t nready;
  _Atomic bool over;
  _Atomic int line; /* at which a graph was created */
} scene_t;

static void await_the_end(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  scene->nready++;
  sftest_at(self, "being looked at");
  while (!scene->over)
    sftest_sleep_ms(5);
}

/* Exchanges data on a graph that lives on, and on one that does not. */
SFTEST_JOINED(work)
{
  static double roots[UNITS], leaves[UNITS];
  static char registered[REGISTERED_BYTES];
  sf_graph_t *gone, *graph;
  sf_region_t *region;
  void *memory;
  SFTEST_OK(self, sf_alloc(context, 100000, &memory));
  SFTEST_OK(self, sf_register(context, registered, sizeof registered, SF_MEMORY_HOST, &region));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &gone));
  SFTEST_OK(self, sf_bcast(gone, SF_DOUBLE, roots, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(gone));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < BCASTS; i++)
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  for (int i = 0; i < REDUCES; i++)
    SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM));
  await_the_end(self);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

static void start_job(sftest_job_t *job, const sftest_node_t *node, sftest_rank_fn_t run, scene_t *scene,
                      int32_t nready)
{
  sftest_job_start(job, node, RANKS, run, scene);
  sftest_job_await(job, &scene->nready, nready);
}

static void end_job(sftest_job_t *job, scene_t *scene)
{
  scene->over = true;
  sftest_job_wait(job);
}

static void look_at_status(const sftest_node_t *node)
{
  char pid[32], socket[128];
  sftest_sfctl(node->socket, WORDS("status"), 0);
  sftest_expect_in(out, "socket   ");
  sftest_expect_in(out, node->socket);
  sftest_expect_in(out, "jobs     1; since it started 1, of which 0 failed\n");
  sftest_expect_in(out, "ranks    2\n");
  sftest_expect_in(out, "payload  through caches\n");
  sftest_sfctl(node->socket, WORDS("status", "--json"), 0);
  snprintf(pid, sizeof pid, "\"pid\":%d,", (int)node->pid);
  snprintf(socket, sizeof socket, "\"socket\":\"%s\",", node->socket);
  sftest_expect_in(out, pid);
  sftest_expect_in(out, socket);
  sftest_expect_in(out, "\"jobs\":1,\"ranks\":2,\"graphs\":");
  sftest_expect_in(out, "\"costs_measured\":false,\"payloads\":\"through caches\",\"fabric\":\"none\",\"node\":0,"
                        "\"nodes\":1,\"drained\":false}\n");
  ck_assert_int_eq(sftest_count_lines(out), 1);
}

static void look_for_other_nodes(const sftest_node_t *node)
{
  char number[32];
  sftest_sfctl(node->socket, WORDS("peers"), 0);
  ck_assert_str_eq(out, "no peers: this sfd is alone\n");
  sftest_sfctl(node->socket, WORDS("peers", "--json"), 0);
  ck_assert_str_eq(out, "[]\n");
  sftest_sfctl(node->socket, WORDS("graphs", "--json"), 0);
  snprintf(number, sizeof number, "%llu", (unsigned long long)sftest_sfctl_number("\"graph\":", "graph"));
  sftest_sfctl(node->socket, WORDS("plan", number), 0);
  sftest_expect_in(out, ": ready, 2 ranks, seen from node 0\nno edges between this node and others\n");
  sftest_sfctl(node->socket, WORDS("plan", "0"), 1);
  sftest_expect_in(err, "no graph 0 is known here");
}

static void look_at_jobs(const sftest_node_t *node, const char *name)
{
  char wanted[128];
  sftest_sfctl(node->socket, WORDS("jobs"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2);
  sftest_expect_in(out, name);
  sftest_expect_in(out, "running     2/2 ");
  sftest_expect_in(out, "      1     2       1       1\n"); /* nodes, ranks here, graphs, groups */
  sftest_sfctl(node->socket, WORDS("--json", "jobs"), 0);
  snprintf(wanted, sizeof wanted, "\"job\":\"%s\",\"uid\":%u,\"size\":2,\"joined\":2,\"state\":\"running\",", name,
           (unsigned)getuid());
  sftest_expect_in(out, wanted);
  sftest_expect_in(out, "\"program\":\"test_sfctl\"");
}

static void look_at_ranks(const sftest_node_t *node, const sftest_job_t *job)
{
  sftest_sfctl(node->socket, WORDS("ranks"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 1 + RANKS);
  sftest_expect_in(out, "1 slots (");
  sftest_sfctl(node->socket, WORDS("ranks", "--regions"), 0);
  sftest_expect_in(out, "    inbox ");
  sftest_expect_in(out, "    registered    12.1 KiB  "); /* read by others or copied, as is permitted here */
  sftest_sfctl(node->socket, WORDS("ranks", "--json"), 0);
  for (int32_t rank = 0; rank < RANKS; rank++) {
    char fragment[32];
    snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "pid"), (uint64_t)job->pids[rank]);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "bcasts"), BCASTS + 1);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "reduces"), REDUCES);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "completed"), BCASTS + REDUCES + 1);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "bytes_received"), (BCASTS + REDUCES + 1) * UNITS * sizeof(double));
    ck_assert_uint_eq(sent_bytes(fragment), sftest_sfctl_number(fragment, "bytes_received"));
  }
}

static void look_at_graphs(const sftest_node_t *node)
{
  sftest_sfctl(node->socket, WORDS("graphs"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3);
  sftest_expect_in(out, "ready");
  sftest_expect_in(out, "made at tests/system/");
  sftest_sfctl(node->socket, WORDS("graphs", "--json"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3);
  sftest_expect_in(out, "\"size\":2,\"nroots\":200,\"nleaves\":200,\"pairs\":2,\"state\":\"ready\",\"detail\":null,"
                        "\"place\":\"tests/system/");
  sftest_expect_in(out, "\"multi_of\":null,\"job_ranks\":[0,1],\"counters\":{\"ranks_counted\":2,\"bcasts\":3,"
                        "\"reduces\":2,\"gathers\":0,\"scatters\":0,\"fetch_ops\":0,\"exchanges\":0,\"completed\":5,");
  ck_assert_uint_eq(sent_bytes("\"graph\":"), RANKS * (BCASTS + REDUCES) * UNITS * sizeof(double));
}

/* A whole sample of rank 1, or of the graph. */
static void expect_sample(const char *name, const char *label, uint64_t value)
{
  char begin[64], end[64];
  snprintf(begin, sizeof begin, "%s{", name);
  snprintf(end, sizeof end, "%s} %llu", label, (unsigned long long)value);
  for (const char *line = out; (line = strstr(line, begin)) != NULL; line++) {
    size_t length = strcspn(line, "\n"), n = strlen(end);
    if (line[-1] == '\n' && length > n && strncmp(line + length - n, end, n) == 0)
      return;
  }
  ck_abort_msg("no %s{...%s in: %s", name, end, out);
}

static void look_at_metrics(const sftest_node_t *node, const char *name)
{
  char wanted[128];
  sftest_sfctl(node->socket, WORDS("metrics"), 0);
  sftest_expect_in(out, "\nsfd_jobs_started_total 1\n");
  sftest_expect_in(out, "\nsfd_ranks 2\n");
  snprintf(wanted, sizeof wanted, ",job_name=\"%s\",sfd_job_state=\"running\"} 1\n", name);
  sftest_expect_in(out, wanted);
  expect_sample("sfd_rank_bcasts_total", ",rank=\"1\"", BCASTS + 1);
  expect_sample("sfd_rank_received_bytes_total", ",rank=\"0\",way=\"ranks\"",
                (BCASTS + REDUCES + 1) * UNITS * sizeof(double));
  expect_sample("sfd_graph_completed_total", "\"", BCASTS + REDUCES);
  expect_sample("sfd_graph_ranks_counted", "\"", RANKS);
  expect_sample("sfd_graph_state", ",sfd_graph_state=\"ready\"", 1);
  ck_assert_str_eq(out + strlen(out) - 7, "\n# EOF\n");
}

/* The line of a check says what was found. */
static void expect_check(const char *verdict, const char *check, const char *found)
{
  char begin[64], line[1024];
  snprintf(begin, sizeof begin, "%-7s  %-10s  ", verdict, check);
  const char *at = strstr(out, begin);
  ck_assert_msg(at != NULL && (at == out || at[-1] == '\n'), "no line \"%s\" in: %s", begin, out);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
  sftest_expect_in(line, found);
}

static void call_the_doctor(const sftest_node_t *node)
{
  char pid[64];
  snprintf(pid, sizeof pid, " answers: process %d of ", (int)node->pid);
  sftest_sfctl(node->socket, WORDS("doctor"), 0);
  expect_check("ok", "socket", node->socket);
  expect_check("ok", "daemon", pid);
  sftest_expect_in(out, "2 ranks of 1 job on ");
  expect_check("ok", "fabric", "none: this sfd is alone");
  expect_check("ok", "sfd", "/sfd: version ");
  expect_check("ok", "memfd", "");
  sftest_expect_in(out, ", 0 problems\n");
  sftest_sfctl(node->socket, WORDS("doctor", "--json"), 0);
  sftest_expect_in(out, "[\n{\"check\":\"socket\",\"verdict\":\"ok\",\"found\":\"");
}

static void choose_a_job(const sftest_node_t *node, const char *name)
{
  char number[32], wrong[64];
  sftest_sfctl(node->socket, WORDS("jobs", "--json", name), 0);
  snprintf(number, sizeof number, "%llu", (unsigned long long)sftest_sfctl_number(name, "job_id"));
  sftest_sfctl(node->socket, WORDS("graphs", number), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3);
  snprintf(wrong, sizeof wrong, "%sx", name);
  sftest_sfctl(node->socket, WORDS("ranks", wrong), 1);
  sftest_expect_in(err, "did you mean ");
  sftest_expect_in(err, name);
}

SFTEST(a_job)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  int fds = sftest_node_rest(&node, 0);
  start_job(&job, &node, work, scene, RANKS);
  int fds_with_job = sftest_node_rest(&node, 0);
  look_at_status(&node);
  look_at_jobs(&node, job.name);
  look_at_ranks(&node, &job);
  look_at_graphs(&node);
  look_for_other_nodes(&node);
  choose_a_job(&node, job.name);
  look_at_metrics(&node, job.name);
  call_the_doctor(&node);
  sftest_node_settle(&node, fds_with_job);
  end_job(&job, scene);
  sftest_job_expect_all(&job);
  sftest_node_settle(&node, fds);
  sftest_sfctl(node.socket, WORDS("jobs"), 0);
  ck_assert_str_eq(out, "no jobs\n");
  sftest_sfctl(node.socket, WORDS("ranks", "--json"), 0);
  ck_assert_str_eq(out, "[]\n");
  sftest_node_stop(&node);
}

/* Rank 1 dies when rank 0 has all its data; rank 0 stays. */
static void fail_job(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, sf_group_world(context), graph, UNITS);
  while (self->rank == 1) {
    if (scene->nready > 0)
      raise(SIGKILL);
    sftest_sleep_ms(1);
  }
  await_the_end(self);
  SFTEST_OK(self, sf_graph_destroy(graph));
  (void)sf_finalize(context); /* may still tell of it */
}

SFTEST(a_job_that_failed)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  start_job(&job, &node, fail_job, scene, 1);
  sftest_sfctl_await(node.socket, WORDS("jobs"), "failed");
  sftest_expect_in(out, "\n    rank 1 (pid ");
  sftest_sfctl(node.socket, WORDS("jobs", "--json"), 0);
  sftest_expect_in(out, "\"state\":\"failed\"");
  sftest_expect_in(out, "\"detail\":\"rank 1 (pid ");
  sftest_sfctl(node.socket, WORDS("ranks", "--json"), 0);
  sftest_expect_in(out, "\"state\":\"running\"");
  sftest_expect_in(out, "\"state\":\"failed\"");
  ck_assert_uint_eq(sftest_sfctl_number("\"state\":\"failed\"", "bcasts"), 1); /* its counters outlive it */
  sftest_sfctl(node.socket, WORDS("graphs", "--json"), 0);
  sftest_expect_in(out, "\"state\":\"failed\"");
  end_job(&job, scene);
  sftest_job_expect_all_but(&job, 1);
  sftest_node_stop(&node);
}

/* Rank 1 joins late. */
static void come_late(sftest_rank_t *self)
{
  if (self->rank == 1)
    await_the_end(self);
  sftest_leave(self, sftest_join(self));
}

SFTEST(a_job_that_joins)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  start_job(&job, &node, come_late, scene, 1);
  sftest_sfctl_await(node.socket, WORDS("jobs", "--json"), "\"joined\":1,\"state\":\"joining\"");
  sftest_sfctl(node.socket, WORDS("ranks"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2);
  sftest_expect_in(out, "joining");
  end_job(&job, scene);
  sftest_job_expect_all(&job);
  sftest_node_stop(&node);
}

/* Rank 1 takes part late. */
SFTEST_JOINED(set_up_late)
{
  sf_graph_t *graph;
  if (self->rank == 1)
    await_the_end(self);
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* It has no number yet, by which metrics could tell it from others. */
SFTEST(a_graph_that_is_set_up)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  start_job(&job, &node, set_up_late, scene, 1);
  sftest_sfctl_await(node.socket, WORDS("graphs", "--json"), "\"state\":\"setup\"");
  sftest_expect_in(out, "{\"graph\":0,");
  sftest_sfctl(node.socket, WORDS("metrics"), 0);
  sftest_expect_in(out, "\nsfd_graphs 1\n");
  ck_assert_ptr_null(strstr(out, "\nsfd_graph_ranks{"));
  end_job(&job, scene);
  sftest_job_expect_all(&job);
  sftest_node_stop(&node);
}

/* A graph that the library creates by way of another one. */
SFTEST_JOINED(exchange_with_neighbors)
{
  const int32_t ranks[RANKS] = {0, 1};
  sf_graph_t *graph;
  scene_t *scene = self->argument;
  scene->line = __LINE__ + 1;
  SFTEST_OK(self, sf_exchange_graph_create(world, RANKS, ranks, RANKS, ranks, 0, &graph));
  await_the_end(self);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(the_call_site_of_a_graph)
{
  sftest_node_t node;
  sftest_job_t job;
  char place[128];
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  start_job(&job, &node, exchange_with_neighbors, scene, RANKS);
  sftest_sfctl(node.socket, WORDS("graphs", "--json"), 0);
  snprintf(place, sizeof place, "\"place\":\"%s:%d\"", __FILE__, (int)scene->line);
  sftest_expect_in(out, place);
  end_job(&job, scene);
  sftest_job_expect_all(&job);
  sftest_node_stop(&node);
}

/* ---- Kept copy costs --------------------------------------------------------------------------------------------- */

SFTEST(copy_costs_of_another_start)
{
  static const char *const options[] = {"--calibrate=yes", NULL};
  char home[] = "/tmp/sftest-home-XXXXXX", command[64];
  sftest_node_t node;
  sfshm_costs_t costs = sfd_copy_costs_default;
  costs.measured = 1;
  costs.nontemporal = SFSHM_NONTEMPORAL_ALL;
  ck_assert_ptr_nonnull(mkdtemp(home));
  setenv("XDG_CACHE_HOME", home, 1);
  ck_assert(sfd_copy_costs_save(&costs));
  sftest_node_start(&node, options);
  sftest_sfctl(node.socket, WORDS("status", "--json"), 0);
  sftest_expect_in(out, "\"costs_measured\":true,\"payloads\":\"past caches\",");
  sftest_node_stop(&node);
  snprintf(command, sizeof command, "rm -r %s", home);
  ck_assert_int_eq(system(command), 0);
}

/* sfctl against two daemons that share a job: peers, plans, and what it shows of the job on each node. */
#include <sf/sf_algebra.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"
#include "tools/sfctl/connection.h"

#define NODES 2
#define RANKS 4
#define UNITS 100 /* roots of each rank, all of which all others want */
#define SQUARES 10
#define BOX 64 /* two planes of two rows of 16, 25 and 45 apart */
#define BCASTS 3
#define REDUCES 2

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

/* ---- A job to look at -------------------------------------------------------------------------------------------- */

typedef struct scene {
  _Atomic int32_t nready;
  _Atomic bool over;
} scene_t;

typedef int64_t (*index_t)(int64_t i);

static int64_t itself(int64_t i)
{
  return i;
}

static int64_t square(int64_t i)
{
  return i * i;
}

static int64_t in_box(int64_t i)
{
  return i / 32 * 45 + i / 16 % 2 * 25 + i % 16;
}

/* Every rank has n leaves on the same roots of each other rank. */
static void create_all_to_all(sftest_rank_t *self, sf_group_t *world, int64_t n, index_t index, uint32_t flags,
                              sf_graph_t **graph_p)
{
  int32_t ranks[(RANKS - 1) * UNITS];
  int64_t roots[(RANKS - 1) * UNITS], nleaves = 0;
  for (int32_t r = 0; r < RANKS; r++)
    for (int64_t i = 0; i < n && r != self->rank; i++, nleaves++) {
      ranks[nleaves] = r;
      roots[nleaves] = index(i);
    }
  SFTEST_OK(self, sf_graph_create(world, UNITS, nleaves, NULL, ranks, roots, flags, graph_p));
}

SFTEST_JOINED(work)
{
  static double roots[UNITS], leaves[RANKS * UNITS];
  static const int32_t first_node[] = {0, 1};
  scene_t *scene = self->argument;
  sf_group_t *group = NULL;
  sf_graph_t *all, *scattered, *boxed, *local = NULL;
  create_all_to_all(self, world, UNITS, itself, SF_GRAPH_DEFAULT, &all);
  create_all_to_all(self, world, SQUARES, square, SF_GRAPH_REPRODUCIBLE, &scattered);
  create_all_to_all(self, world, BOX, in_box, SF_GRAPH_DEFAULT, &boxed);
  if (self->places[self->rank] == 0) {
    SFTEST_OK(self, sf_group_create(context, 2, first_node, 0, &group));
    SFTEST_OK(self, sftest_ring_create(group, UNITS, SF_GRAPH_DEFAULT, &local));
  }
  for (int i = 0; i < BCASTS; i++)
    SFTEST_OK(self, sf_bcast(all, SF_DOUBLE, roots, leaves, SF_REPLACE));
  for (int i = 0; i < REDUCES; i++)
    SFTEST_OK(self, sf_reduce(all, SF_DOUBLE, leaves, roots, SF_SUM));
  scene->nready++;
  sftest_at(self, "being looked at");
  while (!scene->over)
    sftest_sleep_ms(5);
  if (local != NULL) {
    SFTEST_OK(self, sf_graph_destroy(local));
    SFTEST_OK(self, sf_group_destroy(group));
  }
  SFTEST_OK(self, sf_graph_destroy(boxed));
  SFTEST_OK(self, sf_graph_destroy(scattered));
  SFTEST_OK(self, sf_graph_destroy(all));
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static void look_at_jobs(const sftest_cluster_t *cluster)
{
  for (int i = 0; i < NODES; i++) {
    char wanted[64];
    sftest_sfctl(cluster->nodes[i].socket, WORDS("status"), 0);
    snprintf(wanted, sizeof wanted, "fabric   tcp; this is node %d of 2\n", i);
    sftest_expect_in(out, wanted);
    sftest_sfctl(cluster->nodes[i].socket, WORDS("status", "--json"), 0);
    snprintf(wanted, sizeof wanted, "\"fabric\":\"tcp\",\"node\":%d,\"nodes\":2,\"drained\":false}\n", i);
    sftest_expect_in(out, wanted);
    sftest_sfctl(cluster->nodes[i].socket, WORDS("jobs"), 0);
    sftest_expect_in(out, "running     4/4 ");
    sftest_expect_in(out, "      2     2 "); /* nodes, ranks here */
    sftest_sfctl(cluster->nodes[i].socket, WORDS("jobs", "--json"), 0);
    sftest_expect_in(out, "\"size\":4,\"joined\":4,\"state\":\"running\"");
    sftest_expect_in(out, "\"here\":2,\"nodes\":2,");
  }
}

/* A rank packs its roots for each bcast; for each reduce its contributions to the ranks of the other node. */
static void look_at_ranks(const sftest_cluster_t *cluster)
{
  for (int i = 0; i < NODES; i++) {
    sftest_sfctl(cluster->nodes[i].socket, WORDS("ranks"), 0);
    ck_assert_int_eq(sftest_count_lines(out), 1 + RANKS / NODES);
    sftest_sfctl(cluster->nodes[i].socket, WORDS("ranks", "--json"), 0);
    for (int32_t rank = i * RANKS / NODES; rank < (i + 1) * RANKS / NODES; rank++) {
      char fragment[32];
      snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
      ck_assert_uint_eq(sftest_sfctl_number(fragment, "bytes_to_nodes"),
                        (BCASTS + 2 * REDUCES) * UNITS * sizeof(double));
      ck_assert_uint_eq(sftest_sfctl_number(fragment, "bytes_from_nodes"),
                        (2 * BCASTS + REDUCES) * UNITS * sizeof(double));
      ck_assert_uint_le(sftest_sfctl_number(fragment, "ring_depth"), REDUCES + BCASTS); /* credits may be left */
    }
  }
}

/* The number of the graph with so many leaves. */
static const char *graph_with(const sftest_cluster_t *cluster, int64_t nleaves)
{
  static char number[32];
  char fragment[64];
  sftest_sfctl(cluster->nodes[0].socket, WORDS("graphs", "--json"), 0);
  snprintf(fragment, sizeof fragment, "\"nleaves\":%lld,", (long long)nleaves);
  snprintf(number, sizeof number, "%llu", (unsigned long long)sftest_sfctl_number(fragment, "graph"));
  return number;
}

/* Two ranks of each node want the same roots of two ranks of the other. */
static void look_at_plan(const sftest_cluster_t *cluster)
{
  const char *graph = graph_with(cluster, RANKS * (RANKS - 1) * UNITS);
  for (int i = 0; i < NODES; i++) {
    char head[128];
    sftest_sfctl(cluster->nodes[i].socket, WORDS("plan", graph, "--json"), 0);
    snprintf(head, sizeof head, "{\"graph\":%s,\"job_id\":", graph);
    sftest_expect_in(out, head);
    snprintf(head, sizeof head,
             "\"size\":4,\"state\":\"ready\",\"node\":%d,\"sides\":[{\"node\":%d,\"here\":\"roots\",", i, 1 - i);
    sftest_expect_in(out, head);
    sftest_expect_in(
        out,
        "\"here\":\"roots\",\"members\":2,\"bcast_messages\":1,\"bcast_values\":200,\"reduce_messages\":1,"
        "\"reduce_values\":200,\"values_before\":null,\"contiguous_values\":200,\"box_values\":0,\"messages_sent\":3,"
        "\"messages_received\":2}");
    sftest_expect_in(
        out,
        "\"here\":\"leaves\",\"members\":2,\"bcast_messages\":1,\"bcast_values\":200,"
        "\"reduce_messages\":1,\"reduce_values\":200,\"values_before\":400,\"contiguous_values\":400,\"box_values\":0,"
        "\"messages_sent\":2,\"messages_received\":3}");
    sftest_sfctl(cluster->nodes[i].socket, WORDS("plan", graph), 0);
    ck_assert_int_eq(sftest_count_lines(out), 5);
    sftest_expect_in(out, "\nwithin the node: 2 pairs of ranks, 200 values\n");
    sftest_expect_in(out, "1 out    1 in     200      200       -        100%     0%     3         2\n");
    sftest_expect_in(out, "1 in   1 out     200      200     400        100%     0%     2         3\n");
  }
}

/* Squares follow no simple pattern, and contributions that travel uncombined are as many as there are leaves. */
static void look_at_scattered_plan(const sftest_cluster_t *cluster)
{
  const char *graph = graph_with(cluster, RANKS * (RANKS - 1) * SQUARES);
  sftest_sfctl(cluster->nodes[1].socket, WORDS("plan", "--json", graph), 0);
  sftest_expect_in(
      out, "\"here\":\"roots\",\"members\":2,\"bcast_messages\":1,\"bcast_values\":20,\"reduce_messages\":1,"
           "\"reduce_values\":40,\"values_before\":null,\"contiguous_values\":0,\"box_values\":0,\"messages_sent\":0,");
  sftest_expect_in(out, "\"reduce_values\":40,\"values_before\":40,\"contiguous_values\":");
}

/* A part of a plane is, on the side of the roots; leaves want all of what comes, in its order. */
static void look_at_boxed_plan(const sftest_cluster_t *cluster)
{
  const char *graph = graph_with(cluster, RANKS * (RANKS - 1) * BOX);
  sftest_sfctl(cluster->nodes[0].socket, WORDS("plan", "--json", graph), 0);
  sftest_expect_in(out, "\"values_before\":null,\"contiguous_values\":0,\"box_values\":128,");
  sftest_expect_in(out, "\"values_before\":256,\"contiguous_values\":256,\"box_values\":0,");
}

static void look_at_local_plan(const sftest_cluster_t *cluster)
{
  const char *graph = graph_with(cluster, 2 * UNITS);
  sftest_sfctl(cluster->nodes[0].socket, WORDS("plan", graph), 0);
  sftest_expect_in(out, "no edges between this node and others\n");
  sftest_sfctl(cluster->nodes[1].socket, WORDS("plan", graph), 1);
  sftest_expect_in(err, " is known here, or it is another user's");
}

/* Two nodes, all of whose data are those of one graph. */
static void look_at_peers(const sftest_cluster_t *cluster)
{
  char description[64], traffic[160];
  snprintf(traffic, sizeof traffic,
           "{\"kind\":\"data\",\"messages_sent\":5,\"messages_received\":5,\"payload_sent\":%zu,"
           "\"payload_received\":%zu}",
           (BCASTS + REDUCES) * 2 * UNITS * sizeof(double), (BCASTS + REDUCES) * 2 * UNITS * sizeof(double));
  for (int i = 0; i < NODES; i++) {
    snprintf(description, sizeof description, "node %d (tcp 127.0.0.1:%d)", 1 - i, cluster->ports[1 - i]);
    sftest_sfctl(cluster->nodes[i].socket, WORDS("peers"), 0);
    ck_assert_int_eq(sftest_count_lines(out), 2);
    sftest_expect_in(out, description);
    sftest_expect_in(out, "  open  ");
    sftest_expect_in(out, "  5/5  ");
    sftest_expect_in(out, "  0 (0 B)  ");
    sftest_sfctl(cluster->nodes[i].socket, WORDS("peers", "--json"), 0);
    ck_assert_int_eq(sftest_count_lines(out), 3);
    sftest_expect_in(out, traffic);
    sftest_expect_in(out, "{\"kind\":\"plan\",\"messages_sent\":3,\"messages_received\":3,");
    ck_assert_uint_gt(sftest_sfctl_number(description, "wire_sent"), 8000);
    ck_assert_uint_gt(sftest_sfctl_number(description, "wire_received"), 8000);
    ck_assert_uint_gt(sftest_sfctl_number(description, "frames_sent"), 0);
  }
}

static void expect_doctor(const sftest_node_t *node, int code, const char *wanted)
{
  sftest_sfctl_t run;
  sftest_sfctl_start(&run, node->socket, WORDS("doctor"), NULL);
  sftest_sfctl_finish(&run);
  ck_assert_msg(sftest_sfctl_code == code, "exit status %d, expected %d: %s", sftest_sfctl_code, code, out);
  sftest_expect_in(out, wanted);
}

static void look_at_metrics(const sftest_cluster_t *cluster)
{
  char wanted[128];
  sftest_sfctl(cluster->nodes[0].socket, WORDS("metrics"), 0);
  sftest_expect_in(out, "\nsfd_nodes 2\n");
  sftest_expect_in(out, "\nsfd_peer_state{peer=\"1\",sfd_peer_state=\"open\"} 1\n");
  snprintf(wanted, sizeof wanted, "\nsfd_peer_payload_sent_bytes_total{peer=\"1\",kind=\"data\"} %zu\n",
           (BCASTS + REDUCES) * 2 * UNITS * sizeof(double));
  sftest_expect_in(out, wanted);
}

SFTEST(a_job_over_two_nodes)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  int32_t places[RANKS];
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_cluster_start(&cluster, NODES);
  sftest_places_block(places, RANKS, NODES);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, work, scene);
  sftest_job_await(&job, &scene->nready, RANKS);
  look_at_jobs(&cluster);
  look_at_ranks(&cluster);
  look_at_plan(&cluster);
  look_at_scattered_plan(&cluster);
  look_at_boxed_plan(&cluster);
  look_at_local_plan(&cluster);
  look_at_peers(&cluster);
  look_at_metrics(&cluster);
  expect_doctor(&cluster.nodes[1], 0, "fabric      tcp, node 1 of 2: 1 channel open, 0 not needed yet\n");
  kill(cluster.nodes[0].pid, SIGSTOP);
  expect_doctor(&cluster.nodes[1], 1, ": the channel is open, but node 0: it has not answered within ");
  kill(cluster.nodes[0].pid, SIGCONT);
  scene->over = true;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

/* ---- Channels that are not open ---------------------------------------------------------------------------------- */

static void await_state(const sftest_cluster_t *cluster, const char *state)
{
  char wanted[32];
  snprintf(wanted, sizeof wanted, "\"state\":\"%s\"", state);
  sftest_sfctl_await(cluster->nodes[0].socket, WORDS("peers", "--json"), wanted);
}

SFTEST(a_peer_that_dies)
{
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, NODES);
  await_state(&cluster, "closed");
  ck_assert_uint_eq(sftest_sfctl_number("\"node\":1", "wire_sent"), 0);
  expect_doctor(&cluster.nodes[0], 0, "fabric      tcp, node 0 of 2: 0 channels open, 1 not needed yet\n");
  sftest_cluster_warm(&cluster);
  await_state(&cluster, "open");
  sftest_cluster_kill(&cluster, 1);
  await_state(&cluster, "closed");
  ck_assert_uint_gt(sftest_sfctl_number("\"node\":1", "wire_sent"), 0); /* what was counted stays */
  expect_doctor(&cluster.nodes[0], 0, "warning  fabric      tcp, node 0 of 2: the channel has ended to node 1 (tcp ");
  sftest_cluster_stop(&cluster);
}

static void join_and_leave(sftest_rank_t *self)
{
  sftest_leave(self, sftest_join(self));
}

#define MANY_JOBS 16

/* Starts jobs until one has its coordinator on the other node, and returns how many. Names decide. */
static int start_until_opening(sftest_cluster_t *cluster, sftest_job_t jobs[MANY_JOBS])
{
  static const int32_t places[] = {0, 1};
  int n = 0;
  do
    sftest_job_start_over(&jobs[n], cluster->nodes, places, NODES, join_and_leave, NULL);
  while (sftest_coordinator_of(jobs[n++].name, NODES) != 1 && n < MANY_JOBS);
  sftest_sfctl_await(cluster->nodes[0].socket, WORDS("peers", "--json"), "\"state\":\"opening\"");
  return n;
}

/* The other daemon is stopped: the kernel takes the connection, nobody answers. */
SFTEST(a_peer_that_does_not_answer)
{
  static sftest_job_t jobs[MANY_JOBS];
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, NODES);
  kill(cluster.nodes[1].pid, SIGSTOP);
  int n = start_until_opening(&cluster, jobs);
  expect_doctor(&cluster.nodes[0], 1, "problem  fabric      tcp, node 0 of 2: no answer from node 1 (tcp ");
  kill(cluster.nodes[1].pid, SIGCONT);
  for (int i = 0; i < n; i++) {
    sftest_job_end_well(&jobs[i]);
  }
  sftest_cluster_stop(&cluster);
}

/* ---- Questions that don't fit ------------------------------------------------------------------------------------ */

SFTEST_JOINED(wait_until_over)
{
  scene_t *scene = self->argument;
  sf_group_t *group;
  static const int32_t both[] = {1, 0};
  atomic_fetch_add(&scene->nready, 1);
  SFTEST_SLEEP_WHILE(!scene->over);
  SFTEST_OK(self, sf_group_create(context, 2, both, 0, &group));
}

static sf_status_t take_none(void *context, sfproto_incoming_t *incoming)
{
  (void)context;
  (void)incoming;
  return SF_OK;
}

/* Asks node 1, through node 0, to kill a job with a name of that length. */
static void ask_to_kill(const sftest_cluster_t *cluster, size_t length, sf_status_t expected)
{
  sfctl_connection_t connection;
  Sfproto__Control control = SFPROTO__CONTROL__INIT;
  char *name = calloc(1, length + 1);
  memset(name, 'x', length);
  ck_assert_int_eq(sfctl_connect(cluster->nodes[0].socket, SFTEST_HANG_MS, &connection), SF_OK);
  connection.target = (sfctl_target_t){.named = true, .node = 1};
  control.action = SFPROTO__CONTROL__ACTION__KILL;
  control.job = name;
  ck_assert_int_eq(sfctl_request(&connection, &control, take_none, NULL), expected);
  sfctl_disconnect(&connection);
  free(name);
}

/* The channel that they would end is that of all jobs. */
SFTEST(questions_that_do_not_fit_into_a_message)
{
  static const int32_t places[] = {0, 1};
  sftest_cluster_t cluster;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_cluster_start(&cluster, NODES);
  sftest_job_start_over(&job, cluster.nodes, places, NODES, wait_until_over, scene);
  sftest_job_await(&job, &scene->nready, NODES);
  ask_to_kill(&cluster, 1000, SF_ERR_NOT_FOUND);
  ask_to_kill(&cluster, 5000, SF_ERR_LIMIT);
  ask_to_kill(&cluster, SFPROTO_MAX_LENGTH - 26, SF_ERR_LIMIT);
  scene->over = true;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

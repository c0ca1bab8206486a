/* sfctl through one daemon to others: what they tell, tagged by node; nodes that are gone or do not answer. */
#include <sys/wait.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define NODES 3
#define RANKS 6

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

/* The line of a rank, without what differs by how it was asked. */
static void take_line(int32_t rank, char line[4096])
{
  char fragment[32];
  snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
  const char *at = strstr(out, fragment);
  ck_assert_msg(at != NULL, "no %s in %s", fragment, out);
  snprintf(line, 4096, "%.*s", (int)strcspn(at, "\n"), at);
}

/* What other nodes tell of their ranks, counters included, is what they tell themselves. */
static void compare_ranks(const sftest_cluster_t *cluster, const char *job)
{
  static char all[RANKS][4096], own[4096];
  sftest_sfctl(cluster->nodes[0].socket, WORDS("ranks", "--all-nodes", "--json", job), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2 + RANKS);
  for (int32_t rank = 0; rank < RANKS; rank++) {
    char fragment[32];
    take_line(rank, all[rank]);
    snprintf(fragment, sizeof fragment, "\"rank\":%d,", rank);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "told_by"), (uint64_t)rank % NODES);
    ck_assert_uint_eq(sftest_sfctl_number(fragment, "bcasts"), SFTEST_SHOW_BCASTS);
  }
  for (int32_t rank = 0; rank < RANKS; rank++) {
    size_t length = strlen(all[rank]);
    sftest_sfctl(cluster->nodes[rank % NODES].socket, WORDS("ranks", "--json"), 0);
    take_line(rank, own);
    length -= all[rank][length - 1] == ',';
    ck_assert_msg(strncmp(own, all[rank], length) == 0, "%s\nis not\n%s", own, all[rank]);
  }
}

static void look_at_the_rest(const sftest_cluster_t *cluster)
{
  const char *socket = cluster->nodes[1].socket;
  char graph[32];
  sftest_sfctl(socket, WORDS("status", "--all-nodes", "--json"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2 + NODES);
  sftest_expect_in(out, "{\"told_by\":2,\"software\":");
  sftest_sfctl(socket, WORDS("status", "--node", "2", "--json"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 1);
  sftest_expect_in(out, "{\"told_by\":2,");
  sftest_expect_in(out, cluster->nodes[2].socket);
  sftest_sfctl(socket, WORDS("metrics", "--all-nodes"), 0);
  for (int node = 0; node < NODES; node++) {
    char sample[64];
    snprintf(sample, sizeof sample, "\nsfd_ranks{node=\"%d\"} %d\n", node, RANKS / NODES);
    sftest_expect_in(out, sample);
  }
  sftest_sfctl(socket, WORDS("graphs", "--node", "0", "--json"), 0);
  sftest_expect_in(out, "\"counters\":{\"ranks_counted\":2,\"bcasts\":5,");
  snprintf(graph, sizeof graph, "%llu", (unsigned long long)sftest_sfctl_number("\"graph\"", "graph"));
  sftest_sfctl(socket, WORDS("plan", "--all-nodes", graph), 0);
  sftest_expect_in(out, "node 0\ngraph ");
  sftest_expect_in(out, "seen from node 2\n");
  sftest_sfctl(socket, WORDS("jobs", "--all-nodes"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3 * NODES + NODES - 1);
  sftest_sfctl(socket, WORDS("config", "--node", "1"), 0);
  sftest_expect_in(out, "max-clients");
  sftest_sfctl(socket, WORDS("status", "--node", "3"), 1);
  sftest_expect_in(err, "there is no node 3: the nodes are 0 to 2");
  sftest_sfctl(socket, WORDS("ranks", "--all-nodes", "nobody"), 1);
  sftest_expect_in(err, "no job \"nobody\"");
}

/* The last digits are enough, and a job over nodes is one. */
static void look_at_numbers(const sftest_cluster_t *cluster, const char *name)
{
  char beginning[128];
  const char *socket = cluster->nodes[1].socket;
  char number[32];
  sftest_sfctl(socket, WORDS("graphs", "--json"), 0);
  size_t length =
      (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)sftest_sfctl_number("\"graph\"", "graph"));
  ck_assert_uint_ge(length, 16);
  sftest_sfctl(socket, WORDS("plan", number + length - 6), 0);
  sftest_expect_in(out, number);
  sftest_sfctl(socket, WORDS("matrix", "--all-nodes", "--graph", number + length - 6, "--format", "csv"), 0);
  sftest_sfctl(socket, WORDS("jobs", "--json"), 0);
  length =
      (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)sftest_sfctl_number("\"job_id\"", "job_id"));
  sftest_sfctl(socket, WORDS("ranks", "--json", "--all-nodes", number + length - 4), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2 + RANKS);
  sftest_sfctl(socket, WORDS("stuck", "--all-nodes", number + length - 4), 0);
  sftest_sfctl(socket, WORDS("top", "-n", "1", "-d", "0.02", "jobs", "--all-nodes"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 4 + 1);
  sftest_expect_in(out, "\n1 job:");
  sftest_sfctl(socket, WORDS("top", "-n", "1", "-d", "0.02", "jobs", "--all-nodes", "--json"), 0);
  sftest_expect_in(out, "\"ranks\":6}]}\n");
  snprintf(beginning, sizeof beginning, "%.*s", (int)strlen(name) - 1, name);
  sftest_sfctl(socket, WORDS("ranks", "--json", "--all-nodes", beginning), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2 + RANKS);
  sftest_sfctl(socket, WORDS("stuck", beginning), 0);
  sftest_sfctl(socket, WORDS("kill", beginning), 1);
  sftest_sfctl(socket, WORDS("kill", number + length - 3), 1);
  sftest_expect_in(err, "no job \"");
}

SFTEST(all_of_them)
{
  sftest_cluster_t cluster;
  sftest_show_t show;
  int32_t places[RANKS];
  sftest_cluster_start(&cluster, NODES);
  sftest_places_cyclic(places, RANKS, NODES);
  sftest_show_start(&show, cluster.nodes, places, RANKS);
  compare_ranks(&cluster, show.job.name);
  look_at_the_rest(&cluster);
  look_at_numbers(&cluster, show.job.name);
  sftest_show_end(&show);
  sftest_cluster_stop(&cluster);
}

/* The others' answers are printed, and the one that is missing is named. */
/* Asks again if another node, or the daemon itself, has been too slow. */
static void expect_missing(const char *socket, const char *const words[], const char *text)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  sftest_sfctl_t run;
  do {
    sftest_sfctl_start(&run, socket, words, NULL);
    sftest_sfctl_finish(&run);
    ck_assert_msg(sftest_sfctl_code == 1, "exit status %d: %s%s", sftest_sfctl_code, out, err);
  } while ((strstr(err, text) == NULL || strstr(err, "more node") != NULL) && sftest_now_ms() < until);
  sftest_expect_in(err, text);
}

/* Each refresh names the node, and shows the channels of the others. Of jobs sfctl asks each node twice. */
static void look_at_top(const char *socket)
{
  static const char missing[] = "sfctl: node 1: it has not answered";
  expect_missing(socket, WORDS("top", "channels", "-n", "2", "-d", "0.02", "--all-nodes", "--timeout", "2"), missing);
  ck_assert_int_eq(sftest_count_lines(out), 2 * (4 + 2 * (NODES - 1)) + 1);
  ck_assert_ptr_nonnull(strstr(strstr(err, missing) + 1, missing));
  expect_missing(socket, WORDS("top", "jobs", "-n", "1", "-d", "0.02", "--all-nodes", "--timeout", "2"), missing);
  sftest_expect_in(out, "\n0 jobs:");
}

SFTEST(nodes_that_do_not_answer)
{
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, NODES);
  const char *socket = cluster.nodes[0].socket;
  sftest_sfctl(socket, WORDS("status", "--all-nodes"), 0);
  kill(cluster.nodes[1].pid, SIGSTOP);
  expect_missing(socket, WORDS("status", "--all-nodes", "--timeout", "2"),
                 "sfctl: node 1: it has not answered within 1.5 s\n");
  sftest_expect_in(out, "node 0\n");
  sftest_expect_in(out, "\nnode 2\n");
  ck_assert_ptr_null(strstr(out, "node 1\n"));
  expect_missing(socket, WORDS("jobs", "--node", "1", "--timeout", "2"), "node 1: it has not answered within 1.5 s");
  expect_missing(socket, WORDS("metrics", "--all-nodes", "--timeout", "2"), "sfctl: node 1: it has not answered");
  sftest_expect_in(out, "\nsfd_node{node=\"2\"} 2\n");
  look_at_top(socket);
  kill(cluster.nodes[1].pid, SIGCONT);
  sftest_sfctl(socket, WORDS("status", "--all-nodes"), 0);
  sftest_cluster_kill(&cluster, 1);
  expect_missing(socket, WORDS("status", "--all-nodes", "--json", "--timeout", "2"), "sfctl: node 1: ");
  sftest_expect_in(out, "{\"told_by\":2,");
  sftest_cluster_restart(&cluster, 1);
  sftest_cluster_stop(&cluster);
}

static void expect_end(sftest_node_t *node)
{
  int status, tries = 0;
  SFTEST_SLEEP_WHILE(waitpid(node->pid, &status, WNOHANG) == 0 && tries++ < 5000);
  ck_assert_msg(tries < 5000 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "sfd has not ended well");
  node->pid = 0;
}

SFTEST(control_over_nodes)
{
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, NODES);
  const char *socket = cluster.nodes[0].socket;
  sftest_sfctl(socket, WORDS("drain", "--all-nodes"), 0);
  sftest_expect_in(out, "node 2: drained: takes no new jobs; 0 jobs are left\n");
  ck_assert_int_eq(sftest_count_lines(out), NODES);
  sftest_sfctl(cluster.nodes[1].socket, WORDS("status", "--json"), 0);
  sftest_expect_in(out, "\"drained\":true}");
  sftest_sfctl(socket, WORDS("drain", "--undo", "--all-nodes", "--json"), 0);
  sftest_expect_in(out, "{\"told_by\":1,\"action\":\"undrain\",\"text\":\"takes new jobs\",\"jobs\":0}");
  sftest_sfctl(socket, WORDS("log", "--node", "1", "debug", "query"), 0);
  sftest_expect_in(out, ",query=debug\n");
  sftest_sfctl(cluster.nodes[1].socket, WORDS("config"), 0);
  sftest_expect_in(out, " on node 0)\n");
  sftest_sfctl(socket, WORDS("kill", "--node", "1", "nobody"), 1);
  sftest_expect_in(err, "node 1: no job \"nobody\" is known here");
  sftest_sfctl(socket, WORDS("shutdown", "--all-nodes"), 0);
  ck_assert_int_eq(sftest_count_lines(out), NODES);
  for (int32_t node = 0; node < NODES; node++)
    expect_end(&cluster.nodes[node]);
  sftest_cluster_stop(&cluster);
}

/* Daemons that can't talk to each other because their keys, lists of peers or clusters differ: ranks of a job on both
 * are told why at once, on both sides and wherever the coordinator is, and sfctl doctor --all-nodes finds it. */
#include <fcntl.h>

#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define NODES 2
#define JOBS 6 /* so that coordinators are in several places */

static sftest_cluster_t cluster;

static void expect_refusal(sftest_rank_t *self)
{
  sf_context_t *context = NULL;
  sf_status_t status = sf_init(&self->options, &context);
  if (status != SF_ERR_ARG)
    SFTEST_EXPECT(self, status, SF_ERR_PERM);
  SFTEST_DETAIL(self, self->argument);
}

/* Of jobs on the first node and the last one, which differs. */
static void expect_refusals(const char *reason)
{
  const int32_t places[] = {0, cluster.nnodes - 1};
  static sftest_job_t jobs[JOBS];
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%s", reason);
  for (int i = 0; i < JOBS; i++)
    sftest_job_start_over(&jobs[i], cluster.nodes, places, 2, expect_refusal, wanted);
  for (int i = 0; i < JOBS; i++)
    sftest_job_end_well(&jobs[i]);
}

static void expect_diagnosis(int32_t node, const char *reason)
{
  sftest_sfctl_t run;
  sftest_sfctl_start(&run, cluster.nodes[node].socket, (const char *const[]){"doctor", "--all-nodes", NULL}, NULL);
  sftest_sfctl_finish(&run);
  ck_assert_int_eq(sftest_sfctl_code, 1);
  sftest_expect_in(sftest_sfctl_out, "problem  nodes       node ");
  sftest_expect_in(sftest_sfctl_out, reason);
  sftest_expect_in(sftest_sfctl_out, "give both daemons the same");
}

SFTEST(keys_that_differ)
{
  char path[128];
  sftest_cluster_start(&cluster, NODES);
  snprintf(path, sizeof path, "%s/key", cluster.nodes[1].directory);
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  ck_assert_int_eq(write(fd, "x", 1), 1);
  close(fd);
  sftest_cluster_restart(&cluster, 1);
  expect_refusals("key");
  expect_diagnosis(0, "has another key");
  expect_diagnosis(1, "has another key");
  sftest_cluster_stop(&cluster);
}

SFTEST(lists_that_differ)
{
  size_t length;
  sftest_cluster_start(&cluster, NODES);
  length = strlen(cluster.peers);
  snprintf(cluster.peers + length, sizeof cluster.peers - length, ",127.0.0.1:1");
  sftest_cluster_restart(&cluster, 1);
  cluster.peers[length] = '\0';
  expect_refusals("lists of peers differ");
  expect_diagnosis(0, "lists of peers differ");
  expect_diagnosis(1, "lists of peers differ");
  sftest_cluster_stop(&cluster);
}

/* The last node calls the first two by each other's numbers, and finds the first one's coordinators elsewhere. */
SFTEST(lists_in_another_order)
{
  char list[sizeof cluster.peers];
  sftest_cluster_start(&cluster, 3);
  snprintf(list, sizeof list, "%s", cluster.peers);
  snprintf(cluster.peers, sizeof cluster.peers, "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", cluster.ports[1],
           cluster.ports[0], cluster.ports[2]);
  sftest_cluster_restart(&cluster, 2);
  memcpy(cluster.peers, list, sizeof list);
  expect_diagnosis(0, "lists of peers differ");
  expect_refusals("lists of peers differ");
  expect_diagnosis(1, "lists of peers differ");
  expect_diagnosis(2, "lists of peers differ");
  sftest_cluster_stop(&cluster);
}

SFTEST(clusters_that_differ)
{
  sftest_cluster_start(&cluster, NODES);
  setenv("SFD_CLUSTER", "other", true);
  sftest_cluster_restart(&cluster, 1);
  unsetenv("SFD_CLUSTER");
  expect_refusals("names of the clusters differ");
  expect_diagnosis(0, "names of the clusters differ");
  expect_diagnosis(1, "names of the clusters differ");
  sftest_cluster_stop(&cluster);
}

/* Rank 1 needs the job's coordinator, which is node 0. */
static void expect_other_version(sftest_rank_t *self)
{
  char name[32];
  sf_context_t *context = NULL;
  if (self->rank == 0)
    return;
  for (int i = 0; i == 0 || sftest_coordinator_of(name, NODES) != 0; i++)
    snprintf(name, sizeof name, "version-%d", i);
  self->options.job = name;
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_VERSION);
  SFTEST_DETAIL(self, "of one version");
}

/* Over a fabric that does not tell other nodes what a connection is for. Node 1 hears of the coordinator's version
 * first. */
SFTEST(versions_that_differ)
{
  static const int32_t places[] = {0, 1};
  static sftest_loop_cluster_t loop;
  sftest_loop_cluster_start(&loop, NODES, 0, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_VERSION, 0, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 1, 0);
  sftest_run_over(loop.nodes, places, 2, expect_other_version, NULL);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 1, 0);
  sftest_loop_cluster_stop(&loop);
}

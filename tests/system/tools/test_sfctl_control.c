/* sfctl drain, kill, shutdown, log and config: what the ranks of jobs see of it, on one node and over two. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define RANKS 4
#define UNITS 10

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

typedef struct scene {
  _Atomic int32_t nready;
  sf_status_t expected; /* of the operation that fails */
  const char *detail;
} scene_t;

/* Exchanges data until an operation fails, which must be for the reason expected. */
static void work_until_the_end(sftest_rank_t *self)
{
  static double roots[UNITS], leaves[UNITS];
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  sf_status_t status = SF_OK;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  scene->nready++;
  sftest_at(self, "exchanging until somebody ends it");
  while (status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, scene->expected);
  SFTEST_DETAIL(self, scene->detail);
  (void)sf_graph_destroy(graph);
  (void)sf_finalize(context); /* returns the failure, having freed everything */
}

static void await_ready(sftest_job_t *job, const scene_t *scene)
{
  sftest_job_await(job, &scene->nready, job->size);
}

static void come_and_go(sftest_rank_t *self)
{
  sftest_leave(self, sftest_join(self));
}

static void expect_refusal(sftest_rank_t *self)
{
  sf_context_t *context;
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_STATE);
  SFTEST_DETAIL(self, "takes no new jobs");
  SFTEST_DETAIL(self, "drained by sfctl drain of uid ");
}

static void be_refused(sftest_rank_t *self)
{
  expect_refusal(self);
}

typedef struct refusal {
  int32_t drained;
  _Atomic bool told; /* who came to the other node */
} refusal_t;

/* Those who come to the drained node come again until the other one has heard of it: it may come later than they. */
static void be_refused_over_nodes(sftest_rank_t *self)
{
  refusal_t *refusal = self->argument;
  do
    expect_refusal(self);
  while (self->places[self->rank] == refusal->drained && !refusal->told);
  refusal->told = true;
}

SFTEST(drain_and_undo)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_sfctl(node.socket, WORDS("drain"), 0);
  ck_assert_str_eq(out, "drained: takes no new jobs; 0 jobs are left\n");
  sftest_run_job(&node, 2, be_refused, NULL);
  sftest_sfctl(node.socket, WORDS("status"), 0);
  sftest_expect_in(out, "drained  takes no new jobs\n");
  sftest_sfctl(node.socket, WORDS("drain", "--undo", "--json"), 0);
  ck_assert_str_eq(out, "{\"action\":\"undrain\",\"text\":\"takes new jobs\",\"jobs\":0}\n");
  sftest_run_job(&node, 2, come_and_go, NULL);
  sftest_node_stop(&node);
}

/* The rank that came to the other node is told, too, and does not wait for the one that can't come. */
SFTEST(drain_one_node_of_two)
{
  sftest_cluster_t cluster;
  static const int32_t places[] = {0, 1};
  refusal_t *refusal = sftest_shared(sizeof *refusal);
  sftest_cluster_start_warm(&cluster, 2);
  for (int32_t drained = 0; drained < 2; drained++) {
    sftest_sfctl(cluster.nodes[drained].socket, WORDS("drain"), 0);
    refusal->drained = drained;
    refusal->told = false;
    sftest_cluster_run(&cluster, places, 2, be_refused_over_nodes, refusal);
    sftest_sfctl(cluster.nodes[drained].socket, WORDS("drain", "--undo"), 0);
  }
  sftest_cluster_run(&cluster, places, 2, come_and_go, NULL);
  sftest_cluster_stop(&cluster);
}

static void kill_over(int32_t nnodes)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  int32_t places[RANKS];
  scene_t *scene = sftest_shared(sizeof *scene);
  *scene = (scene_t){.expected = SF_ERR_RANK_FAILED, .detail = "was killed by sfctl kill of uid "};
  sftest_cluster_start(&cluster, nnodes);
  sftest_places_cyclic(places, RANKS, nnodes);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, work_until_the_end, scene);
  await_ready(&job, scene);
  sftest_sfctl(cluster.nodes[nnodes - 1].socket, WORDS("kill", "nobody"), 1);
  sftest_expect_in(err, "no job \"nobody\" is known here");
  sftest_sfctl(cluster.nodes[nnodes - 1].socket, WORDS("kill", job.name), 0);
  sftest_expect_in(out, "of 4 ranks killed\n");
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

SFTEST_BETWEEN(kill_a_job, 1, 3)
{
  kill_over(_i);
}

static void expect_end(sftest_node_t *node)
{
  int status;
  ck_assert_int_eq(waitpid(node->pid, &status, WNOHANG), node->pid); /* sfctl has waited for it */
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "sfd ended with status 0x%x", (unsigned)status);
  node->pid = 0;
}

SFTEST(shutdown_is_orderly)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  *scene = (scene_t){.expected = SF_ERR_DAEMON_LOST, .detail = ""};
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 2, work_until_the_end, scene);
  await_ready(&job, scene);
  sftest_sfctl(node.socket, WORDS("shutdown"), 1);
  sftest_expect_in(err, "1 job is there: ");
  sftest_expect_in(err, "sfctl shutdown --force ends");
  sftest_sfctl(node.socket, WORDS("shutdown", "--force"), 0);
  ck_assert_str_eq(out, "ends; 1 job is lost\n");
  expect_end(&node);
  sftest_job_end_well(&job);
  sftest_sfctl(node.socket, WORDS("status"), 3);
  sftest_node_launch(&node, NULL); /* the socket is free */
  sftest_sfctl(node.socket, WORDS("shutdown", "--json"), 0);
  ck_assert_str_eq(out, "{\"action\":\"shutdown\",\"text\":\"ends; 0 jobs are lost\",\"jobs\":0}\n");
  expect_end(&node);
  sftest_node_stop(&node);
}

/* The daemon's own number is that of another process here, so it can't be what sfctl waits for. */
SFTEST_IF(shutdown_in_another_namespace, geteuid() == 0)
{
  sftest_node_t node;
  int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0 || unshare(CLONE_NEWPID) != 0) {
    printf("part skipped: no process namespaces: %s\n", strerror(errno));
    return;
  }
  sftest_node_start(&node, NULL);
  ck_assert_int_eq(setns(own, CLONE_NEWPID), 0);
  close(own);
  sftest_sfctl(node.socket, WORDS("shutdown", "--timeout", "400"), 0);
  expect_end(&node);
  sftest_node_stop(&node);
}

SFTEST(log_and_config)
{
  sftest_node_t node;
  sftest_node_start(&node, (const char *const[]){"--log-level=warn", NULL});
  sftest_sfctl(node.socket, WORDS("log"), 0);
  ck_assert_str_eq(out, "warn\n");
  sftest_sfctl(node.socket, WORDS("config"), 0);
  sftest_expect_in(out, "log-level");
  sftest_expect_in(out, "  command line\n");
  sftest_sfctl(node.socket, WORDS("log", "error", "session"), 0);
  ck_assert_str_eq(out, "warn,session=error\n");
  sftest_sfctl(node.socket, WORDS("log", "errror"), 1);
  sftest_expect_in(err, "did you mean error?");
  sftest_sfctl(node.socket, WORDS("config", "--json"), 0);
  sftest_expect_in(out, "\n{\"name\":\"max-clients\",\"value\":\"4096\",\"origin\":\"default\"},");
  sftest_expect_in(out, "{\"name\":\"log-level\",\"value\":\"warn,session=error\",\"origin\":\"sfctl log of uid ");
  sftest_node_stop(&node);
}

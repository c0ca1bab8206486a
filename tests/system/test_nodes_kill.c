/* Kills ranks and daemons of jobs over several nodes at random moments, on all fabrics: every survivor on every node
 * gets an error that names who was lost, within a second; over tcp other jobs go on, nothing is left, and a daemon that
 * comes back is one of the cluster again. SFTEST_ROUNDS says how many, if not as many as below. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/cluster.h"
#include "tests/system/loop_cluster.h"
#include "tests/system/mpi_cluster.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define ROUNDS 30
#define ROUNDS_LOOP 10
#define ROUNDS_MPI 6         /* of ranks */
#define ROUNDS_MPI_DAEMONS 2 /* each with daemons of its own */
#define BUDGET_MS 40000
#define RANKS_MAX 7
#define JOIN_MS 1500 /* when the victim has not even come */
#define NOTICED_MS 1000
#define NOTICED_ALL_MS 3000 /* when MPI ends all daemons: seldom it takes a second longer, and why is not known */

typedef struct plan {
  bool daemon;    /* is killed */
  bool takes_all; /* and all others with it */
  int32_t victim; /* rank, or node */
  uint64_t seed;
  _Atomic int32_t njoined;
  _Atomic int64_t death_ms;  /* 0: alive */
  _Atomic int64_t latest_ms; /* when the last of the others noticed */
} plan_t;

/* Statuses of a sequence of calls: after the first failure nothing more is called. */
typedef struct run {
  sftest_rank_t *self;
  sf_context_t *context;
  uint64_t random; /* the same on all ranks */
  sf_status_t status;
} run_t;

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

/* Begun operations are ended, also after a failure; that of the first call counts. */
static void exchange(run_t *run, sf_graph_t *graph, int64_t n)
{
  double *roots = calloc((size_t)n, sizeof *roots), *leaves = calloc(2 * (size_t)n, sizeof *leaves);
  sf_request_t *requests[2] = {NULL};
  run->status = sf_bcast_begin(graph, SF_DOUBLE, roots, leaves, SF_REPLACE, &requests[0]);
  if (run->status == SF_OK)
    run->status = sf_bcast_begin(graph, SF_DOUBLE, roots, leaves + n, SF_REPLACE, &requests[1]);
  sf_status_t status = sf_wait_all(2, requests);
  if (run->status == SF_OK)
    run->status = status;
  if (run->status == SF_OK)
    run->status = sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM);
  free(roots);
  free(leaves);
}

/* A group, a graph, some operations, and their end. */
static void one_round(run_t *run)
{
  static const int64_t sizes[] = {1, 10, 3000, 50000};
  int64_t n = sizes[sftest_below(&run->random, 4)];
  int32_t ranks[RANKS_MAX], tag = (int32_t)sftest_below(&run->random, 100);
  sf_group_t *group = NULL;
  sf_graph_t *graph = NULL;
  for (int32_t i = 0; i < run->self->size; i++)
    ranks[i] = (i + tag) % run->self->size;
  sftest_at(run->self, "sf_group_create");
  run->status = sf_group_create(run->context, run->self->size, ranks, tag, &group);
  if (run->status == SF_OK) {
    sftest_at(run->self, "sf_graph_create, %lld", (long long)n);
    run->status = sftest_ring_create(group, n, 0, &graph);
  }
  for (int i = 0; i < 4 && run->status == SF_OK; i++) {
    sftest_at(run->self, "exchange of %lld", (long long)n);
    exchange(run, graph, n);
  }
  sftest_at(run->self, "destruction");
  SFTEST_OK(run->self, sf_graph_destroy(graph));
  SFTEST_OK(run->self, sf_group_destroy(group));
}

static void expect_failure(sftest_rank_t *self, plan_t *plan, sf_status_t status)
{
  char name[32];
  int64_t now = sftest_now_ms();
  if (plan->takes_all) {
    /* Whether the own daemon's end or the news was faster is chance, and what is called later may hear of the other. */
    SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST ||
                             (status == SF_ERR_NO_DAEMON && plan->njoined == 0));
  } else if (plan->daemon && self->places[self->rank] == plan->victim) {
    if (status != SF_ERR_NO_DAEMON || plan->njoined > 0)
      SFTEST_EXPECT(self, status, SF_ERR_DAEMON_LOST);
  } else {
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
    snprintf(name, sizeof name, "%s %d", plan->daemon ? "node" : "rank", plan->victim);
    SFTEST_DETAIL(self, name);
  }
  SFTEST_REQUIRE(self, plan->death_ms != 0);
  if (plan->daemon && plan->njoined == 0)
    return; /* it was to assemble the job, perhaps, and did not tell anybody who had come to it */
  for (int64_t latest = plan->latest_ms; now > latest && !atomic_compare_exchange_weak(&plan->latest_ms, &latest, now);)
    ;
}

static int live(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  run_t run = {.self = self, .random = plan->seed};
  self->options.timeout_ms = sftest_limit_ms(JOIN_MS);
  sftest_at(self, "sf_init");
  sf_status_t status = sf_init(&self->options, &run.context);
  if (status == SF_ERR_TIMEOUT || status == SF_ERR_STATE) { /* the victim had not even connected, or was gone by then */
    SFTEST_REQUIRE(self, plan->njoined == 0 && plan->death_ms != 0);
    return 0;
  }
  if (status != SF_OK) {
    expect_failure(self, plan, status);
    return 0;
  }
  plan->njoined++;
  while (run.status == SF_OK)
    one_round(&run);
  expect_failure(self, plan, run.status);
  sftest_at(self, "sf_finalize");
  status = sf_finalize(run.context);
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST);
  return 0;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

/* Nodes 0 and 1 live on: there is a job that notices nothing. */
static sftest_cluster_t cluster;

static sftest_loop_cluster_t loop;
static sftest_mpi_cluster_t mpi;

/* Most kills come when all have joined. */
static void await_moment(const sftest_job_t *job, const plan_t *plan, uint64_t *random)
{
  int64_t joined = sftest_below(random, 8) == 0 ? 0 : job->size, until = sftest_now_ms() + sftest_limit_ms(10000);
  while (plan->njoined < joined && sftest_now_ms() < until)
    sftest_sleep_ms(1);
  if (sftest_below(random, 2) == 0)
    sftest_sleep_ms(sftest_below(random, 30));
}

static plan_t *make_plan(uint64_t seed, bool daemon, int32_t victim, uint64_t *random, int32_t places[], int32_t size)
{
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_places_random(places, size, SFTEST_NODES_MAX, random);
  plan->seed = seed;
  plan->daemon = daemon;
  plan->victim = daemon ? victim : (int32_t)sftest_below(random, size);
  if (daemon) { /* it has to matter, and somebody has to survive it */
    places[0] = victim;
    places[1] = (victim + 1) % SFTEST_NODES_MAX;
  }
  return plan;
}

/* Starts a job on the nodes, kills what the plan says, and waits for the others. daemon: process of the victim, or 0.
 */
static void kill_in_job(const sftest_node_t nodes[], const int32_t places[], int32_t size, plan_t *plan, pid_t daemon,
                        uint64_t *random, int64_t *worst_ms)
{
  sftest_job_t job;
  sftest_use_seed(plan->seed);
  sftest_job_start_over(&job, nodes, places, size, live, plan);
  await_moment(&job, plan, random);
  plan->death_ms = sftest_now_ms();
  if (daemon != 0)
    kill(daemon, SIGKILL);
  else
    sftest_job_signal(&job, plan->victim, SIGKILL);
  sftest_job_wait(&job, sftest_limit_ms(10000));
  for (int32_t rank = 0; rank < size; rank++)
    if (plan->daemon || rank != plan->victim)
      sftest_job_expect_success(&job, rank);
  int64_t noticed_ms = plan->latest_ms - plan->death_ms;
  ck_assert_msg(noticed_ms < sftest_limit_ms(plan->takes_all ? NOTICED_ALL_MS : NOTICED_MS), "noticed after %lld ms",
                (long long)noticed_ms);
  if (noticed_ms > *worst_ms)
    *worst_ms = noticed_ms;
}

static int32_t choose_size(uint64_t *random)
{
  return 2 + (int32_t)sftest_below(random, RANKS_MAX - 1);
}

static void kill_over_tcp(uint64_t seed, int64_t *worst_ms)
{
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = choose_size(&random);
  bool daemon = sftest_below(&random, 3) == 0;
  int32_t victim = 2 + (int32_t)sftest_below(&random, 2);
  plan_t *plan = make_plan(seed, daemon, victim, &random, places, size);
  kill_in_job(cluster.nodes, places, size, plan, daemon ? cluster.nodes[victim].pid : 0, &random, worst_ms);
  if (daemon) {
    sftest_cluster_kill(&cluster, victim); /* reaps it */
    sftest_cluster_restart(&cluster, victim);
    sftest_cluster_warm(&cluster); /* it serves with all others */
  }
  sftest_shared_free(plan, sizeof *plan);
}

static void kill_rank_on(const sftest_node_t nodes[], uint64_t seed, int64_t *worst_ms)
{
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = choose_size(&random);
  plan_t *plan = make_plan(seed, false, 0, &random, places, size);
  kill_in_job(nodes, places, size, plan, 0, &random, worst_ms);
  sftest_shared_free(plan, sizeof *plan);
}

/* MPI ends all daemons. */
static void kill_mpi_daemon(uint64_t seed, int64_t *worst_ms)
{
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = choose_size(&random), victim = (int32_t)sftest_below(&random, SFTEST_MPI_NODES);
  plan_t *plan = make_plan(seed, true, victim, &random, places, size);
  plan->takes_all = true;
  sftest_mpi_cluster_start(&mpi, SFTEST_MPI_NODES);
  kill_in_job(mpi.nodes, places, size, plan, mpi.daemons[victim], &random, worst_ms);
  sftest_mpi_cluster_stop(&mpi, true);
  sftest_shared_free(plan, sizeof *plan);
}

static int choose_rounds(int usual)
{
  const char *text = getenv("SFTEST_ROUNDS");
  if (sftest_seed_is_given())
    return 1;
  return text != NULL ? atoi(text) : sftest_scale(usual);
}

START_TEST(kills)
{
  sftest_bystander_t bystander;
  int64_t until = sftest_now_ms() + BUDGET_MS, worst_ms = 0;
  int n = 0, rounds = choose_rounds(ROUNDS);
  sftest_cluster_start(&cluster, SFTEST_NODES_MAX);
  sftest_cluster_warm(&cluster);
  int fds[2] = {cluster.fds[0], cluster.fds[1]};
  sftest_bystander_start_over(&bystander, cluster.nodes);
  for (; n < rounds && (getenv("SFTEST_ROUNDS") != NULL || sftest_now_ms() < until); n++)
    kill_over_tcp(sftest_seed(), &worst_ms);
  sftest_bystander_stop(&bystander);
  sftest_cluster_warm(&cluster);
  for (int i = 0; i < 2; i++)
    sftest_node_settle(&cluster.nodes[i], fds[i]);
  printf("%d kills, noticed within %lld ms\n", n, (long long)worst_ms);
  sftest_cluster_stop(&cluster);
}
END_TEST

START_TEST(kills_over_loop)
{
  int64_t worst_ms = 0;
  int rounds = choose_rounds(ROUNDS_LOOP);
  sftest_loop_cluster_start(&loop, SFTEST_LOOP_NODES, 1, sftest_seed() | 1);
  for (int n = 0; n < rounds; n++)
    kill_rank_on(loop.nodes, sftest_seed(), &worst_ms);
  printf("loop: %d kills, noticed within %lld ms\n", rounds, (long long)worst_ms);
  sftest_loop_cluster_stop(&loop);
}
END_TEST

START_TEST(kills_over_mpi)
{
  int64_t worst_ms = 0, worst_of_daemons_ms = 0;
  int rounds = choose_rounds(ROUNDS_MPI), daemons = choose_rounds(ROUNDS_MPI_DAEMONS);
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_mpi_cluster_start(&mpi, SFTEST_MPI_NODES);
  for (int n = 0; n < rounds; n++)
    kill_rank_on(mpi.nodes, sftest_seed(), &worst_ms);
  sftest_mpi_cluster_stop(&mpi, false);
  for (int n = 0; n < daemons; n++)
    kill_mpi_daemon(sftest_seed(), &worst_of_daemons_ms);
  printf("mpi: %d kills, noticed within %lld ms, and of %d daemons within %lld ms\n", rounds, (long long)worst_ms,
         daemons, (long long)worst_of_daemons_ms);
}
END_TEST

static Suite *kill_suite(void)
{
  Suite *suite = suite_create("kills over nodes");
  TCase *cases = tcase_create("kills over nodes");
  tcase_set_timeout(cases, 600);
  tcase_add_test(cases, kills);
  tcase_add_test(cases, kills_over_loop);
  tcase_add_test(cases, kills_over_mpi);
  suite_add_tcase(suite, cases);
  return suite;
}

int main(void)
{
  return sftest_run(kill_suite());
}

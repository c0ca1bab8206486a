/* Kills ranks and daemons of jobs over several nodes at random moments: every survivor on every node gets an error that
 * names who was lost, within a second; other jobs go on, nothing is left, and a daemon that comes back is one of the
 * cluster again. SFTEST_ROUNDS says how many, if not as many as below. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/cluster.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define ROUNDS 30
#define BUDGET_MS 40000
#define RANKS_MAX 7
#define JOIN_MS 1500 /* when the victim has not even come */

typedef struct plan {
  bool daemon;    /* is killed */
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
  if (plan->daemon && self->places[self->rank] == plan->victim) {
    if (status != SF_ERR_NO_DAEMON || plan->njoined > 0)
      SFTEST_EXPECT(self, status, SF_ERR_DAEMON_LOST);
  } else {
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
    snprintf(name, sizeof name, "%s %d", plan->daemon ? "node" : "rank", plan->victim);
    SFTEST_DETAIL(self, name);
  }
  SFTEST_REQUIRE(self, plan->death_ms != 0);
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

/* Most kills come when all have joined. */
static void await_moment(const sftest_job_t *job, const plan_t *plan, uint64_t *random)
{
  int64_t joined = sftest_below(random, 8) == 0 ? 0 : job->size, until = sftest_now_ms() + sftest_limit_ms(10000);
  while (plan->njoined < joined && sftest_now_ms() < until)
    sftest_sleep_ms(1);
  if (sftest_below(random, 2) == 0)
    sftest_sleep_ms(sftest_below(random, 30));
}

static void strike(sftest_job_t *job, plan_t *plan)
{
  plan->death_ms = sftest_now_ms();
  if (plan->daemon)
    sftest_cluster_kill(&cluster, plan->victim);
  else
    sftest_job_signal(job, plan->victim, SIGKILL);
}

static plan_t *make_plan(uint64_t seed, uint64_t *random, int32_t places[], int32_t size)
{
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_places_random(places, size, SFTEST_NODES_MAX, random);
  plan->seed = seed;
  plan->daemon = sftest_below(random, 3) == 0;
  plan->victim = (int32_t)(plan->daemon ? 2 + sftest_below(random, 2) : sftest_below(random, size));
  if (plan->daemon) { /* it has to matter, and somebody has to survive it */
    places[0] = plan->victim;
    places[1] = (plan->victim + 1) % SFTEST_NODES_MAX;
  }
  return plan;
}

static void kill_once(uint64_t seed, int64_t *worst_ms)
{
  sftest_job_t job;
  uint64_t random = seed;
  int32_t places[RANKS_MAX], size = 2 + (int32_t)sftest_below(&random, RANKS_MAX - 1);
  plan_t *plan = make_plan(seed, &random, places, size);
  sftest_use_seed(seed);
  sftest_job_start_over(&job, cluster.nodes, places, size, live, plan);
  await_moment(&job, plan, &random);
  strike(&job, plan);
  sftest_job_wait(&job, sftest_limit_ms(10000));
  for (int32_t rank = 0; rank < size; rank++)
    if (plan->daemon || rank != plan->victim)
      sftest_job_expect_success(&job, rank);
  int64_t noticed_ms = plan->latest_ms - plan->death_ms;
  ck_assert_msg(noticed_ms < sftest_limit_ms(1000), "noticed after %lld ms", (long long)noticed_ms);
  if (noticed_ms > *worst_ms)
    *worst_ms = noticed_ms;
  if (plan->daemon) {
    sftest_cluster_restart(&cluster, plan->victim);
    sftest_cluster_warm(&cluster); /* it serves with all others */
  }
  sftest_shared_free(plan, sizeof *plan);
}

static int choose_rounds(void)
{
  const char *text = getenv("SFTEST_ROUNDS");
  if (sftest_seed_is_given())
    return 1;
  return text != NULL ? atoi(text) : sftest_scale(ROUNDS);
}

START_TEST(kills)
{
  sftest_bystander_t bystander;
  int64_t until = sftest_now_ms() + BUDGET_MS, worst_ms = 0;
  int n = 0, rounds = choose_rounds();
  sftest_cluster_start(&cluster, SFTEST_NODES_MAX);
  sftest_cluster_warm(&cluster);
  int fds[2] = {cluster.fds[0], cluster.fds[1]};
  sftest_bystander_start_over(&bystander, cluster.nodes);
  for (; n < rounds && (getenv("SFTEST_ROUNDS") != NULL || sftest_now_ms() < until); n++)
    kill_once(sftest_seed(), &worst_ms);
  sftest_bystander_stop(&bystander);
  sftest_cluster_warm(&cluster);
  for (int i = 0; i < 2; i++)
    sftest_node_settle(&cluster.nodes[i], fds[i]);
  printf("%d kills, noticed within %lld ms\n", n, (long long)worst_ms);
  sftest_cluster_stop(&cluster);
}
END_TEST

static Suite *kill_suite(void)
{
  Suite *suite = suite_create("kills over nodes");
  TCase *cases = tcase_create("kills over nodes");
  tcase_set_timeout(cases, 600);
  tcase_add_test(cases, kills);
  suite_add_tcase(suite, cases);
  return suite;
}

int main(void)
{
  return sftest_run(kill_suite());
}

/* Kills one after the other, of random ranks at random moments, while everybody does a bit of everything: no hang, no
 * wrong error, nothing left, and the daemon still serves. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/buffers.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define KILLS 200
#define BUDGET_MS 60000
#define RANKS_MAX 5
#define JOIN_MS 1500 /* when the victim has not even come */

typedef struct plan {
  int32_t victim;
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

/* In-flight requests are ended, also after a failure; that of the first call counts. */
static void end_all(run_t *run, sf_request_t *requests[], int32_t n)
{
  sf_status_t status = sf_wait_all(n, requests);
  if (run->status == SF_OK)
    run->status = status;
}

static void exchange(run_t *run, sf_graph_t *graph, int64_t n, sftest_memory_t memory)
{
  sftest_buffer_t buffers[4];
  sf_request_t *requests[3] = {NULL};
  int32_t begun = 0;
  for (int i = 0; i < 4; i++)
    sftest_buffer_make(run->self, run->context, memory, n * (int64_t)sizeof(double), 0, &buffers[i]);
  while (run->status == SF_OK && begun < 3) {
    if (begun % 2 == 0)
      run->status =
          sf_bcast_begin(graph, SF_DOUBLE, buffers[0].data, buffers[1 + begun].data, SF_REPLACE, &requests[begun]);
    else
      run->status =
          sf_reduce_begin(graph, SF_DOUBLE, buffers[0].data, buffers[1 + begun].data, SF_SUM, &requests[begun]);
    begun++;
  }
  end_all(run, requests, begun);
  for (int i = 0; i < 4; i++)
    sftest_buffer_free(run->self, &buffers[i]);
}

/* A graph, some operations, and its end. */
static void one_round(run_t *run)
{
  static const int64_t sizes[] = {1, 10, 3000, 50000};
  int64_t n = sizes[sftest_below(&run->random, 4)];
  sftest_memory_t memory = (sftest_memory_t)sftest_below(&run->random, SFTEST_HOST_MEMORY_COUNT);
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
  if (run->status == SF_OK) {
    sftest_at(run->self, "exchange of %lld, %s", (long long)n, sftest_memory_name(memory));
    exchange(run, graph, n, memory);
  }
  sftest_at(run->self, "destruction");
  SFTEST_OK(run->self, sf_graph_destroy(graph));
  SFTEST_OK(run->self, sf_group_destroy(group));
}

static void expect_failure(sftest_rank_t *self, plan_t *plan, sf_status_t status)
{
  char name[32];
  int64_t now = sftest_now_ms();
  snprintf(name, sizeof name, "rank %d ", plan->victim);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, name);
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
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_RANK_FAILED);
  return 0;
}

/* Most kills come when all have joined. */
static void kill_at_random(sftest_job_t *job, plan_t *plan, uint64_t *random)
{
  int64_t joined = sftest_below(random, 8) == 0 ? 0 : job->size, until = sftest_now_ms() + sftest_limit_ms(10000);
  while (plan->njoined < joined && sftest_now_ms() < until)
    sftest_sleep_ms(1);
  if (sftest_below(random, 2) == 0)
    sftest_sleep_ms(sftest_below(random, 30));
  plan->death_ms = sftest_now_ms();
  sftest_job_signal(job, plan->victim, SIGKILL);
}

static void kill_once(const sftest_node_t *node, uint64_t seed, int64_t *worst_ms)
{
  sftest_job_t job;
  plan_t *plan = sftest_shared(sizeof *plan);
  uint64_t random = seed;
  int32_t size = 2 + (int32_t)sftest_below(&random, RANKS_MAX - 1);
  plan->seed = seed;
  plan->victim = (int32_t)sftest_below(&random, size);
  sftest_use_seed(seed);
  sftest_job_start(&job, node, size, live, plan);
  kill_at_random(&job, plan, &random);
  sftest_job_wait(&job, sftest_limit_ms(10000));
  for (int32_t rank = 0; rank < size; rank++)
    if (rank != plan->victim)
      sftest_job_expect_success(&job, rank);
  int64_t noticed_ms = plan->latest_ms - plan->death_ms;
  ck_assert_msg(noticed_ms < sftest_limit_ms(1000), "noticed after %lld ms", (long long)noticed_ms);
  if (noticed_ms > *worst_ms)
    *worst_ms = noticed_ms;
  sftest_shared_free(plan, sizeof *plan);
}

START_TEST(kills)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  int64_t until = sftest_now_ms() + BUDGET_MS, worst_ms = 0;
  int n = 0, limit = sftest_seed_is_given() ? 1 : sftest_scale(KILLS);
  sftest_node_start(&node, NULL);
  int fds = sftest_node_rest(&node);
  sftest_expect_serving(&node);
  long kib = sftest_node_resident_kib(&node);
  sftest_bystander_start(&bystander, &node);
  for (; n < limit && sftest_now_ms() < until; n++)
    kill_once(&node, sftest_seed(), &worst_ms);
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  sftest_node_settle(&node, fds);
  long grown_kib = sftest_node_resident_kib(&node) - kib;
  printf("%d kills, noticed within %lld ms; sfd has grown by %ld KiB\n", n, (long long)worst_ms, grown_kib);
  ck_assert_msg(sftest_is_sanitized() || grown_kib < 4096, "sfd has grown by %ld KiB", grown_kib);
  sftest_node_stop(&node);
}
END_TEST

static Suite *kill_suite(void)
{
  Suite *suite = suite_create("random kills");
  TCase *cases = tcase_create("random kills");
  tcase_set_timeout(cases, 180);
  tcase_add_test(cases, kills);
  suite_add_tcase(suite, cases);
  return suite;
}

int main(void)
{
  return sftest_run(kill_suite());
}

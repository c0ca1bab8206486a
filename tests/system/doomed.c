/* Jobs that lose somebody: see doomed.h. The first half runs in ranks, the second in the process of the test. */
#include "tests/system/doomed.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/system/buffers.h"
#include "tests/system/work.h"

#define JOIN_EARLY_MS 1000 /* when the victim has perhaps not even come */
#define JOIN_MS 20000
#define NOTICED_MS 1000
#define REQUESTS 3
#define FETCHED 40 /* roots to which all ranks contribute */

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

/* Statuses of a sequence of calls: after the first failure nothing more is called. */
typedef struct run {
  sftest_rank_t *self;
  sf_context_t *context;
  uint64_t random; /* the same on all ranks */
  sf_status_t status;
} run_t;

/* Bcasts and reduces in flight together. They are ended also after a failure; that of the first call counts. */
static void exchange(run_t *run, sf_graph_t *graph, int64_t n, sftest_memory_t memory)
{
  sftest_buffer_t buffers[1 + REQUESTS];
  sf_request_t *requests[REQUESTS] = {NULL};
  int32_t begun = 0;
  for (int i = 0; i <= REQUESTS; i++)
    sftest_buffer_make(run->self, run->context, memory, n * (int64_t)sizeof(double), 0, &buffers[i]);
  for (; run->status == SF_OK && begun < REQUESTS; begun++) {
    void *source = buffers[0].data, *target = buffers[1 + begun].data;
    run->status = begun % 2 == 0 ? sf_bcast_begin(graph, SF_DOUBLE, source, target, SF_REPLACE, &requests[begun])
                                 : sf_reduce_begin(graph, SF_DOUBLE, source, target, SF_SUM, &requests[begun]);
  }
  sf_status_t status = sf_wait_all(begun, requests);
  if (run->status == SF_OK)
    run->status = status;
  for (int i = 0; i <= REQUESTS; i++)
    sftest_buffer_free(run->self, &buffers[i]);
}

/* Makes a multi-graph, on each rank with a persistent call or a blocking one, and uses it. */
static void fetch(run_t *run, sf_group_t *group)
{
  int32_t ranks[FETCHED] = {0}, values[FETCHED] = {0}, fetched[FETCHED];
  int64_t roots[FETCHED], n = sftest_below(&run->random, 3), forms = sftest_below(&run->random, 1 << run->self->size);
  sf_graph_t *star = NULL;
  sf_request_t *request; /* goes with the graph */
  for (int32_t i = 0; i < FETCHED; i++)
    roots[i] = i;
  sftest_at(run->self, "fetch_op");
  run->status = sf_graph_create(group, sf_group_rank(group) == 0 ? FETCHED : 0, FETCHED, NULL, ranks, roots,
                                SF_GRAPH_DEFAULT, &star);
  if (run->status == SF_OK && (forms >> run->self->rank & 1) != 0)
    run->status = sf_fetch_op_init(star, SF_INT32, values, values, fetched, SF_SUM, &request);
  for (int64_t i = 0; i <= n && run->status == SF_OK; i++)
    run->status = sf_fetch_op(star, i % 2 == 0 ? SF_INT32 : SF_FLOAT, values, values, fetched, SF_SUM);
  SFTEST_OK(run->self, sf_graph_destroy(star));
}

/* A group, a graph, some operations, and their end. */
static void one_round(run_t *run)
{
  static const int64_t sizes[] = {1, 10, 3000, 50000};
  int64_t n = sizes[sftest_below(&run->random, 4)];
  /* Without the daemon no other memory can be had. */
  const sftest_doom_t *doom = run->self->argument;
  int64_t memories = doom->daemon ? SFTEST_PLAIN + 1 : SFTEST_HOST_MEMORY_COUNT;
  sftest_memory_t memory = (sftest_memory_t)sftest_below(&run->random, memories);
  int32_t ranks[SFTEST_DOOMED_RANKS], tag = (int32_t)sftest_below(&run->random, 100);
  int64_t nexchanges = 1 + sftest_below(&run->random, 3);
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
  for (int64_t i = 0; i < nexchanges && run->status == SF_OK; i++) {
    sftest_at(run->self, "exchange of %lld, %s", (long long)n, sftest_memory_name(memory));
    exchange(run, graph, n, memory);
  }
  if (run->status == SF_OK && sftest_below(&run->random, 3) == 0)
    fetch(run, group);
  sftest_at(run->self, "destruction");
  SFTEST_OK(run->self, sf_graph_destroy(graph));
  SFTEST_OK(run->self, sf_group_destroy(group));
}

static bool is_with_victim(const sftest_rank_t *self, const sftest_doom_t *doom)
{
  return doom->daemon && self->places[self->rank] == doom->victim;
}

static void expect_status(sftest_rank_t *self, const sftest_doom_t *doom, sf_status_t status)
{
  char name[32];
  if (doom->takes_all) {
    /* Whether the own daemon's end or the news was faster is chance, and what is called later may hear of the other. */
    SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED || status == SF_ERR_DAEMON_LOST ||
                             (status == SF_ERR_NO_DAEMON && doom->njoined == 0));
  } else if (is_with_victim(self, doom)) {
    if (status != SF_ERR_NO_DAEMON || doom->njoined > 0)
      SFTEST_EXPECT(self, status, SF_ERR_DAEMON_LOST);
  } else {
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
    snprintf(name, sizeof name, "%s %d", doom->daemon ? "node" : "rank", doom->victim);
    SFTEST_DETAIL(self, name);
  }
}

static void expect_failure(sftest_rank_t *self, sftest_doom_t *doom, sf_status_t status)
{
  int64_t now = sftest_machine_ms();
  expect_status(self, doom, status);
  SFTEST_REQUIRE(self, doom->death_ms != 0);
  if (doom->daemon && doom->nsafe == 0)
    return; /* it was to assemble the job, perhaps, and told nobody who had come to it from other nodes */
  for (int64_t latest = doom->latest_ms; now > latest && !atomic_compare_exchange_weak(&doom->latest_ms, &latest, now);)
    ;
}

static int live(sftest_rank_t *self)
{
  sftest_doom_t *doom = self->argument;
  run_t run = {.self = self, .random = doom->seed};
  self->options.timeout_ms = sftest_limit_ms(doom->early ? JOIN_EARLY_MS : JOIN_MS);
  sftest_at(self, "sf_init");
  sf_status_t status = sf_init(&self->options, &run.context);
  if (status == SF_ERR_TIMEOUT || status == SF_ERR_STATE) { /* the victim had not even connected, or was gone by then */
    SFTEST_REQUIRE(self, doom->nsafe == 0 && doom->death_ms != 0);
    return 0;
  }
  if (status != SF_OK) {
    expect_failure(self, doom, status);
    return 0;
  }
  doom->njoined++;
  if (!is_with_victim(self, doom))
    doom->nsafe++;
  while (run.status == SF_OK)
    one_round(&run);
  expect_failure(self, doom, run.status);
  sftest_at(self, "sf_finalize");
  expect_status(self, doom, sf_finalize(run.context));
  return 0;
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

sftest_doom_t *sftest_doom_make(uint64_t seed, int32_t victim, uint64_t *random)
{
  sftest_doom_t *doom = sftest_shared(sizeof *doom);
  doom->seed = seed;
  doom->victim = victim;
  doom->early = sftest_below(random, 8) == 0;
  doom->wait_ms = sftest_below(random, 2) == 0 ? sftest_below(random, 30) : 0;
  return doom;
}

void sftest_doomed_kill(sftest_doomed_t *doomed, sftest_doom_t *doom, const sftest_node_t nodes[],
                        const int32_t places[], int32_t size, pid_t daemon)
{
  int64_t until = sftest_now_ms() + sftest_limit_ms(JOIN_MS);
  doomed->doom = doom;
  sftest_machine_watch();
  sftest_use_seed(doom->seed);
  sftest_job_start_over(&doomed->job, nodes, places, size, live, doom);
  while (!doom->early && doom->njoined < size && sftest_now_ms() < until)
    sftest_sleep_ms(1);
  sftest_sleep_ms(doom->wait_ms);
  doom->death_ms = sftest_machine_ms();
  if (daemon != 0)
    kill(daemon, SIGKILL);
  else
    sftest_job_signal(&doomed->job, doom->victim, SIGKILL);
}

void sftest_doomed_collect(sftest_doomed_t *doomed, sftest_notices_t *notices)
{
  sftest_doom_t *doom = doomed->doom;
  sftest_use_seed(doom->seed);
  sftest_job_wait(&doomed->job);
  if (doom->daemon)
    sftest_job_expect_all(&doomed->job);
  else
    sftest_job_expect_all_but(&doomed->job, doom->victim);
  sftest_notices_add(notices, doom->latest_ms - doom->death_ms);
  sftest_shared_free(doom, sizeof *doom);
  doomed->doom = NULL;
}

void sftest_notices_add(sftest_notices_t *notices, int64_t noticed_ms)
{
  int64_t limit_ms = sftest_limit_ms(notices->limit_ms != 0 ? notices->limit_ms : NOTICED_MS);
  ck_assert_msg(noticed_ms < limit_ms, "noticed after %lld ms", (long long)noticed_ms);
  notices->n++;
  if (noticed_ms > notices->worst_ms)
    notices->worst_ms = noticed_ms;
}

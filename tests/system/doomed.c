/* Jobs that lose somebody: see doomed.h. The first half runs in ranks, the second in the process of the test. */
#include "tests/system/doomed.h"

#include <sys/wait.h>

#include "tests/system/buffers.h"
#include "tests/system/work.h"
#include "tools/sfctl/connection.h"

#define JOIN_EARLY_MS 1000 /* when the victim has perhaps not even come */
#define ANSWERS 50 /* of a daemon that has still to read what the lost one had sent, which takes it some turns */
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
  SFTEST_REQUIRE(self, doom->dead);
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

static void live(sftest_rank_t *self)
{
  sftest_doom_t *doom = self->argument;
  run_t run = {.self = self, .random = doom->seed};
  if (doom->early)
    self->options.timeout_ms = JOIN_EARLY_MS;
  sftest_at(self, "sf_init");
  sf_status_t status = sf_init(&self->options, &run.context);
  if (status == SF_ERR_TIMEOUT || status == SF_ERR_STATE) { /* the victim had not even connected, or was gone by then */
    SFTEST_REQUIRE(self, doom->early && doom->nsafe == 0);
    return;
  }
  if (status != SF_OK) {
    expect_status(self, doom, status);
    return;
  }
  doom->njoined++;
  if (!is_with_victim(self, doom))
    doom->nsafe++;
  while (run.status == SF_OK)
    one_round(&run);
  expect_status(self, doom, run.status);
  sftest_at(self, "sf_finalize");
  expect_status(self, doom, sf_finalize(run.context));
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

typedef struct look {
  const char *job;
  bool goes_on;
} look_t;

static sf_status_t look_at_job(void *context, sfproto_incoming_t *incoming)
{
  look_t *look = context;
  const Sfproto__JobInfo *job = incoming->message->job_info;
  look->goes_on |= strcmp(job->name, look->job) == 0 && strcmp(job->state, "failed") != 0;
  return SF_OK;
}

/* Whether the job goes on, as far as the node knows, or any, which it asks. */
static bool goes_on(const sftest_node_t *node, const char *job, bool everywhere)
{
  look_t look = {.job = job};
  sfctl_connection_t connection;
  Sfproto__Query query = SFPROTO_BODY(query, .what = SFPROTO__QUERY__WHAT__JOBS);
  ck_assert_int_eq(sfctl_connect(node->socket, SFTEST_HANG_MS, &connection), SF_OK);
  connection.target.all = everywhere;
  ck_assert_int_eq(sfctl_query(&connection, &query, look_at_job, &look), SF_OK);
  ck_assert_uint_eq(connection.missing.count, 0);
  sfctl_disconnect(&connection);
  return look.goes_on;
}

void sftest_expect_told(const sftest_node_t *node, const sftest_job_t *job, int32_t victim)
{
  siginfo_t end;
  if (job->pids[victim] != 0) /* its sockets have been closed before this returns */
    ck_assert_int_eq(waitid(P_PID, (id_t)job->pids[victim], &end, WEXITED | WNOWAIT), 0);
  ck_assert_msg(!goes_on(node, job->name, true), "the death of rank %d has not been told", victim);
}

/* The nodes that have ranks of the job learn it from the stream's end. */
static void expect_loss_told(const sftest_node_t nodes[], const sftest_job_t *job, int32_t victim, pid_t daemon)
{
  siginfo_t end;
  ck_assert_int_eq(waitid(P_PID, (id_t)daemon, &end, WEXITED | WNOWAIT), 0);
  for (int32_t rank = 0; rank < job->size; rank++) {
    int answers = 0;
    while (job->places[rank] != victim && goes_on(&nodes[job->places[rank]], job->name, false))
      ck_assert_msg(++answers < ANSWERS, "the loss of node %d has not been told", victim);
  }
}

void sftest_doomed_kill(sftest_doomed_t *doomed, sftest_doom_t *doom, const sftest_node_t nodes[],
                        const int32_t places[], int32_t size, pid_t daemon)
{
  doomed->doom = doom;
  sftest_use_seed(doom->seed);
  sftest_job_start_over(&doomed->job, nodes, places, size, live, doom);
  if (!doom->early)
    sftest_job_await(&doomed->job, &doom->njoined, size);
  sftest_sleep_ms(doom->wait_ms);
  doom->dead = true;
  if (daemon != 0)
    kill(daemon, SIGKILL);
  else
    sftest_job_signal(&doomed->job, doom->victim, SIGKILL);
  if (doom->early || doom->takes_all)
    return;
  if (daemon != 0)
    expect_loss_told(nodes, &doomed->job, doom->victim, daemon);
  else
    sftest_expect_told(&nodes[places[doom->victim]], &doomed->job, doom->victim);
}

void sftest_doomed_collect(sftest_doomed_t *doomed)
{
  sftest_doom_t *doom = doomed->doom;
  sftest_use_seed(doom->seed);
  sftest_job_wait(&doomed->job);
  if (doom->daemon)
    sftest_job_expect_all(&doomed->job);
  else
    sftest_job_expect_all_but(&doomed->job, doom->victim);
  doomed->doom = NULL;
}

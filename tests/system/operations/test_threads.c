/* Several threads in each rank: operations on different graphs at once, groups and graphs made in different orders,
 * memory coming and going meanwhile; and several jobs in one process. */
#include <pthread.h>

#include "tests/system/buffers.h"
#include "tests/system/work.h"

#define RANKS 3
#define THREADS 4
#define ROUNDS 300
#define MANY 8 /* operations in flight */

/* One thread of a rank. */
typedef struct worker {
  sftest_rank_t *self;
  sf_context_t *context;
  int number;
  sf_group_t *group;
  sf_graph_t *graph;
  int64_t n;
  pthread_t thread;
} worker_t;

static void run_workers(worker_t workers[THREADS], void *(*run)(void *argument))
{
  for (int i = 0; i < THREADS; i++)
    SFTEST_REQUIRE(workers[i].self, pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(workers[i].thread, NULL);
}

static void make_workers(sftest_rank_t *self, sf_context_t *context, worker_t workers[THREADS])
{
  static const int64_t sizes[THREADS] = {1, 100, 5000, 40000};
  for (int i = 0; i < THREADS; i++)
    workers[i] = (worker_t){.self = self, .context = context, .number = i, .n = sizes[i]};
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Sums of the ring: what comes from the previous rank, each round something else. */
static void reduce_once(worker_t *worker, const sftest_buffer_t buffers[2], int round)
{
  int32_t size = sf_group_size(worker->group), rank = sf_group_rank(worker->group);
  int64_t *leaves = (int64_t *)(void *)buffers[0].data, *roots = (int64_t *)(void *)buffers[1].data;
  int32_t previous = (rank + size - 1) % size;
  for (int64_t i = 0; i < worker->n; i++) {
    leaves[i] = i * (rank + 1) + round;
    roots[i] = 7;
  }
  SFTEST_OK(worker->self, sf_reduce(worker->graph, SF_INT64, leaves, roots, SF_SUM));
  for (int64_t i = 0; i < worker->n; i++)
    SFTEST_REQUIRE(worker->self, roots[i] == 7 + i * (previous + 1) + round);
}

/* Fetch and add along the ring, with a gather in flight at the same time: each root has one leaf. */
static void fetch_once(worker_t *worker, int round)
{
  int32_t size = sf_group_size(worker->group), rank = sf_group_rank(worker->group);
  int32_t previous = (rank + size - 1) % size, next = (rank + 1) % size;
  int64_t n = worker->n, *data = calloc((size_t)n * 4, sizeof *data);
  int64_t *roots = data, *leaves = data + n, *update = data + 2 * n, *slots = data + 3 * n;
  sf_request_t *requests[2];
  for (int64_t i = 0; i < n; i++) {
    roots[i] = 1000 * rank + round;
    leaves[i] = i + rank;
  }
  SFTEST_OK(worker->self, sf_fetch_op_begin(worker->graph, SF_INT64, roots, leaves, update, SF_SUM, &requests[1]));
  SFTEST_OK(worker->self, sf_gather_begin(worker->graph, SF_INT64, leaves, slots, &requests[0]));
  SFTEST_OK(worker->self, sf_wait_all(2, requests));
  for (int64_t i = 0; i < n; i++) {
    SFTEST_REQUIRE(worker->self, slots[i] == i + previous && roots[i] == 1000 * rank + round + i + previous);
    SFTEST_REQUIRE(worker->self, update[i] == 1000 * next + round);
  }
  free(data);
}

/* Many bcasts in flight, ended from the last to the first. */
static void bcast_many(worker_t *worker, int round)
{
  int64_t *leaves = calloc((size_t)worker->n * MANY, sizeof *leaves), *data = calloc((size_t)worker->n, sizeof *data);
  sf_request_t *requests[MANY];
  int32_t next = (sf_group_rank(worker->group) + 1) % sf_group_size(worker->group);
  data[0] = 1000 * sf_group_rank(worker->group) + round;
  for (int i = 0; i < MANY; i++)
    SFTEST_OK(worker->self,
              sf_bcast_begin(worker->graph, SF_INT64, data, leaves + i * worker->n, SF_REPLACE, &requests[i]));
  for (int i = MANY - 1; i >= 0; i--) {
    SFTEST_OK(worker->self, sf_wait(&requests[i]));
    SFTEST_REQUIRE(worker->self, leaves[i * worker->n] == 1000 * next + round);
  }
  free(leaves);
  free(data);
}

static void *operate(void *argument)
{
  worker_t *worker = argument;
  static const sftest_memory_t kinds[] = {SFTEST_PLAIN, SFTEST_ALLOC, SFTEST_REGISTERED}; /* aligned ones */
  for (int round = 0; round < sftest_scale(ROUNDS); round++) {
    sftest_buffer_t buffers[2];
    for (int i = 0; i < 2; i++)
      sftest_buffer_make(worker->self, worker->context, kinds[(round + i) % 3], worker->n * (int64_t)sizeof(int64_t), 0,
                         &buffers[i]);
    reduce_once(worker, buffers, round);
    bcast_many(worker, round);
    if (round % 4 == 0)
      fetch_once(worker, round);
    for (int i = 0; i < 2; i++)
      sftest_buffer_free(worker->self, &buffers[i]);
  }
  return NULL;
}

SFTEST_JOINED_JOB(operations, 1, sftest_run_alone(RANKS, ranks, NULL))
{
  worker_t workers[THREADS];
  sf_graph_t *multi;
  make_workers(self, context, workers);
  for (int i = 0; i < THREADS; i++) {
    workers[i].group = world;
    SFTEST_OK(self, sftest_ring_create(workers[i].group, workers[i].n, 0, &workers[i].graph));
    SFTEST_OK(self, sf_graph_multi(workers[i].graph, &multi));
  }
  sftest_at(self, "operations");
  run_workers(workers, operate);
  for (int i = 0; i < THREADS; i++)
    SFTEST_OK(self, sf_graph_destroy(workers[i].graph));
}

/* ---- Set-up ------------------------------------------------------------------------------------------------------ */

/* Every thread makes its group, and graphs on it, when it comes to it: in another order on every rank. */
static void *set_up(void *argument)
{
  worker_t *worker = argument;
  int32_t size = sf_size(worker->context), ranks[SFTEST_RANKS_MAX];
  for (int round = 0; round < sftest_scale(ROUNDS / 10); round++) {
    int32_t shift = (worker->number + round) % size;
    for (int32_t i = 0; i < size; i++)
      ranks[i] = (i + shift) % size;
    sftest_sleep_ms((worker->number * 7 + worker->self->rank * 3 + round) % 5);
    SFTEST_OK(worker->self, sf_group_create(worker->context, size, ranks, worker->number, &worker->group));
    SFTEST_OK(worker->self, sftest_ring_create(worker->group, worker->n, 0, &worker->graph));
    sftest_ring_expect_working(worker->self, worker->group, worker->graph, worker->n);
    fetch_once(worker, round);                                /* with a multi-graph of its own */
    SFTEST_OK(worker->self, sf_group_destroy(worker->group)); /* the graph does not need it any more */
    SFTEST_OK(worker->self, sf_graph_destroy(worker->graph));
  }
  return NULL;
}

SFTEST_JOINED_JOB(set_ups, 1, sftest_run_alone(RANKS, ranks, NULL))
{
  worker_t workers[THREADS];
  make_workers(self, context, workers);
  sftest_at(self, "groups and graphs");
  run_workers(workers, set_up);
}

/* ---- Several jobs in one process --------------------------------------------------------------------------------- */

/* Ranks run the other way round in the second job. */
static sf_context_t *join_second(sftest_rank_t *self, char name[64])
{
  sf_context_t *context = NULL;
  sf_init_options_t options = self->options;
  snprintf(name, 64, "%s-second", self->options.job);
  options.job = name;
  options.rank = self->size - 1 - self->rank;
  SFTEST_OK(self, sf_init(&options, &context));
  SFTEST_REQUIRE(self, sf_rank(context) == options.rank && sf_size(context) == self->size);
  return context;
}

/* Operations of both jobs in flight in one thread. */
static void exchange_in_both(sftest_rank_t *self, sf_context_t *const contexts[2], sf_graph_t *const graphs[2])
{
  int32_t roots[2], leaves[2] = {-1, -1};
  sf_request_t *requests[2];
  for (int i = 0; i < 2; i++) {
    roots[i] = 10 * sf_rank(contexts[i]) + i;
    SFTEST_OK(self, sf_bcast_begin(graphs[i], SF_INT32, &roots[i], &leaves[i], SF_REPLACE, &requests[i]));
  }
  for (int i = 1; i >= 0; i--) {
    SFTEST_OK(self, sf_wait(&requests[i]));
    SFTEST_REQUIRE(self, leaves[i] == (sf_rank(contexts[i]) + 1) % self->size * 10 + i);
  }
}

static void join_two_jobs(sftest_rank_t *self)
{
  char name[64];
  sf_context_t *contexts[2] = {sftest_join(self), NULL};
  sf_graph_t *graphs[2] = {NULL, NULL};
  contexts[1] = join_second(self, name);
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sftest_ring_create(sf_group_world(contexts[i]), 1, 0, &graphs[i]));
  sftest_at(self, "exchanges in two jobs");
  for (int round = 0; round < sftest_scale(ROUNDS); round++)
    exchange_in_both(self, contexts, graphs);
  for (int i = 0; i < 2; i++) {
    void *memory;
    SFTEST_OK(self, sf_alloc(contexts[i], 100, &memory));
    SFTEST_EXPECT(self, sf_free(contexts[1 - i], memory), SF_ERR_ARG); /* not of that job */
    SFTEST_OK(self, sf_free(contexts[i], memory));
  }
  sftest_leave(self, contexts[0]);
  sftest_ring_expect_working(self, sf_group_world(contexts[1]), graphs[1], 1);
  sftest_leave(self, contexts[1]);
}

/* One after the other in the same process, too. */
static void join_again(sftest_rank_t *self)
{
  char name[64];
  for (int round = 0; round < sftest_scale(20); round++) {
    sf_graph_t *graph = NULL;
    snprintf(name, sizeof name, "%s-%d", self->options.job, round);
    sf_init_options_t options = self->options;
    sf_context_t *context = NULL;
    options.job = name;
    sftest_at(self, "joining for the %dth time", round);
    SFTEST_OK(self, sf_init(&options, &context));
    SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, 0, &graph));
    sftest_ring_expect_working(self, sf_group_world(context), graph, 10);
    sftest_leave(self, context);
  }
}

SFTEST(two_jobs)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, RANKS, join_two_jobs, NULL);
  sftest_run_job(&node, RANKS, join_again, NULL);
  sftest_node_stop(&node);
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */

/* All threads wait, each in an operation of its own, and all are woken. */
static void *wait_for_dead(void *argument)
{
  worker_t *worker = argument;
  int64_t roots[1] = {0}, leaves[1];
  sf_status_t status = SF_OK;
  while (status == SF_OK)
    status = sf_bcast(worker->graph, SF_INT64, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(worker->self, status, SF_ERR_RANK_FAILED);
  return NULL;
}

static void die_while_threads_wait(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  worker_t workers[THREADS];
  make_workers(self, context, workers);
  for (int i = 0; i < THREADS; i++)
    SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 1, 0, &workers[i].graph));
  if (self->rank == 1) {
    sftest_sleep_ms(200);
    _exit(0);
  }
  sftest_at(self, "waiting");
  run_workers(workers, wait_for_dead);
  sf_status_t status = sf_finalize(context);
  SFTEST_REQUIRE(self, status == SF_ERR_RANK_FAILED);
}

SFTEST(failure)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  for (int i = 0; i < sftest_scale(10); i++)
    sftest_run_job(&node, RANKS, die_while_threads_wait, NULL);
  sftest_node_stop(&node);
}

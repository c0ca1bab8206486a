/* The first operation that needs the multi-graph is called in another form on every rank, over nodes: persistent,
 * begun and ended, blocking, or behind a question that makes some of the graphs already. All forms match, in every
 * thread. Forms are functions of one seed. */
#include <pthread.h>

#include "tests/system/cluster.h"
#include "tests/system/model/graph.h"

#define RANKS 4
#define NODES 3
#define ROOTS 9 /* of each rank; every rank has a leaf on each root */
#define LEAVES (RANKS * ROOTS)
#define GRAPHS 2
#define CASES 12 /* of one job */
#define THREADS 2

typedef enum form { PERSISTENT, BEGIN, BLOCKING, BEHIND_MULTI, BEHIND_RANKS, FORM_COUNT } form_t;
typedef enum kind { FETCH, FETCH_OWN, REDUCE_OWN, GATHER, KIND_COUNT } kind_t;

/* ---- One operation ----------------------------------------------------------------------------------------------- */

typedef struct act {
  sftest_rank_t *self;
  int32_t rank; /* in the group */
  sf_graph_t *graph;
  kind_t kind;
  const sf_op_t *op;
  int32_t roots[ROOTS], leaves[LEAVES], fetched[LEAVES], slots[ROOTS * RANKS];
  sf_request_t *request;
} act_t;

static void add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)unit_bytes;
  (void)context;
  for (int64_t i = 0; i < n; i++)
    ((int32_t *)inout)[i] += ((const int32_t *)in)[i];
}

static int32_t start_of(int32_t owner, int32_t root)
{
  return 1000 * owner + root;
}

static int32_t contribution(int32_t rank, int32_t owner, int32_t root)
{
  return 7 * rank + 3 * owner + root + 1;
}

/* What the root is when the ranks below have contributed. */
static int32_t before(int32_t rank, int32_t owner, int32_t root)
{
  int32_t value = start_of(owner, root);
  for (int32_t r = 0; r < rank; r++)
    value += contribution(r, owner, root);
  return value;
}

static void prepare(act_t *act)
{
  for (int32_t i = 0; i < LEAVES; i++) {
    act->leaves[i] = contribution(act->rank, i / ROOTS, i % ROOTS);
    act->fetched[i] = act->slots[i] = -1;
  }
  for (int32_t i = 0; i < ROOTS; i++)
    act->roots[i] = start_of(act->rank, i);
}

static void check(const act_t *act)
{
  for (int32_t i = 0; i < ROOTS && act->kind != GATHER; i++)
    SFTEST_REQUIRE(act->self, act->roots[i] == before(RANKS, act->rank, i));
  for (int32_t i = 0; i < LEAVES && act->kind <= FETCH_OWN; i++)
    SFTEST_REQUIRE(act->self, act->fetched[i] == before(act->rank, i / ROOTS, i % ROOTS));
  for (int32_t i = 0; i < LEAVES && act->kind == GATHER; i++)
    SFTEST_REQUIRE(act->self, act->slots[i] == contribution(i % RANKS, act->rank, i / RANKS));
}

static void init(act_t *act)
{
  if (act->kind == GATHER)
    SFTEST_OK(act->self, sf_gather_init(act->graph, SF_INT32, act->leaves, act->slots, &act->request));
  else if (act->kind == REDUCE_OWN)
    SFTEST_OK(act->self, sf_reduce_init(act->graph, SF_INT32, act->leaves, act->roots, act->op, &act->request));
  else
    SFTEST_OK(act->self,
              sf_fetch_op_init(act->graph, SF_INT32, act->roots, act->leaves, act->fetched, act->op, &act->request));
}

static void begin(act_t *act)
{
  if (act->kind == GATHER)
    SFTEST_OK(act->self, sf_gather_begin(act->graph, SF_INT32, act->leaves, act->slots, &act->request));
  else if (act->kind == REDUCE_OWN)
    SFTEST_OK(act->self, sf_reduce_begin(act->graph, SF_INT32, act->leaves, act->roots, act->op, &act->request));
  else
    SFTEST_OK(act->self,
              sf_fetch_op_begin(act->graph, SF_INT32, act->roots, act->leaves, act->fetched, act->op, &act->request));
}

static void block(act_t *act)
{
  if (act->kind == GATHER)
    SFTEST_OK(act->self, sf_gather(act->graph, SF_INT32, act->leaves, act->slots));
  else if (act->kind == REDUCE_OWN)
    SFTEST_OK(act->self, sf_reduce(act->graph, SF_INT32, act->leaves, act->roots, act->op));
  else
    SFTEST_OK(act->self, sf_fetch_op(act->graph, SF_INT32, act->roots, act->leaves, act->fetched, act->op));
}

static void perform(act_t *act, form_t form)
{
  sf_graph_t *multi;
  sf_graph_ranks_t ranks;
  prepare(act);
  if (form == BEHIND_MULTI)
    SFTEST_OK(act->self, sf_graph_multi(act->graph, &multi));
  if (form == BEHIND_RANKS)
    SFTEST_OK(act->self, sf_graph_leaf_ranks(act->graph, &ranks));
  if (form == BLOCKING) {
    block(act);
  } else if (form == PERSISTENT || form == BEHIND_RANKS) {
    init(act);
    SFTEST_OK(act->self, sf_start(act->request));
    SFTEST_OK(act->self, sf_wait(&act->request));
    SFTEST_OK(act->self, sf_request_free(&act->request));
  } else {
    begin(act);
    SFTEST_OK(act->self, sf_wait(&act->request));
  }
  check(act);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static sf_graph_t *make_graph(sftest_rank_t *self, sf_group_t *group)
{
  int32_t rank[LEAVES];
  int64_t root[LEAVES];
  sf_graph_t *graph = NULL;
  for (int32_t i = 0; i < LEAVES; i++) {
    rank[i] = i / ROOTS;
    root[i] = i % ROOTS;
  }
  SFTEST_OK(self, sf_graph_create(group, ROOTS, LEAVES, NULL, rank, root, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

static const sf_op_t *make_op(sftest_rank_t *self, kind_t kind)
{
  const sf_op_t *op = SF_SUM;
  if (kind == FETCH_OWN || kind == REDUCE_OWN)
    SFTEST_OK(self, sf_op_create(add, NULL, &op));
  return op;
}

/* Rank 0 alone is persistent, all others are, and then at random. */
static form_t choose_form(uint64_t seed, int number, int32_t rank)
{
  if (number < 2)
    return (rank == 0) == (number == 0) ? PERSISTENT : BEGIN;
  return (form_t)(sftest_hash2(seed, (uint64_t)rank) % FORM_COUNT);
}

/* Two graphs in turns, each with the forms of the ranks changed the second time. */
static void run_case(sftest_rank_t *self, sf_group_t *group, uint64_t seed, int number)
{
  sf_graph_t *graphs[GRAPHS];
  act_t act = {.self = self, .rank = sf_group_rank(group), .kind = (kind_t)(seed % KIND_COUNT)};
  act.op = make_op(self, act.kind);
  for (int i = 0; i < GRAPHS; i++)
    graphs[i] = make_graph(self, group);
  for (int i = 0; i < 2 * GRAPHS; i++) {
    form_t form = choose_form(seed + (uint64_t)(i / GRAPHS), number, act.rank);
    sftest_at(self, "case %d: kind %d, graph %d, form %d", number, (int)act.kind, i % GRAPHS, (int)form);
    act.graph = graphs[i % GRAPHS];
    perform(&act, form);
  }
  for (int i = 0; i < GRAPHS; i++)
    SFTEST_OK(self, sf_graph_destroy(graphs[i]));
  SFTEST_OK(self, sf_op_destroy(act.op));
}

static void run_cases(sftest_rank_t *self, sf_group_t *group, uint64_t seed, int ncases)
{
  for (int i = 0; i < ncases; i++)
    run_case(self, group, sftest_hash2(seed, (uint64_t)i), i);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

SFTEST_JOINED(mix)
{
  const uint64_t *seed = self->argument;
  run_cases(self, world, *seed, CASES);
}

static const int32_t places[][RANKS] = {{0, 0, 1, 1}, {0, 0, 1, 2}, {1, 0, 0, 0}, {0, 1, 0, 1}};
#define NPLACES ((int)(sizeof places / sizeof places[0]))

SFTEST_CASE(sftest_cluster_for_case(tests, NODES));

SFTEST_FOR(forms, 2 * NPLACES)
{
  uint64_t seed = sftest_seed();
  printf("SF_TEST_SEED=%llu\n", (unsigned long long)seed);
  sftest_cluster_run(&sftest_case_cluster, places[_i % NPLACES], RANKS, mix, &seed);
}

typedef struct worker {
  sftest_rank_t self; /* with a note of its own */
  char note[SFTEST_NOTE_BYTES];
  sf_context_t *context;
  uint64_t seed;
  int32_t number;
  pthread_t thread;
} worker_t;

/* In a group of its own. */
static void *work(void *argument)
{
  worker_t *worker = argument;
  int32_t ranks[RANKS];
  sf_group_t *group;
  for (int32_t i = 0; i < RANKS; i++)
    ranks[i] = (i + worker->number) % RANKS;
  SFTEST_OK(&worker->self, sf_group_create(worker->context, RANKS, ranks, worker->number, &group));
  run_cases(&worker->self, group, sftest_hash2(worker->seed, (uint64_t)worker->number), CASES / THREADS);
  SFTEST_OK(&worker->self, sf_group_destroy(group));
  return NULL;
}

SFTEST_JOINED(mix_in_threads)
{
  const uint64_t *seed = self->argument;
  worker_t workers[THREADS];
  for (int32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.self = *self, .context = context, .seed = *seed, .number = i};
    workers[i].self.note = workers[i].note;
    SFTEST_REQUIRE(self, pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (int32_t i = 0; i < THREADS; i++)
    pthread_join(workers[i].thread, NULL);
}

SFTEST(threads)
{
  uint64_t seed = sftest_seed();
  printf("SF_TEST_SEED=%llu\n", (unsigned long long)seed);
  sftest_cluster_run(&sftest_case_cluster, places[0], RANKS, mix_in_threads, &seed);
}

/* ---- In another order -------------------------------------------------------------------------------------------- */

/* Rank 1 uses the graphs in the other order, which is wrong. */
SFTEST_JOINED(use_in_another_order)
{
  sf_graph_t *graphs[2], *multi;
  const int32_t other = 1 - self->rank;
  for (int i = 0; i < 2; i++) {
    const int64_t root = i == 0 ? 0 : 99;
    SFTEST_OK(self, sf_graph_create(world, root + 1, 1, NULL, &other, &root, SF_GRAPH_DEFAULT, &graphs[i]));
  }
  SFTEST_EXPECT(self, sf_graph_multi(graphs[self->rank], &multi), SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "do all ranks use the graphs in the same order?");
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sf_graph_destroy(graphs[i]));
}

/* Rank 1 makes another graph first. */
SFTEST_JOINED(make_in_another_order)
{
  sf_graph_t *graph, *next, *multi;
  const int32_t other = 1 - self->rank;
  const int64_t root = 0;
  SFTEST_OK(self, sf_graph_create(world, 1, 1, NULL, &other, &root, SF_GRAPH_DEFAULT, &graph));
  sf_status_t status = self->rank == 0 ? sf_graph_multi(graph, &multi) : SF_OK;
  SFTEST_OK(self, sf_graph_create(world, 1, 1, NULL, &self->rank, &root, 0, &next));
  if (self->rank == 1)
    status = sf_graph_multi(graph, &multi);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "in the same order?");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_graph_destroy(next));
}

SFTEST_FOR(another_order, 2)
{
  sftest_cluster_run(&sftest_case_cluster, (const int32_t[]){0, _i}, 2, use_in_another_order, NULL);
  sftest_cluster_run(&sftest_case_cluster, (const int32_t[]){0, _i}, 2, make_in_another_order, NULL);
}

/* Ranks that call one operation more than others, who have destroyed the graph or left the job: on one node and over
 * several, whoever comes first, every rank that waits gets SF_ERR_MISMATCH, which names who calls nothing more and
 * after how many operations. Ranks that leave while others have yet to read what they sent are no error. */
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define RANKS 4
#define UNITS 8
#define PAUSE_MS 150 /* longer than it takes until who waits asks other nodes, and until daemons look */

typedef enum kind { BCAST, REDUCE, GATHER, FETCH, KINDS } kind_t;

typedef enum shape {
  RING,    /* each rank has leaves on the next one's roots */
  ONE_WAY, /* all others on rank 0's */
  SHAPES
} shape_t;

typedef struct plan {
  kind_t kind;
  shape_t shape;
  unsigned more;    /* ranks that call one more, as bits */
  bool leaves;      /* the others leave the job; else they destroy the graph */
  bool first;       /* before the ranks of more call */
  int before;       /* operations that all call */
  bool slow;        /* the others come so late to the first of these that the ranks of more ask other nodes */
  _Atomic int done; /* ranks that have called these */
  _Atomic int gone; /* that have left, or destroyed it */
  _Atomic int told; /* that have their error */
} plan_t;

static sf_status_t call(sf_graph_t *graph, kind_t kind)
{
  double roots[UNITS] = {0}, leaves[UNITS] = {0}, all[RANKS * UNITS] = {0};
  switch (kind) {
  case BCAST:
    return sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  case REDUCE:
    return sf_reduce(graph, SF_DOUBLE, leaves, roots, SF_SUM);
  case GATHER:
    return sf_gather(graph, SF_DOUBLE, leaves, all);
  default:
    return sf_fetch_op(graph, SF_DOUBLE, roots, leaves, leaves, SF_SUM);
  }
}

static sf_status_t make(sf_group_t *group, shape_t shape, sf_graph_t **graph_p)
{
  if (shape == RING)
    return sftest_ring_create(group, UNITS, SF_GRAPH_DEFAULT, graph_p);
  bool root = sf_group_rank(group) == 0;
  int32_t ranks[UNITS] = {0};
  int64_t indices[UNITS];
  for (int64_t i = 0; i < UNITS; i++)
    indices[i] = i;
  return sf_graph_create(group, root ? UNITS : 0, root ? 0 : UNITS, NULL, ranks, indices, SF_GRAPH_DEFAULT, graph_p);
}

static bool calls_more(const plan_t *plan, int32_t rank)
{
  return (plan->more >> rank & 1) != 0;
}

/* What only sends goes on for a while. */
static void expect_error(sftest_rank_t *self, plan_t *plan, sf_graph_t *graph)
{
  char text[64];
  sf_status_t status = SF_OK;
  sftest_at(self, "calls more: kind %d, shape %d, others %s", plan->kind, plan->shape,
            plan->leaves ? "leave" : "destroy");
  while (status == SF_OK)
    status = call(graph, plan->kind);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  snprintf(text, sizeof text, "%s after %d operations", plan->leaves ? "has left the job" : "has destroyed the graph",
           plan->before * (plan->kind == FETCH ? 2 : 1));
  SFTEST_DETAIL(self, text);
  SFTEST_DETAIL(self, "called ");
  SFTEST_DETAIL(self, plan->shape == ONE_WAY ? "test_one_more.c:" : "work.c:");
}

static void one_more(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  bool more = calls_more(plan, self->rank);
  SFTEST_OK(self, make(sf_group_world(context), plan->shape, &graph));
  for (int i = 0; i < plan->before; i++) {
    if (plan->slow && i == 0 && !more)
      sftest_sleep_ms(3 * PAUSE_MS);
    SFTEST_OK(self, call(graph, plan->kind));
  }
  atomic_fetch_add(&plan->done, 1);
  sftest_await(&plan->done, RANKS);
  if (more && plan->first)
    sftest_await(&plan->gone, RANKS - __builtin_popcount(plan->more));
  if (more != plan->first)
    sftest_sleep_ms(PAUSE_MS);
  if (more)
    expect_error(self, plan, graph);
  if (more || !plan->leaves)
    SFTEST_OK(self, sf_graph_destroy(graph));
  if (more || plan->leaves)
    sftest_leave(self, context);
  atomic_fetch_add(more ? &plan->told : &plan->gone, 1);
  if (!more && !plan->leaves) {
    sftest_await(&plan->told, __builtin_popcount(plan->more));
    sftest_leave(self, context);
  }
}

static void run(sftest_loop_cluster_t *loop, const int32_t places[], plan_t *plan)
{
  atomic_store(&plan->done, 0);
  atomic_store(&plan->gone, 0);
  atomic_store(&plan->told, 0);
  sftest_run_over(loop->nodes, places, RANKS, one_more, plan);
}

/* Who calls one more: one with roots and leaves of the ring, the only one with roots otherwise; or all but that. */
static const unsigned mores[] = {1, 14, 4, 9};
static const int32_t placements[][RANKS] = {{0, 0, 0, 0}, {0, 1, 2, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}};
#define NPLACEMENTS ((int)(sizeof placements / sizeof placements[0]))

/* Kind by kind, so that each meets each of the others somewhere. */
SFTEST_FOR(test_waits, NPLACEMENTS)
{
  static sftest_loop_cluster_t loop;
  plan_t *plan = sftest_shared(sizeof *plan);
  int n = 0;
  sftest_loop_cluster_start(&loop, 3, 0, 0);
  for (int shape = 0; shape < SHAPES; shape++)
    for (int kind = 0; kind < KINDS; kind++, n++) {
      plan->kind = (kind_t)kind;
      plan->shape = (shape_t)shape;
      plan->more = mores[(n + _i) % 4];
      plan->leaves = (n / 2 + _i) % 2 == 0;
      plan->first = (n + n / 4) % 2 == 0;
      plan->before = n % 3 == 0 && kind < GATHER ? 0 : 2 + 3 * (n % 2);
      run(&loop, placements[_i], plan);
    }
  sftest_loop_cluster_stop(&loop);
}

/* The other node is asked about every operation, not only about the first one that takes long. */
SFTEST(test_waits_again)
{
  static sftest_loop_cluster_t loop;
  plan_t *plan = sftest_shared(sizeof *plan);
  *plan = (plan_t){.kind = BCAST, .shape = ONE_WAY, .more = 14, .before = 2, .slow = true};
  sftest_loop_cluster_start(&loop, 3, 0, 0);
  for (int i = 0; i < 4; i++) {
    plan->leaves = i % 2 == 1;
    plan->first = i / 2 == 1;
    run(&loop, placements[1], plan);
  }
  sftest_loop_cluster_stop(&loop);
}

/* ---- Who has sent what others need ------------------------------------------------------------------------------- */

typedef struct late {
  _Atomic int gone;
} late_t;

/* Rank 0 has the roots: it is done long before the others read. */
static void read_late(sftest_rank_t *self)
{
  late_t *late = self->argument;
  sf_graph_t *graph;
  double roots[UNITS] = {1, 2}, leaves[3][UNITS] = {{0}};
  sf_request_t *requests[3];
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, make(sf_group_world(context), ONE_WAY, &graph));
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, roots, leaves[i], SF_REPLACE, &requests[i]));
  if (self->rank != 0) {
    sftest_await(&late->gone, 1);
    sftest_sleep_ms(2 * PAUSE_MS);
  }
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, sf_wait(&requests[i]));
  SFTEST_REQUIRE(self, self->rank == 0 || leaves[2][1] == 2);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  atomic_fetch_add(&late->gone, self->rank == 0);
}

SFTEST_FOR(test_reads_late, NPLACEMENTS)
{
  late_t *late = sftest_shared(sizeof *late);
  sftest_loop_run_alone(3, placements[_i], RANKS, read_late, late);
}

/* Collective calls over nodes that do not match although nobody could see it from a message: between ranks that share
 * no edge, or far from where others wait. Everybody gets the error at this call or the next one. What test_mismatch
 * tries on one node it tries over nodes too. */
#include "tests/system/cluster.h"

#define RANKS 6

/* Who has leaves on whose roots: each rank but 0 on those of its parent. */
typedef enum shape {
  CHAIN, /* on those of the rank before */
  STAR,  /* on those of rank 0: the others share no edge */
  PAIRS, /* on those of one other rank, at most, so that most ranks can't hear from each other over edges */
  RING,  /* on those of the rank before, or the last one */
} shape_t;

typedef struct call {
  bool bcast;
  const sf_type_t *const *unit;
  const sf_op_t *const *op;
} call_t;

typedef struct mismatch {
  const char *name;
  call_t calls[2];
  const char *texts[2];
} mismatch_t;

static const mismatch_t mismatches[] = {
    {"kind", {{true, &SF_INT64, &SF_SUM}, {false, &SF_INT64, &SF_SUM}}, {"bcast(", "reduce("}},
    {"unit", {{true, &SF_INT64, &SF_SUM}, {true, &SF_DOUBLE, &SF_SUM}}, {"int64", "double"}},
    {"op", {{false, &SF_INT64, &SF_SUM}, {false, &SF_INT64, &SF_MAX}}, {"sum", "max"}},
};
#define NMISMATCHES (sizeof mismatches / sizeof mismatches[0])

static const call_t keep_pace = {true, &SF_INT64, &SF_REPLACE};

typedef struct plan {
  const mismatch_t *mismatch;
  shape_t shape;
  int32_t odd_rank; /* that makes the second call; of pairs, the other one makes it too */
  bool once;        /* and only once */
} plan_t;

#define ODD_OPERATION 10 /* if it is once */
#define TOGETHER 40      /* operations in which ranks of pairs keep pace, so that there is something to compare */

static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context, shape_t shape)
{
  sf_graph_t *graph = NULL;
  int32_t parent = shape == STAR ? 0 : (self->rank + RANKS - 1) % RANKS;
  int64_t root = 0,
          nleaves = shape == PAIRS ? self->rank < RANKS - 2 && self->rank % 2 == 1 : shape == RING || self->rank > 0;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, nleaves, NULL, &parent, &root, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

static sf_status_t do_call(sf_graph_t *graph, const call_t *call)
{
  int64_t root = 1, leaf = 2;
  return call->bcast ? sf_bcast(graph, *call->unit, &root, &leaf, *call->op)
                     : sf_reduce(graph, *call->unit, &leaf, &root, *call->op);
}

static bool is_odd(const plan_t *plan, int32_t rank)
{
  return plan->shape == PAIRS ? rank / 2 == plan->odd_rank / 2 : rank == plan->odd_rank;
}

/* Who is not concerned may call it a few times before word has come. */
SFTEST_JOINED(call_wrongly)
{
  const plan_t *plan = self->argument;
  sf_graph_t *graph = make_graph(self, context, plan->shape), *other = make_graph(self, context, RING);
  bool odd = is_odd(plan, self->rank);
  const call_t *call = &plan->mismatch->calls[odd && !plan->once];
  sf_status_t status = SF_OK;
  sftest_at(self, "%s, odd rank %d", plan->mismatch->name, plan->odd_rank);
  int together = plan->shape == PAIRS ? TOGETHER : 0;
  for (int i = 1; i <= together; i++) {
    if (status == SF_OK)
      status = do_call(graph, plan->once && i == ODD_OPERATION ? &plan->mismatch->calls[odd] : call);
    SFTEST_OK(self, do_call(other, &keep_pace));
  }
  while (status == SF_OK) {
    status = do_call(graph, call);
    sftest_sleep_ms(plan->shape == PAIRS ? 30 : 2);
  }
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "rank");
  SFTEST_DETAIL(self, "test_nodes_mismatch.c:"); /* where the graph was made */
  if (!plan->once) {
    SFTEST_DETAIL(self, plan->mismatch->texts[0]);
    SFTEST_DETAIL(self, plan->mismatch->texts[1]);
  }
  SFTEST_EXPECT(self, do_call(graph, call), SF_ERR_MISMATCH);
  sftest_at(self, "another graph");
  SFTEST_OK(self, do_call(other, &plan->mismatch->calls[0]));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_graph_destroy(other));
}

SFTEST_FOR(noticed, (int)NMISMATCHES)
{
  static const int32_t placements[][RANKS] = {{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 1, 2, 3}};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, SFTEST_NODES_MAX);
  for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++)
    for (int shape = CHAIN; shape <= STAR; shape++)
      for (int32_t odd_rank = 0; odd_rank < RANKS; odd_rank += 2 + (odd_rank == 2)) {
        plan_t plan = {&mismatches[_i], (shape_t)shape, odd_rank, false};
        sftest_cluster_run(&cluster, placements[i], RANKS, call_wrongly, &plan);
      }
  sftest_cluster_stop(&cluster);
}

/* Between parts of the graph that no edge connects, on one node and over several. */
SFTEST_FOR(noticed_apart, (int)NMISMATCHES)
{
  static const int32_t placements[][RANKS] = {{0}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 0, 1, 1, 3, 2}};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, SFTEST_NODES_MAX);
  for (int i = 0; i < (int)(sizeof placements / sizeof placements[0]); i++) {
    plan_t plan = {&mismatches[_i], PAIRS, 2 * ((i + _i) % 3), (i + _i) % 2 == 1};
    sftest_cluster_run(&cluster, placements[i], RANKS, call_wrongly, &plan);
  }
  sftest_cluster_stop(&cluster);
}

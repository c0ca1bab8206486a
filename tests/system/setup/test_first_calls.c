/* The first call on a graph differs between ranks, on one node and over several, in all pairs of operations, forms and
 * arguments: every rank gets SF_ERR_MISMATCH, at this call or a later one, also where one of the calls first makes
 * graphs of its own. Another graph of the job goes on working. */
#include "tests/system/cluster.h"

#define RANKS 4
#define LEAVES 2
#define NODES 3

typedef enum kind { BCAST, REDUCE, FETCH, GATHER, SCATTER } kind_t;
typedef enum form { BLOCKING, BEGIN, PERSISTENT, FORM_COUNT } form_t;

typedef struct call {
  const char *name;
  kind_t kind;
  const sf_type_t *const *unit;
  const sf_op_t *const *op;
} call_t;

static const sf_op_t *own_op;

static const call_t calls[] = {
    {"bcast", BCAST, &SF_INT32, &SF_SUM},
    {"bcast of doubles", BCAST, &SF_DOUBLE, &SF_SUM},
    {"reduce", REDUCE, &SF_INT32, &SF_SUM},
    {"reduce with max", REDUCE, &SF_INT32, &SF_MAX},
    {"reduce with an op of its own", REDUCE, &SF_INT32, &own_op},
    {"fetch_op", FETCH, &SF_INT32, &SF_SUM},
    {"fetch_op of doubles", FETCH, &SF_DOUBLE, &SF_SUM},
    {"fetch_op with max", FETCH, &SF_INT32, &SF_MAX},
    {"gather", GATHER, &SF_INT32, &SF_SUM},
    {"gather of doubles", GATHER, &SF_DOUBLE, &SF_SUM},
    {"scatter", SCATTER, &SF_INT32, &SF_SUM},
    {"scatter of doubles", SCATTER, &SF_DOUBLE, &SF_SUM},
};
#define NCALLS ((int)(sizeof calls / sizeof calls[0]))

/* Who has leaves on whose roots. */
typedef enum shape { RING, TO_RANK_0, CHAIN, SHAPE_COUNT } shape_t;

typedef struct plan {
  const call_t *calls[2]; /* of the odd rank, and of the others */
  form_t forms[2];
  int32_t odd_rank;
  shape_t shape;
} plan_t;

static void add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)unit_bytes;
  (void)context;
  for (int64_t i = 0; i < n; i++)
    ((int32_t *)inout)[i] += ((const int32_t *)in)[i];
}

static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context, shape_t shape)
{
  int32_t next = shape == TO_RANK_0 ? 0 : (self->rank + 1) % self->size;
  bool none = (shape == TO_RANK_0 && self->rank == 0) || (shape == CHAIN && self->rank + 1 == self->size);
  const int32_t ranks[LEAVES] = {next, next};
  const int64_t roots[LEAVES] = {0, 1};
  sf_graph_t *graph = NULL;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), LEAVES, none ? 0 : LEAVES, NULL, ranks, roots, 0, &graph));
  return graph;
}

typedef struct data {
  double roots[LEAVES], leaves[LEAVES], fetched[LEAVES], slots[RANKS * LEAVES];
} data_t;

static sf_status_t begin(sf_graph_t *graph, const call_t *call, data_t *data, sf_request_t **request)
{
  switch (call->kind) {
  case BCAST:
    return sf_bcast_begin(graph, *call->unit, data->roots, data->leaves, *call->op, request);
  case REDUCE:
    return sf_reduce_begin(graph, *call->unit, data->leaves, data->roots, *call->op, request);
  case FETCH:
    return sf_fetch_op_begin(graph, *call->unit, data->roots, data->leaves, data->fetched, *call->op, request);
  case GATHER:
    return sf_gather_begin(graph, *call->unit, data->leaves, data->slots, request);
  default:
    return sf_scatter_begin(graph, *call->unit, data->slots, data->leaves, request);
  }
}

static sf_status_t init(sf_graph_t *graph, const call_t *call, data_t *data, sf_request_t **request)
{
  switch (call->kind) {
  case BCAST:
    return sf_bcast_init(graph, *call->unit, data->roots, data->leaves, *call->op, request);
  case REDUCE:
    return sf_reduce_init(graph, *call->unit, data->leaves, data->roots, *call->op, request);
  case FETCH:
    return sf_fetch_op_init(graph, *call->unit, data->roots, data->leaves, data->fetched, *call->op, request);
  case GATHER:
    return sf_gather_init(graph, *call->unit, data->leaves, data->slots, request);
  default:
    return sf_scatter_init(graph, *call->unit, data->slots, data->leaves, request);
  }
}

static sf_status_t block(sf_graph_t *graph, const call_t *call, data_t *data)
{
  switch (call->kind) {
  case BCAST:
    return sf_bcast(graph, *call->unit, data->roots, data->leaves, *call->op);
  case REDUCE:
    return sf_reduce(graph, *call->unit, data->leaves, data->roots, *call->op);
  case FETCH:
    return sf_fetch_op(graph, *call->unit, data->roots, data->leaves, data->fetched, *call->op);
  case GATHER:
    return sf_gather(graph, *call->unit, data->leaves, data->slots);
  default:
    return sf_scatter(graph, *call->unit, data->slots, data->leaves);
  }
}

static sf_status_t perform(sf_graph_t *graph, const call_t *call, form_t form, data_t *data)
{
  sf_request_t *request = NULL;
  if (form == BLOCKING)
    return block(graph, call, data);
  sf_status_t status = form == BEGIN ? begin(graph, call, data, &request) : init(graph, call, data, &request);
  if (status == SF_OK && form == PERSISTENT)
    status = sf_start(request);
  if (status == SF_OK)
    status = sf_wait(&request);
  if (form == PERSISTENT && request != NULL) {
    sf_status_t freed = sf_request_free(&request);
    status = status == SF_OK ? freed : status;
  }
  return status;
}

SFTEST_JOINED(call_differently)
{
  const plan_t *plan = self->argument;
  int side = self->rank == plan->odd_rank ? 0 : 1;
  data_t data = {.roots = {0}};
  SFTEST_OK(self, sf_op_create(add, NULL, &own_op));
  sf_graph_t *graph = make_graph(self, context, plan->shape), *other = make_graph(self, context, RING);
  sftest_at(self, "%s, form %d; odd rank %d, shape %d", plan->calls[side]->name, (int)plan->forms[side], plan->odd_rank,
            (int)plan->shape);
  sf_status_t status = SF_OK;
  while (status == SF_OK) {
    status = perform(graph, plan->calls[side], plan->forms[side], &data);
    sftest_sleep_ms(2);
  }
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "rank");
  SFTEST_OK(self, sf_bcast(other, SF_DOUBLE, data.roots, data.leaves, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_graph_destroy(other));
  SFTEST_OK(self, sf_op_destroy(own_op));
}

static const int32_t places[][RANKS] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {1, 0, 0, 1}, {0, 1, 2, 0}};
#define NPLACES ((int)(sizeof places / sizeof places[0]))

SFTEST_CASE(sftest_cluster_for_case(tests, NODES));

/* All pairs on one node, and each of them in one of the other placements. */
SFTEST_FOR(noticed, NPLACES)
{
  for (int a = 0; a < NCALLS; a++)
    for (int b = 0; b < NCALLS; b++) {
      int n = a * NCALLS + b;
      plan_t plan = {.calls = {&calls[a], &calls[b]},
                     .forms = {(form_t)((n + _i) % FORM_COUNT), (form_t)((n / FORM_COUNT + n + _i) % FORM_COUNT)},
                     .odd_rank = (n + _i) % RANKS,
                     .shape = (shape_t)(n / 2 % SHAPE_COUNT)};
      if (a != b && (_i == 0 || n % (NPLACES - 1) == _i - 1) && sftest_is_chosen(n))
        sftest_cluster_run(&sftest_case_cluster, places[_i], RANKS, call_differently, &plan);
    }
}

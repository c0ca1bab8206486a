/* Collective calls that do not match, of ranks on one node or on several: instead of corruption or a hang every rank of
 * the graph gets SF_ERR_MISMATCH with a text that names both sides, at this call or a later one; other graphs of the
 * job go on working. */
#include "tests/system/buffers.h"
#include "tests/system/cluster.h"
#include "tests/system/model/gather.h"

#define CALLS 3 /* of the graph, until when everybody must have noticed */

/* Who has leaves on whose roots. */
typedef enum shape {
  RING,    /* each rank on the next one's: data flow both ways between two ranks */
  ONE_WAY, /* all others on rank 0's */
} shape_t;

typedef enum kind { BCAST, REDUCE, GATHER, SCATTER, FETCH, BCAST_FIELDS, REDUCE_FIELDS } kind_t;

typedef struct call {
  kind_t kind;
  const sf_type_t *const *base;
  int64_t count;            /* of the last two kinds: of fields */
  const sf_op_t *const *op; /* of several fields: of the last one; the others are added up */
} call_t;

#define FIELDS_MAX 9

typedef struct mismatch {
  const char *name;
  shape_t shape;
  int32_t odd_rank; /* that calls something else; -1: every second one does */
  call_t calls[2];  /* of the others, and of that one */
  const char *texts[2];
  int32_t ahead; /* how many right calls that one makes more in the beginning */
} mismatch_t;

static const sf_op_t *own_op;

/* clang-format off */
static const mismatch_t mismatches[] = {
    {"kind", RING, 1, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"every second kind", RING, -1, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"both wait", ONE_WAY, 0, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"both send", ONE_WAY, 0, {{REDUCE, &SF_DOUBLE, 1, &SF_SUM}, {BCAST, &SF_DOUBLE, 1, &SF_SUM}}, {"reduce(", "bcast("}, 0},
    {"unit", RING, 2, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {BCAST, &SF_FLOAT, 1, &SF_SUM}}, {"double", "float"}, 0},
    {"sign", RING, 0, {{REDUCE, &SF_INT32, 1, &SF_MAX}, {REDUCE, &SF_UINT32, 1, &SF_MAX}}, {"int32", "uint32"}, 0},
    {"op", RING, 3, {{REDUCE, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_PROD}}, {"sum", "prod"}, 0},
    {"count", RING, 1, {{BCAST, &SF_DOUBLE, 3, &SF_SUM}, {BCAST, &SF_DOUBLE, 4, &SF_SUM}}, {"double x 3", "double x 4"}, 0},
    {"ahead", RING, 1, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"bcast(", "reduce("}, 1},
    {"ahead by many", RING, 2, {{BCAST, &SF_DOUBLE, 1, &SF_SUM}, {BCAST, &SF_DOUBLE, 1, &SF_MAX}}, {"sum", "max"}, 30},
    {"large kind", RING, 1, {{BCAST, &SF_DOUBLE, 40000, &SF_SUM}, {REDUCE, &SF_DOUBLE, 40000, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"every second large kind", RING, -1, {{BCAST, &SF_DOUBLE, 40000, &SF_SUM}, {REDUCE, &SF_DOUBLE, 40000, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"large, both wait", ONE_WAY, 0, {{BCAST, &SF_DOUBLE, 40000, &SF_SUM}, {REDUCE, &SF_DOUBLE, 40000, &SF_SUM}}, {"bcast(", "reduce("}, 0},
    {"large, both send", ONE_WAY, 0, {{REDUCE, &SF_DOUBLE, 40000, &SF_SUM}, {BCAST, &SF_DOUBLE, 40000, &SF_SUM}}, {"reduce(", "bcast("}, 0},
    {"large and small", RING, 1, {{BCAST, &SF_DOUBLE, 40000, &SF_SUM}, {BCAST, &SF_DOUBLE, 1, &SF_SUM}}, {"x 40000", "double"}, 0},
    {"large op", RING, 0, {{REDUCE, &SF_DOUBLE, 40000, &SF_SUM}, {REDUCE, &SF_DOUBLE, 40000, &SF_MAX}}, {"sum", "max"}, 0},
    /* Operations with several fields. */
    {"fields", RING, 1, {{BCAST_FIELDS, &SF_DOUBLE, 2, &SF_SUM}, {BCAST_FIELDS, &SF_DOUBLE, 3, &SF_SUM}}, {"bcast(2 fields [", "bcast(3 fields ["}, 0},
    {"one field and two", RING, 2, {{REDUCE, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE_FIELDS, &SF_DOUBLE, 2, &SF_SUM}}, {"reduce(double, sum)", "reduce(2 fields ["}, 0},
    {"op of the last field", RING, -1, {{REDUCE_FIELDS, &SF_INT32, 9, &SF_SUM}, {REDUCE_FIELDS, &SF_INT32, 9, &SF_MAX}}, {"reduce(9 fields [", "called reduce(9 fields ["}, 0},
    {"unit of fields", RING, 0, {{BCAST_FIELDS, &SF_INT64, 2, &SF_SUM}, {BCAST_FIELDS, &SF_DOUBLE, 2, &SF_SUM}}, {"bcast(2 fields [", "called bcast(2 fields ["}, 0},
    {"fields, both wait", ONE_WAY, 0, {{BCAST_FIELDS, &SF_DOUBLE, 4, &SF_MAX}, {REDUCE_FIELDS, &SF_DOUBLE, 4, &SF_MAX}}, {"bcast(4 fields [", "reduce(4 fields ["}, 0},
    /* The multi-graph's operations and the graph's. */
    {"gather", RING, 1, {{BCAST, &SF_DOUBLE, 1, &SF_REPLACE}, {GATHER, &SF_DOUBLE, 1, &SF_REPLACE}}, {"bcast(", "gather"}, 0},
    {"scatter, both wait", ONE_WAY, 0, {{SCATTER, &SF_DOUBLE, 1, &SF_REPLACE}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"scatter", "reduce("}, 0},
    {"scatter, both send", ONE_WAY, 0, {{REDUCE, &SF_DOUBLE, 1, &SF_SUM}, {SCATTER, &SF_DOUBLE, 1, &SF_REPLACE}}, {"scatter", "reduce("}, 0},
    {"every second fetch", RING, -1, {{FETCH, &SF_DOUBLE, 1, &SF_SUM}, {REDUCE, &SF_DOUBLE, 1, &SF_SUM}}, {"fetch_op", "reduce("}, 0},
    {"op of fetch", RING, 2, {{FETCH, &SF_DOUBLE, 1, &SF_SUM}, {FETCH, &SF_DOUBLE, 1, &SF_MAX}}, {"sum", "max"}, 0},
    {"own op of fetch", RING, 1, {{FETCH, &SF_INT64, 1, &own_op}, {FETCH, &SF_INT64, 1, &SF_SUM}}, {"application's op", "sum"}, 0},
    {"unit of fetch, narrow first", ONE_WAY, 3, {{FETCH, &SF_INT32, 1, &SF_SUM}, {FETCH, &SF_DOUBLE, 1, &SF_SUM}}, {"int32", "double"}, 0},
    {"unit of fetch, wide first", ONE_WAY, 0, {{FETCH, &SF_DOUBLE, 1, &SF_SUM}, {FETCH, &SF_INT32, 1, &SF_SUM}}, {"int32", "double"}, 0},
    {"fetch and reduce", ONE_WAY, 0, {{FETCH, &SF_INT32, 1, &SF_SUM}, {REDUCE, &SF_INT32, 1, &SF_SUM}}, {"fetch_op", "reduce("}, 0},
    {"op of fetch, one way", ONE_WAY, 2, {{FETCH, &SF_INT32, 1, &SF_SUM}, {FETCH, &SF_INT32, 1, &SF_MAX}}, {"sum", "max"}, 0},
    {"fetch and scatter", ONE_WAY, 3, {{FETCH, &SF_INT32, 1, &SF_SUM}, {SCATTER, &SF_INT32, 1, &SF_REPLACE}}, {"fetch_op", "scatter"}, 0},
};
/* clang-format on */
#define NMISMATCHES ((int)(sizeof mismatches / sizeof mismatches[0]))

/* What a job does: one mismatch, in all forms, with buffers in all kinds of memory. */
typedef enum form { BLOCKING, WAIT, TEST, FORM_COUNT } form_t;

typedef struct plan {
  const mismatch_t *mismatch;
  sftest_memory_t memory;
  form_t form;
} plan_t;

static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context, shape_t shape)
{
  sf_graph_t *graph = NULL;
  int32_t root_ranks[2] = {shape == RING ? (self->rank + 1) % self->size : 0, 0};
  int64_t roots[2] = {0, 1};
  root_ranks[1] = root_ranks[0];
  int64_t nleaves = shape == ONE_WAY && self->rank == 0 ? 0 : 2;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 2, nleaves, NULL, root_ranks, roots, 0, &graph));
  return graph;
}

static const sf_type_t *make_unit(sftest_rank_t *self, const call_t *call)
{
  const sf_type_t *type = NULL;
  SFTEST_OK(self, sf_type_create_block(call->count, *call->base, &type));
  return type;
}

static sf_status_t end_by_testing(sf_request_t **request)
{
  bool done = false;
  sf_status_t status = SF_OK;
  for (int64_t tries = 1; !done && status == SF_OK; tries++)
    status = tries % 1000 == 0 ? sf_wait_for(request, 1000000, &done) : sf_test(request, &done);
  return status;
}

static sf_status_t begin_fields(sf_graph_t *graph, const call_t *call, char *roots, char *leaves,
                                sf_request_t **request)
{
  sf_field_t fields[FIELDS_MAX];
  for (int64_t k = 0; k < call->count; k++) {
    size_t offset = 2 * (size_t)k * sf_type_size(*call->base);
    fields[k] = (sf_field_t){*call->base, roots + offset, leaves + offset, k + 1 < call->count ? SF_SUM : *call->op};
  }
  return (call->kind == BCAST_FIELDS ? sf_bcast_begin_v : sf_reduce_begin_v)(graph, (int32_t)call->count, fields,
                                                                             request);
}

static sf_status_t begin_call(sf_graph_t *graph, const call_t *call, const sf_type_t *unit, char *roots, char *leaves,
                              sf_request_t **request)
{
  switch (call->kind) {
  case BCAST:
    return sf_bcast_begin(graph, unit, roots, leaves, *call->op, request);
  case REDUCE:
    return sf_reduce_begin(graph, unit, leaves, roots, *call->op, request);
  case GATHER:
    return sf_gather_begin(graph, unit, leaves, roots, request);
  case SCATTER:
    return sf_scatter_begin(graph, unit, roots, leaves, request);
  case BCAST_FIELDS:
  case REDUCE_FIELDS:
    return begin_fields(graph, call, roots, leaves, request);
  default:
    return sf_fetch_op_begin(graph, unit, roots, leaves, leaves, *call->op, request);
  }
}

static sf_status_t do_call(sf_graph_t *graph, const call_t *call, const sf_type_t *unit, form_t form, char *roots,
                           char *leaves)
{
  sf_request_t *request = NULL;
  if (form == BLOCKING && call->kind <= REDUCE)
    return call->kind == BCAST ? sf_bcast(graph, unit, roots, leaves, *call->op)
                               : sf_reduce(graph, unit, leaves, roots, *call->op);
  sf_status_t status = begin_call(graph, call, unit, roots, leaves, &request);
  if (status != SF_OK)
    return status;
  return form == TEST ? end_by_testing(&request) : sf_wait(&request);
}

/* Other graphs do not notice. */
static void expect_working(sftest_rank_t *self, sf_graph_t *graph)
{
  double roots[2] = {self->rank, -self->rank}, leaves[2] = {0};
  int32_t next = (self->rank + 1) % self->size;
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  SFTEST_REQUIRE(self, leaves[0] == next && leaves[1] == -next);
}

/* Waits until all ranks have come here: with each round word has come from one rank further. */
static void meet(sftest_rank_t *self, sf_graph_t *other)
{
  for (int32_t i = 1; i < self->size; i++)
    expect_working(self, other);
}

static bool is_odd(const mismatch_t *mismatch, int32_t rank)
{
  return mismatch->odd_rank < 0 ? rank % 2 == 1 : rank == mismatch->odd_rank;
}

/* Right calls that one rank begins before the others do anything. They never end. */
static void run_ahead(sftest_rank_t *self, const mismatch_t *mismatch, sf_graph_t *graph, const sf_type_t *unit,
                      sftest_buffer_t buffers[2], sf_request_t *requests[])
{
  for (int32_t i = 0; i < mismatch->ahead; i++)
    SFTEST_OK(self,
              sf_bcast_begin(graph, unit, buffers[0].data, buffers[1].data, *mismatch->calls[0].op, &requests[i]));
}

static void expect_mismatch(sftest_rank_t *self, const mismatch_t *mismatch, sf_graph_t *graph, sf_status_t status)
{
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, mismatch->texts[0]);
  SFTEST_DETAIL(self, mismatch->texts[1]);
  const char *first = strstr(sf_error_detail(), "rank ");
  SFTEST_REQUIRE(self, first != NULL && (strstr(first + 1, "rank ") != NULL || strstr(first, "node ") != NULL));
  double value[2];
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, value, value, SF_REPLACE), SF_ERR_MISMATCH); /* for good */
}

static void run_mismatch(sftest_rank_t *self, sf_context_t *context, const plan_t *plan, sf_graph_t *other)
{
  const mismatch_t *mismatch = plan->mismatch;
  sf_graph_t *graph = make_graph(self, context, mismatch->shape);
  bool odd = is_odd(mismatch, self->rank);
  const call_t *call = &mismatch->calls[odd];
  sftest_buffer_t buffers[2], ahead[2];
  sf_request_t *requests[32] = {NULL};
  sf_status_t status = SF_OK;
  const sf_type_t *unit = make_unit(self, call), *right = make_unit(self, &mismatch->calls[0]);
  int64_t vertices = 2;
  if (mismatch->calls[0].kind > REDUCE || mismatch->calls[1].kind > REDUCE) {
    vertices = 2 * self->size;
    sftest_multi_make(self, graph);
    meet(self, other);
  }
  for (int i = 0; i < 2; i++) {
    sftest_buffer_make(self, context, plan->memory, vertices * (int64_t)sf_type_size(unit), 0, &buffers[i]);
    sftest_buffer_make(self, context, plan->memory, 2 * (int64_t)sf_type_size(right), 0, &ahead[i]);
  }
  if (odd)
    run_ahead(self, mismatch, graph, right, ahead, requests);
  int ncalls = CALLS + (odd ? 0 : mismatch->ahead);
  for (int i = 0; i < ncalls; i++) {
    sftest_at(self, "%s, call %d, form %d, %s memory", mismatch->name, i, (int)plan->form,
              sftest_memory_name(plan->memory));
    if (status == SF_OK)
      status = do_call(graph, call, unit, plan->form, buffers[0].data, buffers[1].data);
    if (mismatch->ahead == 0) /* who is ahead waits until the others have come that far */
      meet(self, other);
    if (i + CALLS >= ncalls && status == SF_OK)
      sftest_sleep_ms(5); /* while an alert may be on its way */
  }
  while (status == SF_OK) /* or soon after */
    status = do_call(graph, call, unit, plan->form, buffers[0].data, buffers[1].data);
  expect_mismatch(self, mismatch, graph, status);
  for (int32_t i = 0; i < mismatch->ahead && odd; i++)
    if ((status = sf_wait(&requests[i])) != SF_OK) /* some may have ended well */
      SFTEST_REQUIRE(self, status == SF_ERR_MISMATCH);
  expect_working(self, other);
  SFTEST_OK(self, sf_graph_destroy(graph));
  for (int i = 0; i < 2; i++) {
    sftest_buffer_free(self, &buffers[i]);
    sftest_buffer_free(self, &ahead[i]);
  }
  SFTEST_OK(self, sf_type_destroy(unit));
  SFTEST_OK(self, sf_type_destroy(right));
}

/* Between nodes it makes no difference which kind of memory it is. */
static bool is_over_nodes(const sftest_rank_t *self)
{
  for (int32_t rank = 0; rank < self->size; rank++)
    if (self->places[rank] != self->places[0])
      return true;
  return false;
}

SFTEST_JOINED(run_plans)
{
  sf_graph_t *other = make_graph(self, context, RING);
  plan_t plan = {.mismatch = self->argument};
  int nmemories = is_over_nodes(self) ? 1 : SFTEST_HOST_MEMORY_COUNT;
  for (int form = 0; form < FORM_COUNT; form++) {
    for (int memory = 0; memory < nmemories; memory++) {
      plan.form = (form_t)form;
      plan.memory = (sftest_memory_t)memory;
      run_mismatch(self, context, &plan, other);
    }
  }
  SFTEST_OK(self, sf_graph_destroy(other));
}

SFTEST_FOR(noticed, NMISMATCHES)
{
  mismatch_t chosen = mismatches[_i];
  if (!sftest_is_chosen(_i))
    return;
  sftest_run_alone(4, run_plans, &chosen);
}

/* Ranks that do not match are on one node, or on two; there are nodes with one rank. */
static const int32_t placements[][4] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {1, 0, 0, 0}, {0, 1, 2, 3}};
#define NPLACEMENTS (sizeof placements / sizeof placements[0])

SFTEST_FOR(noticed_over_nodes, NMISMATCHES)
{
  sftest_cluster_t cluster;
  mismatch_t chosen = mismatches[_i];
  if (!sftest_is_chosen(_i))
    return;
  sftest_cluster_start_warm(&cluster, SFTEST_NODES_MAX);
  size_t njobs = chosen.calls[0].kind > REDUCE || chosen.calls[1].kind > REDUCE ? 1 : 2;
  for (size_t i = 0; i < njobs; i++)
    sftest_cluster_run(&cluster, placements[((size_t)_i + i) % NPLACEMENTS], 4, run_plans, &chosen);
  sftest_cluster_stop(&cluster);
}

int main(void)
{
  if (sf_op_create(sftest_add, NULL, &own_op) != SF_OK)
    return 1;
  int failed = sftest_main();
  return sf_op_destroy(own_op) == SF_OK ? failed : 1;
}

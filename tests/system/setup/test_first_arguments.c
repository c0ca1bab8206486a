/* The first call on a graph that makes what all ranks make together has wrong arguments on one rank, or two: all ranks
 * get the error of the lowest of these, instead of waiting, and the graph is as it was. On one node and over several.
 */
#include "tests/system/cluster.h"
#include "tests/system/device_ring.h"
#include "tests/system/fake_device.h"
#include "tests/system/work.h"

#define RANKS 4
#define NODES 3
#define UNITS 3

static const sf_op_t *own_op;
static double roots[UNITS], leaves[UNITS], fetched[UNITS], slots[UNITS];

static void add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)unit_bytes;
  (void)context;
  for (int64_t i = 0; i < n; i++)
    ((double *)inout)[i] += ((const double *)in)[i];
}

/* ---- Calls, with what is wrong with them ------------------------------------------------------------------------- */

static sf_status_t free_made(sf_status_t status, sf_request_t **request)
{
  return status == SF_OK ? sf_request_free(request) : status;
}

static sf_status_t end_begun(sf_status_t status, sf_request_t **request)
{
  return status == SF_OK ? sf_wait(request) : status;
}

static sf_status_t multi(sf_graph_t *graph, bool wrong)
{
  sf_graph_t *made;
  return sf_graph_multi(graph, wrong ? NULL : &made);
}

static sf_status_t leaf_ranks(sf_graph_t *graph, bool wrong)
{
  sf_graph_ranks_t ranks;
  return sf_graph_leaf_ranks(graph, wrong ? NULL : &ranks);
}

static sf_status_t gather(sf_graph_t *graph, bool wrong)
{
  return sf_gather(graph, wrong ? NULL : SF_DOUBLE, leaves, slots);
}

static sf_status_t gather_slots(sf_graph_t *graph, bool wrong)
{
  return sf_gather(graph, SF_DOUBLE, leaves, wrong ? NULL : slots);
}

static sf_status_t gather_init(sf_graph_t *graph, bool wrong)
{
  sf_request_t *request = NULL;
  return free_made(sf_gather_init(graph, SF_DOUBLE, leaves, slots, wrong ? NULL : &request), &request);
}

static sf_status_t scatter_begin(sf_graph_t *graph, bool wrong)
{
  sf_request_t *request = NULL;
  return end_begun(sf_scatter_begin(graph, SF_DOUBLE, slots, wrong ? NULL : leaves, &request), &request);
}

static sf_status_t fetch(sf_graph_t *graph, bool wrong)
{
  return sf_fetch_op(graph, SF_DOUBLE, roots, leaves, fetched, wrong ? SF_BAND : SF_SUM);
}

static sf_status_t fetch_begin(sf_graph_t *graph, bool wrong)
{
  sf_request_t *request = NULL;
  return end_begun(sf_fetch_op_begin(graph, SF_DOUBLE, wrong ? NULL : roots, leaves, fetched, SF_SUM, &request),
                   &request);
}

static sf_status_t fetch_init(sf_graph_t *graph, bool wrong)
{
  sf_request_t *request = NULL;
  return free_made(sf_fetch_op_init(graph, wrong ? NULL : SF_DOUBLE, roots, leaves, fetched, SF_SUM, &request),
                   &request);
}

static sf_status_t fetch_update(sf_graph_t *graph, bool wrong)
{
  return sf_fetch_op(graph, SF_DOUBLE, roots, leaves, wrong ? NULL : fetched, SF_SUM);
}

static sf_status_t reduce_own(sf_graph_t *graph, bool wrong)
{
  return sf_reduce(graph, SF_DOUBLE, wrong ? NULL : leaves, roots, own_op);
}

typedef struct wrong_call {
  const char *name;
  sf_status_t (*call)(sf_graph_t *graph, bool wrong);
  const char *detail;
  bool local; /* where all ranks are on one node it takes nobody else */
} wrong_call_t;

static const wrong_call_t wrong_calls[] = {
    {"multi", multi, "sf_graph_multi: there is no place", false},
    {"leaf ranks", leaf_ranks, "sf_graph_leaf_ranks: there is no place", true},
    {"gather", gather, "gather: unit is NULL", false},
    {"gather's slots", gather_slots, "gather: slotdata is NULL", false},
    {"gather_init", gather_init, "gather: request_p is NULL", false},
    {"scatter_begin", scatter_begin, "scatter: leafdata is NULL", false},
    {"fetch_op", fetch, "fetch_op: op band is not defined", false},
    {"fetch_op_begin", fetch_begin, "fetch_op: rootdata is NULL", false},
    {"fetch_op_init", fetch_init, "fetch_op: unit is NULL", false},
    {"fetch_op's update", fetch_update, "fetch_op: leafupdate is NULL", false},
    {"reduce", reduce_own, "reduce: leafdata is NULL", false},
};
#define NCALLS ((int)(sizeof wrong_calls / sizeof wrong_calls[0]))

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

typedef struct plan {
  int32_t wrong;  /* the lower of the ranks with wrong arguments, */
  int32_t wrong2; /* and the other one, or the same */
} plan_t;

static bool is_wrong(const sftest_rank_t *self)
{
  const plan_t *plan = self->argument;
  return self->rank == plan->wrong || self->rank == plan->wrong2;
}

static void expect_told(sftest_rank_t *self, sf_status_t status, const char *detail)
{
  const plan_t *plan = self->argument;
  char text[96];
  snprintf(text, sizeof text, "rank %d: %s", plan->wrong, detail);
  SFTEST_EXPECT(self, status, SF_ERR_ARG);
  SFTEST_DETAIL(self, text);
}

/* after: leaf ranks are known, which is half of what the others make together. */
static void call_wrongly(sftest_rank_t *self, sf_group_t *group, const wrong_call_t *wrong, bool after)
{
  sf_graph_t *graph;
  sf_graph_ranks_t ranks;
  sftest_at(self, "%s%s", wrong->name, after ? " after leaf ranks" : "");
  SFTEST_OK(self, sftest_ring_create(group, UNITS, SF_GRAPH_DEFAULT, &graph));
  if (after)
    SFTEST_OK(self, sf_graph_leaf_ranks(graph, &ranks));
  expect_told(self, wrong->call(graph, is_wrong(self)), wrong->detail);
  SFTEST_OK(self, wrong->call(graph, false));
  SFTEST_OK(self, fetch(graph, false));
  sftest_ring_expect_working(self, group, graph, UNITS);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

static bool is_one_node(const sftest_rank_t *self)
{
  for (int32_t i = 1; i < self->size; i++)
    if (self->places[i] != self->places[0])
      return false;
  return true;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static const int32_t placements[][RANKS] = {{0, 0, 0, 0}, {0, 1, 1, 0}, {1, 0, 2, 0}, {0, 1, 2, 2}};
#define NPLACEMENTS ((int)(sizeof placements / sizeof placements[0]))

static const plan_t plans[] = {{0, 0}, {1, 1}, {2, 3}, {3, 3}};
#define NPLANS ((int)(sizeof plans / sizeof plans[0]))

static void run(int number, sftest_rank_fn_t ranks)
{
  plan_t plan = plans[number % NPLANS];
  sftest_cluster_run(&sftest_case_cluster, placements[number / NPLANS], RANKS, ranks, &plan);
}

SFTEST_CASE(sftest_cluster_for_case(tests, NODES));

SFTEST_JOINED_JOB(test_host, NPLACEMENTS *NPLANS, run(_i, ranks))
{
  SFTEST_OK(self, sf_op_create(add, NULL, &own_op));
  for (int i = 0; i < NCALLS; i++) {
    if (wrong_calls[i].local && is_one_node(self))
      continue;
    call_wrongly(self, world, &wrong_calls[i], false);
    if (wrong_calls[i].call != leaf_ranks)
      call_wrongly(self, world, &wrong_calls[i], true);
  }
  SFTEST_OK(self, sf_op_destroy(own_op));
}

/* The first calls on streams: of the graph; of its multi-graph, which is there; and one that makes that. */
SFTEST_JOB(test_streams, sftest_device_is_there() ? NPLACEMENTS *NPLANS : 0, run(_i, ranks))
{
  sftest_device_ring_t ring;
  sf_streamed_t *streamed;
  sftest_device_ring_make(self, &ring);
  bool wrong = is_wrong(self);
  sf_graph_t *graph = ring.graph;
  const sf_type_t *unit = wrong ? NULL : SF_DOUBLE;
  sftest_at(self, "bcast");
  expect_told(self, sf_bcast_on_stream(graph, unit, ring.roots, ring.leaves, SF_REPLACE, ring.stream),
              "operation on a stream: unit is NULL");
  SFTEST_OK(self, sftest_device_ring_bcast(&ring));
  sftest_at(self, "fetch_op that makes the multi-graph");
  expect_told(self,
              sf_fetch_op_begin_on_stream(graph, SF_DOUBLE, ring.roots, ring.leaves, ring.leaves, SF_SUM, ring.stream,
                                          wrong ? NULL : &streamed),
              "fetch_op on a stream: streamed_p is NULL");
  sftest_at(self, "gather that makes it");
  expect_told(self, sf_gather_on_stream(graph, unit, ring.leaves, ring.roots, ring.stream),
              "operation on a stream: unit is NULL");
  sftest_at(self, "fetch_op on it");
  expect_told(self, sf_fetch_op_on_stream(graph, unit, ring.roots, ring.leaves, ring.leaves, SF_SUM, ring.stream),
              "fetch_op on a stream: unit is NULL");
  SFTEST_OK(self, sf_gather_on_stream(graph, SF_DOUBLE, ring.leaves, ring.roots, ring.stream));
  sftest_device_ring_free(&ring);
}

SFTEST_DEVICE_MAIN(false);

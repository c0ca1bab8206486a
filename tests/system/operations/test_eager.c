/* A rank that has begun an operation and then waits for another rank elsewhere, as in MPI_Recv, makes no progress: all
 * that the other one needs to end the operation must be in its hands when begin returns. On one node and on two. */
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define RANKS 2
#define ROUNDS 3
#define MANY 100000 /* values; below the bound of SFC_EAGER_BYTES */
#define AHEAD 24    /* operations: see client/engine/eager.h; and over nodes: */
#define AHEAD_OVER_NODES 8
#define ROUNDS_AHEAD 9

typedef enum call { BCAST, REDUCE } call_t;

typedef struct scene {
  int64_t n;     /* units from each rank to the other */
  int64_t count; /* doubles of a unit */
  int ahead;
  _Atomic int ended;     /* by rank 1, operations */
  _Atomic int far_ahead; /* rank 0 is */
} scene_t;

static double *filled(int64_t n, double value)
{
  double *values = malloc((size_t)n * sizeof *values);
  for (int64_t i = 0; i < n; i++)
    values[i] = value + (double)i;
  return values;
}

static void expect_values(sftest_rank_t *self, const double *values, int64_t n, double value)
{
  for (int64_t i = 0; i < n; i++)
    if (values[i] != value + (double)i)
      sftest_require(self, false, __FILE__, __LINE__, "value %lld is %g, expected %g", (long long)i, values[i],
                     value + (double)i);
}

/* ---- Both send --------------------------------------------------------------------------------------------------- */

/* Rank 0 begins, and ends only when rank 1 has ended: rank 1 must not need it. */
static void cross(sftest_rank_t *self, scene_t *scene, sf_graph_t *graph, const sf_type_t *type, int round)
{
  int64_t n = scene->n * scene->count;
  call_t call = round % 2 == 0 ? BCAST : REDUCE;
  double *from = filled(n, self->rank + 10 * round), *to = filled(n, -1);
  sf_request_t *request;
  sftest_at(self, "%s %d of %lld x %lld doubles", call == BCAST ? "bcast" : "reduce", round, (long long)scene->n,
            (long long)scene->count);
  if (call == BCAST)
    SFTEST_OK(self, sf_bcast_begin(graph, type, from, to, SF_REPLACE, &request));
  else
    SFTEST_OK(self, sf_reduce_begin(graph, type, from, to, SF_REPLACE, &request));
  if (self->rank == 0)
    sftest_await(&scene->ended, round + 1);
  SFTEST_OK(self, sf_wait(&request));
  expect_values(self, to, n, 1 - self->rank + 10 * round);
  if (self->rank == 1)
    atomic_store(&scene->ended, round + 1);
  free(from);
  free(to);
}

/* ---- One sends --------------------------------------------------------------------------------------------------- */

static void bcast(sftest_rank_t *self, sf_graph_t *graph, int64_t n, double *values, double value)
{
  for (int64_t k = 0; self->rank == 0 && k < n; k++)
    values[k] = value + (double)k;
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, values, values, SF_REPLACE));
  expect_values(self, values, n, value);
}

/* Rank 1 has ended so many times, which rank 0 awaits. */
static void together(const sftest_rank_t *self, scene_t *scene, int ended)
{
  if (self->rank == 1)
    atomic_store(&scene->ended, ended);
  sftest_await(&scene->ended, ended);
}

/* ---- Large ones and small ones in turn --------------------------------------------------------------------------- */

#define MIXED 300   /* operations */
#define LARGE 30000 /* doubles */

/* Units of so many doubles: of both kinds of slots of trunks, several of each in a row. */
static int64_t mixed_count(int i)
{
  return ((uint32_t)i * 2654435761u >> 16) % 5 < 2 ? LARGE : 1;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void run_job(int nodes, sftest_rank_fn_t run, int64_t n, int64_t count)
{
  static const int32_t places[] = {0, 1};
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->n = n;
  scene->count = count;
  scene->ahead = nodes == 1 ? AHEAD : AHEAD_OVER_NODES;
  if (nodes == 1)
    sftest_run_alone(RANKS, run, scene);
  else
    sftest_loop_run_alone(nodes, places, RANKS, run, scene);
}

/* Inline, in cells, more than these hold, and units larger than a cell. */
static const int64_t sizes[][2] = {{1, 1}, {100, 1}, {MANY, 1}, {3, 40000}};

SFTEST_JOINED_JOB(test_crossing, 2 * (int)(sizeof sizes / sizeof sizes[0]),
                  run_job(1 + _i % 2, ranks, sizes[_i / 2][0], sizes[_i / 2][1]))
{
  scene_t *scene = self->argument;
  sf_graph_t *graph;
  const sf_type_t *type;
  SFTEST_OK(self, sftest_ring_create(world, scene->n, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_type_create_block(scene->count, SF_DOUBLE, &type));
  for (int round = 0; round < 2 * ROUNDS; round++)
    cross(self, scene, graph, type, round);
  SFTEST_OK(self, sf_type_destroy(type));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Rank 0 runs ahead when all has been ended, after operations of any number that rank 1 ended one by one, some of them
 * the other way: it finds the slots of all of them free. */
SFTEST_JOB(test_ahead, 4, run_job(1 + _i % 2, ranks, _i / 2 == 0 ? 1 : 1000, 1))
{
  scene_t *scene = self->argument;
  bool is_root = self->rank == 0;
  int64_t n = scene->n;
  int32_t ranks[n];
  int64_t roots[n];
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  double *values = filled(n, -1);
  for (int64_t i = 0; i < n; i++) {
    ranks[i] = 0;
    roots[i] = i;
  }
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), is_root ? n : 0, is_root ? 0 : n, NULL, ranks, roots,
                                  SF_GRAPH_DEFAULT, &graph));
  for (int round = 0, ended = 0; round < ROUNDS_AHEAD; round++) {
    sftest_at(self, "round %d of %d bcasts of %lld doubles", round, scene->ahead, (long long)n);
    for (int i = 0; i < round; i++) {
      bcast(self, graph, n, values, i);
      if (i % 3 == 1)
        SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, values, values, SF_REPLACE));
      together(self, scene, ++ended);
    }
    if (!is_root)
      sftest_await(&scene->far_ahead, round + 1);
    for (int i = 0; i < scene->ahead; i++)
      bcast(self, graph, n, values, round * scene->ahead + i);
    if (is_root)
      atomic_store(&scene->far_ahead, round + 1);
    together(self, scene, ++ended);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  free(values);
}

/* The slots of both are granted with the same credits; whatever the order, nobody waits for one that was not told. */
SFTEST_JOB(test_mixed, 1, run_job(2, ranks, 0, 0))
{
  bool is_root = self->rank == 0;
  int32_t rank = 0;
  int64_t root = 0;
  sf_graph_t *graph;
  const sf_type_t *large;
  sf_context_t *context = sftest_join(self);
  double *values = filled(LARGE, -1);
  SFTEST_OK(self, sf_type_create_block(LARGE, SF_DOUBLE, &large));
  SFTEST_OK(self,
            sf_graph_create(sf_group_world(context), is_root, !is_root, NULL, &rank, &root, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < MIXED; i++) {
    int64_t n = mixed_count(i);
    sftest_at(self, "bcast %d of %lld doubles", i, (long long)n);
    for (int64_t k = 0; is_root && k < n; k++)
      values[k] = i + (double)k;
    SFTEST_OK(self, sf_bcast(graph, n == 1 ? SF_DOUBLE : large, values, values, SF_REPLACE));
    expect_values(self, values, n, i);
  }
  SFTEST_OK(self, sf_type_destroy(large));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  free(values);
}

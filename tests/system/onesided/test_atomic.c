/* Operations of many ranks on the same elements: counters, sums, locks; and operations larger than what may be under
 * way at a time. */
#include <pthread.h>

#include "tests/system/cluster.h"

#define RANKS_MAX 8
#define TICKETS 150
#define SUMS 60
#define TURNS 15

/* ---- Counters, sums, locks --------------------------------------------------------------------------------------- */

static sf_array_t *make_line(sftest_rank_t *self, sf_context_t *context, const sf_type_t *unit, int64_t extent)
{
  sf_array_t *array;
  sf_array_distribution_t cyclic = {.block = {1}};
  SFTEST_OK(self, sf_array_create(sf_group_world(context), unit, 1, &extent, &cyclic, &array));
  return array;
}

/* Every ticket is drawn once. */
static void draw_tickets(sftest_rank_t *self, sf_context_t *context, const sf_type_t *unit)
{
  int64_t n = TICKETS * self->size, ticket, one = 1;
  const int64_t at = self->size - 1;
  sf_array_t *counter = make_line(self, context, unit, self->size), *drawn = make_line(self, context, SF_INT64, n);
  for (int i = 0; i < TICKETS; i++) {
    SFTEST_OK(self, sf_array_read_inc(counter, &at, 1, &ticket));
    SFTEST_REQUIRE(self, ticket >= 0 && ticket < n);
    SFTEST_OK(self, sf_array_acc(drawn, &ticket, &one, &one, NULL, NULL));
  }
  SFTEST_OK(self, sf_array_sync(drawn));
  for (int64_t i = self->rank; i < n; i += self->size) {
    int64_t times;
    SFTEST_OK(self, sf_array_get(drawn, &i, &one, &times, NULL));
    SFTEST_REQUIRE(self, times == 1);
  }
  SFTEST_OK(self, sf_array_destroy(counter));
  SFTEST_OK(self, sf_array_destroy(drawn));
}

static void sum_up(sftest_rank_t *self, sf_context_t *context)
{
  enum { N = 37 };
  const int64_t lo = 0, extent = N;
  double ones[N], sums[N];
  sf_array_t *array = make_line(self, context, SF_DOUBLE, N);
  for (int i = 0; i < N; i++)
    ones[i] = 1;
  for (int i = 0; i < SUMS; i++)
    SFTEST_OK(self, sf_array_acc(array, &lo, &extent, ones, NULL, NULL));
  SFTEST_OK(self, sf_array_sync(array));
  SFTEST_OK(self, sf_array_get(array, &lo, &extent, sums, NULL));
  for (int i = 0; i < N; i++)
    SFTEST_REQUIRE(self, sums[i] == SUMS * self->size);
  SFTEST_OK(self, sf_array_destroy(array));
}

/* Some ranks add a patch that is longer than a page, the others a list of its elements, with a factor. */
static void sum_up_long(sftest_rank_t *self, sf_context_t *context)
{
  enum { N = 1500, LONG_SUMS = 20 };
  const int64_t lo = 0, extent = N;
  static int64_t index[N];
  static double values[N], sums[N];
  const double factor = self->rank % 2 == 0 ? 1 : 4;
  sf_array_t *array;
  SFTEST_OK(self, sf_array_create(sf_group_world(context), SF_DOUBLE, 1, &extent, NULL, &array));
  for (int i = 0; i < N; i++) {
    index[i] = (i + self->rank * 100) % N;
    values[i] = 1 / factor;
  }
  for (int i = 0; i < LONG_SUMS; i++)
    if (self->rank % 2 == 0)
      SFTEST_OK(self, sf_array_acc(array, &lo, &extent, values, NULL, NULL));
    else
      SFTEST_OK(self, sf_array_scatter_acc(array, N, index, values, &factor));
  SFTEST_OK(self, sf_array_sync(array));
  SFTEST_OK(self, sf_array_get(array, &lo, &extent, sums, NULL));
  for (int i = 0; i < N; i++)
    SFTEST_REQUIRE(self, sums[i] == LONG_SUMS * self->size);
  SFTEST_OK(self, sf_array_destroy(array));
}

/* A lock in one element guards another one: what a rank has put before it unlocks, the next one gets. */
static void take_turns(sftest_rank_t *self, sf_context_t *context)
{
  const int64_t lock = 0, guarded = self->size > 1 ? 1 : 0, one = 1;
  sf_array_t *locks = make_line(self, context, SF_UINT32, self->size);
  sf_array_t *array = make_line(self, context, SF_INT64, self->size);
  uint32_t free_value = 0, taken = 1, previous;
  int64_t value;
  for (int i = 0; i < TURNS; i++) {
    do
      SFTEST_OK(self, sf_array_compare_swap(locks, &lock, &free_value, &taken, &previous));
    while (previous != free_value);
    SFTEST_OK(self, sf_array_get(array, &guarded, &one, &value, NULL));
    value++;
    SFTEST_OK(self, sf_array_put(array, &guarded, &one, &value, NULL));
    SFTEST_OK(self, sf_array_flush(array, SF_ARRAY_ALL_RANKS));
    SFTEST_OK(self, sf_array_fetch_op(locks, &lock, &free_value, &previous, SF_REPLACE));
    SFTEST_REQUIRE(self, previous == taken);
  }
  SFTEST_OK(self, sf_array_sync(array));
  SFTEST_OK(self, sf_array_get(array, &guarded, &one, &value, NULL));
  SFTEST_REQUIRE(self, value == TURNS * self->size);
  SFTEST_OK(self, sf_array_destroy(locks));
  SFTEST_OK(self, sf_array_destroy(array));
}

static int64_t compute(const sf_op_t *op, int64_t present, int64_t operand)
{
  if (op == SF_SUM)
    return present + operand;
  if (op == SF_MAX)
    return operand > present ? operand : present;
  if (op == SF_MIN)
    return operand < present ? operand : present;
  if (op == SF_BAND)
    return present & operand;
  if (op == SF_BOR)
    return present | operand;
  return op == SF_BXOR ? present ^ operand : operand;
}

/* Every op, of every unit, one rank on an element of another one. Values that fit all units. */
static void try_ops(sftest_rank_t *self, sf_context_t *context)
{
  const sf_op_t *const ops[] = {SF_SUM, SF_REPLACE, SF_MAX, SF_MIN, SF_BAND, SF_BOR, SF_BXOR};
  const sf_type_t *const units[] = {SF_INT32, SF_UINT32, SF_INT64, SF_UINT64};
  const int64_t index = (self->rank + 1) % self->size;
  for (int u = 0; u < 4; u++) {
    sf_array_t *array = make_line(self, context, units[u], self->size);
    int64_t expected = 0;
    uint64_t random = (uint64_t)(self->rank + u);
    for (int i = 0; i < 50; i++) {
      const sf_op_t *op = ops[sftest_below(&random, 7)];
      int64_t operand = sftest_below(&random, 1000) - (u % 2 == 0 ? 500 : 0), previous = 0, mask = -1;
      SFTEST_OK(self, sf_array_fetch_op(array, &index, &operand, &previous, op));
      if (u < 2)
        mask = 0xffffffff;
      SFTEST_REQUIRE(self, (previous & mask) == (expected & mask));
      expected = compute(op, expected, operand);
      if (u % 2 == 1)
        expected &= mask;
    }
    SFTEST_OK(self, sf_array_destroy(array));
  }
}

SFTEST_JOINED(use_atomics)
{
  sftest_at(self, "tickets");
  draw_tickets(self, context, SF_INT32);
  draw_tickets(self, context, SF_UINT64);
  sftest_at(self, "sums");
  sum_up(self, context);
  sum_up_long(self, context);
  sftest_at(self, "turns");
  take_turns(self, context);
  sftest_at(self, "ops");
  try_ops(self, context);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define CALLS 120

typedef struct worker {
  sftest_rank_t *self;
  sf_array_t *array;
  int32_t number;
  pthread_t thread;
} worker_t;

/* Each thread works on elements of its own, and on one that all share. */
static void *work(void *argument)
{
  const worker_t *worker = argument;
  const int64_t shared = 0, one = 1;
  int64_t own = 1 + worker->self->rank * THREADS + worker->number, value, previous;
  for (int64_t i = 1; i <= CALLS; i++) {
    SFTEST_OK(worker->self, sf_array_read_inc(worker->array, &shared, 1, &previous));
    SFTEST_OK(worker->self, sf_array_acc(worker->array, &own, &one, &one, NULL, NULL));
    SFTEST_OK(worker->self, sf_array_get(worker->array, &own, &one, &value, NULL));
    SFTEST_REQUIRE(worker->self, value == i); /* operations of a thread take effect in their order */
    if (i % 16 == 0)
      SFTEST_OK(worker->self, sf_array_flush(worker->array, SF_ARRAY_ALL_RANKS));
  }
  return NULL;
}

SFTEST_JOINED(use_threads)
{
  const int64_t shared = 0, one = 1;
  int64_t value;
  worker_t workers[THREADS];
  sf_array_t *array = make_line(self, context, SF_INT64, 1 + (int64_t)self->size * THREADS);
  for (int32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker_t){.self = self, .array = array, .number = i};
    SFTEST_REQUIRE(self, pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(workers[i].thread, NULL);
  SFTEST_OK(self, sf_array_sync(array));
  SFTEST_OK(self, sf_array_get(array, &shared, &one, &value, NULL));
  SFTEST_REQUIRE(self, value == (int64_t)self->size * THREADS * CALLS);
  SFTEST_OK(self, sf_array_destroy(array));
}

/* ---- Much at a time ---------------------------------------------------------------------------------------------- */

#define ROWS 900
#define COLUMNS 1100
#define PIECES 7
#define LISTED INT64_C(20000) /* more than a request may have */
#define SMALL 700             /* more than the window has slots */

static double element(int64_t i, int64_t j)
{
  return (double)(i * COLUMNS + j);
}

/* Rows of this rank in pieces, all begun before any is ended. */
static void move_pieces(sftest_rank_t *self, sf_array_t *array, double *rows, bool gets)
{
  int64_t first = ROWS * self->rank / self->size, n = ROWS * (self->rank + 1) / self->size - first, ld = COLUMNS;
  sf_request_t *requests[PIECES];
  for (int64_t p = 0; p < PIECES; p++) {
    int64_t lo[] = {first + n * p / PIECES, 0}, extent[] = {first + n * (p + 1) / PIECES - lo[0], COLUMNS};
    double *buffer = rows + (lo[0] - first) * COLUMNS;
    if (gets)
      SFTEST_OK(self, sf_array_get_begin(array, lo, extent, buffer, &ld, &requests[p]));
    else
      SFTEST_OK(self, sf_array_put_begin(array, lo, extent, buffer, &ld, &requests[p]));
  }
  for (bool done = false; !done;)
    SFTEST_OK(self, sf_test(&requests[PIECES / 2], &done));
  SFTEST_OK(self, sf_wait_all(PIECES, requests));
}

/* A list of elements in this rank's rows that needs several requests to each node. Leaves the elements as they were. */
static void move_long_list(sftest_rank_t *self, sf_array_t *array, int64_t first, int64_t nrows)
{
  int64_t *index = malloc(2 * LISTED * sizeof *index);
  double *values = malloc(LISTED * sizeof *values), two = 2;
  for (int64_t i = 0; i < LISTED; i++) {
    index[2 * i] = first + i % nrows;
    index[2 * i + 1] = i / nrows;
    values[i] = (double)(i % 1000);
  }
  SFTEST_OK(self, sf_array_scatter_acc(array, LISTED, index, values, &two));
  SFTEST_OK(self, sf_array_gather(array, LISTED, index, values));
  for (int64_t i = 0; i < LISTED; i++) {
    SFTEST_REQUIRE(self, values[i] == element(index[2 * i], index[2 * i + 1]) + 2 * (double)(i % 1000));
    values[i] = element(index[2 * i], index[2 * i + 1]);
  }
  SFTEST_OK(self, sf_array_scatter(array, LISTED, index, values));
  SFTEST_OK(self, sf_array_gather(array, LISTED, index, values));
  for (int64_t i = 0; i < LISTED; i++)
    SFTEST_REQUIRE(self, values[i] == element(index[2 * i], index[2 * i + 1]));
  free(index);
  free(values);
}

SFTEST_JOINED(move_much)
{
  sf_array_t *array;
  const int64_t extent[] = {ROWS, COLUMNS}, one[] = {1, 1};
  sf_array_distribution_t cyclic = {.block = {3, 50}};
  SFTEST_OK(self, sf_array_create(world, SF_DOUBLE, 2, extent, &cyclic, &array));
  int64_t first = ROWS * self->rank / self->size, n = ROWS * (self->rank + 1) / self->size - first;
  double *rows = malloc((size_t)(n * COLUMNS) * sizeof *rows);
  for (int64_t i = 0; i < n * COLUMNS; i++)
    rows[i] = element(first, 0) + (double)i;
  sftest_at(self, "large puts");
  move_pieces(self, array, rows, false);
  memset(rows, 0, (size_t)(n * COLUMNS) * sizeof *rows);
  sftest_at(self, "large gets");
  move_pieces(self, array, rows, true);
  for (int64_t i = 0; i < n * COLUMNS; i++)
    SFTEST_REQUIRE(self, rows[i] == element(first, 0) + (double)i);
  sftest_at(self, "long list");
  move_long_list(self, array, first, n);
  sftest_at(self, "small accs");
  SFTEST_OK(self, sf_array_sync(array));
  for (int64_t i = 0; i < SMALL; i++) {
    double value = 1;
    int64_t lo[] = {i % ROWS, i};
    SFTEST_OK(self, sf_array_acc(array, lo, one, &value, NULL, NULL));
  }
  SFTEST_OK(self, sf_array_sync(array));
  for (int64_t i = self->rank; i < SMALL; i += self->size) {
    double value;
    int64_t lo[] = {i % ROWS, i};
    SFTEST_OK(self, sf_array_get(array, lo, one, &value, NULL));
    SFTEST_REQUIRE(self, value == element(lo[0], lo[1]) + self->size);
  }
  free(rows);
  SFTEST_OK(self, sf_array_destroy(array));
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static void run_jobs(int32_t nnodes, sftest_rank_fn_t run)
{
  int32_t places[RANKS_MAX];
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, nnodes);
  for (int32_t size = nnodes; size <= RANKS_MAX; size += 3) {
    sftest_places_cyclic(places, size, nnodes);
    sftest_cluster_run(&cluster, places, size, run, NULL);
  }
  sftest_cluster_stop(&cluster);
}

SFTEST_BETWEEN(atomics, 1, 4)
{
  run_jobs(_i, use_atomics);
}

SFTEST_BETWEEN(threads, 1, 3)
{
  run_jobs(_i, use_threads);
}

SFTEST_BETWEEN(much, 1, 4)
{
  run_jobs(_i, move_much);
}

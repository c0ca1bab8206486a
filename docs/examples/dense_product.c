/* C = alpha op(A) op(B) + beta C for dense distributed matrices, op being the matrix or its transpose: the blocked
 * product of figure 4 of S. Ghosh et al., "One-Sided Interface for Matrix Operations using MPI-3 RMA" (ICPP 2016).
 *
 *   sfrun -n 4 -- dense_product [SIZE]
 *
 * The elements of all matrices are dealt out one by one. A task is one tile of C. Ranks draw tasks from a shared
 * counter, get the tiles of A and B that a task needs, the next ones while they multiply, and add the product to C. No
 * rank waits for another one before the end, and a slow rank draws fewer tasks. Values are integers, whose sums are
 * exact. */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/job.h"
#include "common/scattered.h"

enum { TILE = 64, ALPHA = 2, BETA = -3 };

/* rows and columns are those of op(A), while A itself is the array. */
typedef struct operand {
  sf_array_t *array;
  int64_t rows, columns;
  bool transposed;
  uint64_t seed;
} operand_t;

/* Element (i, j) of the array. */
static double value_of(const operand_t *x, int64_t i, int64_t j)
{
  return (double)(scattered_bits((uint64_t)(i * 100003 + j), x->seed) % 9) - 4;
}

static int64_t smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* Each rank stores the elements that it owns. Collective. */
static operand_t operand_new(const job_t *job, int64_t rows, int64_t columns, bool transposed, uint64_t seed)
{
  operand_t x = {.rows = rows, .columns = columns, .transposed = transposed, .seed = seed};
  const int64_t extent[] = {transposed ? columns : rows, transposed ? rows : columns};
  const sf_array_distribution_t elements = {.block = {1, 1}};
  sf_array_part_t part;
  void *data;
  must(sf_array_create(sf_group_world(job->context), SF_DOUBLE, 2, extent, &elements, &x.array), "sf_array_create");
  must(sf_array_local(x.array, &part, &data), "sf_array_local");
  for (int64_t i = 0; i < part.extent[0]; i++)
    for (int64_t j = 0; j < part.extent[1]; j++)
      ((double *)data)[i * part.extent[1] + j] =
          value_of(&x, part.first[0] + i * part.stride[0], part.first[1] + j * part.stride[1]);
  must(sf_array_sync(x.array), "sf_array_sync");
  return x;
}

/* ---- The product ------------------------------------------------------------------------------------------------- */

/* Element (i, j) of op(tile) is at i * row_step + j * column_step. */
typedef struct tile {
  double values[TILE * TILE];
  int64_t row_step, column_step;
  sf_request_t *request;
} tile_t;

/* Begins to get rows i .. i + rows - 1 and columns j .. j + columns - 1 of op(x). */
static void get_begin(const operand_t *x, int64_t i, int64_t j, int64_t rows, int64_t columns, tile_t *tile)
{
  const int64_t lo[] = {x->transposed ? j : i, x->transposed ? i : j};
  const int64_t extent[] = {x->transposed ? columns : rows, x->transposed ? rows : columns};
  tile->row_step = x->transposed ? 1 : columns;
  tile->column_step = x->transposed ? rows : 1;
  must(sf_array_get_begin(x->array, lo, extent, tile->values, NULL, &tile->request), "sf_array_get_begin");
}

/* c += a b */
static void multiply(const tile_t *a, const tile_t *b, int64_t rows, int64_t inner, int64_t columns, double *c)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t l = 0; l < inner; l++)
      for (int64_t j = 0; j < columns; j++)
        c[i * columns + j] +=
            a->values[i * a->row_step + l * a->column_step] * b->values[l * b->row_step + j * b->column_step];
}

/* The tile of C that begins at (i, j). */
static void do_task(const operand_t *A, const operand_t *B, const operand_t *C, int64_t i, int64_t j)
{
  static tile_t a[2], b[2]; /* one pair is multiplied, the other one on its way */
  static double c[TILE * TILE];
  const double alpha = ALPHA;
  const int64_t lo[] = {i, j}, extent[] = {smaller(TILE, C->rows - i), smaller(TILE, C->columns - j)};
  memset(c, 0, sizeof c);
  for (int64_t l = -TILE; l < A->columns; l += TILE) {
    int now = (int)(l / TILE & 1);
    int64_t next = l + TILE, inner = smaller(TILE, A->columns - next);
    if (inner > 0) {
      get_begin(A, i, next, extent[0], inner, &a[1 - now]);
      get_begin(B, next, j, inner, extent[1], &b[1 - now]);
    }
    if (l < 0)
      continue;
    must(sf_wait(&a[now].request), "sf_wait");
    must(sf_wait(&b[now].request), "sf_wait");
    multiply(&a[now], &b[now], extent[0], smaller(TILE, A->columns - l), extent[1], c);
  }
  must(sf_array_acc(C->array, lo, extent, c, NULL, &alpha), "sf_array_acc");
}

/* Returns the number of this rank's tasks. Collective. */
static int64_t product(const operand_t *A, const operand_t *B, const operand_t *C, sf_array_t *counter, int64_t number)
{
  const double beta = BETA;
  int64_t down = (C->rows + TILE - 1) / TILE, across = (C->columns + TILE - 1) / TILE, task, ndone = 0;
  must(sf_array_scale(C->array, &beta), "sf_array_scale"); /* includes a sync */
  for (;; ndone++) {
    must(sf_array_read_inc(counter, &number, 1, &task), "sf_array_read_inc");
    if (task >= down * across)
      break;
    do_task(A, B, C, task / across * TILE, task % across * TILE);
  }
  must(sf_array_sync(C->array), "sf_array_sync");
  return ndone;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* op(x), whole. */
static double *whole_new(const operand_t *x)
{
  double *whole = array_new(x->rows * x->columns, sizeof *whole);
  for (int64_t i = 0; i < x->rows; i++)
    for (int64_t j = 0; j < x->columns; j++)
      whole[i * x->columns + j] = x->transposed ? value_of(x, j, i) : value_of(x, i, j);
  return whole;
}

/* Rows of C, each computed in series by some rank, are those of the array. */
static bool compare(const job_t *job, const operand_t *A, const operand_t *B, const operand_t *C)
{
  bool same = true;
  double *a = whole_new(A), *b = whole_new(B);
  double *expected = array_new(C->columns, sizeof *expected), *found = array_new(C->columns, sizeof *found);
  for (int64_t i = job->rank; i < C->rows; i += job->size) {
    const int64_t lo[] = {i, 0}, extent[] = {1, C->columns};
    for (int64_t j = 0; j < C->columns; j++)
      expected[j] = BETA * value_of(C, i, j);
    for (int64_t l = 0; l < A->columns; l++)
      for (int64_t j = 0; j < C->columns; j++)
        expected[j] += ALPHA * a[i * A->columns + l] * b[l * C->columns + j];
    must(sf_array_get(C->array, lo, extent, found, NULL), "sf_array_get");
    for (int64_t j = 0; j < C->columns; j++)
      same = same && found[j] == expected[j];
  }
  free(a);
  free(b);
  free(expected);
  free(found);
  return same;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int64_t size = number_argument(argc, argv, "SIZE", 1, 4096, 300), inner = size - size / 3, columns = size + 21;
  job_t job = job_join();
  const int64_t ncounters = 4;
  sf_array_t *counters;
  must(sf_array_create(sf_group_world(job.context), SF_INT64, 1, &ncounters, NULL, &counters), "sf_array_create");
  for (int form = 0; form < ncounters; form++) {
    operand_t A = operand_new(&job, size, inner, form & 2, 1), B = operand_new(&job, inner, columns, form & 1, 2);
    operand_t C = operand_new(&job, size, columns, false, 3);
    double start = MPI_Wtime();
    double most = max_over_ranks((double)product(&A, &B, &C, counters, form));
    double seconds = max_over_ranks(MPI_Wtime() - start);
    check(&job, true_on_all_ranks(compare(&job, &A, &B, &C)),
          "%c%c is the serial product: %g ms, at most %g tasks by one rank", form & 2 ? 'T' : 'N', form & 1 ? 'T' : 'N',
          1e3 * seconds, most);
    must(sf_array_destroy(A.array), "sf_array_destroy");
    must(sf_array_destroy(B.array), "sf_array_destroy");
    must(sf_array_destroy(C.array), "sf_array_destroy");
  }
  must(sf_array_destroy(counters), "sf_array_destroy");
  return job_end(&job);
}

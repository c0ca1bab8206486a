/* Elemental's interface for one-sided access to distributed matrices, on top of arrays: the functions of figure 3 of
 * S. Ghosh et al., "One-Sided Interface for Matrix Operations using MPI-3 RMA" (ICPP 2016), in C, and a program that
 * assembles a matrix with them.
 *
 *   sfrun -n 4 -- axpy [SIZE]
 *
 * Ranks draw tasks from a shared counter. Each task adds a tile to the matrix, wherever that lies, and then gets
 * another tile to see that what has been flushed is there. No rank waits for another one before the end. */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>

#include "common/job.h"

enum { TILE = 24, TASKS_PER_RANK = 40 };

/* ---- The interface ----------------------------------------------------------------------------------------------- */

/* Elemental's Matrix<double>: column-major, element (i, j) at buffer[i + j * ldim]. */
typedef struct matrix {
  int64_t height, width, ldim;
  double *buffer;
} matrix_t;

/* Elemental's RMAInterface, attached to a DistMatrix<double, MC, MR>: elements are dealt one by one, rows to the rows
 * of the process grid, columns to its columns. As arrays are row-major, the array has the columns in dimension 0. */
typedef struct rma {
  sf_array_t *array;
} rma_t;

/* Attach and Detach: collective, once for each matrix. */
static rma_t attach(sf_context_t *context, int64_t height, int64_t width)
{
  rma_t rma;
  const int64_t extent[] = {width, height};
  const sf_array_distribution_t elements = {.block = {1, 1}};
  must(sf_array_create(sf_group_world(context), SF_DOUBLE, 2, extent, &elements, &rma.array), "sf_array_create");
  return rma;
}

static void detach(rma_t *rma)
{
  must(sf_array_destroy(rma->array), "sf_array_destroy");
}

/* Put, Acc and Get of the matrix at (i, j): Z may be used again when they return. */
static void put(rma_t *rma, const matrix_t *Z, int64_t i, int64_t j)
{
  const int64_t lo[] = {j, i}, extent[] = {Z->width, Z->height};
  must(sf_array_put(rma->array, lo, extent, Z->buffer, &Z->ldim), "sf_array_put");
}

static void acc(rma_t *rma, double alpha, const matrix_t *Z, int64_t i, int64_t j)
{
  const int64_t lo[] = {j, i}, extent[] = {Z->width, Z->height};
  must(sf_array_acc(rma->array, lo, extent, Z->buffer, &Z->ldim, &alpha), "sf_array_acc");
}

static void get(rma_t *rma, matrix_t *Z, int64_t i, int64_t j)
{
  const int64_t lo[] = {j, i}, extent[] = {Z->width, Z->height};
  must(sf_array_get(rma->array, lo, extent, Z->buffer, &Z->ldim), "sf_array_get");
}

/* IPut, IAcc and IGet return at once; sf_wait or LocalFlush ends them. One of the three stands for all. */
static void iacc(rma_t *rma, double alpha, const matrix_t *Z, int64_t i, int64_t j, sf_request_t **request_p)
{
  const int64_t lo[] = {j, i}, extent[] = {Z->width, Z->height};
  must(sf_array_acc_begin(rma->array, lo, extent, Z->buffer, &Z->ldim, &alpha, request_p), "sf_array_acc_begin");
}

/* Flush: what this rank has put and added is in the matrix. */
static void flush(rma_t *rma)
{
  must(sf_array_flush(rma->array, SF_ARRAY_ALL_RANKS), "sf_array_flush");
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/* Where the tile of a task lies: tiles of different tasks overlap. */
static void find_tile(int64_t task, int64_t size, int64_t *i_p, int64_t *j_p)
{
  *i_p = task * 7919 % (size - TILE + 1);
  *j_p = task * 104729 % (size - TILE + 1);
}

/* Adds task + 1 to the tile, in two halves. Integers are added without rounding, in whatever order. */
static void assemble(rma_t *rma, int64_t task, int64_t size, double buffer[])
{
  int64_t i, j;
  sf_request_t *request;
  find_tile(task, size, &i, &j);
  for (int k = 0; k < TILE * TILE; k++)
    buffer[k] = (double)(task + 1) / 2;
  matrix_t left = {TILE, TILE / 2, TILE, buffer};
  matrix_t right = {TILE, TILE - TILE / 2, TILE, buffer + TILE / 2 * TILE};
  iacc(rma, 2, &left, i, j, &request);
  acc(rma, 2, &right, i, j + TILE / 2);
  must(sf_wait(&request), "sf_wait");
}

/* What is there now is at least what this task has added. */
static bool look(rma_t *rma, int64_t task, int64_t size, double buffer[])
{
  int64_t i, j;
  bool there = true;
  matrix_t tile = {TILE, TILE, TILE, buffer};
  flush(rma);
  find_tile(task, size, &i, &j);
  get(rma, &tile, i, j);
  for (int k = 0; k < TILE * TILE; k++)
    there = there && buffer[k] >= (double)(task + 1);
  return there;
}

/* The columns of this rank of the whole matrix, added up in series. */
static bool compare(rma_t *rma, const job_t *job, int64_t ntasks, int64_t size)
{
  bool same = true;
  double *expected = malloc((size_t)size * sizeof *expected), *found = malloc((size_t)size * sizeof *found);
  for (int64_t column = job->rank; column < size; column += job->size) {
    matrix_t whole = {size, 1, size, found};
    for (int64_t row = 0; row < size; row++)
      expected[row] = row == column ? 1 : 0;
    for (int64_t task = 0, i, j; task < ntasks; task++) {
      find_tile(task, size, &i, &j);
      for (int64_t row = i; row < i + TILE && column >= j && column < j + TILE; row++)
        expected[row] += (double)(task + 1);
    }
    get(rma, &whole, 0, column);
    for (int64_t row = 0; row < size; row++)
      same = same && found[row] == expected[row];
  }
  free(expected);
  free(found);
  return same;
}

int main(int argc, char *argv[])
{
  static double buffer[TILE * TILE];
  MPI_Init(&argc, &argv);
  int64_t size = number_argument(argc, argv, "the number of rows and columns", TILE, 100000, 500), task;
  job_t job = job_join();
  int64_t ntasks = (int64_t)TASKS_PER_RANK * job.size;
  const int64_t one = 1, first = 0;
  sf_array_t *counter;
  rma_t rma = attach(job.context, size, size);
  must(sf_array_create(sf_group_world(job.context), SF_INT64, 1, &one, NULL, &counter), "sf_array_create");

  /* The unit matrix, each element by some rank. */
  for (int64_t k = job.rank; k < size; k += job.size)
    put(&rma, &(matrix_t){1, 1, 1, &(double){1}}, k, k);
  must(sf_array_sync(rma.array), "sf_array_sync");

  bool there = true;
  double ndone = 0;
  for (;;) {
    must(sf_array_read_inc(counter, &first, 1, &task), "sf_array_read_inc");
    if (task >= ntasks)
      break;
    assemble(&rma, task, size, buffer);
    there = look(&rma, task, size, buffer) && there;
    ndone++;
  }
  check(&job, sum_over_ranks(ndone) == (double)ntasks, "%lld tasks, each drawn once; at most %g by one rank",
        (long long)ntasks, max_over_ranks(ndone));
  check(&job, true_on_all_ranks(there), "each task found its own tile added after a flush");
  must(sf_array_sync(rma.array), "sf_array_sync");
  check(&job, true_on_all_ranks(compare(&rma, &job, ntasks, size)), "the matrix is the sum of all tiles");
  must(sf_array_destroy(counter), "sf_array_destroy");
  detach(&rma);
  return job_end(&job);
}

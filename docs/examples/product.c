/* y = M x and y = M^T x for a sparse matrix that is dealt out by rows [PetscSF 4.1].
 *
 *   sfrun -n 4 -- product [ROWS]
 *
 * Each rank owns a block of consecutive rows, and the same part of the vectors. Columns of other ranks in which it has
 * entries are its ghosts: leaves of a graph whose roots are the entries of x. The product needs x at the ghosts, a
 * bcast; the transpose product has contributions to y at the ghosts, a reduce. The graph is made from global column
 * numbers. */
#include <math.h>
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/scattered.h"

#define PER_ROW 8
#define SEED 1
#define ROUNDING 1e-13 /* what two orders of adding may differ by, relative to the largest sum */

typedef struct matrix {
  int32_t n;            /* rows of the whole matrix */
  int32_t first, nrows; /* mine are first .. first + nrows - 1 */
  csr_t diagonal;       /* columns are positions in my part of x */
  csr_t off_diagonal;   /* columns are positions in ghosts */
  int32_t nghosts;
  double *ghosts;
  sf_graph_t *graph; /* roots: my part of x; leaves: my ghosts */
} matrix_t;

static matrix_t matrix_new(const job_t *job, int32_t n)
{
  matrix_t m = {.n = n, .first = block_first(n, job->size, job->rank)};
  m.nrows = block_first(n, job->size, job->rank + 1) - m.first;
  csr_t rows = csr_scattered(n, n, PER_ROW, m.first, m.first + m.nrows, SEED);
  int32_t *column;
  m.nghosts = csr_split(&rows, m.first, m.first + m.nrows, &m.diagonal, &m.off_diagonal, &column);
  m.ghosts = vector_new(job, m.nghosts);
  int64_t *root = array_new(m.nghosts, sizeof *root);
  for (int32_t k = 0; k < m.nghosts; k++)
    root[k] = column[k];
  /* Leaf k is ghosts[k], a copy of entry root[k] of the whole x; rank 0's roots are its first entries, and so on. */
  must(sf_graph_create_global(sf_group_world(job->context), m.nrows, m.nghosts, NULL, root, SF_GRAPH_DEFAULT, &m.graph),
       "sf_graph_create_global");
  free(root);
  free(column);
  csr_free(&rows);
  return m;
}

static void matrix_free(const job_t *job, matrix_t *m)
{
  must(sf_graph_destroy(m->graph), "sf_graph_destroy");
  vector_free(job, m->ghosts);
  csr_free(&m->diagonal);
  csr_free(&m->off_diagonal);
}

/* y = M x: the ghosts travel while the diagonal block is multiplied. */
static void multiply(matrix_t *m, const double *x, double *y)
{
  sf_request_t *request;
  must(sf_bcast_begin(m->graph, SF_DOUBLE, x, m->ghosts, SF_REPLACE, &request), "sf_bcast_begin");
  csr_multiply(&m->diagonal, x, y);
  must(sf_wait(&request), "sf_wait");
  csr_multiply_add(&m->off_diagonal, m->ghosts, y);
}

/* y = M^T x: contributions to other ranks' entries are added there. */
static void multiply_transpose(matrix_t *m, const double *x, double *y)
{
  memset(y, 0, sizeof *y * (size_t)m->nrows);
  memset(m->ghosts, 0, sizeof *m->ghosts * (size_t)m->nghosts);
  csr_multiply_transpose_add(&m->off_diagonal, x, m->ghosts);
  csr_multiply_transpose_add(&m->diagonal, x, y);
  must(sf_reduce(m->graph, SF_DOUBLE, m->ghosts, y, SF_SUM), "sf_reduce");
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* The largest difference of my part of y from the serial result, relative to its largest value, over all ranks. */
static double difference(const matrix_t *m, const double *y, const double *serial)
{
  double worst = 0, largest = 1e-300;
  for (int32_t i = 0; i < m->n; i++)
    largest = fmax(largest, fabs(serial[i]));
  for (int32_t i = 0; i < m->nrows; i++)
    worst = fmax(worst, fabs(y[i] - serial[m->first + i]));
  return max_over_ranks(worst / largest);
}

static void compare(job_t *job, matrix_t *m)
{
  csr_t whole = csr_scattered(m->n, m->n, PER_ROW, 0, m->n, SEED);
  double *x = array_new(m->n, sizeof *x), *serial = array_new(m->n, sizeof *serial);
  double *part = vector_new(job, m->nrows), *y = vector_new(job, m->nrows);
  for (int32_t i = 0; i < m->n; i++)
    x[i] = scattered((uint64_t)i, 7);
  memcpy(part, x + m->first, sizeof *part * (size_t)m->nrows);

  multiply(m, part, y);
  csr_multiply(&whole, x, serial);
  double worst = difference(m, y, serial);
  check(job, worst <= ROUNDING, "M x is the serial product: largest difference %.1e", worst);

  multiply_transpose(m, part, y);
  memset(serial, 0, sizeof *serial * (size_t)m->n);
  csr_multiply_transpose_add(&whole, x, serial);
  worst = difference(m, y, serial);
  check(job, worst <= ROUNDING, "M'x is the serial product: largest difference %.1e", worst);

  vector_free(job, part);
  vector_free(job, y);
  free(x);
  free(serial);
  csr_free(&whole);
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int32_t n = number_argument(argc, argv, "ROWS", 1, 10000000, 20000);
  job_t job = job_join();
  matrix_t m = matrix_new(&job, n);
  double entries = sum_over_ranks((double)(csr_nentries(&m.diagonal) + csr_nentries(&m.off_diagonal)));
  double ghosts = sum_over_ranks(m.nghosts);
  say(&job, "M has %d rows and %.0f entries, on %d rank(s); %.0f values travel in each product.\n", n, entries,
      job.size, ghosts);
  compare(&job, &m);
  matrix_free(&job, &m);
  return job_end(&job);
}

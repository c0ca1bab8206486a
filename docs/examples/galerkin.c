/* C = P^T A P, the product of sparse matrices that makes the coarse matrix of a multigrid method [PetscSF 6.4].
 *
 *   sfrun -n 4 -- galerkin [ROWS]
 *
 * All matrices are dealt out by rows. Three steps:
 *
 *   1. fetch the rows of P that the columns of my rows of A mean     bcast on a graph of rows, by sections
 *   2. multiply: my rows of A P, and what my rows of P contribute
 *      to rows of C = P^T (A P)                                      no exchange
 *   3. assemble: contributions to a row of C come from several
 *      ranks, each with entries in columns of its own                gather of rows, by sections on the multi-graph
 */
#include <math.h>
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/rows.h"
#include "common/scattered.h"

#define A_PER_ROW 6
#define P_PER_ROW 3
#define A_SEED 11
#define P_SEED 22
#define ROUNDING 1e-13

typedef struct sizes {
  int32_t n, ncoarse; /* A is n x n, P is n x ncoarse */
} sizes_t;

/* ---- Local products ---------------------------------------------------------------------------------------------- */

/* My rows of A P. */
static csr_t multiply(const job_t *job, csr_t *a, const csr_t *p, int32_t ncoarse)
{
  int64_t *needed;
  int32_t nneeded = rows_reduce_columns(a, &needed);
  csr_t fetched = rows_fetch(job, p, nneeded, needed);
  csr_t product = rows_multiply(a, &fetched, ncoarse);
  csr_free(&fetched);
  free(needed);
  return product;
}

/* What my rows contribute to C: row j of it belongs to row (*row_p)[j] of C. */
static csr_t contribute(csr_t *p, const csr_t *ap, int32_t ncoarse, int64_t **row_p)
{
  int32_t nrows = rows_reduce_columns(p, row_p);
  csr_t transpose = rows_transpose(p, nrows);
  csr_t contributions = rows_multiply(&transpose, ap, ncoarse);
  csr_free(&transpose);
  return contributions;
}

/* ---- Assembly ---------------------------------------------------------------------------------------------------- */

/* Contributed rows as they have arrived: those to my row i of C are number first[i] .. first[i + 1] - 1. */
typedef struct arrivals {
  int64_t *first;
  csr_t rows;
} arrivals_t;

/* Gathers the rows at their owners. The leaves of the graph of rows are contributed rows, its roots rows of C; each
 * arrives in a place of its own, a root of the multi-graph. How long they are is gathered first. */
static arrivals_t gather(const job_t *job, int32_t nowned, const csr_t *rows, const int64_t number[])
{
  arrivals_t got = {.first = array_new((int64_t)nowned + 1, sizeof *got.first)};
  int64_t *size = array_new(rows->nrows, sizeof *size);
  sf_graph_t *graph, *multi, *units;
  for (int32_t i = 0; i < rows->nrows; i++)
    size[i] = rows->row_start[i + 1] - rows->row_start[i];
  must(
      sf_graph_create_global(sf_group_world(job->context), nowned, rows->nrows, NULL, number, SF_GRAPH_DEFAULT, &graph),
      "sf_graph_create_global");
  got.first[0] = 0;
  must(sf_graph_degrees(graph, got.first + 1), "sf_graph_degrees");
  for (int32_t i = 0; i < nowned; i++)
    got.first[i + 1] += got.first[i];
  int64_t narrived = got.first[nowned], *got_size = array_new(narrived, sizeof *got_size);
  must(sf_gather(graph, SF_INT64, size, got_size), "sf_gather");
  must(sf_graph_multi(graph, &multi), "sf_graph_multi");
  sf_section_t there = {narrived, got_size, NULL}, here = {rows->nrows, size, NULL};
  must(sf_section_graph(multi, &there, &here, &units), "sf_section_graph");
  int64_t total;
  must(sf_section_extent(&there, &total), "sf_section_extent");
  got.rows = csr_new((int32_t)narrived, total);
  for (int64_t i = 0; i < narrived; i++)
    got.rows.row_start[i + 1] = got.rows.row_start[i] + got_size[i];
  /* Each root of this graph has one leaf, so that a reduce is a gather. */
  must(sf_reduce(units, SF_INT32, rows->column, got.rows.column, SF_REPLACE), "sf_reduce");
  must(sf_reduce(units, SF_DOUBLE, rows->value, got.rows.value, SF_REPLACE), "sf_reduce");
  must(sf_graph_destroy(units), "sf_graph_destroy");
  must(sf_graph_destroy(graph), "sf_graph_destroy"); /* and with it the multi-graph */
  free(size);
  free(got_size);
  return got;
}

/* Adds up what has arrived for each row: a product with a matrix that has a 1 for each arrival. */
static csr_t add_up(const arrivals_t *got, int32_t nowned, int32_t ncoarse)
{
  csr_t ones = csr_new(nowned, got->rows.nrows);
  memcpy(ones.row_start, got->first, ((size_t)nowned + 1) * sizeof *ones.row_start);
  for (int32_t i = 0; i < got->rows.nrows; i++) {
    ones.column[i] = i;
    ones.value[i] = 1;
  }
  csr_t sum = rows_multiply(&ones, &got->rows, ncoarse);
  csr_free(&ones);
  return sum;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

static csr_t multiply_serially(sizes_t sizes)
{
  csr_t a = csr_scattered(sizes.n, sizes.n, A_PER_ROW, 0, sizes.n, A_SEED);
  csr_t p = csr_scattered(sizes.n, sizes.ncoarse, P_PER_ROW, 0, sizes.n, P_SEED);
  csr_t ap = rows_multiply(&a, &p, sizes.ncoarse), transpose = rows_transpose(&p, sizes.ncoarse);
  csr_t c = rows_multiply(&transpose, &ap, sizes.ncoarse);
  csr_free(&a);
  csr_free(&p);
  csr_free(&ap);
  csr_free(&transpose);
  return c;
}

/* The largest difference of my rows from those of the serial matrix; infinite if entries are elsewhere. */
static double difference(const csr_t *mine, const csr_t *serial, int32_t first)
{
  double worst = 0;
  int64_t shift = serial->row_start[first];
  for (int32_t row = 0; row < mine->nrows; row++) {
    if (mine->row_start[row + 1] + shift != serial->row_start[first + row + 1])
      return INFINITY;
    for (int64_t k = mine->row_start[row]; k < mine->row_start[row + 1]; k++) {
      if (mine->column[k] != serial->column[k + shift])
        return INFINITY;
      worst = fmax(worst, fabs(mine->value[k] - serial->value[k + shift]));
    }
  }
  return worst;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  sizes_t sizes = {.n = number_argument(argc, argv, "ROWS", 1, 1000000, 10000)};
  job_t job = job_join();
  sizes.ncoarse = (sizes.n + 3) / 4;
  int32_t first = block_first(sizes.n, job.size, job.rank), end = block_first(sizes.n, job.size, job.rank + 1);
  int32_t coarse = block_first(sizes.ncoarse, job.size, job.rank);
  int32_t nowned = block_first(sizes.ncoarse, job.size, job.rank + 1) - coarse;
  csr_t a = csr_scattered(sizes.n, sizes.n, A_PER_ROW, first, end, A_SEED);
  csr_t p = csr_scattered(sizes.n, sizes.ncoarse, P_PER_ROW, first, end, P_SEED);
  int64_t *row;

  csr_t ap = multiply(&job, &a, &p, sizes.ncoarse);
  csr_t contributions = contribute(&p, &ap, sizes.ncoarse, &row);
  arrivals_t got = gather(&job, nowned, &contributions, row);
  csr_t c = add_up(&got, nowned, sizes.ncoarse);

  csr_t serial = multiply_serially(sizes);
  double entries = sum_over_ranks((double)csr_nentries(&c)), rows = sum_over_ranks(got.rows.nrows);
  double worst = max_over_ranks(difference(&c, &serial, coarse));
  say(&job, "A: %d x %d, P: %d x %d, C = P'AP: %.0f entries, from %.0f contributed rows. %d rank(s).\n", sizes.n,
      sizes.n, sizes.n, sizes.ncoarse, entries, rows, job.size);
  check(&job, entries == (double)csr_nentries(&serial) && worst <= ROUNDING * 100,
        "C is the serial product: %lld entries, largest difference %.1e", (long long)csr_nentries(&serial), worst);
  csr_free(&serial);
  csr_free(&c);
  csr_free(&got.rows);
  csr_free(&contributions);
  csr_free(&ap);
  csr_free(&a);
  csr_free(&p);
  free(got.first);
  free(row);
  return job_end(&job);
}

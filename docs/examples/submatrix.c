/* Extraction of a submatrix P of a sparse matrix M, both dealt out by rows [PetscSF 4.1, SF 3].
 *
 *   sfrun -n 4 -- submatrix [ROWS]
 *
 * Each rank names the rows of M that it wants to own in P, and the columns of M that become its columns of P; the
 * columns of P are numbered rank after rank. Whoever has an entry of M must know whether its column is in P, and where.
 * Two graphs tell, whose roots are the columns of M:
 *
 *   graph_b  leaves: my columns of P          reduce: each column of M gets its number in P, -1 if it has none
 *   graph_a  leaves: columns in which my rows of M have entries
 *                                             bcast: these numbers come to where they are needed
 *
 * Then the rows travel: rows_fetch makes a graph of rows, and from that by sections one of their entries. */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/rows.h"
#include "common/scattered.h"

#define PER_ROW 8
#define SEED 5

/* What a rank wants of M. Rows and columns go by their numbers in M, in any order. */
typedef struct wanted {
  int32_t nrows, ncolumns;
  int64_t *row, *column;
  int64_t first_column; /* number in P of my first one */
} wanted_t;

static sf_graph_t *graph_of_numbers(const job_t *job, int32_t nroots, int32_t nleaves, const int64_t root[])
{
  sf_graph_t *graph;
  must(sf_graph_create_global(sf_group_world(job->context), nroots, nleaves, NULL, root, SF_GRAPH_DEFAULT, &graph),
       "sf_graph_create_global");
  return graph;
}

/* ---- Which columns stay ------------------------------------------------------------------------------------------ */

/* For each column of M that I own its number in P, or -1. */
static int64_t *number_columns(const job_t *job, int32_t nowned, const wanted_t *wanted)
{
  int64_t *in_p = array_new(nowned, sizeof *in_p), *leaves = array_new(wanted->ncolumns, sizeof *leaves);
  sf_graph_t *graph_b = graph_of_numbers(job, nowned, wanted->ncolumns, wanted->column);
  for (int32_t i = 0; i < nowned; i++)
    in_p[i] = -1;
  for (int32_t i = 0; i < wanted->ncolumns; i++)
    leaves[i] = wanted->first_column + i;
  must(sf_reduce(graph_b, SF_INT64, leaves, in_p, SF_MAX), "sf_reduce");
  must(sf_graph_destroy(graph_b), "sf_graph_destroy");
  free(leaves);
  return in_p;
}

/* Replaces the columns of my rows by those of P; leaves out entries whose columns are not in P. */
static void reduce_columns(const job_t *job, int32_t nowned, const int64_t in_p[], csr_t *rows)
{
  int64_t *column, n = 0, begin = 0;
  int32_t ncolumns = rows_reduce_columns(rows, &column);
  int64_t *kept = array_new(ncolumns, sizeof *kept);
  sf_graph_t *graph_a = graph_of_numbers(job, nowned, ncolumns, column);
  must(sf_bcast(graph_a, SF_INT64, in_p, kept, SF_REPLACE), "sf_bcast");
  must(sf_graph_destroy(graph_a), "sf_graph_destroy");
  for (int32_t row = 0; row < rows->nrows; row++) {
    int64_t end = rows->row_start[row + 1];
    for (int64_t k = begin; k < end; k++)
      if (kept[rows->column[k]] >= 0) {
        rows->column[n] = (int32_t)kept[rows->column[k]];
        rows->value[n++] = rows->value[k];
      }
    rows->row_start[row + 1] = n;
    begin = end;
  }
  free(column);
  free(kept);
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* Whether the row is the given one of M with the columns of P: entries in any order, each column once. */
static bool row_is_right(int32_t n, int64_t row, const int64_t in_p[], const csr_t *got, int32_t i)
{
  csr_t original = csr_scattered(n, n, PER_ROW, (int32_t)row, (int32_t)row + 1, SEED);
  int64_t expected = 0, found = 0;
  for (int64_t k = 0; k < csr_nentries(&original); k++) {
    expected += in_p[original.column[k]] >= 0;
    for (int64_t j = got->row_start[i]; j < got->row_start[i + 1]; j++)
      found += got->column[j] == in_p[original.column[k]] && got->value[j] == original.value[k];
  }
  csr_free(&original);
  return found == expected && got->row_start[i + 1] - got->row_start[i] == expected;
}

/* The column numbers that all ranks want, found without any exchange. */
static wanted_t choose(int32_t n, int32_t size, int32_t rank);

static void compare(job_t *job, int32_t n, const wanted_t *wanted, const csr_t *got)
{
  int64_t *in_p = array_new(n, sizeof *in_p);
  int32_t nwrong = 0;
  for (int32_t i = 0; i < n; i++)
    in_p[i] = -1;
  for (int32_t rank = 0, next = 0; rank < job->size; rank++) {
    wanted_t other = choose(n, job->size, rank);
    for (int32_t i = 0; i < other.ncolumns; i++)
      in_p[other.column[i]] = next++;
    free(other.row);
    free(other.column);
  }
  for (int32_t i = 0; i < wanted->nrows; i++)
    nwrong += !row_is_right(n, wanted->row[i], in_p, got, i);
  double wrong = sum_over_ranks(nwrong), all = sum_over_ranks(wanted->nrows);
  check(job, wrong == 0, "%.0f of %.0f rows of P are those of the serial submatrix", all - wrong, all);
  free(in_p);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Rank r wants every third row, from its end of the matrix, and of the columns those whose number is scattered to it;
 * one in two columns belongs to nobody. */
static wanted_t choose(int32_t n, int32_t size, int32_t rank)
{
  wanted_t wanted = {.row = array_new(n, sizeof *wanted.row), .column = array_new(n, sizeof *wanted.column)};
  for (int32_t row = block_first(n, size, size - 1 - rank); row < block_first(n, size, size - rank); row += 3)
    wanted.row[wanted.nrows++] = row;
  for (int32_t column = n - 1; column >= 0; column--)
    if (scattered_bits((uint64_t)column, 9) % (uint64_t)(2 * size) == (uint64_t)rank)
      wanted.column[wanted.ncolumns++] = column;
  return wanted;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int32_t n = number_argument(argc, argv, "ROWS", 1, 1000000, 20000);
  job_t job = job_join();
  int32_t first = block_first(n, job.size, job.rank), end = block_first(n, job.size, job.rank + 1);
  csr_t rows = csr_scattered(n, n, PER_ROW, first, end, SEED);
  wanted_t wanted = choose(n, job.size, job.rank);
  int64_t ncolumns = wanted.ncolumns;
  MPI_Exscan(&ncolumns, &wanted.first_column, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0)
    wanted.first_column = 0;
  double before = sum_over_ranks((double)csr_nentries(&rows));
  int64_t *in_p = number_columns(&job, end - first, &wanted);
  reduce_columns(&job, end - first, in_p, &rows);
  csr_t got = rows_fetch(&job, &rows, wanted.nrows, wanted.row);
  double nrows = sum_over_ranks(wanted.nrows), columns = sum_over_ranks(wanted.ncolumns);
  double after = sum_over_ranks((double)csr_nentries(&got));
  say(&job, "M: %d x %d, %.0f entries. P: %.0f x %.0f, %.0f entries. %d rank(s).\n", n, n, before, nrows, columns,
      after, job.size);
  compare(&job, n, &wanted, &got);
  csr_free(&got);
  free(in_p);
  free(wanted.row);
  free(wanted.column);
  csr_free(&rows);
  return job_end(&job);
}

/* What cg solves. Uses MPI to deal out a matrix that was read from a file; one thread per rank. */
#include "common/problem.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/mtx.h"

static bool read_file(problem_t *problem)
{
  char message[1024];
  const char *path = problem->options->matrix;
  if (!mtx_read(path, &problem->whole, message, sizeof message)) {
    fprintf(stderr, "cg: %s\n", message);
    return false;
  }
  csr_scale_to_unit_diagonal(&problem->whole);
  problem->n = problem->whole.nrows;
  if (csr_nentries(&problem->whole) <= INT_MAX)
    return true;
  fprintf(stderr, "cg: %s: %lld entries, MPI_Scatterv counts to %d\n", path, (long long)csr_nentries(&problem->whole),
          INT_MAX);
  csr_free(&problem->whole);
  return false;
}

bool problem_load(const cg_options_t *options, problem_t *problem_p)
{
  problem_t problem = {.options = options, .n = options->grid[0] * options->grid[1] * options->grid[2]};
  MPI_Comm_rank(MPI_COMM_WORLD, &problem.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &problem.size);
  int ok = 1;
  if (options->matrix) {
    if (problem.rank == 0)
      ok = read_file(&problem);
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&problem.n, 1, MPI_INT32_T, 0, MPI_COMM_WORLD);
  }
  if (ok)
    *problem_p = problem;
  return ok;
}

void problem_free(problem_t *problem)
{
  csr_free(&problem->whole);
}

/* Rank 0 tells each rank how many entries each of its rows has: counts[0 .. nrows-1]. */
static void deal_out_counts(const problem_t *problem, int nrows, int32_t *counts)
{
  int32_t n = problem->rank == 0 ? problem->n : 0;
  int32_t *all = array_new(n, sizeof *all);
  for (int32_t row = 0; row < n; row++)
    all[row] = (int32_t)(problem->whole.row_start[row + 1] - problem->whole.row_start[row]);
  int *share = array_new(problem->size, sizeof *share), *first = array_new(problem->size + 1, sizeof *first);
  for (int rank = 0; rank <= problem->size; rank++)
    first[rank] = block_first(problem->n, problem->size, rank);
  for (int rank = 0; rank < problem->size; rank++)
    share[rank] = first[rank + 1] - first[rank];
  MPI_Scatterv(all, share, first, MPI_INT32_T, counts, nrows, MPI_INT32_T, 0, MPI_COMM_WORLD);
  free(share);
  free(first);
  free(all);
}

/* Then it sends them the entries. */
static void deal_out_entries(const problem_t *problem, csr_t *rows)
{
  int *share = array_new(problem->size, sizeof *share), *first = array_new(problem->size, sizeof *first);
  for (int rank = 0; problem->rank == 0 && rank < problem->size; rank++) {
    const int64_t *row_start = problem->whole.row_start;
    first[rank] = (int)row_start[block_first(problem->n, problem->size, rank)];
    share[rank] = (int)row_start[block_first(problem->n, problem->size, rank + 1)] - first[rank];
  }
  int mine = (int)csr_nentries(rows);
  MPI_Scatterv(problem->whole.column, share, first, MPI_INT32_T, rows->column, mine, MPI_INT32_T, 0, MPI_COMM_WORLD);
  MPI_Scatterv(problem->whole.value, share, first, MPI_DOUBLE, rows->value, mine, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(share);
  free(first);
}

csr_t problem_rows(const problem_t *problem)
{
  int32_t first = block_first(problem->n, problem->size, problem->rank);
  int32_t nrows = block_first(problem->n, problem->size, problem->rank + 1) - first;
  if (!problem->options->matrix)
    return csr_poisson(problem->options->grid, first, first + nrows);
  int32_t *counts = array_new(nrows, sizeof *counts);
  deal_out_counts(problem, nrows, counts);
  int64_t nentries = 0;
  for (int32_t row = 0; row < nrows; row++)
    nentries += counts[row];
  csr_t rows = csr_new(nrows, nentries);
  for (int32_t row = 0; row < nrows; row++)
    rows.row_start[row + 1] = rows.row_start[row] + counts[row];
  deal_out_entries(problem, &rows);
  free(counts);
  return rows;
}

const csr_t *problem_whole(problem_t *problem)
{
  if (!problem->whole.row_start)
    problem->whole = csr_poisson(problem->options->grid, 0, problem->n);
  return &problem->whole;
}

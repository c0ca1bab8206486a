/* Sparse matrices in compressed rows. Used by one thread. */
#include "common/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

csr_t csr_new(int32_t nrows, int64_t nentries)
{
  csr_t matrix = {.nrows = nrows};
  matrix.row_start = array_new((int64_t)nrows + 1, sizeof *matrix.row_start);
  memset(matrix.row_start, 0, ((size_t)nrows + 1) * sizeof *matrix.row_start);
  matrix.column = array_new(nentries, sizeof *matrix.column);
  matrix.value = array_new(nentries, sizeof *matrix.value);
  return matrix;
}

void csr_free(csr_t *matrix)
{
  free(matrix->row_number);
  free(matrix->row_start);
  free(matrix->column);
  free(matrix->value);
  *matrix = (csr_t){0};
}

/* Appends an entry to the row that is being built, whose entries end at *end_p. */
static void append(csr_t *matrix, int64_t *end_p, int32_t column, double value)
{
  matrix->column[*end_p] = column;
  matrix->value[*end_p] = value;
  (*end_p)++;
}

csr_t csr_poisson(const int32_t grid[3], int32_t first, int32_t end)
{
  csr_t matrix = csr_new(end - first, 7 * (int64_t)(end - first));
  int32_t line = grid[0], plane = grid[0] * grid[1];
  int64_t k = 0;
  for (int32_t row = first; row < end; row++) {
    int32_t x = row % line, y = row / line % grid[1], z = row / plane;
    if (z > 0)
      append(&matrix, &k, row - plane, -1.0);
    if (y > 0)
      append(&matrix, &k, row - line, -1.0);
    if (x > 0)
      append(&matrix, &k, row - 1, -1.0);
    append(&matrix, &k, row, 6.0);
    if (x < grid[0] - 1)
      append(&matrix, &k, row + 1, -1.0);
    if (y < grid[1] - 1)
      append(&matrix, &k, row + line, -1.0);
    if (z < grid[2] - 1)
      append(&matrix, &k, row + plane, -1.0);
    matrix.row_start[row - first + 1] = k;
  }
  return matrix;
}

static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* The columns outside first .. end-1 that have entries, ascending, each once. */
static int32_t find_ghost_columns(const csr_t *rows, int32_t first, int32_t end, int32_t **ghost_column_p)
{
  int64_t noutside = 0;
  for (int64_t k = 0; k < csr_nentries(rows); k++)
    noutside += rows->column[k] < first || rows->column[k] >= end;
  int32_t *ghost = array_new(noutside, sizeof *ghost);
  int64_t filled = 0;
  for (int64_t k = 0; k < csr_nentries(rows); k++)
    if (rows->column[k] < first || rows->column[k] >= end)
      ghost[filled++] = rows->column[k];
  qsort(ghost, (size_t)noutside, sizeof *ghost, compare_columns);
  int32_t nghosts = 0;
  for (int64_t k = 0; k < noutside; k++)
    if (nghosts == 0 || ghost[k] != ghost[nghosts - 1])
      ghost[nghosts++] = ghost[k];
  *ghost_column_p = ghost;
  return nghosts;
}

/* Where column stands among the ghost columns. It is there. */
static int32_t ghost_number(const int32_t *ghost_column, int32_t nghosts, int32_t column)
{
  const int32_t *found = bsearch(&column, ghost_column, (size_t)nghosts, sizeof column, compare_columns);
  return (int32_t)(found - ghost_column);
}

/* Leaves only the rows that have entries, with their numbers. */
static void drop_empty_rows(csr_t *matrix)
{
  matrix->row_number = array_new(matrix->nrows, sizeof *matrix->row_number);
  int32_t kept = 0;
  for (int32_t row = 0; row < matrix->nrows; row++) {
    int64_t row_end = matrix->row_start[row + 1];
    if (row_end == matrix->row_start[kept])
      continue;
    matrix->row_number[kept++] = row;
    matrix->row_start[kept] = row_end;
  }
  matrix->nrows = kept;
}

int32_t csr_split(const csr_t *rows, int32_t first, int32_t end, csr_t *diagonal_p, csr_t *off_diagonal_p,
                  int32_t **ghost_column_p)
{
  int32_t nghosts = find_ghost_columns(rows, first, end, ghost_column_p);
  int64_t ninside = 0;
  for (int64_t k = 0; k < csr_nentries(rows); k++)
    ninside += rows->column[k] >= first && rows->column[k] < end;
  csr_t inside = csr_new(rows->nrows, ninside);
  csr_t outside = csr_new(rows->nrows, csr_nentries(rows) - ninside);
  int64_t inside_end = 0, outside_end = 0;
  for (int32_t row = 0; row < rows->nrows; row++) {
    for (int64_t k = rows->row_start[row]; k < rows->row_start[row + 1]; k++) {
      int32_t column = rows->column[k];
      if (column >= first && column < end)
        append(&inside, &inside_end, column - first, rows->value[k]);
      else
        append(&outside, &outside_end, ghost_number(*ghost_column_p, nghosts, column), rows->value[k]);
    }
    inside.row_start[row + 1] = inside_end;
    outside.row_start[row + 1] = outside_end;
  }
  drop_empty_rows(&outside);
  *diagonal_p = inside;
  *off_diagonal_p = outside;
  return nghosts;
}

/* The product of two roots is the same for an entry and its mirror image, and never overflows. */
void csr_scale_to_unit_diagonal(csr_t *matrix)
{
  double *root = array_new(matrix->nrows, sizeof *root);
  for (int32_t row = 0; row < matrix->nrows; row++)
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
      if (matrix->column[k] == row)
        root[row] = sqrt(matrix->value[k]);
  for (int32_t row = 0; row < matrix->nrows; row++)
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
      matrix->value[k] /= root[row] * root[matrix->column[k]];
  free(root);
}

/* One stored row times x. */
static inline double row_times(const csr_t *matrix, int32_t row, const double *x)
{
  double sum = 0;
  for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
    sum += matrix->value[k] * x[matrix->column[k]];
  return sum;
}

void csr_multiply(const csr_t *matrix, const double *x, double *y)
{
  for (int32_t row = 0; row < matrix->nrows; row++)
    y[row] = row_times(matrix, row, x);
}

void csr_multiply_add(const csr_t *matrix, const double *x, double *y)
{
  for (int32_t row = 0; row < matrix->nrows; row++)
    y[matrix->row_number ? matrix->row_number[row] : row] += row_times(matrix, row, x);
}

void csr_multiply_transpose_add(const csr_t *matrix, const double *x, double *y)
{
  for (int32_t row = 0; row < matrix->nrows; row++) {
    double factor = x[matrix->row_number ? matrix->row_number[row] : row];
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; k++)
      y[matrix->column[k]] += matrix->value[k] * factor;
  }
}

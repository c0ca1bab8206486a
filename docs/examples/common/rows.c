/* Rows of matrices: see rows.h. One thread. */
#include "common/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

int32_t rows_reduce_columns(csr_t *rows, int64_t **column_p)
{
  int64_t nentries = csr_nentries(rows);
  int32_t *sorted = array_new(nentries, sizeof *sorted), n = 0;
  memcpy(sorted, rows->column, (size_t)nentries * sizeof *sorted);
  qsort(sorted, (size_t)nentries, sizeof *sorted, compare_columns);
  for (int64_t k = 0; k < nentries; k++)
    if (n == 0 || sorted[k] != sorted[n - 1])
      sorted[n++] = sorted[k];
  for (int64_t k = 0; k < nentries; k++) {
    const int32_t *found = bsearch(&rows->column[k], sorted, (size_t)n, sizeof *sorted, compare_columns);
    rows->column[k] = (int32_t)(found - sorted);
  }
  *column_p = array_new(n, sizeof **column_p);
  for (int32_t i = 0; i < n; i++)
    (*column_p)[i] = sorted[i];
  free(sorted);
  return n;
}

/* ---- Fetching ---------------------------------------------------------------------------------------------------- */

/* A row is a point of a graph, whose number of units is that of its entries: the graph of entries follows from that of
 * rows. */
csr_t rows_fetch(const job_t *job, const csr_t *rows, int32_t nwanted, const int64_t number[])
{
  int64_t *size = array_new(rows->nrows, sizeof *size), *got_size = array_new(nwanted, sizeof *got_size);
  int64_t *got_offset = array_new(nwanted, sizeof *got_offset), total;
  sf_graph_t *points, *units;
  for (int32_t i = 0; i < rows->nrows; i++)
    size[i] = rows->row_start[i + 1] - rows->row_start[i];
  must(sf_graph_create_global(sf_group_world(job->context), rows->nrows, nwanted, NULL, number, SF_GRAPH_DEFAULT,
                              &points),
       "sf_graph_create_global");
  sf_section_t here = {rows->nrows, size, NULL}, there = {nwanted, got_size, NULL};
  must(sf_section_migrate(points, &here, got_size, got_offset, &total), "sf_section_migrate");
  must(sf_section_graph(points, &here, &there, &units), "sf_section_graph");
  csr_t got = csr_new(nwanted, total);
  for (int32_t i = 0; i < nwanted; i++)
    got.row_start[i + 1] = got_offset[i] + got_size[i];
  must(sf_bcast(units, SF_INT32, rows->column, got.column, SF_REPLACE), "sf_bcast");
  must(sf_bcast(units, SF_DOUBLE, rows->value, got.value, SF_REPLACE), "sf_bcast");
  must(sf_graph_destroy(units), "sf_graph_destroy");
  must(sf_graph_destroy(points), "sf_graph_destroy");
  free(size);
  free(got_size);
  free(got_offset);
  return got;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* A row in the making: sums by column, and which columns have any. */
typedef struct sums {
  double *sum;
  int32_t *row; /* the last one that had an entry in this column */
  int32_t *column;
  int32_t n;
} sums_t;

static void add_multiple(sums_t *sums, int32_t row, double factor, const csr_t *b, int32_t b_row)
{
  for (int64_t k = b->row_start[b_row]; k < b->row_start[b_row + 1]; k++) {
    int32_t column = b->column[k];
    if (sums->row[column] != row) {
      sums->row[column] = row;
      sums->sum[column] = 0;
      sums->column[sums->n++] = column;
    }
    sums->sum[column] += factor * b->value[k];
  }
}

/* Appends the row to the matrix, which is enlarged for it. */
static void end_row(sums_t *sums, csr_t *matrix, int32_t row)
{
  int64_t first = matrix->row_start[row], end = first + sums->n;
  matrix->column = array_resize(matrix->column, 2 * end, sizeof *matrix->column);
  matrix->value = array_resize(matrix->value, 2 * end, sizeof *matrix->value);
  qsort(sums->column, (size_t)sums->n, sizeof *sums->column, compare_columns);
  for (int32_t i = 0; i < sums->n; i++) {
    matrix->column[first + i] = sums->column[i];
    matrix->value[first + i] = sums->sum[sums->column[i]];
  }
  matrix->row_start[row + 1] = end;
  sums->n = 0;
}

csr_t rows_multiply(const csr_t *a, const csr_t *b, int32_t ncolumns)
{
  csr_t product = csr_new(a->nrows, 0);
  sums_t sums = {array_new(ncolumns, sizeof *sums.sum), array_new(ncolumns, sizeof *sums.row),
                 array_new(ncolumns, sizeof *sums.column), 0};
  memset(sums.row, 0xff, (size_t)ncolumns * sizeof *sums.row);
  for (int32_t row = 0; row < a->nrows; row++) {
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; k++)
      add_multiple(&sums, row, a->value[k], b, a->column[k]);
    end_row(&sums, &product, row);
  }
  free(sums.sum);
  free(sums.row);
  free(sums.column);
  return product;
}

csr_t rows_transpose(const csr_t *rows, int32_t ncolumns)
{
  csr_t transpose = csr_new(ncolumns, csr_nentries(rows));
  int64_t *next = array_new((int64_t)ncolumns + 1, sizeof *next);
  for (int64_t k = 0; k < csr_nentries(rows); k++)
    transpose.row_start[rows->column[k] + 1]++;
  for (int32_t i = 0; i < ncolumns; i++)
    transpose.row_start[i + 1] += transpose.row_start[i];
  memcpy(next, transpose.row_start, ((size_t)ncolumns + 1) * sizeof *next);
  for (int32_t row = 0; row < rows->nrows; row++)
    for (int64_t k = rows->row_start[row]; k < rows->row_start[row + 1]; k++) {
      int64_t at = next[rows->column[k]]++;
      transpose.column[at] = row;
      transpose.value[at] = rows->value[k];
    }
  free(next);
  return transpose;
}

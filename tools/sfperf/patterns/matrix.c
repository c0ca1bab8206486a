/* Matrix Market files as patterns. Runs in each rank's only thread; nothing is communicated. */
#include "tools/sfperf/patterns/matrix.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shm/base/error.h"

/* The file, line by line. */
typedef struct reader {
  FILE *file;
  int64_t line; /* number of the line in text */
  char text[1100];
} reader_t;

typedef struct shape {
  bool symmetric; /* only one triangle is stored */
  int64_t rows;
  int64_t entries;
} shape_t;

static int64_t block_start(int64_t rows, int rank, int size)
{
  return rows * rank / size;
}

static bool next_line(reader_t *reader)
{
  reader->line++;
  return fgets(reader->text, sizeof reader->text, reader->file) != NULL;
}

/* The next line that is neither comment nor blank. */
static bool next_data(reader_t *reader)
{
  while (next_line(reader)) {
    size_t blank = strspn(reader->text, " \t\r\n");
    if (reader->text[0] != '%' && reader->text[blank] != '\0')
      return true;
  }
  return false;
}

static sf_status_t bad_line(const reader_t *reader, const char *expected)
{
  return sfshm_error(SF_ERR_ARG, "line %lld: expected %s", (long long)reader->line, expected);
}

static sf_status_t read_header(reader_t *reader, shape_t *shape)
{
  char banner[32], object[32], format[32], field[32], symmetry[32];
  if (!next_line(reader) ||
      sscanf(reader->text, "%31s %31s %31s %31s %31s", banner, object, format, field, symmetry) != 5 ||
      strcasecmp(banner, "%%MatrixMarket") != 0 || strcasecmp(object, "matrix") != 0 ||
      strcasecmp(format, "coordinate") != 0)
    return bad_line(reader, "%%MatrixMarket matrix coordinate FIELD SYMMETRY");
  shape->symmetric = strcasecmp(symmetry, "general") != 0;
  return SF_OK;
}

/* Reads count integers >= 1; false if something else stands there. */
static bool parse_integers(const char *text, int count, int64_t numbers[])
{
  for (int i = 0; i < count; i++) {
    char *end;
    errno = 0;
    numbers[i] = strtoll(text, &end, 10);
    if (end == text || errno || numbers[i] < 0 || (*end && !isspace((unsigned char)*end)))
      return false;
    text = end;
  }
  return true;
}

static sf_status_t read_shape(reader_t *reader, shape_t *shape)
{
  int64_t numbers[3];
  if (!next_data(reader) || !parse_integers(reader->text, 3, numbers))
    return bad_line(reader, "three numbers: rows, columns, entries");
  if (numbers[0] != numbers[1] || numbers[0] < 1 || numbers[0] > INT32_MAX)
    return bad_line(reader, "a square matrix of 1 to 2147483647 rows");
  shape->rows = numbers[0];
  shape->entries = numbers[2];
  return SF_OK;
}

/* Marks in wanted every column outside rows first..last-1 in which one of these rows has an entry. */
static sf_status_t mark_columns(reader_t *reader, const shape_t *shape, int64_t first, int64_t last, char wanted[])
{
  for (int64_t entry = 0; entry < shape->entries; entry++) {
    int64_t at[2];
    if (!next_data(reader))
      return sfshm_error(SF_ERR_ARG, "line %lld: the file ends after %lld of %lld entries", (long long)reader->line,
                         (long long)entry, (long long)shape->entries);
    if (!parse_integers(reader->text, 2, at) || at[0] < 1 || at[0] > shape->rows || at[1] < 1 || at[1] > shape->rows)
      return bad_line(reader, "a row and a column between 1 and the size of the matrix");
    bool row_mine = at[0] > first && at[0] <= last;
    bool column_mine = at[1] > first && at[1] <= last;
    if (row_mine && !column_mine)
      wanted[at[1] - 1] = 1;
    if (shape->symmetric && column_mine && !row_mine)
      wanted[at[0] - 1] = 1;
  }
  return SF_OK;
}

/* Turns the marked columns into leaves. */
static void take_columns(int size, int64_t rows, const char wanted[], sfperf_pattern_t *pattern)
{
  int owner = 0;
  int64_t leaf = 0;
  for (int64_t column = 0; column < rows; column++) {
    while (column >= block_start(rows, owner + 1, size))
      owner++;
    if (!wanted[column])
      continue;
    pattern->root_rank[leaf] = owner;
    pattern->root_index[leaf] = (int32_t)(column - block_start(rows, owner, size));
    leaf++;
  }
}

sf_status_t sfperf_pattern_matrix(int rank, int size, FILE *file, sfperf_pattern_t *pattern_p)
{
  reader_t reader = {.file = file};
  shape_t shape = {0};
  sf_status_t status = read_header(&reader, &shape);
  if (status == SF_OK)
    status = read_shape(&reader, &shape);
  if (status != SF_OK)
    return status;

  char *wanted = calloc((size_t)shape.rows, 1);
  if (!wanted)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a matrix of %lld rows", (long long)shape.rows);
  int64_t first = block_start(shape.rows, rank, size);
  int64_t last = block_start(shape.rows, rank + 1, size);
  status = mark_columns(&reader, &shape, first, last, wanted);
  if (status == SF_OK) {
    int64_t nleaves = 0;
    for (int64_t column = 0; column < shape.rows; column++)
      nleaves += wanted[column];
    sfperf_pattern_init(pattern_p, last - first, nleaves);
    take_columns(size, shape.rows, wanted, pattern_p);
  }
  free(wanted);
  return status;
}

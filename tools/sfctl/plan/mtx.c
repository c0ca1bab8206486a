/* Matrix Market files: see mtx.h. Sizes in the file are believed only after the lines that prove them. The one thread
 * of sfctl. */
#include "tools/sfctl/plan/mtx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shm/base/error.h"

#define FIRST_CAPACITY 4096

typedef struct reader {
  FILE *file;
  const char *path;
  char *line;
  size_t line_bytes;
  int64_t number; /* of the line */
  int nvalues;    /* after row and column */
  bool symmetric; /* the other triangle is implied */
  size_t nsorted; /* of matrix.wanted, ascending and distinct */
  size_t capacity;
  int64_t nlisted;
  sfctl_mtx_t matrix;
} reader_t;

__attribute__((format(printf, 2, 3))) static sf_status_t refuse(const reader_t *reader, const char *format, ...)
{
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return sfshm_error(SF_ERR_ARG, "%.200s:%" PRId64 ": %s", reader->path, reader->number, text);
}

/* ---- Lines ---- */

static bool next_line(reader_t *reader)
{
  if (getline(&reader->line, &reader->line_bytes, reader->file) < 0)
    return false;
  reader->number++;
  reader->line[strcspn(reader->line, "\r\n")] = '\0';
  return true;
}

static bool is_blank(const char *text)
{
  return text[strspn(text, " \t")] == '\0';
}

/* The next line that is neither blank nor a comment. */
static bool next_data_line(reader_t *reader)
{
  while (next_line(reader))
    if (reader->line[0] != '%' && !is_blank(reader->line))
      return true;
  return false;
}

static bool take_integer(char **text, int64_t *value_p)
{
  char *end;
  errno = 0;
  long long value = strtoll(*text, &end, 10);
  if (end == *text || errno != 0 || (*end != '\0' && *end != ' ' && *end != '\t'))
    return false;
  *text = end;
  *value_p = value;
  return true;
}

/* ---- The head ---- */

static sf_status_t read_banner(reader_t *reader)
{
  static const struct {
    const char *name;
    int nvalues;
  } fields[] = {{"real", 1}, {"integer", 1}, {"complex", 2}, {"pattern", 0}};
  char words[5][24];
  bool known = false;
  if (!next_line(reader) ||
      sscanf(reader->line, "%23s %23s %23s %23s %23s", words[0], words[1], words[2], words[3], words[4]) != 5 ||
      strcasecmp(words[0], "%%MatrixMarket") != 0)
    return refuse(reader, "not a Matrix Market file: it must begin with '%%%%MatrixMarket' and four more words");
  if (strcasecmp(words[1], "matrix") != 0 || strcasecmp(words[2], "coordinate") != 0)
    return refuse(reader, "expected 'matrix coordinate', found '%s %s'", words[1], words[2]);
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcasecmp(words[3], fields[i].name) == 0) {
      reader->nvalues = fields[i].nvalues;
      known = true;
    }
  if (!known)
    return refuse(reader, "field '%s': expected real, integer, complex or pattern", words[3]);
  reader->symmetric = strcasecmp(words[4], "general") != 0;
  if (reader->symmetric && strcasecmp(words[4], "symmetric") != 0 && strcasecmp(words[4], "skew-symmetric") != 0 &&
      strcasecmp(words[4], "hermitian") != 0)
    return refuse(reader, "symmetry '%s': expected general, symmetric, skew-symmetric or hermitian", words[4]);
  return SF_OK;
}

static sf_status_t read_sizes(reader_t *reader)
{
  sfctl_mtx_t *matrix = &reader->matrix;
  char *text;
  if (!next_data_line(reader))
    return refuse(reader, "the file ends before the line 'rows columns entries'");
  text = reader->line;
  if (!take_integer(&text, &matrix->nrows) || !take_integer(&text, &matrix->ncolumns) ||
      !take_integer(&text, &reader->nlisted) || !is_blank(text))
    return refuse(reader, "expected three whole numbers 'rows columns entries'");
  if (matrix->nrows < 1 || matrix->ncolumns < 1 || reader->nlisted < 0 ||
      (reader->symmetric && matrix->nrows != matrix->ncolumns))
    return refuse(reader, "a matrix of %" PRId64 " x %" PRId64 " with %" PRId64 " entries can't be", matrix->nrows,
                  matrix->ncolumns, reader->nlisted);
  if (matrix->ncolumns > INT64_MAX / matrix->nranks)
    return sfshm_error(SF_ERR_LIMIT, "%.200s: %" PRId64 " columns for %d ranks are too many", reader->path,
                       matrix->ncolumns, matrix->nranks);
  return SF_OK;
}

/* ---- Entries ---- */

static int compare(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void sort(reader_t *reader)
{
  sfctl_mtx_t *matrix = &reader->matrix;
  size_t kept = 0;
  if (matrix->nwanted == reader->nsorted)
    return;
  qsort(matrix->wanted, matrix->nwanted, sizeof *matrix->wanted, compare);
  for (size_t i = 0; i < matrix->nwanted; i++)
    if (kept == 0 || matrix->wanted[i] != matrix->wanted[kept - 1])
      matrix->wanted[kept++] = matrix->wanted[i];
  matrix->nwanted = reader->nsorted = kept;
}

/* Removes duplicates first; then doubles the memory. */
static sf_status_t make_room(reader_t *reader)
{
  sfctl_mtx_t *matrix = &reader->matrix;
  if (matrix->nwanted < reader->capacity)
    return SF_OK;
  sort(reader);
  if (matrix->nwanted < reader->capacity / 2)
    return SF_OK;
  size_t capacity = reader->capacity > 0 ? 2 * reader->capacity : FIRST_CAPACITY;
  uint64_t *wanted = reallocarray(matrix->wanted, capacity, sizeof *wanted);
  if (wanted == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu columns that ranks want of others", capacity);
  matrix->wanted = wanted;
  reader->capacity = capacity;
  return SF_OK;
}

static sf_status_t add_entry(reader_t *reader, int64_t row, int64_t column)
{
  sfctl_mtx_t *matrix = &reader->matrix;
  int32_t rank = sfctl_rows_owner(matrix->nrows, matrix->nranks, row);
  matrix->nentries++;
  if (sfctl_rows_owner(matrix->ncolumns, matrix->nranks, column) == rank)
    return SF_OK;
  uint64_t key = (uint64_t)rank * (uint64_t)matrix->ncolumns + (uint64_t)column;
  if (matrix->nwanted > 0 && matrix->wanted[matrix->nwanted - 1] == key)
    return SF_OK;
  sf_status_t status = make_room(reader);
  if (status == SF_OK)
    matrix->wanted[matrix->nwanted++] = key;
  return status;
}

/* False: not numbers; *zero_p: all 0. */
static bool take_values(const reader_t *reader, char **text, bool *zero_p)
{
  *zero_p = reader->nvalues > 0;
  for (int i = 0; i < reader->nvalues; i++) {
    char *end;
    double value = strtod(*text, &end);
    if (end == *text || (*end != '\0' && *end != ' ' && *end != '\t'))
      return false;
    *zero_p = *zero_p && value == 0;
    *text = end;
  }
  return true;
}

static sf_status_t read_entry(reader_t *reader)
{
  const sfctl_mtx_t *matrix = &reader->matrix;
  char *text = reader->line;
  int64_t row, column;
  bool zero;
  if (!take_integer(&text, &row) || !take_integer(&text, &column) || !take_values(reader, &text, &zero) ||
      !is_blank(text))
    return refuse(reader, "expected 'row column' and %d value%s", reader->nvalues, reader->nvalues == 1 ? "" : "s");
  if (row < 1 || row > matrix->nrows || column < 1 || column > matrix->ncolumns)
    return refuse(reader, "entry (%" PRId64 ", %" PRId64 ") lies outside the matrix of %" PRId64 " x %" PRId64, row,
                  column, matrix->nrows, matrix->ncolumns);
  if (zero)
    return SF_OK;
  sf_status_t status = add_entry(reader, row - 1, column - 1);
  if (status == SF_OK && reader->symmetric && row != column)
    status = add_entry(reader, column - 1, row - 1);
  return status;
}

static sf_status_t read_entries(reader_t *reader)
{
  sf_status_t status = SF_OK;
  for (int64_t i = 0; i < reader->nlisted && status == SF_OK; i++) {
    if (!next_data_line(reader))
      return refuse(reader, "the file ends after %" PRId64 " of %" PRId64 " entries", i, reader->nlisted);
    status = read_entry(reader);
  }
  if (status == SF_OK && next_data_line(reader))
    status = refuse(reader, "more than the %" PRId64 " entries that were announced", reader->nlisted);
  return status;
}

sf_status_t sfctl_mtx_read(const char *path, int32_t nranks, sfctl_mtx_t *matrix_p)
{
  reader_t reader = {.path = path, .matrix = {.nranks = nranks}};
  reader.file = fopen(path, "re");
  if (reader.file == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "cannot open %.200s", path);
  sf_status_t status = read_banner(&reader);
  if (status == SF_OK)
    status = read_sizes(&reader);
  if (status == SF_OK)
    status = read_entries(&reader);
  if (ferror(reader.file))
    status = sfshm_error_errno(SF_ERR_SYS, "cannot read %.200s", path);
  fclose(reader.file);
  free(reader.line);
  if (status != SF_OK) {
    sfctl_mtx_free(&reader.matrix);
    return status;
  }
  sort(&reader);
  *matrix_p = reader.matrix;
  return SF_OK;
}

void sfctl_mtx_free(sfctl_mtx_t *matrix)
{
  free(matrix->wanted);
  *matrix = (sfctl_mtx_t){0};
}

/* ---- What a rank wants ---- */

static size_t lower_bound(const sfctl_mtx_t *matrix, uint64_t key)
{
  size_t low = 0, high = matrix->nwanted;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (matrix->wanted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

sf_status_t sfctl_mtx_wants(const sfctl_mtx_t *matrix, int32_t rank, sfctl_wants_t *wants)
{
  uint64_t base = (uint64_t)rank * (uint64_t)matrix->ncolumns;
  size_t end = lower_bound(matrix, base + (uint64_t)matrix->ncolumns);
  sf_status_t status = SF_OK;
  for (size_t i = lower_bound(matrix, base); i < end && status == SF_OK; i++) {
    int64_t column = (int64_t)(matrix->wanted[i] - base);
    status = sfctl_wants_add_rows(wants, matrix->ncolumns, matrix->nranks, rank, column, column + 1);
  }
  return status;
}

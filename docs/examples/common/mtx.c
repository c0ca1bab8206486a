/* Reads Matrix Market files. A file is hostile until checked: nothing that it claims is believed before the lines that
 * prove it were read, so that memory is bounded by the size of the file. Used by one thread. */
#include "common/mtx.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"

typedef struct entry {
  int32_t row, column; /* from 0 */
  double value;
  int64_t line; /* where it was read */
} entry_t;

typedef struct reader {
  FILE *file;
  const char *path;
  char *message; /* what the caller gets to read */
  size_t message_bytes;
  char *line; /* the line read last, and its number */
  size_t line_bytes;
  int64_t line_number;
  bool integer, symmetric;
  int64_t n, nlisted; /* rows, and entries that the file promises */
  int64_t nentries;   /* entries in hand, both triangles */
  entry_t *entry;
} reader_t;

/* Writes "path:line: text" as the reader's message. Returns false, for the caller to pass on. */
__attribute__((format(printf, 3, 4))) static bool refuse(reader_t *reader, int64_t line, const char *format, ...)
{
  int used = snprintf(reader->message, reader->message_bytes, "%s:%" PRId64 ": ", reader->path, line);
  if (used < 0 || (size_t)used >= reader->message_bytes)
    return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->message + used, reader->message_bytes - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* Reads the next line, without what ends it. False at the end of the file. */
static bool next_line(reader_t *reader)
{
  ssize_t length = getline(&reader->line, &reader->line_bytes, reader->file);
  if (length < 0)
    return false;
  reader->line_number++;
  reader->line[strcspn(reader->line, "\r\n")] = '\0';
  return true;
}

static bool is_blank(const char *text)
{
  return text[strspn(text, " \t")] == '\0';
}

/* Reads up to the next line that is neither blank nor a comment. */
static bool next_data_line(reader_t *reader)
{
  while (next_line(reader))
    if (reader->line[0] != '%' && !is_blank(reader->line))
      return true;
  return false;
}

/* Takes a whole number from *text and moves *text behind it. It must end in white space or the end of the line. */
static bool take_integer(char **text, int64_t *value_p)
{
  char *end;
  errno = 0;
  *value_p = strtoll(*text, &end, 10);
  bool ok = end != *text && errno == 0 && (*end == '\0' || *end == ' ' || *end == '\t');
  *text = end;
  return ok;
}

static bool take_real(char **text, double *value_p)
{
  char *end;
  *value_p = strtod(*text, &end);
  bool ok = end != *text && isfinite(*value_p) && (*end == '\0' || *end == ' ' || *end == '\t');
  *text = end;
  return ok;
}

/* ---- The head of the file ---------------------------------------------------------------------------------------- */

/* "%%MatrixMarket matrix coordinate real|integer general|symmetric", in any case. */
static bool read_banner(reader_t *reader)
{
  if (!next_line(reader))
    return refuse(reader, 1, "%s", ferror(reader->file) ? strerror(errno) : "the file is empty");
  char banner[16], object[16], format[16], field[16], symmetry[16];
  if (sscanf(reader->line, "%15s %15s %15s %15s %15s", banner, object, format, field, symmetry) != 5 ||
      strcasecmp(banner, "%%MatrixMarket") != 0)
    return refuse(reader, 1, "not a Matrix Market file: it must begin with '%%%%MatrixMarket' and four more words");
  if (strcasecmp(object, "matrix") != 0)
    return refuse(reader, 1, "holds a '%s', expected a 'matrix'", object);
  if (strcasecmp(format, "coordinate") != 0)
    return refuse(reader, 1, "format '%s' is not supported, expected 'coordinate'", format);
  reader->integer = strcasecmp(field, "integer") == 0;
  if (!reader->integer && strcasecmp(field, "real") != 0)
    return refuse(reader, 1, "field '%s' is not supported, expected 'real' or 'integer'", field);
  reader->symmetric = strcasecmp(symmetry, "symmetric") == 0;
  if (!reader->symmetric && strcasecmp(symmetry, "general") != 0)
    return refuse(reader, 1, "symmetry '%s' is not supported, expected 'symmetric' or 'general'", symmetry);
  return true;
}

/* "rows columns entries" */
static bool read_sizes(reader_t *reader)
{
  if (!next_data_line(reader))
    return refuse(reader, reader->line_number, "the file ends before the line 'rows columns entries'");
  char *text = reader->line;
  int64_t ncolumns;
  if (!take_integer(&text, &reader->n) || !take_integer(&text, &ncolumns) || !take_integer(&text, &reader->nlisted) ||
      !is_blank(text))
    return refuse(reader, reader->line_number, "expected three whole numbers 'rows columns entries'");
  if (reader->n != ncolumns)
    return refuse(reader, reader->line_number, "%" PRId64 " rows but %" PRId64 " columns: the matrix must be square",
                  reader->n, ncolumns);
  if (reader->n < 1 || reader->n >= INT32_MAX)
    return refuse(reader, reader->line_number, "%" PRId64 " rows, expected 1 to %d", reader->n, INT32_MAX - 1);
  if (reader->nlisted < reader->n)
    return refuse(reader, reader->line_number,
                  "%" PRId64 " entries for %" PRId64 " rows: a positive definite matrix has all its diagonal entries",
                  reader->nlisted, reader->n);
  return true;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static bool parse_entry(reader_t *reader, entry_t *entry_p)
{
  int64_t line = reader->line_number, row, column, whole = 0;
  char *text = reader->line;
  if (!take_integer(&text, &row) || !take_integer(&text, &column))
    return refuse(reader, line, "expected 'row column value'");
  if (row < 1 || row > reader->n || column < 1 || column > reader->n)
    return refuse(reader, line, "entry (%" PRId64 ", %" PRId64 ") is outside the matrix of %" PRId64 " rows", row,
                  column, reader->n);
  bool ok = reader->integer ? take_integer(&text, &whole) : take_real(&text, &entry_p->value);
  if (!ok || !is_blank(text))
    return refuse(reader, line, "expected one %s value after row and column",
                  reader->integer ? "integer" : "finite real");
  if (reader->integer)
    entry_p->value = (double)whole;
  if (row == column && !(entry_p->value > 0))
    return refuse(reader, line, "diagonal entry %" PRId64 " is %g: a positive definite matrix has only positive ones",
                  row, entry_p->value);
  if (reader->symmetric && row < column)
    return refuse(reader, line, "entry (%" PRId64 ", %" PRId64 ") lies above the diagonal of a 'symmetric' file", row,
                  column);
  entry_p->row = (int32_t)(row - 1);
  entry_p->column = (int32_t)(column - 1);
  return true;
}

/* Keeps the entry, and in a symmetric file its mirror image. */
static void keep_entry(reader_t *reader, entry_t entry)
{
  reader->entry[reader->nentries++] = entry;
  if (reader->symmetric && entry.row != entry.column) {
    reader->entry[reader->nentries] = entry;
    reader->entry[reader->nentries].row = entry.column;
    reader->entry[reader->nentries++].column = entry.row;
  }
}

static bool read_entries(reader_t *reader)
{
  int64_t room = 0;
  for (int64_t i = 0; i < reader->nlisted; i++) {
    if (!next_data_line(reader))
      return refuse(reader, reader->line_number, "the file ends after %" PRId64 " of %" PRId64 " entries", i,
                    reader->nlisted);
    if (room < reader->nentries + 2) {
      room = 2 * room + 1024;
      reader->entry = array_resize(reader->entry, room, sizeof *reader->entry);
    }
    entry_t entry = {.line = reader->line_number};
    if (!parse_entry(reader, &entry))
      return false;
    if (entry.value != 0)
      keep_entry(reader, entry);
  }
  if (next_data_line(reader))
    return refuse(reader, reader->line_number, "more than the promised %" PRId64 " entries", reader->nlisted);
  return true;
}

/* ---- Order and symmetry ------------------------------------------------------------------------------------------ */

/* Entries in the order of their rows, or of their columns; stable. Where each row (column) starts comes with it. */
static entry_t *sort_entries(const reader_t *reader, const entry_t *from, bool by_row, int64_t *start)
{
  memset(start, 0, ((size_t)reader->n + 2) * sizeof *start);
  for (int64_t k = 0; k < reader->nentries; k++)
    start[(by_row ? from[k].row : from[k].column) + 2]++;
  for (int64_t i = 2; i <= reader->n + 1; i++)
    start[i] += start[i - 1];
  entry_t *to = array_new(reader->nentries, sizeof *to);
  for (int64_t k = 0; k < reader->nentries; k++)
    to[start[(by_row ? from[k].row : from[k].column) + 1]++] = from[k];
  return to;
}

/* by_row has entries in the order of (row, column). */
static bool check_diagonal_and_duplicates(reader_t *reader, const entry_t *by_row)
{
  int64_t ndiagonal = 0;
  for (int64_t k = 0; k < reader->nentries; k++) {
    const entry_t *e = &by_row[k];
    if (k > 0 && e->row == e[-1].row && e->column == e[-1].column) {
      bool mirrored = reader->symmetric && e->row < e->column; /* name it as the file does */
      return refuse(reader, e->line, "entry (%d, %d) was given before, in line %" PRId64,
                    1 + (mirrored ? e->column : e->row), 1 + (mirrored ? e->row : e->column), e[-1].line);
    }
    if (e->row != e->column)
      continue;
    if (e->row != ndiagonal)
      break;
    ndiagonal++;
  }
  if (ndiagonal < reader->n)
    return refuse(reader, reader->line_number,
                  "the file ends without a diagonal entry in row %" PRId64 ": the matrix is not positive definite",
                  ndiagonal + 1);
  return true;
}

/* by_row is in the order of (row, column), by_column in that of (column, row): in a symmetric matrix the k-th of one
 * mirrors the k-th of the other. */
static bool check_symmetry(reader_t *reader, const entry_t *by_row, const entry_t *by_column)
{
  for (int64_t k = 0; k < reader->nentries; k++) {
    const entry_t *a = &by_row[k], *b = &by_column[k];
    if (a->row == b->column && a->column == b->row) {
      if (a->value == b->value)
        continue;
      return refuse(reader, a->line > b->line ? a->line : b->line,
                    "entries (%d, %d) and (%d, %d), lines %" PRId64 " and %" PRId64
                    ", differ: %.17g and %.17g, the matrix is not symmetric",
                    a->row + 1, a->column + 1, b->row + 1, b->column + 1, a->line, b->line, a->value, b->value);
    }
    bool a_is_alone = a->row < b->column || (a->row == b->column && a->column < b->row);
    const entry_t *alone = a_is_alone ? a : b;
    return refuse(reader, alone->line, "entry (%d, %d) but none at (%d, %d): the matrix is not symmetric",
                  alone->row + 1, alone->column + 1, alone->column + 1, alone->row + 1);
  }
  return true;
}

/* Two rows and the same two columns of a positive definite matrix are one as well, so their determinant is positive. Of
 * the two mirror images the one below the diagonal is looked at, which is the one that a symmetric file lists. A long
 * double holds the product of any two doubles without overflow. */
static bool check_determinants(reader_t *reader, const entry_t *by_row)
{
  double *diagonal = array_new(reader->n, sizeof *diagonal);
  for (int64_t k = 0; k < reader->nentries; k++)
    if (by_row[k].row == by_row[k].column)
      diagonal[by_row[k].row] = by_row[k].value;
  bool ok = true;
  for (int64_t k = 0; ok && k < reader->nentries; k++) {
    const entry_t *e = &by_row[k];
    double a = diagonal[e->row], b = diagonal[e->column];
    if (e->row > e->column && (long double)e->value * e->value >= (long double)a * b)
      ok =
          refuse(reader, e->line,
                 "entry (%d, %d) is %g, with %g and %g on the diagonal of its row and column: its square must be below "
                 "their product in a positive definite matrix",
                 e->row + 1, e->column + 1, e->value, a, b);
  }
  free(diagonal);
  return ok;
}

static csr_t to_csr(const reader_t *reader, const entry_t *by_row)
{
  csr_t matrix = csr_new((int32_t)reader->n, reader->nentries);
  for (int64_t k = 0; k < reader->nentries; k++) {
    matrix.column[k] = by_row[k].column;
    matrix.value[k] = by_row[k].value;
    matrix.row_start[by_row[k].row + 1] = k + 1; /* no row is empty: each has its diagonal entry */
  }
  return matrix;
}

/* Two stable sorts give any order of two keys. */
static bool assemble(reader_t *reader, csr_t *matrix_p)
{
  int64_t *start = array_new(reader->n + 2, sizeof *start);
  entry_t *by_column = sort_entries(reader, reader->entry, false, start);
  entry_t *by_row = sort_entries(reader, by_column, true, start);
  free(by_column);
  by_column = sort_entries(reader, by_row, false, start);
  bool ok = check_diagonal_and_duplicates(reader, by_row) && check_symmetry(reader, by_row, by_column) &&
            check_determinants(reader, by_row);
  if (ok)
    *matrix_p = to_csr(reader, by_row);
  free(by_row);
  free(by_column);
  free(start);
  return ok;
}

bool mtx_read(const char *path, csr_t *matrix_p, char message[], size_t message_bytes)
{
  reader_t reader = {.path = path, .message = message, .message_bytes = message_bytes};
  reader.file = fopen(path, "r");
  if (!reader.file) {
    snprintf(message, message_bytes, "%s: %s", path, strerror(errno));
    return false;
  }
  bool ok = read_banner(&reader) && read_sizes(&reader) && read_entries(&reader) && assemble(&reader, matrix_p);
  free(reader.entry);
  free(reader.line);
  fclose(reader.file);
  return ok;
}

/* Tables: see table.h. The one thread of sfctl. */
#include "tools/sfctl/print/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/room.h"
#include "tools/sfctl/print/clip.h"

#define GAP 2 /* blanks between columns */
#define MAX_COLUMNS 20
#define NAME_MIN 16       /* least width of clipped text */
#define CLIPPED_SIZE 1024 /* wider columns are not clipped */

struct sfctl_cell {
  char *text; /* escaped */
  bool note;
};

/* ---- Filling ---- */

static sf_status_t no_memory(void)
{
  return sfshm_error(SF_ERR_NOMEM, "no memory for a table");
}

static sf_status_t reserve(sfctl_table_t *table)
{
  bool there = sfshm_make_room(&table->cells, &table->capacity, table->ncells + 1, sizeof *table->cells);
  return there ? SF_OK : no_memory();
}

static sf_status_t escape(const char *text, char **escaped_p)
{
  size_t size = SFREPORT_PRINTABLE_SIZE(strlen(text));
  char *escaped = malloc(size);
  if (escaped == NULL)
    return no_memory();
  sfreport_text_printable(text, escaped, size);
  *escaped_p = escaped;
  return SF_OK;
}

static void add(sfctl_table_t *table, bool note, const char *format, va_list args)
{
  char *text = NULL;
  if (table->status != SF_OK)
    return;
  table->status = reserve(table);
  if (table->status == SF_OK && vasprintf(&text, format, args) < 0) {
    text = NULL; /* vasprintf leaves it undefined */
    table->status = no_memory();
  }
  char *escaped = NULL;
  if (table->status == SF_OK)
    table->status = escape(*text != '\0' ? text : "-", &escaped);
  if (table->status == SF_OK)
    table->cells[table->ncells++] = (sfctl_cell_t){.text = escaped, .note = note};
  free(text);
}

void sfctl_table_cell(sfctl_table_t *table, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  add(table, false, format, args);
  va_end(args);
}

static void add_value(sfctl_table_t *table, const sfctl_value_t *value)
{
  char text[SFREPORT_TEXT_SIZE];
  if (value->kind == SFCTL_INT)
    sfctl_table_cell(table, "%" PRId64, value->i);
  else if (value->kind == SFCTL_UINT)
    sfctl_table_cell(table, "%" PRIu64, value->u);
  else if (value->kind == SFCTL_DOUBLE)
    sfctl_table_cell(table, "%.3f", value->d);
  else if (value->kind == SFCTL_BOOL)
    sfctl_table_cell(table, "%s", value->b ? "yes" : "no");
  else if (value->kind == SFCTL_STRING)
    sfctl_table_cell(table, "%s", value->s);
  else if (value->kind == SFCTL_BYTES)
    sfctl_table_cell(table, "%s", sfreport_text_bytes(value->u, text));
  else if (value->kind == SFCTL_SECONDS)
    sfctl_table_cell(table, "%s", sfreport_text_duration(value->d, text));
  else
    sfctl_table_cell(table, "-");
}

void sfctl_table_add_values(sfctl_table_t *table, const sfctl_value_t values[], size_t n)
{
  for (size_t i = 0; i < n; i++)
    add_value(table, &values[i]);
}

void sfctl_table_unknown(sfctl_table_t *table, int count)
{
  for (int i = 0; i < count; i++)
    sfctl_table_cell(table, "-");
}

void sfctl_table_note(sfctl_table_t *table, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  add(table, true, format, args);
  va_end(args);
}

void sfctl_table_clear(sfctl_table_t *table)
{
  for (size_t i = 0; i < table->ncells; i++)
    free(table->cells[i].text);
  free(table->cells);
  table->cells = NULL;
  table->ncells = table->capacity = 0;
}

/* ---- Printing ---- */

/* How it is printed. */
typedef struct shape {
  int widths[MAX_COLUMNS];
  size_t shown; /* columns; others are left out */
} shape_t;

static void widen(int *width, const char *text)
{
  int length = (int)strlen(text);
  if (length > *width)
    *width = length;
}

static void measure(const sfctl_table_t *table, shape_t *shape)
{
  size_t column = 0;
  *shape = (shape_t){.shown = table->ncolumns};
  for (size_t c = 0; c < table->ncolumns; c++)
    if (table->columns[c].title != NULL)
      widen(&shape->widths[c], table->columns[c].title);
  for (size_t i = 0; i < table->ncells; i++) {
    if (table->cells[i].note)
      continue;
    widen(&shape->widths[column], table->cells[i].text);
    column = (column + 1) % table->ncolumns;
  }
}

static int total(const shape_t *shape)
{
  int sum = -GAP;
  for (size_t c = 0; c < shape->shown; c++)
    sum += shape->widths[c] + GAP;
  return sum;
}

static void clip_names(const sfctl_table_t *table, shape_t *shape, int width)
{
  int most = width / 5 > NAME_MIN ? width / 5 : NAME_MIN;
  for (size_t c = 0; c < table->ncolumns; c++)
    if (table->columns[c].align == SFCTL_LEFT && shape->widths[c] > most)
      shape->widths[c] = most;
}

/* One column always stays. A last column of text gets the rest of the line. */
static void fit(const sfctl_table_t *table, shape_t *shape, int width)
{
  const shape_t whole = *shape;
  if (total(shape) <= width)
    return;
  clip_names(table, shape, width);
  while (shape->shown > 1 && total(shape) > width)
    shape->shown--;
  shape_t before = *shape;
  size_t last = before.shown < table->ncolumns ? before.shown : before.shown - 1;
  before.shown = last;
  int room = width - total(&before) - GAP;
  if (table->columns[last].align == SFCTL_LEFT && room >= NAME_MIN) {
    shape->widths[last] = room < whole.widths[last] ? room : whole.widths[last];
    shape->shown = last + 1;
  }
}

/* No blanks at the end of a line. */
static void print_cell(const sfctl_table_t *table, const shape_t *shape, size_t column, const char *text, FILE *file)
{
  int width = shape->widths[column];
  bool last = column + 1 == shape->shown, long_text = (int)strlen(text) > width;
  char clipped[CLIPPED_SIZE];
  if (column >= shape->shown)
    return;
  if (long_text && width < CLIPPED_SIZE)
    text = sfctl_clip_middle(text, width, clipped, sizeof clipped);
  if (table->columns[column].align == SFCTL_RIGHT)
    fprintf(file, "%*s", width, text);
  else
    fprintf(file, "%-*s", last ? 0 : width, text);
  fprintf(file, "%*s", last ? 0 : GAP, "");
  if (last)
    fputc('\n', file);
}

static sf_status_t print(const sfctl_table_t *table, int width, FILE *file)
{
  shape_t shape;
  size_t column = 0;
  if (table->status != SF_OK)
    return table->status;
  if (table->ncolumns > MAX_COLUMNS)
    return sfshm_error(SF_ERR_INTERNAL, "table of %zu columns, at most %d", table->ncolumns, MAX_COLUMNS);
  measure(table, &shape);
  if (width > 0)
    fit(table, &shape, width);
  for (size_t c = 0; c < table->ncolumns && table->columns[0].title != NULL; c++)
    print_cell(table, &shape, c, table->columns[c].title, file);
  for (size_t i = 0; i < table->ncells; i++) {
    const sfctl_cell_t *cell = &table->cells[i];
    if (cell->note) {
      fprintf(file, "    %s\n", cell->text);
      continue;
    }
    print_cell(table, &shape, column, cell->text, file);
    column = (column + 1) % table->ncolumns;
  }
  if (shape.shown < table->ncolumns)
    fprintf(file, "(%zu more column%s: --wide)\n", table->ncolumns - shape.shown,
            table->ncolumns - shape.shown == 1 ? "" : "s");
  return SF_OK;
}

sf_status_t sfctl_table_print(sfctl_table_t *table, int width, FILE *file)
{
  sf_status_t status = print(table, width, file);
  sfctl_table_clear(table);
  return status;
}

sf_status_t sfctl_table_print_all(sfctl_table_t *table, const char *name, int width, FILE *file)
{
  if (table->ncells > 0 || table->status != SF_OK)
    return sfctl_table_print(table, width, file);
  fprintf(file, "no %s\n", name);
  return SF_OK;
}

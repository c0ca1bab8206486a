/* Layout of sfctl top: see layout.h. The one thread of sfctl. */
#include "tools/sfctl/top/layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "tools/sfctl/print/short_id.h"

#define NAME_MIN 12
#define STATE_MAX 8
#define AT_WIDTH 5 /* of the node, in front */

static int max(int a, int b)
{
  return a > b ? a : b;
}

static int printable_length(const char *name)
{
  char text[SFREPORT_PRINTABLE_SIZE(sizeof((sfctl_top_row_t *)0)->name)];
  return (int)strlen(sfreport_text_printable(name, text, sizeof text));
}

/* With brackets around the title of the sorted column. */
static int figure_width(const sfctl_top_column_t *column)
{
  static const int least[] = {
      [SFCTL_FIGURE_COUNT] = 7, [SFCTL_FIGURE_RATE] = 8, [SFCTL_FIGURE_BYTES] = 10, [SFCTL_FIGURE_SHARE] = 6,
      [SFCTL_FIGURE_RANKS] = 6, [SFCTL_FIGURE_TIME] = 9, [SFCTL_FIGURE_SIZE] = 10};
  return max(least[column->figure], (int)strlen(column->title) + 2);
}

static int find_digits(const sfctl_top_table_t *table)
{
  uint64_t *ids = calloc(table->nrows + 1, sizeof *ids);
  if (ids == NULL)
    return 0;
  for (size_t i = 0; i < table->nrows; i++)
    ids[i] = sfctl_top_number(table, &table->rows[i]);
  int digits = sfctl_id_digits(ids, table->nrows);
  free(ids);
  return digits;
}

static void measure_rows(const sfctl_top_table_t *table, bool wide, sfctl_top_layout_t *layout)
{
  char number[SFCTL_ID_SIZE];
  *layout = (sfctl_top_layout_t){.digits = wide ? 0 : find_digits(table), .number = 5, .name = 3, .state = 5};
  for (size_t i = 0; i < table->nrows; i++) {
    const sfctl_top_row_t *row = &table->rows[i];
    layout->number =
        max(layout->number, (int)strlen(sfctl_id_text(sfctl_top_number(table, row), layout->digits, number)));
    layout->name = max(layout->name, printable_length(row->name));
    layout->state = max(layout->state, (int)strlen(row->state));
  }
  if (layout->state > STATE_MAX)
    layout->state = STATE_MAX;
}

sfctl_top_layout_t sfctl_top_lay_out(const sfctl_top_table_t *table, int width, int first, bool wide)
{
  const sfctl_top_column_t *columns = sfctl_top_columns(table->view);
  int ncolumns = sfctl_top_ncolumns(table->view);
  sfctl_top_layout_t layout;
  if (width == 0)
    width = INT_MAX;
  measure_rows(table, wide, &layout);
  if (!wide && layout.name > max(NAME_MIN, width / 5))
    layout.name = max(NAME_MIN, width / 5);
  int used = (sfctl_top_says_where(table) ? AT_WIDTH : 0) + layout.number + 1 + layout.name + 1 + layout.state;
  layout.first = first < ncolumns ? first : ncolumns - 1;
  for (layout.end = layout.first; layout.end < ncolumns; layout.end++) {
    layout.figures[layout.end] = figure_width(&columns[layout.end]);
    used += 1 + layout.figures[layout.end];
    if (used > width)
      break;
  }
  layout.history = used < width - SFCTL_TOP_HISTORY;
  return layout;
}

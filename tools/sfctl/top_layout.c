/* The columns of sfctl top on a screen: see top_layout.h. The one thread of sfctl. */
#include "tools/sfctl/top_layout.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "proto/report/text.h"

#define NAME_MIN 12
#define STATE_MAX 8
#define AT_WIDTH 5 /* the node that tells, in front */

static int max(int a, int b)
{
  return a > b ? a : b;
}

static int printable_length(const char *name)
{
  char text[SFREPORT_PRINTABLE_SIZE(sizeof((sfctl_top_row_t *)0)->name)];
  return (int)strlen(sfreport_text_printable(name, text, sizeof text));
}

/* With brackets around the title, which say by which one rows are sorted. */
static int figure_width(const sfctl_top_column_t *column)
{
  static const int least[] = {
      [SFCTL_FIGURE_COUNT] = 7, [SFCTL_FIGURE_RATE] = 8, [SFCTL_FIGURE_BYTES] = 10, [SFCTL_FIGURE_SHARE] = 6};
  return max(least[column->figure], (int)strlen(column->title) + 2);
}

static void measure_rows(const sfctl_top_table_t *table, sfctl_top_layout_t *layout)
{
  *layout = (sfctl_top_layout_t){.number = 5, .name = 3, .state = 5};
  for (size_t i = 0; i < table->nrows; i++) {
    const sfctl_top_row_t *row = &table->rows[i];
    layout->number = max(layout->number, snprintf(NULL, 0, "%" PRIu64, sfctl_top_number(table, row)));
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
  measure_rows(table, &layout);
  if (!wide && layout.name > max(NAME_MIN, width / 5))
    layout.name = max(NAME_MIN, width / 5);
  int used = (table->all_nodes ? AT_WIDTH : 0) + layout.number + 1 + layout.name + 1 + layout.state;
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

/* Lines of sfctl top: see text.h. The one thread of sfctl. */
#include "tools/sfctl/top/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "proto/report/text.h"
#include "tools/sfctl/print/clip.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/short_id.h"

#define FIGURE_SIZE 32

/* "1234", "12.3k", "4.5M" */
static void write_rate(double rate, char text[FIGURE_SIZE])
{
  static const char units[] = " kMGTPE";
  int unit = 0;
  for (; rate >= 99999.5 && units[unit + 1] != '\0'; unit++)
    rate /= 1000;
  if (unit > 0)
    snprintf(text, FIGURE_SIZE, rate < 100 ? "%.1f%c" : "%.0f%c", rate, units[unit]);
  else
    snprintf(text, FIGURE_SIZE, rate > 0 && rate < 99.95 ? "%.1f" : "%.0f", rate);
}

static void write_time(double seconds, char text[FIGURE_SIZE])
{
  char duration[SFREPORT_TEXT_SIZE];
  if (seconds >= 1)
    snprintf(text, FIGURE_SIZE, "%s", sfreport_text_duration(seconds, duration));
  else
    snprintf(text, FIGURE_SIZE, seconds > 0 ? "%.2f ms" : "0", 1000 * seconds);
}

static void write_figure(sfctl_figure_t figure, double value, char text[FIGURE_SIZE])
{
  char bytes[SFREPORT_TEXT_SIZE];
  if (isnan(value))
    snprintf(text, FIGURE_SIZE, "-");
  else if (figure == SFCTL_FIGURE_COUNT)
    snprintf(text, FIGURE_SIZE, "%.0f", value);
  else if (figure == SFCTL_FIGURE_RATE)
    write_rate(value, text);
  else if (figure == SFCTL_FIGURE_RANKS)
    snprintf(text, FIGURE_SIZE, "%.2f", value);
  else if (figure == SFCTL_FIGURE_TIME)
    write_time(value, text);
  else if (figure == SFCTL_FIGURE_BYTES || figure == SFCTL_FIGURE_SIZE)
    snprintf(text, FIGURE_SIZE, "%s", sfreport_text_bytes(value < 1e19 ? (uint64_t)value : UINT64_MAX, bytes));
  else
    snprintf(text, FIGURE_SIZE, "%.0f%%", 100 * value);
}

/* ---- Head ---- */

/* The daemon counts for its own node. */
void sfctl_top_summary(const sfctl_top_table_t *table, const char *clock, char line[SFCTL_TOP_LINE])
{
  char uptime[SFREPORT_TEXT_SIZE], about[128];
  if (table->all_nodes)
    snprintf(about, sizeof about, "all %d node%s, seen from node %d", table->nnodes, table->nnodes == 1 ? "" : "s",
             table->node);
  else
    snprintf(about, sizeof about, "%d job%s, %d rank%s, %d graph%s; node %d of %d", table->njobs,
             table->njobs == 1 ? "" : "s", table->nranks, table->nranks == 1 ? "" : "s", table->ngraphs,
             table->ngraphs == 1 ? "" : "s", table->node, table->nnodes);
  snprintf(line, SFCTL_TOP_LINE, "sfctl top%s%s: %s, sfd up %s", clock[0] != '\0' ? " " : "", clock, about,
           sfreport_text_duration(table->uptime_s, uptime));
}

/* Sum over the rows; of shares the mean. */
static double add_up(const sfctl_top_table_t *table, int column)
{
  double sum = 0;
  int n = 0;
  for (size_t i = 0; i < table->nrows; i++)
    if (!isnan(table->rows[i].figure[column])) {
      sum += table->rows[i].figure[column];
      n++;
    }
  bool share = sfctl_top_columns(table->view)[column].figure == SFCTL_FIGURE_SHARE;
  return share && n > 0 ? sum / n : sum;
}

void sfctl_top_totals(const sfctl_top_table_t *table, int width, char line[SFCTL_TOP_LINE])
{
  const sfctl_top_column_t *columns = sfctl_top_columns(table->view);
  const char *what = sfctl_view_names[table->view];
  int letters = (int)strlen(what) - (table->nrows == 1); /* without the s */
  int used = snprintf(line, SFCTL_TOP_LINE, "%zu %.*s:", table->nrows, letters, what);
  for (int c = 0; c < sfctl_top_ncolumns(table->view); c++) {
    char text[FIGURE_SIZE], item[2 * FIGURE_SIZE];
    if (sfctl_top_is_level(columns[c].figure))
      continue;
    write_figure(columns[c].figure, add_up(table, c), text);
    int length = snprintf(item, sizeof item, "  %s %s", text, columns[c].title);
    if (used + length > (width > 0 ? width : SFCTL_TOP_LINE - 1))
      return;
    memcpy(line + used, item, (size_t)length + 1);
    used += length;
  }
}

/* ---- Rows ---- */

static const char *number_title(sfctl_view_t view)
{
  static const char *const titles[SFCTL_VIEWS] = {"ID", "RANK", "GRAPH", "GRAPH", "NODE"};
  return titles[view];
}

static size_t left(int used)
{
  return used < SFCTL_TOP_LINE ? (size_t)(SFCTL_TOP_LINE - used) : 0;
}

void sfctl_top_titles(const sfctl_top_table_t *table, const sfctl_top_layout_t *layout, int sort,
                      char line[SFCTL_TOP_LINE])
{
  const sfctl_top_column_t *columns = sfctl_top_columns(table->view);
  int used = snprintf(line, SFCTL_TOP_LINE, "%s%*s %-*s %-*s", sfctl_top_says_where(table) ? "AT   " : "",
                      layout->number, number_title(table->view), layout->name,
                      table->view == SFCTL_VIEW_CHANNELS ? "TO" : "JOB", layout->state, "STATE");
  for (int c = layout->first; c < layout->end; c++) {
    char title[FIGURE_SIZE];
    snprintf(title, sizeof title, c == sort ? "[%s]" : "%s", columns[c].title);
    used += snprintf(line + used, left(used), " %*s", layout->figures[c], title);
  }
  snprintf(line + used, left(used), "%s", layout->history ? " HISTORY" : "");
}

/* Scaled to the row's maximum. */
static int draw_history(const sfctl_top_row_t *row, bool unicode, char *text, size_t size)
{
  static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
  static const char *const ascii[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  float highest = 0;
  int used = 0;
  for (int i = 0; i < SFCTL_TOP_HISTORY; i++)
    highest = row->history[i] > highest ? row->history[i] : highest;
  for (int i = 0; i < SFCTL_TOP_HISTORY && (size_t)used < size; i++) {
    int level = highest > 0 ? (int)ceilf(8 * row->history[i] / highest) : 0;
    used += snprintf(text + used, size - (size_t)used, "%s", unicode ? blocks[level] : ascii[level]);
  }
  return used;
}

void sfctl_top_line(const sfctl_top_table_t *table, const sfctl_top_row_t *row, const sfctl_top_layout_t *layout,
                    bool unicode, char line[SFCTL_TOP_LINE])
{
  const sfctl_top_column_t *columns = sfctl_top_columns(table->view);
  char name[SFREPORT_PRINTABLE_SIZE(sizeof row->name)], state[SFREPORT_PRINTABLE_SIZE(sizeof row->state)];
  char clipped[sizeof name], number[SFCTL_ID_SIZE];
  sfreport_text_printable(row->name, name, sizeof name);
  sfreport_text_printable(row->state, state, sizeof state);
  int used = sfctl_top_says_where(table) ? snprintf(line, SFCTL_TOP_LINE, "%-4" PRIu64 " ", row->key[0]) : 0;
  used += snprintf(line + used, left(used), "%*s %-*s %-*.*s", layout->number,
                   sfctl_id_text(sfctl_top_number(table, row), layout->digits, number), layout->name,
                   sfctl_clip_middle(name, layout->name, clipped, sizeof clipped), layout->state, layout->state, state);
  for (int c = layout->first; c < layout->end; c++) {
    char text[FIGURE_SIZE];
    write_figure(columns[c].figure, row->figure[c], text);
    used += snprintf(line + used, left(used), " %*s", layout->figures[c], text);
  }
  if (layout->history && used + 2 < SFCTL_TOP_LINE) {
    line[used++] = ' ';
    used += draw_history(row, unicode, line + used, left(used));
  }
  while (used > 0 && used < SFCTL_TOP_LINE && line[used - 1] == ' ')
    line[--used] = '\0';
}

/* ---- JSON ---- */

static void print_row(sfctl_json_t *json, const sfctl_top_table_t *table, const sfctl_top_row_t *row)
{
  static const char *const numbers[SFCTL_VIEWS] = {NULL, "rank", "graph", "graph", "node"};
  const sfctl_top_column_t *columns = sfctl_top_columns(table->view);
  sfctl_json_begin_object(json, NULL);
  sfctl_json_add(json, SFCTL_MEMBER("told_by", row->key[0]));
  if (table->view != SFCTL_VIEW_CHANNELS)
    sfctl_json_add(json, SFCTL_MEMBER("job_id", row->key[1]));
  if (numbers[table->view] != NULL)
    sfctl_json_add(json, SFCTL_MEMBER(numbers[table->view], row->key[2]));
  sfctl_json_add(json, SFCTL_MEMBER(table->view == SFCTL_VIEW_CHANNELS ? "description" : "job", row->name),
                 SFCTL_FIELD(row, state));
  for (int c = 0; c < sfctl_top_ncolumns(table->view); c++)
    if (columns[c].figure == SFCTL_FIGURE_COUNT && !isnan(row->figure[c]))
      sfctl_json_add(json, SFCTL_MEMBER(columns[c].name, (int64_t)row->figure[c]));
    else
      sfctl_json_add(json, SFCTL_MEMBER(columns[c].name, row->figure[c]));
  sfctl_json_end_object(json);
}

void sfctl_top_json(const sfctl_top_table_t *table, double time_s, FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_add(&json, SFCTL_MEMBER("time_s", time_s), SFCTL_MEMBER("view", sfctl_view_names[table->view]));
  sfctl_json_begin_array(&json, "rows");
  for (size_t i = 0; i < table->nrows; i++)
    print_row(&json, table, &table->rows[i]);
  sfctl_json_end_array(&json);
  sfctl_json_end_object(&json);
}

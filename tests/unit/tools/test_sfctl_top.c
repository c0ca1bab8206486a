/* The columns of sfctl top on screens of several widths. */
#include "tools/sfctl/top/text.h"

#include <math.h>

#include "tests/unit/runner.h"

#define NROWS 2

static sfctl_top_row_t rows[NROWS];
static sfctl_top_table_t table;

static void setup(void)
{
  memset(rows, 0, sizeof rows);
  for (size_t i = 0; i < NROWS; i++) {
    rows[i].key[2] = 1022 + i;
    strcpy(rows[i].name, "a_program_of_a_long_name-12345678");
    strcpy(rows[i].state, "running");
    for (int c = 0; c < SFCTL_TOP_COLUMNS; c++)
      rows[i].figure[c] = 1;
  }
  table = (sfctl_top_table_t){.view = SFCTL_VIEW_RANKS, .rows = rows, .nrows = NROWS};
}

SFTEST_FIXTURE(setup, NULL);

static void expect_width(const char *line, int width)
{
  ck_assert_msg(width == 0 || (int)strlen(line) <= width, "more than %d characters: %s", width, line);
}

/* Whose figures, then as many columns as fit, from first on. */
static void expect_lines(int width, int first, const char *in_titles, const char *in_row)
{
  char titles[SFCTL_TOP_LINE], line[SFCTL_TOP_LINE], totals[SFCTL_TOP_LINE];
  sfctl_top_layout_t layout = sfctl_top_lay_out(&table, width, first, false);
  sfctl_top_titles(&table, &layout, -1, titles);
  sfctl_top_line(&table, &rows[0], &layout, false, line);
  sfctl_top_totals(&table, width, totals);
  ck_assert_msg(strstr(titles, in_titles) != NULL, "no \"%s\" in: %s", in_titles, titles);
  ck_assert_msg(strstr(line, in_row) != NULL, "no \"%s\" in: %s", in_row, line);
  expect_width(titles, width);
  expect_width(line, width);
  expect_width(totals, width);
}

SFTEST(widths)
{
  expect_lines(60, 0, " RANK JOB          STATE      OPS/s   WAIT ", " 1022 a_pro..45678 running      1.0   100% ");
  expect_lines(80, 0, " RANK JOB              STATE      OPS/s   WAIT ", " 1022 a_progr..2345678 running ");
  expect_lines(200, 0, " HISTORY", " 1022 a_program_of_a_long_name-12345678 running ");
  expect_lines(0, 0, " HISTORY", " 1022 a_program_of_a_long_name-12345678 running ");
  for (int width = 1; width < 200; width++)
    for (int first = 0; first < SFCTL_TOP_COLUMNS && width >= 40; first++)
      expect_lines(width, first, "JOB", "running");
}

/* Scrolling comes to each column, beside the names. */
SFTEST(scrolled_aside)
{
  for (int v = 0; v < SFCTL_VIEWS; v++) {
    table.view = (sfctl_view_t)v;
    const sfctl_top_column_t *columns = sfctl_top_columns(table.view);
    int ncolumns = sfctl_top_ncolumns(table.view);
    expect_lines(60, 0, columns[0].title, "a_pro..45678");
    for (int c = 0; c < ncolumns; c++)
      expect_lines(60, c, columns[c].title, "a_pro..45678");
    ck_assert_int_eq(sfctl_top_lay_out(&table, 60, ncolumns - 1, false).end, ncolumns);
    ck_assert_int_eq(sfctl_top_lay_out(&table, 60, ncolumns + 5, false).first, ncolumns - 1);
  }
}

/* Full-screen sfctl top, by ncurses. The one thread of sfctl. */
#include "tools/sfctl/top/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/report/text.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfctl/print/clip.h"
#include "tools/sfctl/top/text.h"

#define HEAD_LINES 4
#define DELAY_MIN_MS 10
#define DELAY_MAX_MS 3600000

enum { PAIR_BAD = 1, PAIR_WAITING };

typedef struct screen {
  sfctl_top_session_t *session;
  bool unicode, colours, help;
  bool wide;         /* names in full */
  int left;          /* index of the first shown figure */
  size_t first;      /* row at the top */
  char message[256]; /* of an error; "": none */
} screen_t;

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
  ending = number;
}

/* ---- Drawing ---- */

/* Up to the edge of the screen, where curses would continue in the next line. */
static void draw_line(int y, const char *line, int attributes)
{
  attrset(attributes);
  mvaddnstr(y, 0, line, sfctl_clip_bytes(line, COLS));
  attrset((int)A_NORMAL);
}

static void draw_help(void)
{
  static const char *const lines[] = {
      "j r g a c jobs, ranks, graphs, arrays, channels to other nodes",
      "< >       sort by the column to the left, to the right",
      "R         sort the other way round",
      "d         seconds between refreshes;  space  refresh now",
      "arrows, page up and down, home   scroll",
      "w         names in full, or clipped",
      "h ?       this;  q  end",
      "",
      "WAIT is the share of the time in which ranks waited for",
      "others, longer than they spin; WAITED how many wait for a",
      "rank that does not wait. HISTORY, where there is room, is",
      "how the first figure went, each row by its own highest.",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    draw_line(HEAD_LINES + (int)i, lines[i], (int)A_NORMAL);
}

/* Colours only repeat what the text says. */
static int attributes_of(const screen_t *screen, const sfctl_top_row_t *row)
{
  int wait = sfctl_top_find_column(screen->session->table.view, "WAIT");
  if (!screen->colours)
    return (int)A_NORMAL;
  if (strcmp(row->state, "failed") == 0)
    return (int)COLOR_PAIR(PAIR_BAD);
  if (wait >= 0 && row->figure[wait] > 0.5)
    return (int)COLOR_PAIR(PAIR_WAITING);
  return (int)A_NORMAL;
}

static int rows_on_screen(void)
{
  return LINES > HEAD_LINES ? LINES - HEAD_LINES : 0;
}

static void draw_rows(screen_t *screen, const sfctl_top_layout_t *layout)
{
  const sfctl_top_table_t *table = &screen->session->table;
  char line[SFCTL_TOP_LINE];
  if (screen->first >= table->nrows)
    screen->first = table->nrows > 0 ? table->nrows - 1 : 0;
  for (size_t i = screen->first; i < table->nrows && (int)(i - screen->first) < rows_on_screen(); i++) {
    sfctl_top_line(table, &table->rows[i], layout, screen->unicode, line);
    draw_line(HEAD_LINES + (int)(i - screen->first), line, attributes_of(screen, &table->rows[i]));
  }
}

/* The error; else which part is shown, if not all. */
static void draw_message(const screen_t *screen, const sfctl_top_layout_t *layout)
{
  const sfctl_top_table_t *table = &screen->session->table;
  int ncolumns = sfctl_top_ncolumns(table->view);
  char text[128] = "";
  size_t used = 0;
  if (layout->end == layout->first)
    used = (size_t)snprintf(text, sizeof text, "no column fits  ");
  else if (layout->first > 0 || layout->end < ncolumns)
    used = (size_t)snprintf(text, sizeof text, "columns %d to %d of %d  ", layout->first + 1, layout->end, ncolumns);
  if (table->nrows > (size_t)rows_on_screen())
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "rows from %zu of %zu  ", screen->first + 1, table->nrows);
  if (used > 0)
    snprintf(text + used, sizeof text - used, "arrows scroll, h help");
  bool failed = screen->message[0] != '\0';
  draw_line(2, failed ? screen->message : text, failed ? (int)A_BOLD : (int)A_NORMAL);
}

static void draw(screen_t *screen)
{
  const sfctl_top_session_t *session = screen->session;
  sfctl_top_layout_t layout = sfctl_top_lay_out(&session->table, COLS, screen->left, screen->wide);
  char line[SFCTL_TOP_LINE], clock_text[16];
  time_t now = time(NULL);
  struct tm local;
  strftime(clock_text, sizeof clock_text, "%H:%M:%S", localtime_r(&now, &local));
  erase();
  sfctl_top_summary(&session->table, clock_text, line);
  draw_line(0, line, (int)A_NORMAL);
  sfctl_top_totals(&session->table, COLS, line);
  draw_line(1, line, (int)A_NORMAL);
  draw_message(screen, &layout);
  sfctl_top_titles(&session->table, &layout, session->sort, line);
  draw_line(3, line, (int)A_REVERSE);
  if (screen->help)
    draw_help();
  else
    draw_rows(screen, &layout);
  refresh();
}

/* ---- Keys ---- */

static void show_view(screen_t *screen, sfctl_view_t view)
{
  sfctl_top_clear(&screen->session->table);
  screen->session->table.view = view;
  if (screen->session->sort >= sfctl_top_ncolumns(view))
    screen->session->sort = 0;
  screen->first = 0;
  screen->left = 0;
  screen->help = false;
  clearok(stdscr, TRUE);
}

static void ask_delay(screen_t *screen)
{
  char text[16] = "", *end;
  timeout(-1);
  echo();
  curs_set(1);
  move(2, 0);
  clrtoeol();
  mvaddstr(2, 0, "Seconds between refreshes: ");
  getnstr(text, sizeof text - 1);
  noecho();
  curs_set(0);
  double seconds = strtod(text, &end);
  if (end != text && *end == '\0' && seconds * 1000 >= DELAY_MIN_MS && seconds * 1000 <= DELAY_MAX_MS)
    screen->session->delay_ms = (int64_t)(seconds * 1000);
  else if (text[0] != '\0')
    snprintf(screen->message, sizeof screen->message, "expected 0.01 to 3600 seconds");
}

static void scroll_by(screen_t *screen, long lines)
{
  long first = (long)screen->first + lines;
  screen->first = first > 0 ? (size_t)first : 0;
}

/* Scrolls the column into view. */
static void sort_by(screen_t *screen, int column)
{
  sfctl_top_session_t *session = screen->session;
  int ncolumns = sfctl_top_ncolumns(session->table.view);
  session->sort = (column + ncolumns) % ncolumns;
  sfctl_top_sort(&session->table, session->sort, session->ascending);
  if (session->sort < screen->left)
    screen->left = session->sort;
  while (screen->left < session->sort &&
         sfctl_top_lay_out(&session->table, COLS, screen->left, screen->wide).end <= session->sort)
    screen->left++;
}

/* At most to the last hidden column. */
static void scroll_aside(screen_t *screen, int columns)
{
  const sfctl_top_table_t *table = &screen->session->table;
  bool more = sfctl_top_lay_out(table, COLS, screen->left, screen->wide).end < sfctl_top_ncolumns(table->view);
  if (columns > 0 ? more : screen->left > 0)
    screen->left += columns;
}

static void move_view(screen_t *screen, int key)
{
  long page = rows_on_screen() > 1 ? rows_on_screen() - 1 : 1;
  if (key == KEY_UP || key == KEY_DOWN)
    scroll_by(screen, key == KEY_UP ? -1 : 1);
  else if (key == KEY_PPAGE || key == KEY_NPAGE)
    scroll_by(screen, key == KEY_PPAGE ? -page : page);
  else if (key == KEY_LEFT || key == KEY_RIGHT)
    scroll_aside(screen, key == KEY_LEFT ? -1 : 1);
  else if (key == KEY_HOME) {
    screen->first = 0;
    screen->left = 0;
  }
}

/* Returns whether a new sample is wanted at once. */
static bool handle_key(screen_t *screen, int key)
{
  static const char views[] = "jrgac";
  sfctl_top_session_t *session = screen->session;
  const char *view = key > 0 && key < 128 ? strchr(views, key) : NULL;
  if (view != NULL) {
    show_view(screen, (sfctl_view_t)(view - views));
    return true;
  }
  if (key == 'q')
    ending = SIGINT;
  else if (key == 'h' || key == '?')
    screen->help = !screen->help;
  else if (key == '<' || key == '>')
    sort_by(screen, session->sort + (key == '>' ? 1 : -1));
  else if (key == 'R') {
    session->ascending = !session->ascending;
    sort_by(screen, session->sort);
  } else if (key == 'd' || key == 's')
    ask_delay(screen);
  else if (key == 'w')
    screen->wide = !screen->wide;
  else if (key == ' ' || key == '\n')
    return true;
  else
    move_view(screen, key);
  return false;
}

/* ---- Running ---- */

/* Until the next sample is due. */
static void wait_for_keys(screen_t *screen)
{
  int64_t until_ns = sfshm_now_ns() + screen->session->delay_ms * 1000000;
  bool refresh_now = false;
  while (!ending && !refresh_now) {
    int64_t left_ms = (until_ns - sfshm_now_ns()) / 1000000;
    if (left_ms <= 0)
      return;
    timeout(left_ms < 1000 ? (int)left_ms : 1000);
    int key = getch();
    if (key == ERR)
      continue;
    refresh_now = handle_key(screen, key);
    if (!refresh_now)
      draw(screen);
  }
}

/* The message is the error, or names the nodes that have not answered. */
static sf_status_t take_sample(screen_t *screen)
{
  sf_status_t status = sfctl_top_refresh(screen->session);
  screen->message[0] = '\0';
  if (status != SF_OK || sfctl_top_check_missing(screen->session) != SF_OK)
    sfreport_text_printable(sfshm_error_detail(), screen->message, sizeof screen->message);
  return status;
}

static void run(screen_t *screen)
{
  int64_t iterations = screen->session->options->iterations;
  for (int64_t i = 0; !ending; i++) {
    draw(screen);
    wait_for_keys(screen);
    if (iterations > 0 && i + 1 >= iterations)
      return;
    if (!ending)
      (void)take_sample(screen);
  }
}

static void use_colours(screen_t *screen)
{
  const char *no_color = getenv("NO_COLOR");
  screen->colours = has_colors() && (no_color == NULL || no_color[0] == '\0');
  if (!screen->colours)
    return;
  start_color();
  use_default_colors();
  init_pair(PAIR_BAD, COLOR_RED, -1);
  init_pair(PAIR_WAITING, COLOR_YELLOW, -1);
}

sf_status_t sfctl_top_screen(sfctl_top_session_t *session)
{
  const struct sigaction action = {.sa_handler = on_signal};
  screen_t screen = {.session = session, .wide = session->options->wide};
  sf_status_t status = take_sample(&screen);
  if (status != SF_OK)
    return status;
  setlocale(LC_CTYPE, "");
  screen.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  SCREEN *terminal = newterm(NULL, stdout, stdin);
  if (terminal == NULL)
    return sfshm_error(SF_ERR_SYS, "the terminal can't be used for a full screen (TERM): try sfctl top --batch");
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  curs_set(0);
  use_colours(&screen);
  run(&screen);
  endwin();
  delscreen(terminal);
  return SF_OK;
}

/* sfctl top: see top.h. The one thread of sfctl. */
#include "tools/sfctl/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/report/text.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/clip.h"
#include "tools/sfctl/print/terminal.h"
#include "tools/sfctl/top/screen.h"
#include "tools/sfctl/top/session.h"
#include "tools/sfctl/top/text.h"

/* ---- The session ---- */

static void drop_connection(sfctl_top_session_t *session)
{
  if (session->connected)
    sfctl_disconnect(&session->connection);
  session->connected = false;
  session->table.asked_ns = 0; /* the next daemon may be another one */
}

sf_status_t sfctl_top_refresh(sfctl_top_session_t *session)
{
  const sfctl_options_t *options = session->options;
  sf_status_t status = SF_OK;
  if (!session->connected) {
    status = sfctl_connect(options->socket, options->timeout_ms, &session->connection);
    session->connected = status == SF_OK;
  }
  if (status != SF_OK)
    return status;
  session->connection.target = sfctl_target(options);
  sfctl_renew(&session->connection);
  status = sfctl_top_sample(&session->table, &session->connection, session->job, sfshm_now_ns());
  if (status == SF_OK)
    sfctl_top_sort(&session->table, session->sort, session->ascending);
  else
    drop_connection(session); /* unread answers are of no use */
  return status;
}

sf_status_t sfctl_top_check_missing(const sfctl_top_session_t *session)
{
  return sfctl_check_missing(&session->connection, session->table.nrows);
}

static sf_status_t find_view(const char *word, sfctl_view_t *view_p)
{
  for (int v = 0; v < SFCTL_VIEWS; v++)
    if (strcmp(word, sfctl_view_names[v]) == 0) {
      *view_p = (sfctl_view_t)v;
      return SF_OK;
    }
  return sfshm_error(SF_ERR_ARG, "top \"%.80s\": expected jobs, ranks, graphs, arrays or channels", word);
}

static sf_status_t no_such_column(sfctl_view_t view, const char *word)
{
  const sfctl_top_column_t *columns = sfctl_top_columns(view);
  char titles[256] = "";
  size_t length = 0;
  for (int c = 0; c < sfctl_top_ncolumns(view) && length < sizeof titles; c++)
    length += (size_t)snprintf(titles + length, sizeof titles - length, " %s", columns[c].title);
  return sfshm_error(SF_ERR_ARG, "--sort \"%.80s\": %s have no such column; expected one of%s", word,
                     sfctl_view_names[view], titles);
}

static sf_status_t begin(const sfctl_options_t *options, sfctl_top_session_t *session)
{
  sf_status_t status = SF_OK;
  *session = (sfctl_top_session_t){.options = options,
                                   .delay_ms = options->delay_ms,
                                   .job = options->words[1],
                                   .table = {.view = SFCTL_VIEW_RANKS, .all_nodes = options->all_nodes}};
  if (options->words[0] != NULL)
    status = find_view(options->words[0], &session->table.view);
  if (status != SF_OK || options->sort == NULL)
    return status;
  session->sort = sfctl_top_find_column(session->table.view, options->sort);
  return session->sort >= 0 ? SF_OK : no_such_column(session->table.view, options->sort);
}

sf_status_t sfctl_top_check(const sfctl_options_t *options)
{
  sfctl_top_session_t session;
  return begin(options, &session);
}

/* ---- Plain lines ---- */

static void print(const sfctl_top_session_t *session, FILE *file)
{
  const sfctl_top_table_t *table = &session->table;
  char line[SFCTL_TOP_LINE];
  if (session->options->json) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    sfctl_top_json(table, (double)now.tv_sec + (double)now.tv_nsec / 1e9, file);
    return;
  }
  sfctl_top_summary(table, "", line);
  fprintf(file, "%s\n", line);
  int width = session->options->wide ? 0 : sfctl_clip_terminal_width();
  sfctl_top_layout_t layout = sfctl_top_lay_out(table, width, 0, session->options->wide || width == 0);
  sfctl_top_totals(table, width, line);
  fprintf(file, "%s\n\n", line);
  sfctl_top_titles(table, &layout, -1, line);
  fprintf(file, "%s\n", line);
  for (size_t i = 0; i < table->nrows; i++) {
    sfctl_top_line(table, &table->rows[i], &layout, false, line);
    fprintf(file, "%s\n", line);
  }
}

/* Rates begin at the first sample. Missing nodes are named after each sample: after the last one by the status. */
static sf_status_t run_lines(sfctl_top_session_t *session, FILE *file)
{
  int64_t iterations = session->options->iterations;
  sf_status_t status = sfctl_top_refresh(session);
  for (int64_t i = 0; status == SF_OK && (iterations == 0 || i < iterations); i++) {
    sfshm_sleep_ms(session->delay_ms);
    status = sfctl_top_refresh(session);
    if (status != SF_OK)
      break;
    if (i > 0 && !session->options->json)
      fputc('\n', file);
    print(session, file);
    if (fflush(file) != 0)
      return sfshm_error_errno(SF_ERR_SYS, "cannot write the output");
    status = sfctl_top_check_missing(session);
    if (status == SF_OK || i + 1 == iterations)
      continue;
    sfreport_text_complain("sfctl", sfshm_error_detail());
    status = SF_OK;
  }
  return status;
}

sf_status_t sfctl_top(const sfctl_options_t *options, FILE *file)
{
  sfctl_top_session_t session;
  bool on_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && sfctl_terminal_has_screen();
  sf_status_t status = begin(options, &session);
  if (status != SF_OK)
    return status;
  if (on_terminal && !options->batch && !options->json)
    status = sfctl_top_screen(&session);
  else
    status = run_lines(&session, file);
  drop_connection(&session);
  sfctl_top_clear(&session.table);
  return status;
}

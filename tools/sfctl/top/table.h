/* What sfctl top shows: rows of figures, which remember the last samples. */
#ifndef SFCTL_TOP_TABLE_H
#define SFCTL_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"

typedef enum sfctl_view { SFCTL_VIEW_JOBS, SFCTL_VIEW_RANKS, SFCTL_VIEW_GRAPHS, SFCTL_VIEW_CHANNELS } sfctl_view_t;
#define SFCTL_VIEWS 4

/* How a figure is shown. */
typedef enum sfctl_figure {
  SFCTL_FIGURE_COUNT, /* a whole number */
  SFCTL_FIGURE_RATE,  /* times a second */
  SFCTL_FIGURE_BYTES, /* bytes a second */
  SFCTL_FIGURE_SHARE, /* of the time, 0 to 1 */
  SFCTL_FIGURE_RANKS, /* that wait at a time, on average */
  SFCTL_FIGURE_TIME,  /* seconds by now, */
  SFCTL_FIGURE_SIZE,  /* and bytes */
} sfctl_figure_t;

typedef struct sfctl_top_column {
  const char *title; /* as shown, and as --sort takes it in any case */
  const char *name;  /* in JSON */
  sfctl_figure_t figure;
} sfctl_top_column_t;

#define SFCTL_TOP_COLUMNS 11
#define SFCTL_TOP_HISTORY 16

typedef struct sfctl_top_row {
  uint64_t key[3]; /* node, job, rank or graph: who it is */
  char name[64];   /* of the job, or of the other node */
  char state[16];
  double waited_for_s;              /* ranks only: that others have waited for it, added up */
  double total[SFCTL_TOP_COLUMNS];  /* what has been counted since the beginning, where rates are shown */
  double figure[SFCTL_TOP_COLUMNS]; /* to be shown; NAN: unknown */
  float history[SFCTL_TOP_HISTORY]; /* of the view's main figure, oldest first */
  bool known;                       /* there was a sample before */
} sfctl_top_row_t;

/* Start with {.view = ...}. */
typedef struct sfctl_top_table {
  sfctl_view_t view;
  bool all_nodes;
  sfctl_top_row_t *rows;
  size_t nrows, capacity;
  int64_t sampled_ns; /* 0: never */
  int32_t njobs, nranks, ngraphs, node, nnodes;
  double uptime_s;
  int64_t asked_ns; /* when the daemon told these last; 0: never */
} sfctl_top_table_t;

/* Whether a figure says what is now, rather than what has changed since the sample before. */
static inline bool sfctl_top_is_level(sfctl_figure_t figure)
{
  return figure == SFCTL_FIGURE_COUNT || figure == SFCTL_FIGURE_TIME || figure == SFCTL_FIGURE_SIZE;
}

extern const char *const sfctl_view_names[SFCTL_VIEWS];

/* In order of importance: a narrow screen has room for the first ones. A view may have less than SFCTL_TOP_COLUMNS. */
const sfctl_top_column_t *sfctl_top_columns(sfctl_view_t view);
int sfctl_top_ncolumns(sfctl_view_t view);

/* Whether rows say which node tells of them. A job over nodes has one row. */
bool sfctl_top_says_where(const sfctl_top_table_t *table);

/* Which column of the view has that title; -1: none. */
int sfctl_top_find_column(sfctl_view_t view, const char *title);

/* The one by which the view tells its rows apart: of the job, rank, graph or node. */
uint64_t sfctl_top_number(const sfctl_top_table_t *table, const sfctl_top_row_t *row);

/* Asks for a sample, from which and from the last one figures are made. job: NULL for all. now_ns: on the monotonic
 * clock. Errors as sfctl_collect; then the rows are as before. */
sf_status_t sfctl_top_sample(sfctl_top_table_t *table, sfctl_connection_t *connection, const char *job, int64_t now_ns);

/* Highest first, or lowest; those that are alike by key. */
void sfctl_top_sort(sfctl_top_table_t *table, int column, bool ascending);
void sfctl_top_clear(sfctl_top_table_t *table);

#endif

/* Table of sfctl top: rows of figures over the last samples. */
#ifndef SFCTL_TOP_TABLE_H
#define SFCTL_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"

typedef enum sfctl_view {
  SFCTL_VIEW_JOBS,
  SFCTL_VIEW_RANKS,
  SFCTL_VIEW_GRAPHS,
  SFCTL_VIEW_ARRAYS,
  SFCTL_VIEW_CHANNELS
} sfctl_view_t;
#define SFCTL_VIEWS 5

/* Format of a figure. */
typedef enum sfctl_figure {
  SFCTL_FIGURE_COUNT, /* a whole number */
  SFCTL_FIGURE_RATE,  /* per second */
  SFCTL_FIGURE_BYTES, /* bytes per second */
  SFCTL_FIGURE_SHARE, /* of the time, 0 to 1 */
  SFCTL_FIGURE_RANKS, /* ranks waiting at a time, on average */
  SFCTL_FIGURE_TIME,  /* present value in seconds, */
  SFCTL_FIGURE_SIZE,  /* or bytes */
} sfctl_figure_t;

typedef struct sfctl_top_column {
  const char *title; /* as printed, and for --sort in any case */
  const char *name;  /* in JSON */
  sfctl_figure_t figure;
} sfctl_top_column_t;

#define SFCTL_TOP_COLUMNS 11
#define SFCTL_TOP_HISTORY 16

typedef struct sfctl_top_row {
  uint64_t key[3]; /* node, job, rank or graph */
  char name[64];   /* of the job, or of the other node */
  char state[16];
  double waited_for_s;              /* ranks only: waited for by others, summed */
  double total[SFCTL_TOP_COLUMNS];  /* counted since the begin, for rates */
  double figure[SFCTL_TOP_COLUMNS]; /* to print; NAN: unknown */
  float history[SFCTL_TOP_HISTORY]; /* of the main figure, oldest first */
  bool known;                       /* there was an earlier sample */
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
  int64_t asked_ns; /* of the daemon's last answer about these; 0: never */
} sfctl_top_table_t;

/* Whether a figure is a present value, not a change. */
static inline bool sfctl_top_is_level(sfctl_figure_t figure)
{
  return figure == SFCTL_FIGURE_COUNT || figure == SFCTL_FIGURE_TIME || figure == SFCTL_FIGURE_SIZE;
}

extern const char *const sfctl_view_names[SFCTL_VIEWS];

/* In order of importance, for narrow screens. A view may have fewer than SFCTL_TOP_COLUMNS. */
const sfctl_top_column_t *sfctl_top_columns(sfctl_view_t view);
int sfctl_top_ncolumns(sfctl_view_t view);

/* Whether rows name their node. A job over nodes has one row. */
bool sfctl_top_says_where(const sfctl_top_table_t *table);

/* Column with that title; -1: none. */
int sfctl_top_find_column(sfctl_view_t view, const char *title);

/* Id of the row: of the job, rank, graph or node. */
uint64_t sfctl_top_number(const sfctl_top_table_t *table, const sfctl_top_row_t *row);

/* Takes a sample and computes figures from it and the last one. job NULL: all. now_ns: monotonic clock. Errors of
 * sfctl_collect; then the rows are unchanged. */
sf_status_t sfctl_top_sample(sfctl_top_table_t *table, sfctl_connection_t *connection, const char *job, int64_t now_ns);

/* Highest first, or lowest; equal ones by key. */
void sfctl_top_sort(sfctl_top_table_t *table, int column, bool ascending);
void sfctl_top_clear(sfctl_top_table_t *table);

#endif

/* Command line of sfctl: one table of commands, one of options. */
#ifndef SFCTL_OPTIONS_H
#define SFCTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

typedef enum sfctl_task {
  SFCTL_TASK_QUERY = 0, /* query command of the daemon */
  SFCTL_TASK_METRICS,
  SFCTL_TASK_DOCTOR,
  SFCTL_TASK_TOPO,
  SFCTL_TASK_TOP,
  SFCTL_TASK_MATRIX,
  SFCTL_TASK_PLAN,    /* of a graph that does not exist */
  SFCTL_TASK_CONTROL, /* action of the daemon */
  SFCTL_TASK_STUCK,
  SFCTL_TASK_TRACE,
  SFCTL_TASK_DAEMONS,
} sfctl_task_t;

#define SFCTL_WORDS_MAX 2

/* Texts point into argv. */
typedef struct sfctl_options {
  bool help, version, json, regions, all_nodes, wide, undo, force;
  const char *socket; /* NULL: not given */
  bool found_socket;  /* socket is that of a daemon that was found */
  int64_t timeout_ms;
  int64_t threshold_ms;
  const char *output; /* NULL: standard output */
  int64_t node;       /* -1: not given */
  sfctl_task_t task;
  Sfproto__Query__What command;       /* of SFCTL_TASK_QUERY */
  Sfproto__Control__Action action;    /* of SFCTL_TASK_CONTROL */
  const char *words[SFCTL_WORDS_MAX]; /* after the command; NULL: none */
  const char *job;                    /* the first word if it is a job; NULL: all */
  const char *graph;                  /* its id or the end of it. PLAN: of the plan; MATRIX: NULL: all */
  /* PLAN of a graph that does not exist: one of these is set */
  const char *matrix, *grid;
  const char *parts;        /* boxes or rows */
  const char *distribution; /* block or cyclic */
  int64_t stencil;          /* 0: neighbours across faces */
  int64_t ranks, per_node, unit;
  /* of a grid in boxes, as the library divides grids; nodes 0: none */
  int64_t nodes, fields, radius;
  bool periodic;
  const char *distances; /* NULL: equal within a node */
  bool pairs;
  /* TOP */
  bool batch;
  int64_t delay_ms, iterations; /* 0: no end */
  const char *sort;             /* NULL: by the first column */
  /* MATRIX */
  const char *by, *format, *count;
  int64_t interval_ms; /* 0: since the begin */
} sfctl_options_t;

/* Fills *options_p. --help and --version end parsing. SF_ERR_ARG: names the word, and the nearest known one. */
sf_status_t sfctl_options_parse(int argc, char *const argv[], sfctl_options_t *options_p);

void sfctl_options_print_help(FILE *file);

/* Names of commands and options (without dashes) by index, to compare with the man page; NULL: none left. */
const char *sfctl_options_command_name(size_t index);
const char *sfctl_options_option_name(size_t index);

#endif

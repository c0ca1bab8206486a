/* sfctl's command line: commands and long options, each from one table. */
#ifndef SFCTL_OPTIONS_H
#define SFCTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

typedef enum sfctl_task {
  SFCTL_TASK_QUERY = 0, /* the daemon is asked one question, command */
  SFCTL_TASK_METRICS,
  SFCTL_TASK_DOCTOR,
  SFCTL_TASK_TOPO,
  SFCTL_TASK_TOP,
  SFCTL_TASK_MATRIX,
  SFCTL_TASK_PLAN,    /* of what does not exist */
  SFCTL_TASK_CONTROL, /* the daemon is made to do something: action */
  SFCTL_TASK_STUCK,
  SFCTL_TASK_TRACE,
  SFCTL_TASK_DAEMONS,
} sfctl_task_t;

#define SFCTL_WORDS_MAX 2

/* Texts point into argv. */
typedef struct sfctl_options {
  bool help, version, json, regions, all_nodes, wide, undo, force;
  const char *socket; /* NULL: not given */
  bool found_socket;  /* it was not given, but is the one of the daemon that was found */
  int64_t timeout_ms;
  int64_t threshold_ms;
  const char *output; /* NULL: standard output */
  int64_t node;       /* -1: not given */
  sfctl_task_t task;
  Sfproto__Query__What command;       /* of SFCTL_TASK_QUERY */
  Sfproto__Control__Action action;    /* of SFCTL_TASK_CONTROL */
  const char *words[SFCTL_WORDS_MAX]; /* behind the command; NULL beyond the last */
  const char *job;                    /* the first of them where that is a job; NULL: all */
  const char *graph;                  /* its number, or the end of it. PLAN: whose; MATRIX: NULL: all */
  /* PLAN of what does not exist: of the one that is not NULL */
  const char *matrix, *grid;
  const char *parts;        /* boxes or rows */
  const char *distribution; /* block or cyclic */
  int64_t stencil;          /* 0: across faces */
  int64_t ranks, per_node, unit;
  /* of a grid: as the library divides it, if nodes is not 0 */
  int64_t nodes, fields, radius;
  bool periodic;
  const char *distances; /* NULL: all places of a node are equally far */
  bool pairs;
  /* TOP */
  bool batch;
  int64_t delay_ms, iterations; /* 0: no end */
  const char *sort;             /* NULL: by the first column */
  /* MATRIX */
  const char *by, *format, *count;
  int64_t interval_ms; /* 0: since the beginning */
} sfctl_options_t;

/* Fills *options_p. With --help or --version the rest of the line is not looked at. SF_ERR_ARG, with a text that names
 * the word and the nearest known one, when the line makes no sense. */
sf_status_t sfctl_options_parse(int argc, char *const argv[], sfctl_options_t *options_p);

void sfctl_options_print_help(FILE *file);

/* The names of commands (without dashes) and options, for comparison with the man page: the one with that index, NULL
 * beyond the last. */
const char *sfctl_options_command_name(size_t index);
const char *sfctl_options_option_name(size_t index);

#endif

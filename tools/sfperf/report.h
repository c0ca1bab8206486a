/* Results on standard output: a table for people, or one JSON object a line for programs. */
#ifndef SFPERF_REPORT_H
#define SFPERF_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/sfperf/machine.h"
#include "tools/sfperf/measure.h"

typedef struct sfperf_report {
  bool printing; /* this rank prints */
  bool json;
  int reps;
  int ranks;
  const char *bench;
  int nheadings; /* columns of the table whose headings have been printed */
} sfperf_report_t;

/* What was measured on one pattern. */
typedef struct sfperf_result {
  const char *case_name;
  const char *op;
  int64_t bytes;                        /* payload of one operation over all ranks; -1: none */
  double rewrite_us;                    /* part of every sample that only rewrites the sources; 0: none */
  const sfperf_contender_t *contenders; /* one for each column */
  int columns;
  int measured; /* the first so many have samples, the rest do not apply here */
} sfperf_result_t;

/* Prints what the figures were measured on. title: one line about the benchmark. */
void sfperf_report_start(sfperf_report_t *report, const char *title, const sfperf_machine_t *machine);

/* Prints one result: one row, and a second one net of rewriting if there is any. */
void sfperf_report_result(sfperf_report_t *report, const sfperf_result_t *result);

#endif

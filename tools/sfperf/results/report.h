/* Results on standard output: a table for people, or one JSON object a line for programs. */
#ifndef SFPERF_RESULTS_REPORT_H
#define SFPERF_RESULTS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/machine.h"
#include "tools/sfperf/results/costs.h"
#include "tools/sfperf/results/measure.h"

typedef struct sfperf_report {
  bool printing; /* this rank prints */
  bool json;
  bool spread; /* rows for the smallest and the largest sample, too */
  int reps;
  int ranks;
  int nodes;
  const char *bench;
  int nheadings; /* columns of the table whose headings have been printed */
} sfperf_report_t;

/* What was measured on one pattern. */
typedef struct sfperf_result {
  const char *case_name;
  const char *op;
  int64_t bytes;                        /* payload of one operation over all ranks; -1: none */
  bool rates;                           /* messages are what counts: print MB/s and messages per second, too */
  double rewrite_us;                    /* part of every sample that only rewrites the sources; 0: none */
  const sfperf_contender_t *contenders; /* one for each column */
  int columns;
  int measured; /* the first so many have samples, the rest do not apply here */
} sfperf_result_t;

/* Makes a report of what this job's rank 0 prints. */
sfperf_report_t sfperf_report_of(const sfperf_job_t *job, const char *bench);

/* Prints what the figures were measured on. title: one line about the benchmark. */
void sfperf_report_start(sfperf_report_t *report, const char *title, const sfperf_machine_t *machine);

/* Prints one result: a row of medians; further rows net of rewriting if there is any, of rates and of extremes. */
void sfperf_report_result(sfperf_report_t *report, const sfperf_result_t *result);

/* The same of count contenders, all measured. */
void sfperf_report_measured(sfperf_report_t *report, const char *case_name, const char *op, int64_t bytes,
                            const sfperf_contender_t contenders[], int count);

/* Costs of one contender other than time, and those of one message per pair of ranks, which are known without
 * measuring. */
typedef struct sfperf_costs_result {
  const char *case_name;
  const char *op;
  const sfperf_contender_t *contenders;
  const sfperf_costs_t *costs; /* one for each */
  int count;
  double pair_messages; /* between ranks of different nodes */
  double pair_payload;  /* bytes, one value for each leaf */
} sfperf_costs_result_t;

/* Prints a row each of processor time and of bytes on the wire; then, for the first contender with counters of the
 * daemons, messages and payload between the nodes and those of pairs. */
void sfperf_report_costs(const sfperf_report_t *report, const sfperf_costs_result_t *result);

/* Prints a line for people, none as JSON. */
void sfperf_report_note(const sfperf_report_t *report, const char *text);

#endif

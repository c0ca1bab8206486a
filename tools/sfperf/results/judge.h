/* Compares results with a table of thresholds. */
#ifndef SFPERF_RESULTS_JUDGE_H
#define SFPERF_RESULTS_JUDGE_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfperf/results/record.h"

/* Ratios of paired samples (those of one repetition), or plain values where there is no peer. */
typedef struct sfperf_outcome {
  double median;
  double q1;
  double q3;
} sfperf_outcome_t;

/* One line of the table: the figure, and what it is measured by. */
typedef struct sfperf_threshold {
  char bench[SFPERF_NAME_LEN];
  int nodes;                       /* of a bench named "exchange@2x4": two nodes, */
  int ranks;                       /* with four ranks each; both 0 without: one node, any number of ranks */
  char case_name[SFPERF_NAME_LEN]; /* "*": every case there is a result of */
  char op[SFPERF_NAME_LEN];
  char contender[SFPERF_NAME_LEN];
  bool net;                    /* without the rewriting of sources */
  bool strict;                 /* less than the limit, not at most */
  double limit;                /* of the ratio; of the value itself if there is no peer */
  char unit[SFPERF_NAME_LEN];  /* of the limit; "" for a ratio */
  char peers[SFPERF_NAME_LEN]; /* contenders separated by '|', the fastest counts; "-": none */
} sfperf_threshold_t;

/* Reads one line "bench[@NODESxRANKS] case op contender total|net <=|< limit[unit] peers". SF_ERR_ARG: the detail says
 * what was expected. */
sf_status_t sfperf_threshold_parse(const char *line, sfperf_threshold_t *threshold_p);

/* The samples of one record against those of its peer (NULL: none), pair by pair. Both have at least one. */
sfperf_outcome_t sfperf_judge_pair(const sfperf_record_t *record, const sfperf_record_t *peer, bool net);

/* sfperf judge THRESHOLDS [RESULTS...]: prints a line for each figure and returns the exit status of the program: 0 if
 * all thresholds were met, 1 if one was missed or has no result, 2 for bad files. A figure whose peer was not measured
 * (PETSc not built in) is skipped, and counted. */
int sfperf_judge(int argc, char *argv[]);

#endif

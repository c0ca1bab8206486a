/* One measured figure as it travels between programs: one JSON object a line, with names that stay. */
#ifndef SFPERF_RESULTS_RECORD_H
#define SFPERF_RESULTS_RECORD_H

#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfperf/results/measure.h"

#define SFPERF_NAME_LEN 96

typedef struct sfperf_record {
  char bench[SFPERF_NAME_LEN];     /* "pingpong", "exchange", "setup", ... */
  char case_name[SFPERF_NAME_LEN]; /* "65536", "random-1000": what was measured */
  char op[SFPERF_NAME_LEN];        /* "oneway", "bcast", "reduce", "create" */
  char contender[SFPERF_NAME_LEN]; /* contender's name */
  char unit[SFPERF_NAME_LEN];      /* of the samples: "us" in sfperf's own records */
  int64_t bytes;                   /* payload of one operation over all ranks; -1: none */
  int ranks;                       /* 0: does not matter */
  int nodes;                       /* that they are on; 0: does not matter */
  double rewrite;                  /* part of every sample that only rewrites the sources, in the same unit */
  int reps;                        /* number of samples */
  double samples[SFPERF_MAX_REPS]; /* in the order measured */
} sfperf_record_t;

/* Writes the record as one line. */
void sfperf_record_write(const sfperf_record_t *record, FILE *file);

/* Reads one line. SF_ERR_PROTO: not a flat JSON object of strings, numbers and arrays of numbers, or too much in it.
 * Unknown names are ignored; a line without samples gives a record with reps 0. */
sf_status_t sfperf_record_parse(const char *line, sfperf_record_t *record_p);

#endif

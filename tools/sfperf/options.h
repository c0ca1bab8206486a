/* Command line of sfperf. */
#ifndef SFPERF_OPTIONS_H
#define SFPERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfperf/patterns/grid.h"
#include "tools/sfperf/results/measure.h"

#define SFPERF_MAX_CASES 32

typedef enum sfperf_case_kind {
  SFPERF_CASE_RANDOM,
  SFPERF_CASE_CONTIGUOUS,
  SFPERF_CASE_OVERLAPPING,
  SFPERF_CASE_INCAST,
  SFPERF_CASE_GRID,
  SFPERF_CASE_MATRIX,
} sfperf_case_kind_t;

/* One pattern to measure. */
typedef struct sfperf_case {
  sfperf_case_kind_t kind;
  int64_t nleaves;   /* random, contiguous: leaves of each rank; overlapping, incast: roots */
  int64_t points[3]; /* grid */
  const char *path;  /* matrix; part of argv */
} sfperf_case_t;

typedef struct sfperf_list {
  int n;
  int64_t at[SFPERF_MAX_CASES];
} sfperf_list_t;

typedef struct sfperf_options {
  bool json;
  bool spread; /* tables show the smallest and the largest sample, too */
  bool pin;
  int sends_by_number; /* to other nodes: 0 nearest first, 1 by number */
  sfperf_measure_t measure;
  sfperf_list_t sizes; /* of all but exchange and setup */
  sfperf_list_t edges; /* of setup */
  int ncases;          /* of exchange */
  int on_device;       /* 0 or 1; pingpong, exchange: --memory device */
  sfperf_case_t cases[SFPERF_MAX_CASES];
  int stencil;          /* of all grids */
  sfperf_list_t fields; /* of the benchmark stencil */
  int radius;
  sfperf_list_t tasks; /* of fock */
  int extent;          /* of its matrix */
  int busy_ms;         /* onesided: rank 1 computes for so long; 0: it waits in MPI */
  sfperf_partition_t partition;
} sfperf_options_t;

/* Reads what follows the name of the benchmark (argv[0] here, on which some defaults depend). SF_ERR_ARG: also an
 * option of another benchmark; the detail says what is wrong. */
sf_status_t sfperf_options_parse(int argc, char *argv[], sfperf_options_t *options_p);

/* Prints the usage with one line for each option that the benchmark takes; of all of them if bench names none. */
void sfperf_options_help(const char *bench, FILE *file);

#endif

/* The patterns that the command line names. */
#ifndef SFPERF_PATTERNS_CASES_H
#define SFPERF_PATTERNS_CASES_H

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/patterns/pattern.h"
#include "tools/sfperf/results/record.h"

/* This rank's part. Collective; a file that can't be read ends the program. */
void sfperf_case_make(const sfperf_job_t *job, const sfperf_case_t *one, sfperf_pattern_t *pattern_p);

/* Its name in tables and JSON, which stays. */
void sfperf_case_name(const sfperf_options_t *options, const sfperf_case_t *one, char name_p[SFPERF_NAME_LEN]);

#endif

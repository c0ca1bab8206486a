/* What every benchmark is given. */
#ifndef SFPERF_BENCHMARKS_JOB_H
#define SFPERF_BENCHMARKS_JOB_H

#include <sf/sf.h>

#include "tools/sfperf/machine.h"
#include "tools/sfperf/nodes.h"
#include "tools/sfperf/options.h"

typedef struct sfperf_job {
  int rank;
  int size;
  sf_context_t *context;
  const sfperf_options_t *options;
  const sfperf_machine_t *machine;
  const sfperf_nodes_t *nodes;
} sfperf_job_t;

/* The benchmarks. Collective; results are printed by rank 0, failures end the program. */
void sfperf_pingpong(const sfperf_job_t *job);
void sfperf_bandwidth(const sfperf_job_t *job);
void sfperf_exchange(const sfperf_job_t *job);
void sfperf_setup(const sfperf_job_t *job);
void sfperf_overlap(const sfperf_job_t *job);
void sfperf_incast(const sfperf_job_t *job);
void sfperf_collective(const sfperf_job_t *job);
void sfperf_watched(const sfperf_job_t *job);
void sfperf_stencil(const sfperf_job_t *job);
void sfperf_fields(const sfperf_job_t *job);
void sfperf_onesided(const sfperf_job_t *job);
void sfperf_fock(const sfperf_job_t *job);
void sfperf_product(const sfperf_job_t *job);

#endif

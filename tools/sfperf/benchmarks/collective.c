/* collective: graphs that do what MPI_Allgather, MPI_Gather and MPI_Alltoall do, compared with these. Runs in each
 * rank's only thread, all ranks in step. */
#include "tools/sfperf/benchmarks/job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/report.h"

enum { MAX_CONTENDERS = 4 };

static const struct {
  const char *op;
  sf_pattern_t pattern;
} collectives[] = {
    {"allgather", SF_PATTERN_ALLGATHER},
    {"gather", SF_PATTERN_GATHER},
    {"alltoall", SF_PATTERN_ALLTOALL},
};

/* Source and target of one kind of memory. */
typedef struct buffers {
  double *source;
  double *target;
} buffers_t;

/* Everything of one collective and size. */
typedef struct round {
  const sfperf_job_t *job;
  sf_pattern_t pattern;
  int block; /* doubles */
  sf_graph_t *graph;
  int64_t nsource, ntarget;
  buffers_t plain, shared;
  sf_request_t *request;
} round_t;

static void do_sf(const round_t *round, const buffers_t *buffers)
{
  sfperf_call(sf_bcast, round->graph, SF_DOUBLE, buffers->source, buffers->target, SF_REPLACE);
}

static void do_persistent(round_t *round)
{
  sfperf_call(sf_start, round->request);
  sfperf_call(sf_wait, &round->request);
}

static void do_mpi(const round_t *round)
{
  const buffers_t *buffers = &round->plain;
  int n = round->block;
  if (round->pattern == SF_PATTERN_ALLGATHER)
    MPI_Allgather(buffers->source, n, MPI_DOUBLE, buffers->target, n, MPI_DOUBLE, MPI_COMM_WORLD);
  else if (round->pattern == SF_PATTERN_GATHER)
    MPI_Gather(buffers->source, n, MPI_DOUBLE, buffers->target, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else
    MPI_Alltoall(buffers->source, n, MPI_DOUBLE, buffers->target, n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static double run_alloc(void *opaque, int64_t iterations)
{
  round_t *round = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    do_sf(round, &round->shared);
  return sfperf_now() - start;
}

static double run_plain(void *opaque, int64_t iterations)
{
  round_t *round = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    do_sf(round, &round->plain);
  return sfperf_now() - start;
}

static double run_persistent(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    do_persistent(opaque);
  return sfperf_now() - start;
}

static double run_mpi(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    do_mpi(opaque);
  return sfperf_now() - start;
}

/* ---- One collective and size ------------------------------------------------------------------------------------- */

static void round_init(const sfperf_job_t *job, round_t *round, sf_pattern_t pattern, int64_t len_bytes)
{
  *round = (round_t){.job = job, .pattern = pattern, .block = (int)(len_bytes / (int64_t)sizeof(double))};
  bool all = pattern == SF_PATTERN_ALLTOALL, receives = pattern != SF_PATTERN_GATHER || job->rank == 0;
  round->nsource = all ? (int64_t)round->block * job->size : round->block;
  round->ntarget = receives ? (int64_t)round->block * job->size : 0;
  sfperf_call(sf_graph_create_pattern, sf_group_world(job->context), pattern, round->block, 0, SF_GRAPH_DEFAULT,
              &round->graph);
  size_t source_bytes = (size_t)round->nsource * sizeof(double);
  size_t target_bytes = (size_t)(round->ntarget > 0 ? round->ntarget : 1) * sizeof(double);
  round->plain = (buffers_t){sfperf_malloc(source_bytes), sfperf_malloc(target_bytes)};
  void *source, *target;
  sfperf_call(sf_alloc, job->context, source_bytes, &source);
  sfperf_call(sf_alloc, job->context, target_bytes, &target);
  round->shared = (buffers_t){source, target};
  for (int64_t i = 0; i < round->nsource; i++)
    round->plain.source[i] = round->shared.source[i] = (double)(job->rank * round->nsource + i);
  sfperf_call(sf_bcast_init, round->graph, SF_DOUBLE, source, target, SF_REPLACE, &round->request);
}

static void round_free(round_t *round)
{
  sfperf_call(sf_request_free, &round->request);
  sfperf_call(sf_graph_destroy, round->graph);
  sfperf_call(sf_free, round->job->context, round->shared.source);
  sfperf_call(sf_free, round->job->context, round->shared.target);
  free(round->plain.source);
  free(round->plain.target);
}

static void verify(round_t *round, const char *contender, const double *target, const double *expected)
{
  for (int64_t i = 0; i < round->ntarget; i++)
    if (target[i] != expected[i])
      sfperf_fail("%s: value %lld of pattern %d is %g, expected %g", contender, (long long)i, (int)round->pattern,
                  target[i], expected[i]);
}

/* What MPI delivers is what all must deliver. */
static void verify_all(round_t *round)
{
  size_t bytes = (size_t)round->ntarget * sizeof(double);
  double *expected = sfperf_malloc(bytes);
  do_mpi(round);
  memcpy(expected, round->plain.target, bytes);
  memset(round->plain.target, 0, bytes);
  do_sf(round, &round->plain);
  verify(round, "sf_plain", round->plain.target, expected);
  do_sf(round, &round->shared);
  verify(round, "sf_alloc", round->shared.target, expected);
  memset(round->shared.target, 0, bytes);
  do_persistent(round);
  verify(round, "sf_persistent", round->shared.target, expected);
  free(expected);
}

static void measure(const sfperf_job_t *job, sfperf_report_t *report, int which, int64_t len_bytes)
{
  round_t round;
  char name[32];
  round_init(job, &round, collectives[which].pattern, len_bytes);
  verify_all(&round);
  sfperf_contender_t contenders[MAX_CONTENDERS] = {
      {.name = "sf_alloc", .run = run_alloc, .state = &round, .operations = 1},
      {.name = "sf_plain", .run = run_plain, .state = &round, .operations = 1},
      {.name = "sf_persistent", .run = run_persistent, .state = &round, .operations = 1},
      {.name = "mpi", .run = run_mpi, .state = &round, .operations = 1},
  };
  int64_t bytes = round.ntarget * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  sfperf_measure(&job->options->measure, contenders, MAX_CONTENDERS);
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  sfperf_report_measured(report, name, collectives[which].op, bytes, contenders, MAX_CONTENDERS);
  round_free(&round);
}

void sfperf_collective(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "collective");
  sfperf_report_start(&report, "patterns beside the collectives of MPI, by bytes of one block", job->machine);
  for (int which = 0; which < (int)(sizeof collectives / sizeof collectives[0]); which++)
    for (int i = 0; i < options->sizes.n; i++)
      measure(job, &report, which, options->sizes.at[i]);
}

/* Benchmark fields: bcasts of several fields of doubles over one graph. It compares one operation with several fields,
 * one operation on a graph with a column for each field, and one operation for each field. Runs in each rank's only
 * thread, all ranks in step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/patterns/cases.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"

enum { CONTENDERS = 3, MAX_FIELDS = 64 };

/* Field k begins at root k * nroots of the roots, and at leaf k * nleaves of the leaves. */
typedef struct round {
  sfperf_pattern_t pattern;
  int nfields;
  double *roots;
  double *leaves;
  sf_graph_t *graph;
  sf_graph_t *columns;
} round_t;

/* Persistent requests that are started and ended together. */
typedef struct side {
  const char *name;
  int n;
  sf_request_t *requests[MAX_FIELDS];
} side_t;

static double run(void *opaque, int64_t iterations)
{
  side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    sfperf_call(sf_start_all, side->n, side->requests);
    sfperf_call(sf_wait_all, side->n, side->requests);
  }
  return sfperf_now() - start;
}

/* ---- One case ---------------------------------------------------------------------------------------------------- */

static sf_graph_t *make_graph(const sfperf_job_t *job, const sfperf_pattern_t *pattern, int columns)
{
  int64_t n = pattern->nleaves * columns;
  int32_t *rank = sfperf_malloc((size_t)n * sizeof *rank), *index = sfperf_malloc((size_t)n * sizeof *index);
  int64_t *nroots = sfperf_malloc((size_t)job->size * sizeof *nroots);
  sf_graph_t *graph;
  MPI_Allgather(&pattern->nroots, 1, MPI_INT64_T, nroots, 1, MPI_INT64_T, MPI_COMM_WORLD);
  for (int64_t i = 0; i < n; i++) {
    int64_t leaf = i % pattern->nleaves;
    rank[i] = pattern->root_rank[leaf];
    index[i] = pattern->root_index[leaf] + (int32_t)(i / pattern->nleaves * nroots[rank[i]]);
  }
  sfperf_call(sf_graph_create_i32, sf_group_world(job->context), pattern->nroots * columns, n, NULL, rank, index,
              SF_GRAPH_DEFAULT, &graph);
  free(rank);
  free(index);
  free(nroots);
  return graph;
}

static double *make_vector(const sfperf_job_t *job, int64_t n)
{
  void *vector;
  sfperf_call(sf_alloc, job->context, (size_t)(n > 0 ? n : 1) * sizeof(double), &vector);
  return vector;
}

static void round_init(const sfperf_job_t *job, round_t *round, const sfperf_case_t *one, int nfields)
{
  round->nfields = nfields;
  sfperf_case_make(job, one, &round->pattern);
  round->roots = make_vector(job, round->pattern.nroots * nfields);
  round->leaves = make_vector(job, round->pattern.nleaves * nfields);
  round->graph = make_graph(job, &round->pattern, 1);
  round->columns = make_graph(job, &round->pattern, nfields);
}

static void round_free(const sfperf_job_t *job, round_t *round)
{
  sfperf_call(sf_graph_destroy, round->columns);
  sfperf_call(sf_graph_destroy, round->graph);
  sfperf_call(sf_free, job->context, round->roots);
  sfperf_call(sf_free, job->context, round->leaves);
  sfperf_pattern_free(&round->pattern);
}

static void sides_init(const round_t *round, side_t sides[CONTENDERS])
{
  sf_field_t fields[MAX_FIELDS];
  for (int k = 0; k < round->nfields; k++)
    fields[k] = (sf_field_t){SF_DOUBLE, round->roots + k * round->pattern.nroots,
                             round->leaves + k * round->pattern.nleaves, SF_REPLACE};
  sides[0] = (side_t){.name = "sf_fields", .n = 1};
  sides[1] = (side_t){.name = "sf_columns", .n = 1};
  sides[2] = (side_t){.name = "sf_separate", .n = round->nfields};
  sfperf_call(sf_bcast_init_v, round->graph, round->nfields, fields, sides[0].requests);
  sfperf_call(sf_bcast_init, round->columns, SF_DOUBLE, round->roots, round->leaves, SF_REPLACE, sides[1].requests);
  for (int k = 0; k < round->nfields; k++)
    sfperf_call(sf_bcast_init, round->graph, SF_DOUBLE, fields[k].rootdata, fields[k].leafdata, SF_REPLACE,
                &sides[2].requests[k]);
}

/* Runs a contender once and checks its result, with values that differ for all ranks, roots and fields. */
static void check(const sfperf_job_t *job, const round_t *round, side_t *side)
{
  const sfperf_pattern_t *pattern = &round->pattern;
  for (int64_t i = 0; i < round->nfields * pattern->nroots; i++)
    round->roots[i] = 1e12 * job->rank + 1e9 * (double)(i / pattern->nroots) + (double)(i % pattern->nroots);
  for (int64_t i = 0; i < round->nfields * pattern->nleaves; i++)
    round->leaves[i] = -1;
  (void)run(side, 1);
  for (int64_t i = 0; i < round->nfields * pattern->nleaves; i++) {
    int64_t leaf = i % pattern->nleaves, field = i / pattern->nleaves;
    double expected = 1e12 * pattern->root_rank[leaf] + 1e9 * (double)field + pattern->root_index[leaf];
    if (round->leaves[i] != expected)
      sfperf_fail("%s: leaf %lld of field %lld is %g, expected %g", side->name, (long long)leaf, (long long)field,
                  round->leaves[i], expected);
  }
}

static void measure_case(const sfperf_job_t *job, sfperf_report_t *report, const sfperf_case_t *one, int nfields)
{
  round_t round;
  char pattern[SFPERF_NAME_LEN - 16], name[SFPERF_NAME_LEN];
  side_t sides[CONTENDERS];
  sfperf_contender_t contenders[CONTENDERS];
  sfperf_case_name(job->options, one, name);
  snprintf(pattern, sizeof pattern, "%.*s", (int)sizeof pattern - 1, name);
  snprintf(name, sizeof name, "%s-f%d", pattern, nfields);
  round_init(job, &round, one, nfields);
  sides_init(&round, sides);
  for (int c = 0; c < CONTENDERS; c++) {
    check(job, &round, &sides[c]);
    contenders[c] = (sfperf_contender_t){.name = sides[c].name, .run = run, .state = &sides[c], .operations = 1};
  }
  int64_t bytes = round.pattern.nleaves * nfields * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  sfperf_measure(&job->options->measure, contenders, CONTENDERS);
  sfperf_report_measured(report, name, "bcast", bytes, contenders, CONTENDERS);
  for (int c = 0; c < CONTENDERS; c++)
    for (int k = 0; k < sides[c].n; k++)
      sfperf_call(sf_request_free, &sides[c].requests[k]);
  round_free(job, &round);
}

void sfperf_fields(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "fields");
  sfperf_report_start(&report, "bcasts of several fields of doubles together, as one, and one by one; pattern, fields",
                      job->machine);
  for (int i = 0; i < options->ncases; i++)
    for (int f = 0; f < options->fields.n; f++)
      measure_case(job, &report, &options->cases[i], (int)options->fields.at[f]);
}

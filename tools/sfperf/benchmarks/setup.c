/* setup: creation of graphs, by number of edges of each rank. Every creation gets other edges, so nothing is measured
 * that only works for a graph seen before; but for one contender, which makes the same graph again and again. Runs in
 * each rank's only thread, all ranks in step. */
#include "tools/sfperf/benchmarks/job.h"

#include <mpi.h>
#include <stdio.h>

#include "tools/sfperf/contenders/library.h"
#include "tools/sfperf/contenders/method.h"
#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/results/report.h"

enum { MAX_CONTENDERS = 3 };

/* One contender on one pattern. */
typedef struct side {
  const sfperf_creator_t *creator;
  sfperf_task_t task;
  sfperf_pattern_t *pattern; /* the task's */
} side_t;

/* Moves every edge to the next root. */
static void shift(sfperf_pattern_t *pattern, int64_t nroots)
{
  for (int64_t i = 0; i < pattern->nleaves; i++)
    pattern->root_index[i] = pattern->root_index[i] + 1 < nroots ? pattern->root_index[i] + 1 : 0;
}

static double run(void *opaque, int64_t iterations)
{
  side_t *side = opaque;
  double seconds = 0;
  for (int64_t i = 0; i < iterations; i++) {
    shift(side->pattern, side->pattern->nroots); /* all ranks have the same number of roots */
    MPI_Barrier(MPI_COMM_WORLD);
    seconds += side->creator->create(&side->task);
  }
  return seconds;
}

static double run_again(void *opaque, int64_t iterations)
{
  side_t *side = opaque;
  double seconds = 0;
  side->creator->create(&side->task); /* once with these edges, which other contenders may have moved */
  for (int64_t i = 0; i < iterations; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    seconds += side->creator->create(&side->task);
  }
  return seconds;
}

static void measure(const sfperf_job_t *job, sfperf_report_t *report, const char *kind, sfperf_pattern_t *pattern)
{
  side_t sides[MAX_CONTENDERS];
  sfperf_contender_t contenders[MAX_CONTENDERS];
  int count = 0;
  sides[count++].creator = &sfperf_sf_creator;
  if (sfperf_petsc_creators[0])
    sides[count++].creator = sfperf_petsc_creators[0];
  sides[count++].creator = &sfperf_sf_creator;
  for (int c = 0; c < count; c++) {
    sides[c].task = (sfperf_task_t){.context = job->context, .pattern = pattern};
    sides[c].pattern = pattern;
    contenders[c] =
        (sfperf_contender_t){.name = sides[c].creator->name, .run = run, .state = &sides[c], .operations = 1};
  }
  contenders[count - 1].name = "sf_again";
  contenders[count - 1].run = run_again;
  sfperf_measure(&job->options->measure, contenders, count);
  char name[64];
  snprintf(name, sizeof name, "%s-%lld", kind, (long long)pattern->nleaves);
  sfperf_report_measured(report, name, "create", -1, contenders, count);
}

void sfperf_setup(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "setup");
  sfperf_report_start(&report, "creation of a graph, by pattern and edges of each rank", job->machine);
  for (int i = 0; i < options->edges.n; i++) {
    sfperf_pattern_t pattern;
    sfperf_pattern_random(job->rank, job->size, options->edges.at[i], &pattern);
    measure(job, &report, "random", &pattern);
    sfperf_pattern_free(&pattern);
    sfperf_pattern_contiguous(job->rank, job->size, options->edges.at[i], &pattern);
    measure(job, &report, "contiguous", &pattern);
    sfperf_pattern_free(&pattern);
  }
}

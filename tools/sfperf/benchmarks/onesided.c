/* onesided: rank 0 puts, gets and accumulates patches of rank 1's memory, and draws numbers from a counter there, by
 * arrays of the library and by MPI's one-sided communication. Meanwhile rank 1 waits in MPI, which is the best that it
 * can do for MPI's progress; or rank 1 computes and calls nothing. Runs in both ranks' only threads. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/compute.h"
#include "tools/sfperf/contenders/ga.h"
#include "tools/sfperf/contenders/rma.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"
#include "tools/sfperf/results/stats.h"

enum { METHODS = 4, MAX_GETS = 1 << 17 };

typedef struct side {
  const sfperf_rma_method_t *method;
  void *state;
  void (*operation)(void *state); /* that is measured; NULL: on rank 1 */
} side_t;

typedef struct round {
  char name[SFPERF_NAME_LEN];
  sfperf_patch_t patch;
  side_t sides[METHODS];
  int nsides;
} round_t;

static double run(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; side->operation != NULL && i < iterations; i++)
    side->operation(side->state);
  return sfperf_now() - start;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

static double value_of(int64_t i)
{
  return (double)(i + 1);
}

/* Rank 0: puts, adds the same, gets, and counts. */
static void check_origin(const side_t *side, const sfperf_patch_t *patch, double factor)
{
  void (*const *operations)(void *state) = side->method->operations;
  const sfperf_rma_operation_t order[] = {SFPERF_RMA_PUT, SFPERF_RMA_ACC, SFPERF_RMA_GET};
  for (int i = 0; i < 3; i++)
    if (operations[order[i]] != NULL)
      operations[order[i]](side->state);
  for (int64_t i = 0; i < patch->rows * patch->columns; i++)
    if (patch->result[i] != factor * value_of(i))
      sfperf_fail("%s: value %lld of a patch is %g, expected %g", side->method->name, (long long)i, patch->result[i],
                  factor * value_of(i));
  for (int64_t n = 0; operations[SFPERF_RMA_READ_INC] != NULL && n < 3; n++) {
    operations[SFPERF_RMA_READ_INC](side->state);
    if (patch->previous != n)
      sfperf_fail("%s: a counter gave %lld, expected %lld", side->method->name, (long long)patch->previous,
                  (long long)n);
  }
}

/* Rank 1: the patch has the values, and nothing else has changed. */
static void check_target(const side_t *side, const sfperf_patch_t *patch, double factor)
{
  const double *values = side->method->local(side->state);
  for (int64_t row = 0; row < patch->rows; row++)
    for (int64_t column = 0; column < patch->width; column++) {
      double expected = column < patch->columns ? factor * value_of(row * patch->columns + column) : 0;
      if (values[row * patch->width + column] != expected)
        sfperf_fail("%s: element (%lld, %lld) is %g, expected %g", side->method->name, (long long)row,
                    (long long)column, values[row * patch->width + column], expected);
    }
}

static void check(const side_t *side, const sfperf_patch_t *patch)
{
  double factor = side->method->operations[SFPERF_RMA_ACC] != NULL ? 2 : 1;
  if (patch->rank == 0)
    check_origin(side, patch, factor);
  MPI_Barrier(MPI_COMM_WORLD);
  if (patch->rank == 1)
    check_target(side, patch, factor);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

/* As square as its number of values allows. */
static int64_t rows_of(int64_t count)
{
  int64_t rows = 1;
  for (int64_t i = 2; i * i <= count; i++)
    if (count % i == 0)
      rows = i;
  return rows;
}

/* On pages of its own: how fast memory is copied depends on the positions in a page. */
static double *buffer_new(size_t count)
{
  const size_t page = 4096;
  double *buffer = aligned_alloc(page, (count * sizeof(double) + page - 1) / page * page);
  if (buffer == NULL)
    sfperf_fail("no memory for %zu doubles", count);
  return buffer;
}

static void round_init(const sfperf_job_t *job, round_t *round, int64_t rows, int64_t columns)
{
  const sfperf_rma_method_t *methods[METHODS] = {&sfperf_rma_array, &sfperf_rma_mpi};
  size_t count = (size_t)(rows * columns);
  *round = (round_t){
      .patch = {.context = job->context, .rank = job->rank, .rows = rows, .columns = columns},
      .nsides = 2,
  };
  if (sfperf_rma_ga != NULL)
    methods[round->nsides++] = sfperf_rma_ga;
  if (job->machine->one_host && job->nodes->count == 1)
    methods[round->nsides++] = &sfperf_rma_memcpy; /* last: it has not all operations */
  round->patch.width = rows == 1 ? columns : 2 * columns;
  round->patch.values = buffer_new(count);
  round->patch.result = buffer_new(count);
  snprintf(round->name, sizeof round->name, "%zu%s", count * sizeof(double), rows == 1 ? "" : "-2d");
  for (size_t i = 0; i < count; i++) {
    round->patch.values[i] = value_of((int64_t)i);
    round->patch.result[i] = 0;
  }
  for (int i = 0; i < round->nsides; i++) {
    round->sides[i] = (side_t){.method = methods[i], .state = methods[i]->create(&round->patch)};
    check(&round->sides[i], &round->patch);
  }
}

static void round_free(round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  free(round->patch.values);
  free(round->patch.result);
}

static void measure_operation(const sfperf_job_t *job, sfperf_report_t *report, round_t *round,
                              sfperf_rma_operation_t operation)
{
  static const char *const names[] = {"put", "get", "acc", "read_inc"};
  sfperf_contender_t contenders[METHODS];
  sfperf_result_t result = {
      .case_name = operation == SFPERF_RMA_READ_INC ? "8" : round->name,
      .op = names[operation],
      .bytes = operation == SFPERF_RMA_READ_INC ? 8 : round->patch.rows * round->patch.columns * 8,
      .contenders = contenders,
      .columns = round->nsides,
  };
  for (int i = 0; i < round->nsides; i++) {
    side_t *side = &round->sides[i];
    void (*function)(void *state) = side->method->operations[operation];
    side->operation = job->rank == 0 ? function : NULL;
    contenders[i] = (sfperf_contender_t){.name = side->method->name, .run = run, .state = side, .operations = 1};
    if (function != NULL)
      result.measured = i + 1;
  }
  sfperf_measure(&job->options->measure, contenders, result.measured);
  sfperf_report_result(report, &result);
}

/* ---- While rank 1 computes --------------------------------------------------------------------------------------- */

/* Rank 1 computes for so many seconds, rank 0 gets as often as it can: us_p, the time of each get. Returns the number
 * of gets, 0 on rank 1. */
static int get_while_busy(side_t *side, int rank, double busy_s, double us_p[MAX_GETS])
{
  int n = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = sfperf_now(), now = start;
  for (; now < start + busy_s && n < MAX_GETS; now = sfperf_now()) {
    if (rank == 1) {
      sfperf_compute(1000);
      continue;
    }
    side->method->operations[SFPERF_RMA_GET](side->state);
    us_p[n++] = 1e6 * (sfperf_now() - now);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return n;
}

/* A sample is the median, or the 99th percentile, of one time of computing. */
static void measure_busy(const sfperf_job_t *job, sfperf_report_t *report, round_t *round)
{
  sfperf_contender_t median[METHODS], p99[METHODS];
  double *us = sfperf_malloc(MAX_GETS * sizeof *us);
  for (int i = 0; i < round->nsides; i++) {
    const char *name = round->sides[i].method->name;
    median[i] = p99[i] = (sfperf_contender_t){.name = name, .operations = 1};
    for (int rep = 0; rep < job->options->measure.reps; rep++) {
      int n = get_while_busy(&round->sides[i], job->rank, 1e-3 * job->options->busy_ms, us);
      if (n == 0)
        continue;
      median[i].samples_us[rep] = sfperf_quantile(us, n, 0.5);
      p99[i].samples_us[rep] = sfperf_quantile(us, n, 0.99);
    }
  }
  int64_t bytes = round->patch.rows * round->patch.columns * 8;
  sfperf_report_measured(report, round->name, "get-busy-p50", bytes, median, round->nsides);
  sfperf_report_measured(report, round->name, "get-busy-p99", bytes, p99, round->nsides);
  free(us);
}

/* ---- The benchmark ----------------------------------------------------------------------------------------------- */

static void measure_round(const sfperf_job_t *job, sfperf_report_t *report, round_t *round, bool counts)
{
  if (job->options->busy_ms > 0) {
    measure_busy(job, report, round);
    return;
  }
  for (int operation = SFPERF_RMA_PUT; operation < SFPERF_RMA_READ_INC; operation++)
    measure_operation(job, report, round, (sfperf_rma_operation_t)operation);
  if (counts)
    measure_operation(job, report, round, SFPERF_RMA_READ_INC);
}

void sfperf_onesided(const sfperf_job_t *job)
{
  const sfperf_list_t *sizes = &job->options->sizes;
  sfperf_report_t report = sfperf_report_of(job, "onesided");
  sfperf_report_start(&report, "patches of rank 1's memory and a counter, accessed by rank 0, by bytes", job->machine);
  if (job->nodes->count > 1)
    sfperf_report_note(&report, "memcpy is left out: these are two nodes");
  if (job->nodes->count > 1 && job->machine->one_host)
    sfperf_report_note(&report, "these nodes are one host: Open MPI shares windows unless it has --mca osc pt2pt");
  if (sfperf_ga_note != NULL)
    sfperf_report_note(&report, sfperf_ga_note);
  sfperf_ga_start();
  for (int i = 0; i < 2 * sizes->n; i++) {
    int64_t count = sizes->at[i / 2] / 8, rows = i % 2 == 0 ? 1 : rows_of(count);
    round_t round;
    if (i % 2 != 0 && rows == 1)
      continue;
    round_init(job, &round, rows, count / rows);
    measure_round(job, &report, &round, i == 0);
    round_free(&round);
  }
  sfperf_ga_stop();
}

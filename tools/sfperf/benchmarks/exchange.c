/* exchange: every rank gets the values of its ghost points (bcast) and gives back their sums (reduce). Before each
 * operation all contenders rewrite exactly the values that will be sent, as programs do: without that, caches flatter
 * whoever reads in place. incast is the same with another pattern. Runs in each rank's only thread, all ranks in step.
 */
#include "tools/sfperf/benchmarks/job.h"

#include <mpi.h>

#include "tools/sfperf/contenders/ground.h"
#include "tools/sfperf/contenders/library.h"
#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/contenders/raw_mpi.h"
#include "tools/sfperf/patterns/cases.h"
#include "tools/sfperf/results/costs.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"
#include "tools/sfperf/results/stats.h"

enum { MAX_METHODS = 6, MAX_CONTENDERS = MAX_METHODS + 1 };

/* One contender of one pattern. */
typedef struct side {
  const sfperf_method_t *method;
  void *state;
  sfperf_task_t task;
} side_t;

/* Everything of one pattern. */
typedef struct round {
  char name[SFPERF_NAME_LEN];
  sfperf_ground_t ground;
  side_t sides[MAX_METHODS];
  int nsides;
  int64_t bytes; /* sent in one operation by all ranks */
} round_t;

/* The same code for all contenders and for rewriting alone; values differ between iterations. Not on a device, whose
 * caches the processor's do not flatter. */
static __attribute__((noinline)) void rewrite_roots(const side_t *side, int64_t iteration)
{
  double *roots = side->task.vectors.roots;
  const int32_t *index = side->task.edges->root_index;
  int64_t count = side->task.edges->nroot_leaves;
  for (int64_t k = 0; k < count; k++)
    roots[index[k]] = (double)(iteration + k);
  __asm__ volatile("" ::: "memory"); /* the values must be written even if nothing here reads them */
}

static __attribute__((noinline)) void rewrite_leaves(const side_t *side, int64_t iteration)
{
  double *leaves = side->task.vectors.leaves;
  int64_t count = side->task.pattern->nleaves;
  for (int64_t k = 0; k < count; k++)
    leaves[k] = (double)(iteration + k);
  __asm__ volatile("" ::: "memory"); /* as above */
}

static double run_bcast(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    if (side->method->memory != SFPERF_DEVICE)
      rewrite_roots(side, i);
    side->method->bcast(side->state);
  }
  return sfperf_now() - start;
}

static double run_reduce(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    if (side->method->memory != SFPERF_DEVICE)
      rewrite_leaves(side, i);
    side->method->reduce(side->state);
  }
  return sfperf_now() - start;
}

static double run_rewrite_roots(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    rewrite_roots(opaque, i);
  return sfperf_now() - start;
}

static double run_rewrite_leaves(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    rewrite_leaves(opaque, i);
  return sfperf_now() - start;
}

static void add_side(round_t *round, const sfperf_method_t *method)
{
  sfperf_task_t task = sfperf_ground_task(&round->ground, method);
  task.sum = true;
  round->sides[round->nsides++] = (side_t){.method = method, .state = sfperf_method_start(method, &task), .task = task};
}

static void add_sides(const sfperf_job_t *job, round_t *round)
{
  if (job->options->on_device) {
    add_side(round, &sfperf_sf_device);
    add_side(round, &sfperf_sf_device_persistent);
    add_side(round, &sfperf_sf_by_host);
    return;
  }
  add_side(round, &sfperf_sf_alloc);
  add_side(round, &sfperf_sf_plain);
  add_side(round, &sfperf_sf_persistent);
  for (int i = 0; sfperf_petsc_methods[i]; i++)
    add_side(round, sfperf_petsc_methods[i]);
  add_side(round, &sfperf_mpi_neighbor);
}

static void round_init(const sfperf_job_t *job, round_t *round, const sfperf_case_t *one)
{
  sfperf_pattern_t pattern;
  round->nsides = 0;
  sfperf_case_name(job->options, one, round->name);
  sfperf_case_make(job, one, &pattern);
  sfperf_ground_init(&round->ground, job->context, &pattern, job->options->on_device ? SFPERF_DEVICE : SFPERF_SF_ALLOC);
  round->bytes = pattern.nleaves * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &round->bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  add_sides(job, round);
}

static void round_free(round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  sfperf_ground_free(&round->ground);
}

/* Over nodes: costs of each contender, in about as many iterations as it was timed with. */
static void measure_costs(const sfperf_job_t *job, const sfperf_report_t *report, const round_t *round, const char *op,
                          const sfperf_contender_t contenders[], int count)
{
  const int64_t least = 10, most = 10000;
  sfperf_costs_t costs[MAX_CONTENDERS];
  for (int c = 0; c < count; c++) {
    double median_s = 1e-6 * sfperf_stats(contenders[c].samples_us, report->reps).median;
    int64_t iterations = (int64_t)(job->options->measure.sample_s / median_s);
    iterations = iterations < least ? least : iterations > most ? most : iterations;
    costs[c] = sfperf_costs_of(&contenders[c], iterations, job->nodes);
  }
  sfperf_costs_result_t result = {
      .case_name = round->name, .op = op, .contenders = contenders, .costs = costs, .count = count};
  sfperf_costs_of_pairs(job->rank, &round->ground.edges, job->nodes, &result.pair_messages, &result.pair_payload);
  sfperf_report_costs(report, &result);
}

typedef double run_t(void *state, int64_t iterations);

/* Measures one operation by all contenders, and in the same run the rewriting alone, on plain memory that no other rank
 * reads. Rewriting that takes longer because of a contender counts as the contender's time. */
static void measure_op(const sfperf_job_t *job, sfperf_report_t *report, round_t *round, const char *op, run_t *run,
                       run_t *rewrite)
{
  sfperf_contender_t contenders[MAX_CONTENDERS];
  side_t alone = {.task = sfperf_ground_task(&round->ground, &sfperf_sf_plain)};
  int count = round->nsides;
  for (int c = 0; c < count; c++)
    contenders[c] = (sfperf_contender_t){
        .name = round->sides[c].method->name, .run = run, .state = &round->sides[c], .operations = 1};
  contenders[count] = (sfperf_contender_t){.name = "rewrite", .run = rewrite, .state = &alone, .operations = 1};
  sfperf_measure(&job->options->measure, contenders, count + 1);
  sfperf_stats_t rewriting = sfperf_stats(contenders[count].samples_us, job->options->measure.reps);
  sfperf_report_result(report, &(sfperf_result_t){
                                   .case_name = round->name,
                                   .op = op,
                                   .bytes = round->bytes,
                                   .rewrite_us = round->ground.memory == SFPERF_DEVICE ? 0 : rewriting.median,
                                   .contenders = contenders,
                                   .columns = count,
                                   .measured = count,
                               });
  if (job->nodes->count > 1)
    measure_costs(job, report, round, op, contenders, count);
}

static void measure_case(const sfperf_job_t *job, sfperf_report_t *report, const sfperf_case_t *one)
{
  round_t round;
  round_init(job, &round, one);
  measure_op(job, report, &round, "bcast", run_bcast, run_rewrite_roots);
  measure_op(job, report, &round, "reduce", run_reduce, run_rewrite_leaves);
  round_free(&round);
}

void sfperf_exchange(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "exchange");
  sfperf_report_start(&report,
                      options->on_device
                          ? "ghost exchange of doubles in memory of devices"
                          : "ghost exchange of doubles, sources rewritten each time; net: without the rewriting",
                      job->machine);
  for (int i = 0; i < options->ncases; i++)
    measure_case(job, &report, &options->cases[i]);
}

/* incast: the ranks of all other nodes send to those of the first, and back. */
void sfperf_incast(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "incast");
  sfperf_report_start(&report, "all nodes to the first (bcast) and back (reduce), by bytes of each rank", job->machine);
  for (int i = 0; i < options->sizes.n; i++)
    measure_case(
        job, &report,
        &(sfperf_case_t){.kind = SFPERF_CASE_INCAST, .nleaves = options->sizes.at[i] / (int64_t)sizeof(double)});
}

/* overlap: rank 0 begins an operation, computes, and ends it; its partner begins and at once ends it, and then sleeps
 * until the next. A contender that transfers data meanwhile needs as long as the computation alone, others the time of
 * both. Runs in both ranks' only threads. */
#include "tools/sfperf/benchmarks/job.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "tools/sfperf/compute.h"
#include "tools/sfperf/contenders/ground.h"
#include "tools/sfperf/contenders/library.h"
#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/contenders/raw_mpi.h"
#include "tools/sfperf/results/report.h"
#include "tools/sfperf/results/stats.h"

enum { MAX_METHODS = 4, MAX_CONTENDERS = MAX_METHODS + 1 };

/* The computation is so much longer than the slowest contender's communication alone: it could hide all of it. */
#define COMPUTATION_SHARE 1.2

/* One contender; the computation alone has no method. */
typedef struct side {
  const sfperf_method_t *method;
  void *state;
  bool sends;    /* rank 0 sends to its partner, else it receives */
  int64_t steps; /* of computation between begin and end; 0 on rank 1 */
} side_t;

/* Everything of one size. */
typedef struct round {
  sfperf_ground_t ground;
  side_t sides[MAX_CONTENDERS];
  int nsides;
} round_t;

static void begin(const side_t *side)
{
  if (side->method && side->sends)
    side->method->bcast_begin(side->state);
  else if (side->method)
    side->method->reduce_begin(side->state);
}

static void end(const side_t *side)
{
  if (side->method && side->sends)
    side->method->bcast_end(side->state);
  else if (side->method)
    side->method->reduce_end(side->state);
}

/* The first rank here sleeps until both are here: ranks that wait by polling take a core, which may be a spare core of
 * the other rank's node. As waking takes a while, a barrier follows, so that both continue together. */
static void meet(void)
{
  static const struct timespec nap = {.tv_nsec = 50000};
  MPI_Request request;
  int met = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Test(&request, &met, MPI_STATUS_IGNORE);
  while (!met) {
    nanosleep(&nap, NULL);
    MPI_Test(&request, &met, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Both begin together every time, or a rank that need not wait would run ahead. */
static double run(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double seconds = 0;
  for (int64_t i = 0; i < iterations; i++) {
    meet();
    double start = sfperf_now();
    begin(side);
    sfperf_compute(side->steps);
    end(side);
    seconds += sfperf_now() - start;
  }
  meet(); /* before whoever comes next polls */
  return seconds;
}

static void add_side(round_t *round, const sfperf_method_t *method)
{
  sfperf_task_t task = sfperf_ground_task(&round->ground, method);
  round->sides[round->nsides++] = (side_t){.method = method, .state = sfperf_method_start(method, &task)};
}

static void round_init(const sfperf_job_t *job, round_t *round, int64_t len_bytes)
{
  sfperf_pattern_t pattern;
  round->nsides = 0;
  sfperf_pattern_pair(job->rank, len_bytes / (int64_t)sizeof(double), &pattern);
  sfperf_ground_init(&round->ground, job->context, &pattern, SFPERF_SF_ALLOC);
  add_side(round, &sfperf_sf_alloc);
  add_side(round, &sfperf_sf_plain);
  if (sfperf_petsc_methods[0])
    add_side(round, sfperf_petsc_methods[0]);
  add_side(round, &sfperf_mpi_pair);
}

static void round_free(round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  sfperf_ground_free(&round->ground);
}

/* Measures all contenders, with the computation if steps > 0; returns the median of the slowest. */
static double measure(const sfperf_job_t *job, sfperf_report_t *report, round_t *round, int64_t len_bytes, bool sends,
                      int64_t steps)
{
  sfperf_contender_t contenders[MAX_CONTENDERS];
  int count = round->nsides;
  for (int c = 0; c < count; c++) {
    round->sides[c].sends = sends;
    round->sides[c].steps = job->rank == 0 ? steps : 0;
    contenders[c] = (sfperf_contender_t){
        .name = round->sides[c].method->name, .run = run, .state = &round->sides[c], .operations = 1};
  }
  side_t alone = {.steps = job->rank == 0 ? steps : 0};
  contenders[count] = (sfperf_contender_t){.name = "computation", .run = run, .state = &alone, .operations = 1};
  int measured = steps > 0 ? count + 1 : count;
  sfperf_measure(&job->options->measure, contenders, measured);

  char name[32], op[32];
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  snprintf(op, sizeof op, "%s%s", sends ? "send" : "recv", steps > 0 ? "+work" : "");
  sfperf_report_result(report, &(sfperf_result_t){
                                   .case_name = name,
                                   .op = op,
                                   .bytes = len_bytes,
                                   .contenders = contenders,
                                   .columns = count + 1,
                                   .measured = measured,
                               });
  double slowest = 0;
  for (int c = 0; c < count; c++) {
    double median = sfperf_stats(contenders[c].samples_us, job->options->measure.reps).median;
    slowest = median > slowest ? median : slowest;
  }
  return slowest;
}

void sfperf_overlap(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "overlap");
  sfperf_report_start(&report, "rank 0 sends or receives, and computes (+work) between begin and end, by bytes",
                      job->machine);
  double steps_per_us = sfperf_compute_calibrate();
  MPI_Bcast(&steps_per_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < options->sizes.n; i++) {
    round_t round;
    round_init(job, &round, options->sizes.at[i]);
    for (int sends = 1; sends >= 0; sends--) {
      double alone_us = measure(job, &report, &round, options->sizes.at[i], sends, 0);
      measure(job, &report, &round, options->sizes.at[i], sends,
              (int64_t)(COMPUTATION_SHARE * alone_us * steps_per_us));
    }
    round_free(&round);
  }
}

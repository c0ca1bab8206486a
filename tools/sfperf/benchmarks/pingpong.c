/* pingpong: the paper's sf_pingpong [PetscSF 5.1]: a bcast from the roots of rank 0 to the leaves of rank 1 and a
 * reduce with replace back, against plain MPI, PetscSF and the limits of the machine. Runs in both ranks' only threads.
 */
#include "tools/sfperf/benchmarks/job.h"

#include <stdio.h>

#include "tools/sfperf/contenders/device.h"
#include "tools/sfperf/contenders/ground.h"
#include "tools/sfperf/contenders/library.h"
#include "tools/sfperf/contenders/limits.h"
#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/contenders/raw_mpi.h"
#include "tools/sfperf/contenders/streams.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/report.h"

enum { MAX_METHODS = 4, MAX_CONTENDERS = MAX_METHODS + 3, WAYS = 2 };

/* One star-forest contender of one size. */
typedef struct side {
  const sfperf_method_t *method;
  void *state;
} side_t;

/* Everything of one size. */
typedef struct round {
  sfperf_ground_t ground;
  side_t sides[MAX_METHODS];
  int nsides;
  sfperf_mpi_pingpong_t mpi;
  sfperf_device_copies_t copies;
} round_t;

static double run_side(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  if (side->method == &sfperf_sf_stream)
    return sfperf_streams_run(side->state, iterations);
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    side->method->bcast(side->state);
    side->method->reduce(side->state);
  }
  return sfperf_now() - start;
}

static void add_side(round_t *round, const sfperf_method_t *method)
{
  sfperf_task_t task = sfperf_ground_task(&round->ground, method);
  round->sides[round->nsides++] = (side_t){.method = method, .state = sfperf_method_start(method, &task)};
}

static void add_sides(const sfperf_job_t *job, round_t *round)
{
  if (job->options->on_device) {
    add_side(round, &sfperf_sf_device);
    add_side(round, &sfperf_sf_device_persistent);
    if (job->nodes->count == 1 && sfperf_device_count() == 1)
      add_side(round, &sfperf_sf_stream);
    return;
  }
  add_side(round, &sfperf_sf_alloc);
  add_side(round, &sfperf_sf_plain);
  add_side(round, &sfperf_sf_persistent);
  if (sfperf_petsc_methods[0])
    add_side(round, sfperf_petsc_methods[0]);
}

static void round_init(const sfperf_job_t *job, round_t *round, int64_t len_bytes)
{
  int64_t count = len_bytes / (int64_t)sizeof(double);
  sfperf_pattern_t pattern;
  round->nsides = 0;
  sfperf_pattern_pair(job->rank, count, &pattern);
  sfperf_ground_init(&round->ground, job->context, &pattern, job->options->on_device ? SFPERF_DEVICE : SFPERF_SF_ALLOC);
  add_sides(job, round);
  round->mpi = (sfperf_mpi_pingpong_t){
      .rank = job->rank,
      .count = (int)count,
      .buffer = job->rank == 0 ? round->ground.plain.roots : round->ground.plain.leaves,
  };
}

static void round_free(round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  sfperf_ground_free(&round->ground);
}

/* What there is to compare with on a device: copies by the driver, through the host's memory, and within the device. */
static int list_copies(round_t *round, sfperf_contender_t contenders[MAX_CONTENDERS], int count)
{
  contenders[count++] = (sfperf_contender_t){
      .name = "host_copy", .run = sfperf_device_through_run, .state = &round->copies, .operations = WAYS};
  contenders[count++] = (sfperf_contender_t){
      .name = "device_copy", .run = sfperf_device_within_run, .state = &round->copies, .operations = WAYS};
  return count;
}

/* The columns: star forests, MPI, and the limits of a node (NULL: there are two nodes), of which the cache line comes
 * last since it has no room for more than a few values. */
static int list_contenders(round_t *round, sfperf_limits_t *limits, bool on_device,
                           sfperf_contender_t contenders[MAX_CONTENDERS])
{
  int count = 0;
  for (; count < round->nsides; count++)
    contenders[count] = (sfperf_contender_t){
        .name = round->sides[count].method->name, .run = run_side, .state = &round->sides[count], .operations = WAYS};
  if (on_device)
    return limits ? list_copies(round, contenders, count) : count;
  contenders[count++] =
      (sfperf_contender_t){.name = "mpi", .run = sfperf_mpi_pingpong_run, .state = &round->mpi, .operations = WAYS};
  if (!limits)
    return count;
  contenders[count++] =
      (sfperf_contender_t){.name = "one_copy", .run = sfperf_limits_copy_run, .state = limits, .operations = WAYS};
  contenders[count++] =
      (sfperf_contender_t){.name = "line_bounce", .run = sfperf_limits_line_run, .state = limits, .operations = WAYS};
  return count;
}

static void measure_size(const sfperf_job_t *job, sfperf_report_t *report, sfperf_limits_t *limits, int64_t len_bytes)
{
  round_t round;
  sfperf_contender_t contenders[MAX_CONTENDERS];
  char name[32];
  round_init(job, &round, len_bytes);
  if (limits)
    limits->len_bytes = len_bytes;
  round.copies = (sfperf_device_copies_t){0};
  double *beside = NULL;
  if (job->options->on_device && limits) {
    beside = sfperf_device_alloc(job->context, job->rank, (size_t)len_bytes);
    round.copies =
        (sfperf_device_copies_t){.rank = job->rank,
                                 .len_bytes = (size_t)len_bytes,
                                 .here = job->rank == 0 ? round.ground.other.roots : round.ground.other.leaves,
                                 .beside = beside,
                                 .limits = limits};
  }
  int count = list_contenders(&round, limits, job->options->on_device, contenders);
  int measured = limits && !beside && len_bytes > SFPERF_LINE_PAYLOAD ? count - 1 : count;
  sfperf_measure(&job->options->measure, contenders, measured);
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  sfperf_report_result(report, &(sfperf_result_t){
                                   .case_name = name,
                                   .op = "oneway",
                                   .bytes = len_bytes,
                                   .contenders = contenders,
                                   .columns = count,
                                   .measured = measured,
                               });
  sfperf_call(sf_free, job->context, beside);
  round_free(&round);
}

static int64_t largest_size(const sfperf_options_t *options)
{
  int64_t most = 0;
  for (int i = 0; i < options->sizes.n; i++)
    most = options->sizes.at[i] > most ? options->sizes.at[i] : most;
  return most;
}

void sfperf_pingpong(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "pingpong");
  sfperf_report_start(&report, "bcast to rank 1 and reduce back, one way, by bytes", job->machine);
  bool share_memory = job->machine->one_host && job->nodes->count == 1;
  if (options->on_device && sfperf_device_count() > 1)
    sfperf_report_note(&report, "sf_stream is left out: the ranks are on several devices");
  if (!share_memory && options->on_device)
    sfperf_report_note(&report, "sf_stream, host_copy and device_copy are left out: these are two nodes");
  else if (!share_memory)
    sfperf_report_note(&report, "one_copy and line_bounce are left out: they are limits of one node, these are two");
  sfperf_limits_t limits;
  if (share_memory)
    sfperf_limits_init(&limits, job->rank, largest_size(options));
  for (int i = 0; i < options->sizes.n; i++)
    measure_size(job, &report, share_memory ? &limits : NULL, options->sizes.at[i]);
  if (share_memory)
    sfperf_limits_free(&limits);
}

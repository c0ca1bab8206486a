/* exchange: every rank gets the values of its ghost points (bcast) and gives back their sums (reduce). Before each
 * operation all contenders rewrite exactly the values that will be sent, as programs do: without that, caches flatter
 * whoever reads in place. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/job.h"

#include <ctype.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/library.h"
#include "tools/sfperf/matrix.h"
#include "tools/sfperf/method.h"
#include "tools/sfperf/petsc.h"
#include "tools/sfperf/raw_mpi.h"
#include "tools/sfperf/record.h"
#include "tools/sfperf/report.h"
#include "tools/sfperf/stats.h"

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
  sfperf_pattern_t pattern;
  sfperf_edges_t edges;
  sfperf_vectors_t plain;
  sfperf_vectors_t shared;
  side_t sides[MAX_METHODS];
  int nsides;
  int64_t bytes; /* sent in one operation by all ranks */
} round_t;

/* The same code for all contenders and for rewriting alone; values differ between iterations. */
static __attribute__((noinline)) void rewrite_roots(const side_t *side, int64_t iteration)
{
  double *roots = side->task.vectors.roots;
  const int32_t *index = side->task.edges->root_index;
  int64_t count = side->task.edges->nroot_leaves;
  for (int64_t k = 0; k < count; k++)
    roots[index[k]] = (double)(iteration + k);
  __asm__ volatile("" ::: "memory"); /* the values are wanted even if nobody here reads them */
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

/* Leaves the job in good order before giving up, so that the daemon need not report a failed rank. */
static _Noreturn void refuse_file(const sfperf_job_t *job, const char *path, const char *why)
{
  char text[512];
  snprintf(text, sizeof text, "%s: %s", path, why);
  sf_finalize(job->context);
  sfperf_fail_all(2, "%s", text);
}

/* Opens the file and makes the pattern; an error is the same on all ranks. */
static void make_matrix(const sfperf_job_t *job, const char *path, sfperf_pattern_t *pattern)
{
  FILE *file = fopen(path, "re");
  if (!file)
    refuse_file(job, path, strerror(errno));
  if (sfperf_pattern_matrix(job->rank, job->size, file, pattern) != SF_OK)
    refuse_file(job, path, sfshm_error_detail());
  fclose(file);
}

static void make_grid(const sfperf_job_t *job, const sfperf_case_t *one, sfperf_pattern_t *pattern)
{
  sfperf_grid_t grid = {
      .points = {one->points[0], one->points[1], one->points[2]},
      .stencil = job->options->stencil,
      .partition = job->options->partition,
  };
  sfperf_pattern_grid(job->rank, job->size, &grid, pattern);
}

static void make_pattern(const sfperf_job_t *job, const sfperf_case_t *one, sfperf_pattern_t *pattern)
{
  switch (one->kind) {
  case SFPERF_CASE_RANDOM:
    sfperf_pattern_random(job->rank, job->size, one->nleaves, pattern);
    break;
  case SFPERF_CASE_CONTIGUOUS:
    sfperf_pattern_contiguous(job->rank, job->size, one->nleaves, pattern);
    break;
  case SFPERF_CASE_GRID:
    make_grid(job, one, pattern);
    break;
  case SFPERF_CASE_MATRIX:
    make_matrix(job, one->path, pattern);
    break;
  }
}

/* "matrix-" and the file's name without directory and extension, other characters than record.h allows replaced. */
static void name_matrix(const char *path, char name[SFPERF_NAME_LEN])
{
  const char *slash = strrchr(path, '/');
  snprintf(name, SFPERF_NAME_LEN, "matrix-%.64s", slash ? slash + 1 : path);
  char *dot = strrchr(name, '.');
  if (dot)
    *dot = '\0';
  for (char *at = name; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
      *at = '_';
}

static void name_case(const sfperf_options_t *options, const sfperf_case_t *one, char name[SFPERF_NAME_LEN])
{
  const int64_t *points = one->points;
  switch (one->kind) {
  case SFPERF_CASE_RANDOM:
    snprintf(name, SFPERF_NAME_LEN, "random-%lld", (long long)one->nleaves);
    break;
  case SFPERF_CASE_CONTIGUOUS:
    snprintf(name, SFPERF_NAME_LEN, "contiguous-%lld", (long long)one->nleaves);
    break;
  case SFPERF_CASE_GRID:
    snprintf(name, SFPERF_NAME_LEN, "grid-%lldx%lldx%lld-%dpt-%s", (long long)points[0], (long long)points[1],
             (long long)points[2], options->stencil, options->partition == SFPERF_RCB ? "rcb" : "slab");
    break;
  case SFPERF_CASE_MATRIX:
    name_matrix(one->path, name);
    break;
  }
}

static void add_side(const sfperf_job_t *job, round_t *round, const sfperf_method_t *method)
{
  side_t *side = &round->sides[round->nsides++];
  side->method = method;
  side->task = (sfperf_task_t){
      .context = job->context,
      .pattern = &round->pattern,
      .edges = &round->edges,
      .vectors = method->in_sf_alloc ? round->shared : round->plain,
      .sum = true,
  };
  side->state = method->create(&side->task);
  sfperf_method_verify(method, side->state, &side->task);
}

static void round_init(const sfperf_job_t *job, round_t *round, const sfperf_case_t *one)
{
  round->nsides = 0;
  name_case(job->options, one, round->name);
  make_pattern(job, one, &round->pattern);
  sfperf_edges_init(&round->edges, &round->pattern);
  round->bytes = round->pattern.nleaves * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &round->bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  sfperf_vectors_init(&round->plain, job->context, false, round->pattern.nroots, round->pattern.nleaves);
  sfperf_vectors_init(&round->shared, job->context, true, round->pattern.nroots, round->pattern.nleaves);
  add_side(job, round, &sfperf_sf_alloc);
  add_side(job, round, &sfperf_sf_plain);
  add_side(job, round, &sfperf_sf_persistent);
  for (int i = 0; sfperf_petsc_methods[i]; i++)
    add_side(job, round, sfperf_petsc_methods[i]);
  add_side(job, round, &sfperf_mpi_neighbor);
}

static void round_free(const sfperf_job_t *job, round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  sfperf_vectors_free(&round->plain, job->context, false);
  sfperf_vectors_free(&round->shared, job->context, true);
  sfperf_edges_free(&round->edges);
  sfperf_pattern_free(&round->pattern);
}

typedef double run_t(void *state, int64_t iterations);

/* Measures one operation by all contenders, and in the same run the rewriting alone, on plain memory that nobody else
 * reads: what rewriting costs more than that because of a contender is the contender's. */
static void measure_op(const sfperf_job_t *job, sfperf_report_t *report, round_t *round, const char *op, run_t *run,
                       run_t *rewrite)
{
  sfperf_contender_t contenders[MAX_CONTENDERS];
  side_t alone = {.task = {.pattern = &round->pattern, .edges = &round->edges, .vectors = round->plain}};
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
                                   .rewrite_us = rewriting.median,
                                   .contenders = contenders,
                                   .columns = count,
                                   .measured = count,
                               });
}

void sfperf_exchange(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = {
      .printing = job->rank == 0,
      .json = options->json,
      .reps = options->measure.reps,
      .ranks = job->size,
      .bench = "exchange",
  };
  sfperf_report_start(&report, "ghost exchange of doubles, sources rewritten each time; net: without the rewriting",
                      job->machine);
  for (int i = 0; i < options->ncases; i++) {
    round_t round;
    round_init(job, &round, &options->cases[i]);
    measure_op(job, &report, &round, "bcast", run_bcast, run_rewrite_roots);
    measure_op(job, &report, &round, "reduce", run_reduce, run_rewrite_leaves);
    round_free(job, &round);
  }
}

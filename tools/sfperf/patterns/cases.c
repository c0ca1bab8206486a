/* Makes the patterns that the command line names. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/patterns/cases.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/patterns/matrix.h"

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

void sfperf_case_make(const sfperf_job_t *job, const sfperf_case_t *one, sfperf_pattern_t *pattern_p)
{
  switch (one->kind) {
  case SFPERF_CASE_RANDOM:
    sfperf_pattern_random(job->rank, job->size, one->nleaves, pattern_p);
    break;
  case SFPERF_CASE_CONTIGUOUS:
    sfperf_pattern_contiguous(job->rank, job->size, one->nleaves, pattern_p);
    break;
  case SFPERF_CASE_OVERLAPPING:
    sfperf_pattern_overlapping(job->rank, job->size, one->nleaves, pattern_p);
    break;
  case SFPERF_CASE_INCAST:
    sfperf_pattern_incast(job->rank, job->size, job->nodes->of_rank, one->nleaves, pattern_p);
    break;
  case SFPERF_CASE_GRID:
    make_grid(job, one, pattern_p);
    break;
  case SFPERF_CASE_MATRIX:
    make_matrix(job, one->path, pattern_p);
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

void sfperf_case_name(const sfperf_options_t *options, const sfperf_case_t *one, char name_p[SFPERF_NAME_LEN])
{
  const int64_t *points = one->points;
  switch (one->kind) {
  case SFPERF_CASE_RANDOM:
    snprintf(name_p, SFPERF_NAME_LEN, "random-%lld", (long long)one->nleaves);
    break;
  case SFPERF_CASE_CONTIGUOUS:
    snprintf(name_p, SFPERF_NAME_LEN, "contiguous-%lld", (long long)one->nleaves);
    break;
  case SFPERF_CASE_OVERLAPPING:
    snprintf(name_p, SFPERF_NAME_LEN, "overlapping-%lld", (long long)one->nleaves);
    break;
  case SFPERF_CASE_INCAST:
    snprintf(name_p, SFPERF_NAME_LEN, "%lld", (long long)one->nleaves * (long long)sizeof(double));
    break;
  case SFPERF_CASE_GRID:
    snprintf(name_p, SFPERF_NAME_LEN, "grid-%lldx%lldx%lld-%dpt-%s", (long long)points[0], (long long)points[1],
             (long long)points[2], options->stencil, options->partition == SFPERF_RCB ? "rcb" : "slab");
    break;
  case SFPERF_CASE_MATRIX:
    name_matrix(one->path, name_p);
    break;
  }
}

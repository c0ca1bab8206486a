/* Benchmark stencil: exchanges of the halos of several fields on a periodic grid with neighbours in all 26 directions,
 * by the library, MPI and PETSc. Runs in each rank's only thread, all ranks in step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/contenders/halos.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/costs.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"

enum { MAX_METHODS = 7, COST_ITERATIONS = 20 };

typedef struct side {
  const sfperf_halo_method_t *method;
  void *state;
} side_t;

typedef struct round {
  char name[SFPERF_NAME_LEN];
  sfperf_halos_t halos;
  side_t sides[MAX_METHODS];
  int nsides;
} round_t;

static double run(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    side->method->exchange(side->state);
  return sfperf_now() - start;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

static void find_neighbors(sfperf_halos_t *halos)
{
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    int step[3];
    int64_t point[3], number;
    sfperf_direction(d, step);
    for (int axis = 0; axis < 3; axis++) {
      int64_t n = halos->points[axis], at = halos->own.begin[axis];
      at += step[axis] > 0 ? halos->own.extent[axis] : step[axis];
      point[axis] = (at % n + n) % n;
    }
    sfperf_call(sf_grid_find, halos->grid, point, &number, &halos->neighbors[d], NULL);
  }
}

static void halos_init(const sfperf_job_t *job, sfperf_halos_t *halos, const sfperf_case_t *one, int nfields)
{
  sf_grid_options_t options = {.ndims = 3, .order = {0, 1, 2}};
  *halos = (sfperf_halos_t){.radius = job->options->radius, .nfields = nfields};
  for (int axis = 0; axis < 3; axis++) {
    halos->points[axis] = options.points[axis] = one->points[axis];
    options.radius[axis][0] = options.radius[axis][1] = halos->radius;
    options.periodic[axis] = true;
  }
  sfperf_call(sf_grid_create, sf_group_world(job->context), &options, &halos->grid);
  sfperf_call(sf_grid_subdomain, halos->grid, 0, &halos->own);
  int small = 0;
  for (int axis = 0; axis < 3; axis++)
    small = small || halos->own.extent[axis] < halos->radius;
  MPI_Allreduce(MPI_IN_PLACE, &small, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (small)
    sfperf_fail_all(2, "stencil: a part of the grid is narrower than the radius %d, which only the library can do",
                    halos->radius);
  sfperf_call(sf_grid_array, halos->grid, 0, &halos->units, NULL);
  void *fields;
  sfperf_call(sf_alloc, job->context, (size_t)halos->units * (size_t)nfields * sizeof(double), &fields);
  halos->fields = fields;
  find_neighbors(halos);
}

/* Value of a point in a field, different for all points and fields. */
static double value_of(const sfperf_halos_t *halos, int field, const int64_t at[3])
{
  int64_t point = field;
  for (int axis = 0; axis < 3; axis++) {
    int64_t n = halos->points[axis];
    point = point * n + (halos->own.begin[axis] + at[axis] + n) % n;
  }
  return (double)point;
}

/* contender == NULL: sets own points to their values and halo points to -1. Else checks all points. */
static void visit(const sfperf_halos_t *halos, const char *contender)
{
  const sf_grid_subdomain_t *own = &halos->own;
  int64_t at[3], r = halos->radius;
  for (int f = 0; f < halos->nfields; f++)
    for (at[2] = -r; at[2] < own->extent[2] + r; at[2]++)
      for (at[1] = -r; at[1] < own->extent[1] + r; at[1]++)
        for (at[0] = -r; at[0] < own->extent[0] + r; at[0]++) {
          bool inside = true;
          for (int axis = 0; axis < 3; axis++)
            inside = inside && at[axis] >= 0 && at[axis] < own->extent[axis];
          double *value =
              &halos->fields[f * halos->units + own->origin + at[0] + at[1] * own->stride[1] + at[2] * own->stride[2]];
          if (contender == NULL)
            *value = inside ? value_of(halos, f, at) : -1;
          else if (*value != value_of(halos, f, at))
            sfperf_fail("%s: point %lld, %lld, %lld of field %d is %g, expected %g", contender, (long long)at[0],
                        (long long)at[1], (long long)at[2], f, *value, value_of(halos, f, at));
        }
}

/* ---- One case ---------------------------------------------------------------------------------------------------- */

static void add_side(round_t *round, const sfperf_halo_method_t *method)
{
  side_t side = {.method = method, .state = method->create(&round->halos)};
  if (!method->own_fields && !method->is_bound) {
    visit(&round->halos, NULL);
    method->exchange(side.state);
    visit(&round->halos, method->name);
  }
  round->sides[round->nsides++] = side;
}

static void round_init(const sfperf_job_t *job, round_t *round, const sfperf_case_t *one, int nfields)
{
  round->nsides = 0;
  snprintf(round->name, sizeof round->name, "%lldx%lldx%lld-r%d-f%d", (long long)one->points[0],
           (long long)one->points[1], (long long)one->points[2], job->options->radius, nfields);
  halos_init(job, &round->halos, one, nfields);
  add_side(round, &sfperf_halo_sf);
  add_side(round, &sfperf_halo_sf_columns);
  add_side(round, &sfperf_halo_mpi_packed);
  add_side(round, &sfperf_halo_mpi_subarray);
  add_side(round, &sfperf_halo_copy);
  for (int i = 0; sfperf_halo_petsc[i] != NULL; i++)
    add_side(round, sfperf_halo_petsc[i]);
}

static void round_free(const sfperf_job_t *job, round_t *round)
{
  for (int i = 0; i < round->nsides; i++)
    round->sides[i].method->destroy(round->sides[i].state);
  sfperf_call(sf_free, job->context, round->halos.fields);
  sfperf_call(sf_grid_destroy, round->halos.grid);
}

static int64_t halo_points(const sfperf_halos_t *halos)
{
  const int64_t *n = halos->own.extent, r = halos->radius;
  return (n[0] + 2 * r) * (n[1] + 2 * r) * (n[2] + 2 * r) - n[0] * n[1] * n[2];
}

/* Reports messages and bytes between nodes, beside the messages and bytes of a program that sends one message in each
 * direction that leads to another node. */
static void measure_costs(const sfperf_job_t *job, const sfperf_report_t *report, const round_t *round,
                          const sfperf_contender_t contenders[])
{
  sfperf_costs_t costs[MAX_METHODS];
  double pairs[2] = {0};
  const sfperf_halos_t *halos = &round->halos;
  for (int c = 0; c < round->nsides; c++)
    costs[c] = sfperf_costs_of(&contenders[c], COST_ITERATIONS, job->nodes);
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    int step[3];
    int64_t count = halos->nfields, begin, n;
    sfperf_direction(d, step);
    for (int axis = 0; axis < 3; axis++) {
      sfperf_halo_range(halos, axis, step[axis], 0, &begin, &n);
      count *= n;
    }
    if (job->nodes->of_rank[halos->neighbors[d]] == job->nodes->of_rank[job->rank])
      continue;
    pairs[0]++;
    pairs[1] += (double)count * sizeof(double);
  }
  MPI_Allreduce(MPI_IN_PLACE, pairs, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sfperf_costs_result_t result = {.case_name = round->name,
                                  .op = "exchange",
                                  .contenders = contenders,
                                  .costs = costs,
                                  .count = round->nsides,
                                  .pair_messages = pairs[0],
                                  .pair_payload = pairs[1]};
  sfperf_report_costs(report, &result);
}

static void measure_case(const sfperf_job_t *job, sfperf_report_t *report, const sfperf_case_t *one, int nfields)
{
  round_t round;
  sfperf_contender_t contenders[MAX_METHODS];
  round_init(job, &round, one, nfields);
  for (int c = 0; c < round.nsides; c++)
    contenders[c] = (sfperf_contender_t){
        .name = round.sides[c].method->name, .run = run, .state = &round.sides[c], .operations = 1};
  int64_t bytes = halo_points(&round.halos) * nfields * (int64_t)sizeof(double);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  sfperf_measure(&job->options->measure, contenders, round.nsides);
  sfperf_report_measured(report, round.name, "exchange", bytes, contenders, round.nsides);
  if (job->nodes->count > 1)
    measure_costs(job, report, &round, contenders);
  round_free(job, &round);
}

void sfperf_stencil(const sfperf_job_t *job)
{
  const sfperf_options_t *options = job->options;
  sfperf_report_t report = sfperf_report_of(job, "stencil");
  sfperf_report_start(&report, "halos of fields of doubles on periodic grids, 26 neighbours; points, radius, fields",
                      job->machine);
  for (int i = 0; i < options->ncases; i++)
    for (int f = 0; f < options->fields.n; f++)
      measure_case(job, &report, &options->cases[i], (int)options->fields.at[f]);
}

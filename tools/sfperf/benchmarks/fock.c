/* fock: the communication of a program that forms a Fock matrix, without its computation. All ranks draw tasks from a
 * shared counter. In a first phase each task adds a tile to a matrix, in a second phase it reads a tile. Runs in each
 * rank's only thread. */
#include <mpi.h>
#include <stdio.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/contenders/ga.h"
#include "tools/sfperf/contenders/tiles.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"

enum { METHODS = 3 };

typedef struct side {
  const sfperf_tiles_method_t *method;
  const sfperf_tiles_t *tiles;
  void *state;
  int64_t ntasks;
  int64_t ndrawn; /* numbers that all ranks have drawn in earlier phases */
} side_t;

/* One phase. Each rank draws one number that is no task. */
static void do_tasks(side_t *side, void (*operation)(void *state, int64_t number))
{
  for (;;) {
    int64_t task = side->method->draw(side->state) - side->ndrawn;
    if (task >= side->ntasks)
      break;
    operation(side->state, task);
  }
  side->ndrawn += side->ntasks + side->tiles->size;
  side->method->sync(side->state);
}

static double run(void *opaque, int64_t iterations)
{
  side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    do_tasks(side, side->method->acc);
    do_tasks(side, side->method->get);
  }
  return sfperf_now() - start;
}

/* Runs once, and checks that each element has been added once. */
static void check(side_t *side)
{
  const sfperf_tiles_t *tiles = side->tiles;
  (void)run(side, 1);
  for (int64_t task = tiles->rank; task < side->ntasks; task += tiles->size) {
    side->method->get(side->state, task);
    for (int64_t i = 0; i < tiles->edge * tiles->edge; i++)
      if (tiles->result[i] != tiles->values[i])
        sfperf_fail("%s: value %lld of tile %lld is %g, expected %g", side->method->name, (long long)i, (long long)task,
                    tiles->result[i], tiles->values[i]);
  }
  side->method->sync(side->state);
}

/* Messages and bytes between nodes, beside those of a program that sends one message to each rank of another node. */
static void measure_costs(const sfperf_job_t *job, const sfperf_report_t *report, const char *name, int64_t ntasks,
                          const sfperf_contender_t contenders[], int count)
{
  sfperf_costs_t costs[METHODS];
  for (int c = 0; c < count; c++)
    costs[c] = sfperf_costs_of(&contenders[c], 1, job->nodes);
  double others = 0; /* ranks of other nodes, on average */
  for (int r = 0; r < job->size; r++)
    for (int other = 0; other < job->size; other++)
      others += job->nodes->of_rank[r] != job->nodes->of_rank[other] ? 1.0 / job->size : 0;
  sfperf_costs_result_t result = {.case_name = name,
                                  .op = "tasks",
                                  .contenders = contenders,
                                  .costs = costs,
                                  .count = count,
                                  .pair_messages = 4 * (double)ntasks * others};
  result.pair_payload = 2 * (double)job->options->extent * (double)job->options->extent * 8 * others / job->size;
  sfperf_report_costs(report, &result);
}

static void measure_case(const sfperf_job_t *job, sfperf_report_t *report, int64_t ntasks)
{
  const sfperf_tiles_method_t *const methods[METHODS] = {&sfperf_tiles_array, &sfperf_tiles_mpi, sfperf_tiles_ga};
  const int count = sfperf_tiles_ga != NULL ? METHODS : METHODS - 1;
  sfperf_tiles_t tiles;
  sfperf_tiles_init(&tiles, job->context, job->options->extent, ntasks, false);
  sfperf_contender_t contenders[METHODS];
  side_t sides[METHODS];
  char name[SFPERF_NAME_LEN];
  for (int64_t i = 0; i < tiles.edge * tiles.edge; i++)
    tiles.values[i] = (double)(i + 1);
  snprintf(name, sizeof name, "%lld", (long long)ntasks);
  for (int c = 0; c < count; c++) {
    sides[c] = (side_t){.method = methods[c], .tiles = &tiles, .ntasks = ntasks};
    sides[c].state = methods[c]->create(&tiles);
    check(&sides[c]);
    contenders[c] = (sfperf_contender_t){.name = methods[c]->name, .run = run, .state = &sides[c], .operations = 1};
  }
  sfperf_measure(&job->options->measure, contenders, count);
  sfperf_report_measured(report, name, "tasks", 2 * tiles.extent * tiles.extent * 8, contenders, count);
  if (job->nodes->count > 1)
    measure_costs(job, report, name, ntasks, contenders, count);
  for (int c = 0; c < count; c++)
    sides[c].method->destroy(sides[c].state);
  sfperf_tiles_free(&tiles);
}

void sfperf_fock(const sfperf_job_t *job)
{
  const sfperf_list_t *tasks = &job->options->tasks;
  sfperf_report_t report = sfperf_report_of(job, "fock");
  sfperf_report_start(&report, "tasks from a shared counter that add tiles to a matrix, and tasks that read them",
                      job->machine);
  if (job->nodes->count > 1 && job->machine->one_host)
    sfperf_report_note(&report, "these nodes are one host: Open MPI shares windows unless it has --mca osc pt2pt");
  if (sfperf_ga_note != NULL)
    sfperf_report_note(&report, sfperf_ga_note);
  sfperf_ga_start();
  for (int i = 0; i < tasks->n; i++)
    measure_case(job, &report, tasks->at[i]);
  sfperf_ga_stop();
}

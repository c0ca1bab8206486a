/* sfperf: measures the library, its peers and the limits of the machine. An MPI program of one thread per rank, started
 * by sfrun; only judge runs without MPI. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sf/sf.h>

#include "client/core.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"
#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/judge.h"

enum { EXIT_USAGE = 2 };

static const struct {
  const char *name;
  void (*run)(const sfperf_job_t *job);
  bool pair;  /* runs on two ranks; the others on two or more */
  bool nodes; /* needs two nodes or more */
} benches[] = {
    {"pingpong", sfperf_pingpong, true, false}, {"exchange", sfperf_exchange, false, false},
    {"setup", sfperf_setup, false, false},      {"overlap", sfperf_overlap, true, false},
    {"incast", sfperf_incast, false, true},     {"collective", sfperf_collective, false, false},
    {"watched", sfperf_watched, true, false},   {"bandwidth", sfperf_bandwidth, true, false},
    {"stencil", sfperf_stencil, false, false},  {"fields", sfperf_fields, false, false},
    {"onesided", sfperf_onesided, true, false}, {"fock", sfperf_fock, false, false},
    {"product", sfperf_product, false, false},
};

/* Index of the benchmark, -1 if there is none of this name. */
static int find_bench(const char *name)
{
  for (int i = 0; i < (int)(sizeof benches / sizeof benches[0]); i++)
    if (strcmp(name, benches[i].name) == 0)
      return i;
  return -1;
}

static _Noreturn void fail_unknown(const char *name)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = name};
  for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
    sfshm_suggest_show(&suggest, benches[i].name);
  sfshm_suggest_show(&suggest, "judge");
  sfperf_fail_all(
      EXIT_USAGE,
      "unknown benchmark %s%s: pingpong, bandwidth, exchange, setup, overlap, incast, collective, watched, stencil, "
      "fields, onesided, fock or product",
      name, sfshm_suggest_hint(&suggest, hint));
}

/* Wherever it stands, as with sfctl. */
static bool asks_for_help(int argc, char *argv[])
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0)
      return true;
  return argc < 2;
}

/* Handles what needs no other ranks; false if MPI is wanted. */
static bool run_alone(int argc, char *argv[], int *exit_code_p)
{
  const char *command = argc > 1 ? argv[1] : "";
  if (asks_for_help(argc, argv)) {
    sfperf_options_help(command, stdout);
    *exit_code_p = argc > 1 ? EXIT_SUCCESS : EXIT_USAGE;
    return true;
  }
  if (strcmp(command, "--version") == 0) {
    printf("sfperf %s\n", sf_version());
    *exit_code_p = EXIT_SUCCESS;
    return true;
  }
  if (strcmp(command, "judge") == 0) {
    *exit_code_p = sfperf_judge(argc - 1, argv + 1);
    return true;
  }
  return false;
}

static void check_ranks(int bench, const sfperf_machine_t *machine)
{
  const char *name = benches[bench].name;
  if (sfc_identity_check_world(name, machine->ranks) != SF_OK)
    sfperf_fail_all(EXIT_USAGE, "%s", sfshm_error_detail());
  if (machine->ranks < 2)
    sfperf_fail_all(EXIT_USAGE, "%s needs two ranks or more: sfrun -n 2 sfperf %s", name, name);
  if (benches[bench].pair && machine->ranks > 2)
    sfperf_fail_all(EXIT_USAGE, "%s needs two ranks: sfrun -n 2 sfperf %s", name, name);
}

static void check_nodes(int bench, const sfperf_job_t *job)
{
  if (!benches[bench].nodes || job->nodes->count > 1)
    return;
  sf_status_t status = sf_finalize(job->context); /* the daemon need not report failed ranks */
  sfperf_petsc_stop();
  sfperf_check(status, "sf_finalize");
  sfperf_fail_all(EXIT_USAGE, "%s needs two nodes or more: sfrun --nodes 2 -n %d sfperf %s", benches[bench].name,
                  job->size, benches[bench].name);
}

/* Joins the job and runs one benchmark. Collective. */
static void run_bench(int bench, const sfperf_options_t *options)
{
  sfperf_machine_t machine;
  sfperf_nodes_t nodes;
  sfperf_job_t job = {.options = options, .machine = &machine, .nodes = &nodes};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  sfperf_machine_init(&machine, options->pin); /* first: the library counts the cores that it may use */
  check_ranks(bench, &machine);
  sfperf_petsc_start();
  if (options->sends_by_number)
    setenv("SF_SEND_ORDER", "number", 1);
  sf_status_t status = sf_init(NULL, &job.context);
  if (status != SF_OK)
    sfperf_fail("sf_init: %s (%s); start with: sfrun -n %d sfperf %s", sf_strerror(status), sf_error_detail(), job.size,
                benches[bench].name);
  sfperf_nodes_init(&nodes, job.context);
  check_nodes(bench, &job);
  benches[bench].run(&job);
  sfperf_nodes_free(&nodes);
  MPI_Barrier(MPI_COMM_WORLD); /* other ranks may still wait for this one */
  sfperf_call(sf_finalize, job.context);
  sfperf_petsc_stop();
}

int main(int argc, char *argv[])
{
  int exit_code;
  if (run_alone(argc, argv, &exit_code))
    return exit_code;
  MPI_Init(&argc, &argv);
  int bench = find_bench(argv[1]);
  if (bench < 0)
    fail_unknown(argv[1]);
  sfperf_options_t options;
  if (sfperf_options_parse(argc - 1, argv + 1, &options) != SF_OK)
    sfperf_fail_all(EXIT_USAGE, "%s", sfshm_error_detail());
  run_bench(bench, &options);
  MPI_Finalize();
  return EXIT_SUCCESS;
}

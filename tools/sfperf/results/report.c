/* Prints results. Only rank 0 prints. */
#include "tools/sfperf/results/report.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <sf/sf.h>

#include "tools/sfperf/contenders/petsc.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/stats.h"

/* First line of the MPI library's own description. */
static const char *mpi_version(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
  int len;
  MPI_Get_library_version(text, &len);
  text[strcspn(text, ",\n\"\\")] = '\0';
  for (char *tab = strchr(text, '\t'); tab; tab = strchr(tab, '\t'))
    *tab = ' '; /* MPICH aligns its text; JSON allows no tabs in strings */
  return text;
}

static void start_json(const sfperf_report_t *report, const sfperf_machine_t *machine, const char *mpi)
{
  printf("{\"bench\":\"%s\",\"case\":\"machine\",\"ranks\":%d,\"nodes\":%d,\"cores\":\"%s\",\"bound_by\":\"%s\","
         "\"mpi\":\"%s\","
         "\"mpi_waits\":\"%s\",\"petsc\":\"%s\",\"sf\":\"%s\"}\n",
         report->bench, report->ranks, report->nodes, machine->cores, sfperf_bound_by_name(machine->bound_by), mpi,
         machine->mpi_yields ? "yielding" : "polling", sfperf_petsc_version(), sf_version());
}

static void start_table(const sfperf_report_t *report, const char *title, const sfperf_machine_t *machine,
                        const char *mpi)
{
  printf("# %s: %s\n", report->bench, title);
  printf("# microseconds: median of %d interleaved repetitions and their interquartile range in %% of it\n",
         report->reps);
  printf("# %d ranks on %d node%s, cores %s, bound by %s; %s, waiting by %s; PETSc %s\n", report->ranks, report->nodes,
         report->nodes == 1 ? "" : "s", machine->cores, sfperf_bound_by_name(machine->bound_by), mpi,
         machine->mpi_yields ? "yielding" : "polling",
         *sfperf_petsc_version() ? sfperf_petsc_version() : "not built in");
}

sfperf_report_t sfperf_report_of(const sfperf_job_t *job, const char *bench)
{
  return (sfperf_report_t){
      .printing = job->rank == 0,
      .json = job->options->json,
      .spread = job->options->spread,
      .reps = job->options->measure.reps,
      .ranks = job->size,
      .nodes = job->nodes->count,
      .bench = bench,
  };
}

void sfperf_report_start(sfperf_report_t *report, const char *title, const sfperf_machine_t *machine)
{
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  if (!report->printing)
    return;
  if (machine->cores_shared)
    fprintf(stderr, "sfperf: more ranks than cores: times are those of taking turns, not of moving data\n");
  if (report->json)
    start_json(report, machine, mpi_version(text));
  else
    start_table(report, title, machine, mpi_version(text));
  fflush(stdout);
}

/* A record without samples. */
static sfperf_record_t make_record(const sfperf_report_t *report, const char *case_name, const char *op,
                                   const char *contender, const char *unit)
{
  sfperf_record_t record = {.bytes = -1, .ranks = report->ranks, .nodes = report->nodes};
  snprintf(record.bench, sizeof record.bench, "%s", report->bench);
  snprintf(record.case_name, sizeof record.case_name, "%s", case_name);
  snprintf(record.op, sizeof record.op, "%s", op);
  snprintf(record.contender, sizeof record.contender, "%s", contender);
  snprintf(record.unit, sizeof record.unit, "%s", unit);
  return record;
}

static void print_json(const sfperf_report_t *report, const sfperf_result_t *result)
{
  for (int c = 0; c < result->measured; c++) {
    const sfperf_contender_t *contender = &result->contenders[c];
    sfperf_record_t record = make_record(report, result->case_name, result->op, contender->name, "us");
    record.bytes = result->bytes;
    record.rewrite = result->rewrite_us;
    record.reps = report->reps;
    memcpy(record.samples, contender->samples_us, (size_t)report->reps * sizeof record.samples[0]);
    sfperf_record_write(&record, stdout);
  }
}

static void print_headings(sfperf_report_t *report, const sfperf_result_t *result)
{
  if (report->nheadings == result->columns)
    return;
  report->nheadings = result->columns;
  printf("%-26s %-9s %-6s", "case", "op", "time");
  for (int c = 0; c < result->columns; c++)
    printf(" %15s", result->contenders[c].name);
  putchar('\n');
}

typedef enum row { TOTAL, NET, MIN, MAX, MEGABYTES_PER_S, THOUSAND_MESSAGES_PER_S } row_t;

static const char *const row_names[] = {"total", "net", "min", "max", "MB/s", "kmsg/s"};

static void print_cell(row_t row, const sfperf_stats_t *stats, const sfperf_result_t *result)
{
  const double net_us = stats->median - (row == NET ? result->rewrite_us : 0);
  if (row <= NET)
    printf(" %10.3f %3.0f%%", net_us, 100 * (stats->q3 - stats->q1) / net_us);
  else
    printf(" %10.3f     ", row == MIN               ? stats->min
                           : row == MAX             ? stats->max
                           : row == MEGABYTES_PER_S ? (double)result->bytes / stats->median
                                                    : 1e3 / stats->median);
}

static void print_row(const sfperf_report_t *report, const sfperf_result_t *result, row_t row)
{
  printf("%-26s %-9s %-6s", result->case_name, result->op, row_names[row]);
  for (int c = 0; c < result->columns; c++) {
    if (c < result->measured) {
      sfperf_stats_t stats = sfperf_stats(result->contenders[c].samples_us, report->reps);
      print_cell(row, &stats, result);
    } else {
      printf(" %15s", "-");
    }
  }
  putchar('\n');
}

void sfperf_report_result(sfperf_report_t *report, const sfperf_result_t *result)
{
  if (!report->printing)
    return;
  if (report->json) {
    print_json(report, result);
  } else {
    print_headings(report, result);
    print_row(report, result, TOTAL);
    if (result->rewrite_us > 0)
      print_row(report, result, NET);
    if (report->spread) {
      print_row(report, result, MIN);
      print_row(report, result, MAX);
    }
    if (result->rates) {
      print_row(report, result, MEGABYTES_PER_S);
      print_row(report, result, THOUSAND_MESSAGES_PER_S);
    }
  }
  fflush(stdout);
}

void sfperf_report_measured(sfperf_report_t *report, const char *case_name, const char *op, int64_t bytes,
                            const sfperf_contender_t contenders[], int count)
{
  const sfperf_result_t result = {
      .case_name = case_name, .op = op, .bytes = bytes, .contenders = contenders, .columns = count, .measured = count};
  sfperf_report_result(report, &result);
}

void sfperf_report_note(const sfperf_report_t *report, const char *text)
{
  if (report->printing && !report->json)
    printf("# %s\n", text);
}

/* One figure of costs as a record; the op's name says which. */
static void print_cost(const sfperf_report_t *report, const sfperf_costs_result_t *result, const char *contender,
                       const char *what, const char *unit, double value)
{
  char op[SFPERF_NAME_LEN];
  snprintf(op, sizeof op, "%s-%s", result->op, what);
  sfperf_record_t record = make_record(report, result->case_name, op, contender, unit);
  record.reps = 1;
  record.samples[0] = value;
  sfperf_record_write(&record, stdout);
}

static void print_costs_json(const sfperf_report_t *report, const sfperf_costs_result_t *result, int told)
{
  for (int c = 0; c < result->count; c++) {
    print_cost(report, result, result->contenders[c].name, "cpu", "us", result->costs[c].cpu_us);
    print_cost(report, result, result->contenders[c].name, "wire", "bytes", result->costs[c].wire);
  }
  if (told < result->count) {
    const char *name = result->contenders[told].name;
    print_cost(report, result, name, "messages", "messages", result->costs[told].messages);
    print_cost(report, result, name, "payload", "bytes", result->costs[told].payload);
  }
  print_cost(report, result, "rank_pairs", "messages", "messages", result->pair_messages);
  print_cost(report, result, "rank_pairs", "payload", "bytes", result->pair_payload);
}

static void print_costs_table(const sfperf_costs_result_t *result, int told)
{
  printf("%-26s %-9s %-6s", result->case_name, result->op, "cpu");
  for (int c = 0; c < result->count; c++)
    printf(" %10.3f     ", result->costs[c].cpu_us);
  printf("\n%-26s %-9s %-6s", result->case_name, result->op, "wire");
  for (int c = 0; c < result->count; c++)
    printf(" %10.0f B   ", result->costs[c].wire);
  if (told < result->count)
    printf("\n# %s between nodes, %s: %g messages, %g bytes of payload; ", result->op, result->contenders[told].name,
           result->costs[told].messages, result->costs[told].payload);
  else
    printf("\n# %s between nodes: the daemons don't tell; ", result->op);
  printf("one message for each pair of ranks: %g messages, %g bytes\n", result->pair_messages, result->pair_payload);
}

void sfperf_report_costs(const sfperf_report_t *report, const sfperf_costs_result_t *result)
{
  int told = 0;
  if (!report->printing)
    return;
  while (told < result->count && !(result->costs[told].told && result->costs[told].messages > 0))
    told++;
  if (report->json)
    print_costs_json(report, result, told);
  else
    print_costs_table(result, told);
  fflush(stdout);
}

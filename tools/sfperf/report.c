/* Prints results. Only rank 0 prints. */
#include "tools/sfperf/report.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <sf/sf.h>

#include "tools/sfperf/petsc.h"
#include "tools/sfperf/record.h"
#include "tools/sfperf/stats.h"

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
  printf("{\"bench\":\"%s\",\"case\":\"machine\",\"ranks\":%d,\"cores\":\"%s\",\"bound_by\":\"%s\",\"mpi\":\"%s\","
         "\"mpi_waits\":\"%s\",\"petsc\":\"%s\",\"sf\":\"%s\"}\n",
         report->bench, report->ranks, machine->cores, sfperf_bound_by_name(machine->bound_by), mpi,
         machine->mpi_yields ? "yielding" : "polling", sfperf_petsc_version(), sf_version());
}

static void start_table(const sfperf_report_t *report, const char *title, const sfperf_machine_t *machine,
                        const char *mpi)
{
  printf("# %s: %s\n", report->bench, title);
  printf("# microseconds: median of %d interleaved repetitions and their interquartile range in %% of it\n",
         report->reps);
  printf("# %d ranks on cores %s, bound by %s; %s, waiting by %s; PETSc %s\n", report->ranks, machine->cores,
         sfperf_bound_by_name(machine->bound_by), mpi, machine->mpi_yields ? "yielding" : "polling",
         *sfperf_petsc_version() ? sfperf_petsc_version() : "not built in");
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

static void print_json(const sfperf_report_t *report, const sfperf_result_t *result)
{
  for (int c = 0; c < result->measured; c++) {
    sfperf_record_t record = {
        .unit = "us",
        .bytes = result->bytes,
        .ranks = report->ranks,
        .rewrite = result->rewrite_us,
        .reps = report->reps,
    };
    snprintf(record.bench, sizeof record.bench, "%s", report->bench);
    snprintf(record.case_name, sizeof record.case_name, "%s", result->case_name);
    snprintf(record.op, sizeof record.op, "%s", result->op);
    snprintf(record.contender, sizeof record.contender, "%s", result->contenders[c].name);
    memcpy(record.samples, result->contenders[c].samples_us, (size_t)report->reps * sizeof record.samples[0]);
    sfperf_record_write(&record, stdout);
  }
}

static void print_headings(sfperf_report_t *report, const sfperf_result_t *result)
{
  if (report->nheadings == result->columns)
    return;
  report->nheadings = result->columns;
  printf("%-26s %-6s %-5s", "case", "op", "time");
  for (int c = 0; c < result->columns; c++)
    printf(" %15s", result->contenders[c].name);
  putchar('\n');
}

/* One row; rewrite_us is taken off every sample. */
static void print_row(const sfperf_report_t *report, const sfperf_result_t *result, const char *time, double rewrite_us)
{
  printf("%-26s %-6s %-5s", result->case_name, result->op, time);
  for (int c = 0; c < result->columns; c++) {
    if (c >= result->measured) {
      printf(" %15s", "-");
      continue;
    }
    sfperf_stats_t stats = sfperf_stats(result->contenders[c].samples_us, report->reps);
    double net = stats.median - rewrite_us;
    printf(" %10.3f %3.0f%%", net, 100 * (stats.q3 - stats.q1) / net);
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
    print_row(report, result, "total", 0);
    if (result->rewrite_us > 0)
      print_row(report, result, "net", result->rewrite_us);
  }
  fflush(stdout);
}

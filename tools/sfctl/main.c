/* sfctl: queries a running sfd and prints the answer, or looks for problems. One thread. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sf/sf.h>

#include "proto/report/metrics.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/standard.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/control.h"
#include "tools/sfctl/daemons.h"
#include "tools/sfctl/doctor/doctor.h"
#include "tools/sfctl/matrix.h"
#include "tools/sfctl/options.h"
#include "tools/sfctl/plan/plan.h"
#include "tools/sfctl/print/clip.h"
#include "tools/sfctl/print/print.h"
#include "tools/sfctl/stuck.h"
#include "tools/sfctl/top/top.h"
#include "tools/sfctl/topo.h"
#include "tools/sfctl/trace/trace.h"

/* buffered until it is closed, so that write errors have a reason */
static char output[65536];

/* Documented in docs/man/sfctl.1. */
enum { EXIT_REQUEST_FAILED = 1, EXIT_PROBLEMS = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3, EXIT_VERSION = 4 };

static int report(sf_status_t status)
{
  const char *detail = sfshm_error_detail();
  sfreport_text_complain("sfctl", *detail != '\0' ? detail : sfshm_strerror(status));
  if (status == SF_ERR_NO_DAEMON)
    return EXIT_NO_DAEMON;
  return status == SF_ERR_VERSION ? EXIT_VERSION : EXIT_REQUEST_FAILED;
}

/* Each rank in an answer comes with a descriptor, and several are in flight. */
static void raise_descriptor_limit(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit); /* a daemon with few ranks needs no more */
}

/* Collects everything before printing, so that an error leaves no half answer. */
static sf_status_t ask(const sfctl_options_t *options, sfctl_connection_t *connection, sfreport_list_t *list_p,
                       sfctl_within_t *within_p)
{
  uint64_t graph = 0;
  connection->target = sfctl_target(options);
  if (options->command != SFPROTO__QUERY__WHAT__PLAN)
    return sfctl_collect(connection, options->command, options->job, list_p);
  sf_status_t status = sfctl_collect_graph_id(connection, options->graph, &graph);
  if (status == SF_OK)
    status = sfctl_collect_plan(connection, graph, list_p);
  if (status != SF_OK)
    return status;
  status = sfctl_within_ask(connection, graph, within_p);
  if (status != SF_OK)
    sfreport_list_clear(list_p);
  return status;
}

static sf_status_t print(const sfctl_options_t *options, sfreport_list_t *list, const sfctl_within_t *within)
{
  const sfctl_print_style_t style = {.regions = options->regions,
                                     .width = options->wide ? 0 : sfctl_clip_terminal_width(),
                                     .all_nodes = options->all_nodes,
                                     .within = within,
                                     .pairs = options->pairs};
  if (options->all_nodes)
    sfreport_list_sort(list);
  if (options->json)
    return sfctl_print_json(options->command, list, &style, stdout);
  return sfctl_print_text(options->command, list, &style, stdout);
}

/* Prints what some nodes answer even if others don't. */
static sf_status_t run_query(const sfctl_options_t *options)
{
  sfctl_connection_t connection;
  sfreport_list_t list;
  sfctl_within_t within = {0};
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  status = ask(options, &connection, &list, &within);
  size_t count = status == SF_OK ? list.count : 0;
  if (status == SF_OK) {
    status = count > 0 || connection.missing.count == 0 ? print(options, &list, &within) : SF_OK;
    sfreport_list_clear(&list);
  }
  if (status == SF_OK)
    status = sfctl_check_missing(&connection, count);
  sfctl_within_free(&within);
  sfctl_disconnect(&connection);
  return status;
}

static sf_status_t run_metrics(const sfctl_options_t *options)
{
  sfctl_connection_t connection;
  sfreport_metrics_t metrics;
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  connection.target = sfctl_target(options);
  status = sfctl_collect_metrics(&connection, &metrics);
  if (status == SF_OK) {
    size_t count = metrics.status.count;
    if (count > 0 || connection.missing.count == 0)
      status = sfreport_metrics_print(&metrics, stdout);
    if (status == SF_OK)
      status = sfctl_check_missing(&connection, count);
    sfreport_metrics_clear(&metrics);
  }
  sfctl_disconnect(&connection);
  return status;
}

static void run_doctor(const sfctl_options_t *options, bool *problems_p)
{
  static sfctl_report_t report; /* large */
  const sfctl_doctor_t doctor = {.root = "",
                                 .socket = options->socket,
                                 .found_socket = options->found_socket,
                                 .timeout_ms = options->timeout_ms,
                                 .all_nodes = options->all_nodes};
  sfctl_doctor_examine(&doctor, &report);
  if (options->json)
    sfctl_report_print_json(&report, stdout);
  else
    sfctl_report_print_text(&report, stdout);
  *problems_p = sfctl_report_count(&report, SFCTL_PROBLEM) > 0;
}

static sf_status_t run(const sfctl_options_t *options, bool *problems_p)
{
  switch (options->task) {
  case SFCTL_TASK_QUERY:
    return run_query(options);
  case SFCTL_TASK_METRICS:
    return run_metrics(options);
  case SFCTL_TASK_TOPO:
    return sfctl_topo(options->json, stdout);
  case SFCTL_TASK_TOP:
    return sfctl_top(options, stdout);
  case SFCTL_TASK_MATRIX:
    return sfctl_matrix(options, stdout);
  case SFCTL_TASK_PLAN:
    return sfctl_plan(options, stdout);
  case SFCTL_TASK_CONTROL:
    return sfctl_control(options, stdout);
  case SFCTL_TASK_STUCK:
    return sfctl_stuck(options, stdout, problems_p);
  case SFCTL_TASK_TRACE:
    return sfctl_trace(options, stdout);
  case SFCTL_TASK_DAEMONS:
    return sfctl_daemons(options, stdout);
  case SFCTL_TASK_DOCTOR:
    run_doctor(options, problems_p);
    return SF_OK;
  }
  return SF_ERR_INTERNAL;
}

/* Looks for a daemon if none is named. The doctor also checks places without daemon. */
static sf_status_t run_where_daemon_is(sfctl_options_t *options, bool *problems_p)
{
  const char *given = options->socket;
  bool asks =
      options->task != SFCTL_TASK_TOPO && options->task != SFCTL_TASK_PLAN && options->task != SFCTL_TASK_DAEMONS;
  sf_status_t status = asks ? sfctl_daemons_choose(given, &options->socket) : SF_OK;
  if (status != SF_OK && options->task != SFCTL_TASK_DOCTOR)
    return status;
  options->found_socket = options->socket != given;
  return run(options, problems_p);
}

/* Write errors count, such as a full disk. */
static sf_status_t close_output(void)
{
  errno = 0;
  bool failed = ferror(stdout) != 0;
  if (fclose(stdout) == 0 && !failed)
    return SF_OK;
  return errno != 0 ? sfshm_error_errno(SF_ERR_SYS, "cannot write the output")
                    : sfshm_error(SF_ERR_SYS, "cannot write the output");
}

/* Checks that need a command's knowledge of its words. */
static sf_status_t check_words(const sfctl_options_t *options)
{
  switch (options->help || options->version ? SFCTL_TASK_QUERY : options->task) {
  case SFCTL_TASK_TOP:
    return sfctl_top_check(options);
  case SFCTL_TASK_TRACE:
    return sfctl_trace_check(options);
  default:
    return SF_OK;
  }
}

int main(int argc, char *argv[])
{
  sfctl_options_t options;
  bool problems = false;
  sfshm_standard_hold();
  if (!isatty(STDOUT_FILENO))
    setvbuf(stdout, output, _IOFBF, sizeof output);
  sf_status_t status = sfctl_options_parse(argc, argv, &options);
  if (status == SF_OK)
    status = check_words(&options);
  if (status != SF_OK) {
    report(status);
    return EXIT_USAGE;
  }
  raise_descriptor_limit();
  if (options.help)
    sfctl_options_print_help(stdout);
  else if (options.version)
    printf("sfctl %d.%d.%d\n", SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH);
  else
    status = run_where_daemon_is(&options, &problems);
  if (status == SF_OK)
    status = close_output();
  if (status != SF_OK)
    return report(status);
  return problems ? EXIT_PROBLEMS : EXIT_SUCCESS;
}

/* sfrun: runs ranks with private daemons. One thread; things are undone in reverse order. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sf/sf.h>

#include "proto/address.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/standard.h"
#include "tools/sfrun/as_daemon.h"
#include "tools/sfrun/as_rank.h"
#include "tools/sfrun/daemon.h"
#include "tools/sfrun/hosts/remote.h"
#include "tools/sfrun/job.h"
#include "tools/sfrun/launch.h"
#include "tools/sfrun/options.h"
#include "tools/sfrun/process/signals.h"
#include "tools/sfrun/process/supervise.h"

/* as of env and timeout */
enum { EXIT_OWN_FAILURE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static int report(sf_status_t status)
{
  sfreport_text_complain("sfrun", *sfshm_error_detail() ? sfshm_error_detail() : sfshm_strerror(status));
  return status == SF_ERR_NOT_FOUND ? EXIT_NOT_FOUND : status == SF_ERR_PERM ? EXIT_NOT_EXECUTABLE : EXIT_OWN_FAILURE;
}

static int fail(sf_status_t status)
{
  report(status);
  return EXIT_OWN_FAILURE;
}

/* A daemon of others: checks for it here, as mpirun would report its absence once per rank. */
static sf_status_t check_daemon(void)
{
  int fd = -1;
  sf_status_t status = sfproto_connect(NULL, &fd);
  if (!status)
    close(fd);
  return status;
}

static int run_program(const sfrun_launch_t *launch, sfrun_daemons_t *daemons, int signal_fd)
{
  sfrun_children_t children;
  sf_status_t status = sfrun_launch_start(launch, daemons, &children);
  int code = status ? report(status) : sfrun_supervise(&children, daemons, signal_fd);
  sfrun_children_free(&children);
  return code;
}

/* Own daemons: sets the job, and the socket if all ranks have the same. */
static sf_status_t set_environment(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons)
{
  char socket_path[SFRUN_SOCKET_BYTES];
  const sfrun_options_t *options = launch->options;
  if (daemons->nlocal > 1)
    return sfrun_job_set_environment(NULL, options->job, options->program[0], true);
  sfrun_socket_path(daemons->socket_directory, 0, 1, socket_path);
  return sfrun_job_set_environment(socket_path, options->job, options->program[0], launch->hosts.count < 2);
}

static int run_with_daemons(const sfrun_launch_t *launch, int signal_fd)
{
  sfrun_daemons_t daemons = {.nprocesses = 0};
  int interrupted = 0, code = 0;
  sf_status_t status = sfrun_launch_has_remote_daemons(launch)
                           ? sfrun_remote_start(launch, signal_fd, &daemons, &interrupted)
                           : sfrun_daemons_start(launch->options, signal_fd, &daemons, &interrupted);
  if (!status)
    status = set_environment(launch, &daemons);
  if (status)
    code = interrupted ? 128 + interrupted : fail(status);
  else
    code = run_program(launch, &daemons, signal_fd);
  sfrun_daemons_stop(&daemons);
  return code;
}

static int run_with_given(const sfrun_launch_t *launch, const char *socket_path, int signal_fd)
{
  sfrun_daemons_t none = {.nprocesses = 0};
  sf_status_t status = SF_OK;
  if (launch->options->nnodes > 1 || launch->options->hostfile)
    status = sfshm_error(SF_ERR_ARG, "SF_SOCKET names a daemon to use, %s asks for several new ones: unset SF_SOCKET",
                         launch->options->hostfile ? "--hostfile" : "--nodes");
  if (!status)
    status = check_daemon();
  if (!status)
    status = sfrun_job_set_environment(socket_path, launch->options->job, launch->options->program[0],
                                       launch->options->launcher == SFRUN_LAUNCHER_LOCAL);
  return status ? fail(status) : run_program(launch, &none, signal_fd);
}

static int run(const sfrun_options_t *options)
{
  int signal_fd = -1;
  sfrun_launch_t launch = {.mpi = SFRUN_MPI_UNKNOWN};
  sf_status_t status = sfrun_signals_open(&signal_fd);
  if (status)
    return fail(status);
  status = sfrun_launch_prepare(options, &launch);
  const char *given = getenv("SF_SOCKET");
  int code = 0;
  if (status)
    code = report(status);
  else if (given && *given)
    code = run_with_given(&launch, given, signal_fd);
  else
    code = run_with_daemons(&launch, signal_fd);
  sfrun_launch_free(&launch);
  close(signal_fd);
  return code;
}

/* What exceeds the limit of file sizes is an error. Unlike SIG_IGN, programs that sfrun starts do not inherit it. */
static void on_too_large(int number)
{
  (void)number;
}

int main(int argc, char *argv[])
{
  sfshm_standard_hold();
  signal(SIGXFSZ, on_too_large);
  if (argc > 1 && strcmp(argv[1], SFRUN_AS_RANK) == 0)
    return report(sfrun_as_rank(argc, argv));
  if (argc > 1 && strcmp(argv[1], SFRUN_AS_DAEMON) == 0) {
    sf_status_t ended = sfrun_as_daemon(argc, argv);
    return ended ? fail(ended) : EXIT_SUCCESS;
  }
  sfrun_options_t options;
  sf_status_t status = sfrun_options_parse(argc, argv, &options);
  if (status)
    return fail(status);
  int code = EXIT_SUCCESS;
  if (options.help)
    sfrun_options_print_help(stdout);
  else if (options.version)
    printf("sfrun %d.%d.%d\n", SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH);
  else
    code = run(&options);
  sfrun_options_free(&options);
  return code;
}

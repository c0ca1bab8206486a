/* sfrun: runs a program's ranks with a private sfd. One thread; the order here is the order in which things are undone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sf/sf.h>

#include "proto/address.h"
#include "shm/error.h"
#include "tools/sfrun/daemon.h"
#include "tools/sfrun/job.h"
#include "tools/sfrun/launch.h"
#include "tools/sfrun/options.h"
#include "tools/sfrun/signals.h"
#include "tools/sfrun/supervise.h"

/* As env and timeout do. */
enum { EXIT_OWN_FAILURE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static int report(sf_status_t status)
{
  fprintf(stderr, "sfrun: %s\n", *sfshm_error_detail() ? sfshm_error_detail() : sfshm_strerror(status));
  return status == SF_ERR_NOT_FOUND ? EXIT_NOT_FOUND : status == SF_ERR_PERM ? EXIT_NOT_EXECUTABLE : EXIT_OWN_FAILURE;
}

static int fail(sf_status_t status)
{
  report(status);
  return EXIT_OWN_FAILURE;
}

/* Somebody else's daemon: only look whether it is there, because mpirun would report its absence once per rank. */
static sf_status_t check_daemon(const char *socket_path)
{
  int fd = -1;
  sf_status_t status = sfproto_connect(socket_path, &fd);
  if (!status)
    close(fd);
  return status;
}

static int run_program(const sfrun_launch_t *launch, sfrun_daemon_t *daemon, int signal_fd)
{
  sfrun_children_t children;
  sf_status_t status = sfrun_launch_start(launch, &children);
  int code = status ? report(status) : sfrun_supervise(&children, daemon, signal_fd);
  sfrun_children_free(&children);
  return code;
}

static int run_with_daemon(const sfrun_launch_t *launch, int signal_fd)
{
  const char *given = getenv("SF_SOCKET");
  bool private = !given || !*given;
  sfrun_daemon_t daemon = {.pid = 0};
  int interrupted = 0, code = 0;
  sf_status_t status =
      private ? sfrun_daemon_start(launch->options, signal_fd, &daemon, &interrupted) : check_daemon(given);
  if (!status)
    status = sfrun_job_set_environment(private ? daemon.socket : given);
  if (status)
    code = interrupted ? 128 + interrupted : fail(status);
  else
    code = run_program(launch, &daemon, signal_fd);
  sfrun_daemon_stop(&daemon);
  return code;
}

static int run(const sfrun_options_t *options)
{
  int signal_fd = -1;
  sfrun_launch_t launch = {.mpi = SFRUN_MPI_UNKNOWN};
  sf_status_t status = sfrun_signals_open(&signal_fd);
  if (status)
    return fail(status);
  status = sfrun_launch_prepare(options, &launch);
  int code = status ? report(status) : run_with_daemon(&launch, signal_fd);
  close(signal_fd);
  return code;
}

int main(int argc, char *argv[])
{
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

/* Private daemons on this host: see daemon.h. Single-threaded; blocks while daemons start and end. */
#include "tools/sfrun/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/hosts/loopback.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/process/signals.h"
#include "tools/sfrun/sfd_command.h"

#define READY_TIMEOUT_MS 30000
#define STOP_TIMEOUT_MS 5000
#define NUMBER_BYTES 16

/* How daemons are started. */
typedef struct start {
  const sfrun_options_t *options;
  char path[PATH_MAX]; /* of sfd */
  sfrun_loopback_t loopback;
  int null_fd, log_fd;
  int *ready_fds; /* by node */
} start_t;

/* ---- Starting ---- */

/* In a process group of its own, so that Ctrl-C does not reach it before the ranks have ended. */
static sf_status_t spawn_with(const start_t *start, const char *const words[], const int kept_fds[2], pid_t *pid_p)
{
  const char **args = NULL;
  sf_status_t status = sfrun_sfd_arguments(start->options, words, &args);
  if (status)
    return status;
  sfrun_command_t command = {.path = start->path,
                             .argv = args,
                             .death_signal = SIGTERM,
                             .own_group = true,
                             .stdin_fd = start->null_fd,
                             .stdout_fd = start->log_fd,
                             .stderr_fd = start->log_fd,
                             .kept_fds = {kept_fds[0], kept_fds[1]}};
  status = sfrun_spawn(&command, pid_p);
  free(args);
  return status;
}

static sf_status_t spawn_sfd(const start_t *start, int32_t node, int ready_fd, sfrun_daemons_t *daemons)
{
  char socket[SFRUN_SOCKET_BYTES], ready[NUMBER_BYTES], number[NUMBER_BYTES], fabric[NUMBER_BYTES];
  const sfrun_loopback_t *loopback = &start->loopback;
  bool alone = daemons->nlocal == 1;
  int fabric_fd = alone ? -1 : loopback->fds[node];
  sfrun_socket_path(daemons->directory, node, daemons->nlocal, socket);
  snprintf(ready, sizeof ready, "%d", ready_fd);
  snprintf(number, sizeof number, "%d", node);
  snprintf(fabric, sizeof fabric, "%d", fabric_fd);
  const char *const words[] = {"--socket",   socket,        "--ready-fd",    ready,    alone ? NULL : "--fabric",
                               "tcp",        "--peers",     loopback->peers, "--node", number,
                               "--peer-key", loopback->key, "--fabric-fd",   fabric,   NULL};
  return spawn_with(start, words, (const int[2]){ready_fd, fabric_fd}, &daemons->pids[node]);
}

static sf_status_t start_one(start_t *start, int32_t node, sfrun_daemons_t *daemons)
{
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "pipe to the daemon");
  sf_status_t status = spawn_sfd(start, node, ready[1], daemons);
  close(ready[1]);
  start->ready_fds[node] = ready[0];
  return status;
}

/* ---- Waiting ---- */

/* A signal that asks to end; others are ignored before the program runs. 0: none. */
static int take_ending_signal(int signal_fd)
{
  struct signalfd_siginfo info;
  while (sfrun_signals_take(signal_fd, &info))
    if (sfrun_signals_ends((int)info.ssi_signo))
      return (int)info.ssi_signo;
  return 0;
}

sf_status_t sfrun_daemons_wait(int fd, int signal_fd, int64_t deadline_ms, bool *got_p, char *byte_p,
                               int *interrupted_p)
{
  for (;;) {
    struct pollfd pollfds[] = {{.fd = fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    int64_t left_ms = deadline_ms - sfshm_now_ms();
    if (left_ms <= 0)
      return sfshm_error(SF_ERR_TIMEOUT, "sfd was not ready in time");
    poll(pollfds, 2, (int)left_ms);
    *interrupted_p = take_ending_signal(signal_fd);
    if (*interrupted_p)
      return sfshm_error(SF_ERR_STATE, "signal %d while the daemon started", *interrupted_p);
    if (pollfds[0].revents) {
      *got_p = read(fd, byte_p, 1) == 1;
      return SF_OK;
    }
  }
}

static sf_status_t describe_failure(const start_t *start, int32_t node, sfrun_daemons_t *daemons)
{
  char which[2 * NUMBER_BYTES] = "";
  bool killed = false;
  const char *log = start->options->daemon_log;
  int wait_status = sfrun_end_child(daemons->pids[node], STOP_TIMEOUT_MS, &killed);
  daemons->pids[node] = 0;
  if (daemons->nlocal > 1)
    snprintf(which, sizeof which, " of node %d", node);
  return sfshm_error(SF_ERR_NO_DAEMON, "%s%s ended before it was ready (%s); its message is %s%s", start->path, which,
                     sfrun_describe_end(wait_status), log ? "in " : "above", log ? log : "");
}

static sf_status_t wait_for_all(const start_t *start, int signal_fd, sfrun_daemons_t *daemons, int *interrupted_p)
{
  int64_t deadline_ms = sfshm_now_ms() + READY_TIMEOUT_MS;
  for (int32_t node = 0; node < daemons->nprocesses; node++) {
    bool is_ready = false;
    char byte;
    sf_status_t status =
        sfrun_daemons_wait(start->ready_fds[node], signal_fd, deadline_ms, &is_ready, &byte, interrupted_p);
    if (!status && !is_ready)
      status = describe_failure(start, node, daemons);
    if (status)
      return status;
  }
  return SF_OK;
}

/* ---- Together ---- */

/* Daemons append to one file. */
sf_status_t sfrun_daemons_open_log(const sfrun_options_t *options, int *fd_p)
{
  const char *path = options->daemon_log;
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)
                : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "daemon's log %s", path ? path : "(standard error)");
  *fd_p = fd;
  return SF_OK;
}

static sf_status_t prepare(start_t *start, sfrun_daemons_t *daemons)
{
  sf_status_t status = sfrun_sfd_find(start->options, start->path);
  if (!status)
    status = sfrun_directory_make(daemons->directory);
  if (status)
    return status;
  strcpy(daemons->socket_directory, daemons->directory);
  start->ready_fds = calloc((size_t)daemons->nlocal, sizeof *start->ready_fds);
  daemons->pids = calloc((size_t)daemons->nlocal, sizeof *daemons->pids);
  if (!start->ready_fds || !daemons->pids)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d daemons", daemons->nlocal);
  if (daemons->nlocal > 1)
    status = sfrun_loopback_open(daemons->directory, daemons->nlocal, &start->loopback);
  if (!status)
    status = sfrun_daemons_open_log(start->options, &start->log_fd);
  start->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return status;
}

static void forget(start_t *start, const sfrun_daemons_t *daemons)
{
  for (int32_t node = 0; node < daemons->nprocesses; node++)
    close(start->ready_fds[node]);
  free(start->ready_fds);
  sfrun_loopback_close(&start->loopback);
  if (start->log_fd >= 0)
    close(start->log_fd);
  if (start->null_fd >= 0)
    close(start->null_fd);
}

sf_status_t sfrun_daemons_start(const sfrun_options_t *options, int signal_fd, sfrun_daemons_t *daemons,
                                int *interrupted_p)
{
  start_t start = {.options = options, .null_fd = -1, .log_fd = -1};
  *interrupted_p = 0;
  daemons->nlocal = options->nnodes ? options->nnodes : 1;
  daemons->what = "sfd";
  daemons->stop_signal = SIGTERM;
  sf_status_t status = prepare(&start, daemons);
  for (; !status && daemons->nprocesses < daemons->nlocal; daemons->nprocesses += !status)
    status = start_one(&start, daemons->nprocesses, daemons);
  if (!status)
    status = wait_for_all(&start, signal_fd, daemons, interrupted_p);
  forget(&start, daemons);
  return status;
}

/* ---- The end ---- */

void sfrun_daemons_note_end(sfrun_daemons_t *daemons, pid_t pid, int wait_status)
{
  for (int32_t i = 0; i < daemons->nprocesses; i++) {
    if (daemons->pids[i] != pid)
      continue;
    daemons->pids[i] = 0;
    fprintf(stderr, "sfrun: %s", daemons->what);
    if (daemons->nprocesses > 1)
      fprintf(stderr, " of node %d", i);
    fprintf(stderr, " ended before the program (%s)\n", sfrun_describe_end(wait_status));
  }
}

void sfrun_daemons_stop(sfrun_daemons_t *daemons)
{
  int nkilled = sfrun_end_children(daemons->pids, daemons->nprocesses, daemons->stop_signal, STOP_TIMEOUT_MS);
  if (nkilled)
    fprintf(stderr, "sfrun: %s did not end within %d s of %s and was killed\n", daemons->what, STOP_TIMEOUT_MS / 1000,
            daemons->stop_signal == SIGTERM ? "SIGTERM" : "being told to");
  free(daemons->pids);
  if (daemons->output_fd)
    close(daemons->output_fd);
  if (*daemons->directory)
    sfrun_directory_remove(daemons->directory);
  *daemons = (sfrun_daemons_t){.nprocesses = 0};
}

/* The private daemon of one sfrun. Single-threaded; blocks only while the daemon starts and ends. */
#include "tools/sfrun/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/error.h"
#include "tools/sfrun/process.h"
#include "tools/sfrun/signals.h"

#define READY_TIMEOUT_MS 30000
#define STOP_TIMEOUT_MS 5000
#define OWN_ARGUMENTS 7 /* sfd --socket PATH --ready-fd N --log-level LEVEL */
#define DIRECTORY_TEMPLATE "sfrun-XXXXXX"
#define SOCKET_NAME "sfd.sock"

static sf_status_t find_sfd(const char *given, char path_p[PATH_MAX])
{
  if (given)
    return sfrun_find_program(given, path_p);
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "sfd");
  if (length > 0) {
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "sfd");
    if (sfrun_find_program(path, path_p) == SF_OK)
      return SF_OK;
  }
  sf_status_t status = sfrun_find_program("sfd", path_p);
  return status ? sfshm_error(status, "no sfd beside sfrun or in PATH: name one by --sfd") : SF_OK;
}

static bool make_directory_in(const char *base, sfrun_daemon_t *daemon)
{
  char directory[SFRUN_SOCKET_BYTES];
  if (!base || *base != '/' || strlen(base) + sizeof "/" DIRECTORY_TEMPLATE "/" SOCKET_NAME > SFRUN_SOCKET_BYTES)
    return false;
  stpcpy(stpcpy(directory, base), "/" DIRECTORY_TEMPLATE);
  if (!mkdtemp(directory))
    return false;
  strcpy(daemon->directory, directory);
  stpcpy(stpcpy(daemon->socket, directory), "/" SOCKET_NAME);
  return true;
}

/* A socket's path is short: a directory whose name is too long is passed over like one that can't be written. */
static sf_status_t make_directory(sfrun_daemon_t *daemon)
{
  const char *const bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (make_directory_in(bases[i], daemon))
      return SF_OK;
  return sfshm_error_errno(SF_ERR_SYS, "no directory for the daemon's socket can be made: XDG_RUNTIME_DIR, TMPDIR "
                                       "and /tmp are unset, too long or not writable");
}

static void remove_directory(const char *path)
{
  DIR *directory = opendir(path);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory)
    closedir(directory);
  if (rmdir(path) != 0 && errno != ENOENT)
    fprintf(stderr, "sfrun: %s can't be removed: %s\n", path, strerror(errno));
}

/* The level to start the daemon with, NULL to leave it to the daemon. Beside a program's output only what is wrong is
 * of interest, unless somebody has said otherwise. */
static const char *choose_log_level(const sfrun_options_t *options)
{
  static const char key[] = "log-level=";
  for (int i = 0; i < options->nsfd_options; i++)
    if (strncmp(options->sfd_options[i], key, strlen(key)) == 0)
      return NULL;
  if (options->log_level || options->daemon_log || getenv("SFD_LOG_LEVEL"))
    return options->log_level;
  return "warn";
}

/* The daemon's argument list, one allocation: pointers, then the texts of --KEY=VALUE. */
static const char **build_arguments(const sfrun_options_t *options, const char *socket, const char *ready)
{
  size_t npointers = OWN_ARGUMENTS + (size_t)options->nsfd_options + 1;
  size_t text_bytes = 0;
  for (int i = 0; i < options->nsfd_options; i++)
    text_bytes += strlen(options->sfd_options[i]) + sizeof "--";
  const char **args = calloc(1, npointers * sizeof *args + text_bytes);
  if (!args)
    return NULL;
  const char *log_level = choose_log_level(options);
  const char *own[] = {"sfd", "--socket", socket, "--ready-fd", ready, "--log-level", log_level};
  size_t nargs = log_level ? OWN_ARGUMENTS : OWN_ARGUMENTS - 2;
  memcpy(args, own, nargs * sizeof *args);
  char *text = (char *)(args + npointers);
  for (int i = 0; i < options->nsfd_options; i++) {
    args[nargs++] = text;
    text = stpcpy(stpcpy(text, "--"), options->sfd_options[i]) + 1;
  }
  return args;
}

/* Its own process group: a Ctrl-C at the terminal must reach the ranks, not the daemon that they still need. */
static sf_status_t spawn_sfd(const sfrun_options_t *options, const char *path, int ready_fd, int log_fd,
                             sfrun_daemon_t *daemon)
{
  char ready[16];
  snprintf(ready, sizeof ready, "%d", ready_fd);
  const char **args = build_arguments(options, daemon->socket, ready);
  if (!args)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the daemon's arguments");
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sfrun_command_t command = {.path = path,
                             .argv = args,
                             .death_signal = SIGTERM,
                             .own_group = true,
                             .stdin_fd = null_fd,
                             .stdout_fd = log_fd,
                             .stderr_fd = log_fd,
                             .kept_fd = ready_fd};
  sf_status_t status = sfrun_spawn(&command, &daemon->pid);
  close(null_fd);
  free(args);
  return status;
}

static sf_status_t describe_failure(const sfrun_options_t *options, const char *path, sfrun_daemon_t *daemon)
{
  bool killed = false;
  int wait_status = sfrun_end_child(daemon->pid, STOP_TIMEOUT_MS, &killed);
  daemon->pid = 0;
  return sfshm_error(SF_ERR_NO_DAEMON, "%s ended before it was ready (%s); its message is %s%s", path,
                     sfrun_describe_end(wait_status), options->daemon_log ? "in " : "above",
                     options->daemon_log ? options->daemon_log : "");
}

/* Whether a signal that asks sfrun to end has come; others are of no use before the program runs. */
static int take_ending_signal(int signal_fd)
{
  struct signalfd_siginfo info;
  while (sfrun_signals_take(signal_fd, &info))
    if (sfrun_signals_ends((int)info.ssi_signo))
      return (int)info.ssi_signo;
  return 0;
}

static sf_status_t wait_until_ready(int fd, int signal_fd, bool *ready_p, int *interrupted_p)
{
  int64_t deadline_ms = sfrun_now_ms() + READY_TIMEOUT_MS;
  for (;;) {
    struct pollfd pollfds[] = {{.fd = fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    int64_t left_ms = deadline_ms - sfrun_now_ms();
    if (left_ms <= 0)
      return sfshm_error(SF_ERR_TIMEOUT, "sfd was not ready within %d s", READY_TIMEOUT_MS / 1000);
    poll(pollfds, 2, (int)left_ms);
    *interrupted_p = take_ending_signal(signal_fd);
    if (*interrupted_p)
      return sfshm_error(SF_ERR_STATE, "signal %d while the daemon started", *interrupted_p);
    if (pollfds[0].revents) {
      char byte;
      *ready_p = read(fd, &byte, 1) == 1;
      return SF_OK;
    }
  }
}

static sf_status_t open_log(const char *path, int *fd_p)
{
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "daemon's log %s", path ? path : "(standard error)");
  *fd_p = fd;
  return SF_OK;
}

static sf_status_t start_and_wait(const sfrun_options_t *options, const char *path, int signal_fd,
                                  sfrun_daemon_t *daemon, int *interrupted_p)
{
  int log_fd = -1, ready[2];
  sf_status_t status = open_log(options->daemon_log, &log_fd);
  if (status)
    return status;
  if (pipe2(ready, O_CLOEXEC) != 0) {
    close(log_fd);
    return sfshm_error_errno(SF_ERR_SYS, "pipe to the daemon");
  }
  bool is_ready = false;
  status = spawn_sfd(options, path, ready[1], log_fd, daemon);
  close(ready[1]);
  close(log_fd);
  if (!status)
    status = wait_until_ready(ready[0], signal_fd, &is_ready, interrupted_p);
  close(ready[0]);
  return status || is_ready ? status : describe_failure(options, path, daemon);
}

sf_status_t sfrun_daemon_start(const sfrun_options_t *options, int signal_fd, sfrun_daemon_t *daemon,
                               int *interrupted_p)
{
  char path[PATH_MAX];
  *interrupted_p = 0;
  sf_status_t status = find_sfd(options->sfd, path);
  if (!status)
    status = make_directory(daemon);
  if (!status)
    status = start_and_wait(options, path, signal_fd, daemon, interrupted_p);
  return status;
}

void sfrun_daemon_stop(sfrun_daemon_t *daemon)
{
  bool killed = false;
  if (daemon->pid)
    sfrun_end_child(daemon->pid, STOP_TIMEOUT_MS, &killed);
  if (killed)
    fprintf(stderr, "sfrun: sfd did not end within %d s of SIGTERM and was killed\n", STOP_TIMEOUT_MS / 1000);
  daemon->pid = 0;
  if (*daemon->directory)
    remove_directory(daemon->directory);
  *daemon->directory = '\0';
}

/* Starting and ending one child process. Single-threaded: the death signal is tied to the thread that forks. */
#include "tools/sfrun/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfrun/process/signals.h"

#define NS_PER_MS 1000000
#define ROUNDS 5 /* of signalling */
#define TERM_TIMEOUT_MS 2000

static bool is_executable_file(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static sf_status_t check_executable(const char *path)
{
  struct stat info;
  if (stat(path, &info) != 0)
    return sfshm_error_errno(errno == EACCES ? SF_ERR_PERM : SF_ERR_NOT_FOUND, "program %s", path);
  if (!is_executable_file(path))
    return sfshm_error(SF_ERR_PERM, "program %s: not an executable file", path);
  return SF_OK;
}

/* One entry of PATH; empty: the current directory. */
static bool try_directory(const char *directory, size_t len_bytes, const char *name, char path[PATH_MAX])
{
  int length = len_bytes ? snprintf(path, PATH_MAX, "%.*s/%s", (int)len_bytes, directory, name)
                         : snprintf(path, PATH_MAX, "./%s", name);
  return length > 0 && length < PATH_MAX && is_executable_file(path);
}

sf_status_t sfrun_find_program(const char *name, char path_p[PATH_MAX])
{
  char path[PATH_MAX];
  if (strlen(name) >= sizeof path)
    return sfshm_error(SF_ERR_NOT_FOUND, "program name of %zu bytes", strlen(name));
  if (strchr(name, '/')) {
    sf_status_t status = check_executable(name);
    if (!status)
      strcpy(path_p, name);
    return status;
  }
  const char *directory = getenv("PATH");
  if (!directory)
    directory = "/usr/local/bin:/usr/bin:/bin";
  for (bool last = false; *name && !last;) {
    size_t len_bytes = strcspn(directory, ":");
    if (try_directory(directory, len_bytes, name, path)) {
      strcpy(path_p, path);
      return SF_OK;
    }
    last = directory[len_bytes] == '\0';
    directory += len_bytes + 1;
  }
  if (*name && is_executable_file(name))
    return sfshm_error(SF_ERR_NOT_FOUND, "program \"%s\" is not in PATH; for the one in this directory write ./%s",
                       name, name);
  return sfshm_error(SF_ERR_NOT_FOUND, "program \"%s\" is not in PATH", name);
}

static int redirect(int from, int to)
{
  return from < 0 ? 0 : dup2(from, to) < 0 ? -1 : 0;
}

/* In the child, up to execve. Returns only on errors, with errno. */
static void become(const sfrun_command_t *command, pid_t parent)
{
  if (prctl(PR_SET_PDEATHSIG, command->death_signal) != 0)
    return;
  if (getppid() != parent)
    _exit(EXIT_FAILURE); /* sfrun died before the death signal was set */
  if (command->own_group && setpgid(0, 0) != 0)
    return;
  if (redirect(command->stdin_fd, STDIN_FILENO) || redirect(command->stdout_fd, STDOUT_FILENO) ||
      redirect(command->stderr_fd, STDERR_FILENO))
    return;
  for (int i = 0; i < SFRUN_KEPT_FDS; i++)
    if (command->kept_fds[i] > 0 && fcntl(command->kept_fds[i], F_SETFD, 0) != 0)
      return;
  for (char *const *variable = command->variables; variable && *variable; variable++)
    putenv(*variable);
  sfrun_signals_restore();
  execv(command->path, (char *const *)(uintptr_t)command->argv);
}

/* errno of a failed execve in the child; 0: execve succeeded. */
static int read_failure(int fd)
{
  int failure = 0;
  ssize_t nread = 0;
  do
    nread = read(fd, &failure, sizeof failure);
  while (nread < 0 && errno == EINTR);
  return nread == (ssize_t)sizeof failure ? failure : 0;
}

static sf_status_t exec_error(const char *path, int failure)
{
  sf_status_t status = failure == ENOENT                         ? SF_ERR_NOT_FOUND
                       : failure == EACCES || failure == ENOEXEC ? SF_ERR_PERM
                                                                 : SF_ERR_SYS;
  return sfshm_error(status, "%s can't be started: %s", path, strerror(failure));
}

sf_status_t sfrun_spawn(const sfrun_command_t *command, pid_t *pid_p)
{
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "pipe to start %s", command->path);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    become(command, parent);
    int failure = errno;
    if (write(report[1], &failure, sizeof failure) < 0)
      _exit(126);
    _exit(127);
  }
  int fork_errno = errno;
  close(report[1]);
  int failure = pid < 0 ? fork_errno : read_failure(report[0]);
  close(report[0]);
  if (failure) {
    if (pid > 0)
      waitpid(pid, NULL, 0);
    return exec_error(command->path, failure);
  }
  *pid_p = pid;
  return SF_OK;
}

bool sfrun_wait_for(pid_t pid, int64_t timeout_ms, int *wait_status_p)
{
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int64_t deadline_ms = sfshm_now_ms() + timeout_ms;
  for (;;) {
    pid_t ended = waitpid(pid, wait_status_p, WNOHANG);
    int64_t left_ms = deadline_ms - sfshm_now_ms();
    if (ended == pid || left_ms <= 0)
      return ended == pid;
    struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * NS_PER_MS};
    sigtimedwait(&child, NULL, &left);
  }
}

int sfrun_end_child(pid_t pid, int64_t timeout_ms, bool *killed_p)
{
  int wait_status = 0;
  kill(pid, SIGTERM);
  *killed_p = !sfrun_wait_for(pid, timeout_ms, &wait_status);
  if (*killed_p) {
    kill(pid, SIGKILL);
    waitpid(pid, &wait_status, 0);
  }
  return wait_status;
}

/* Returns the number of children left at the time-out. */
static int32_t tell_and_wait(pid_t pids[], int32_t nchildren, int signal, int64_t timeout_ms)
{
  int64_t deadline_ms = sfshm_now_ms() + timeout_ms;
  int32_t nleft = 0;
  int wait_status = 0;
  for (int32_t i = 0; i < nchildren; i++)
    if (pids[i])
      kill(pids[i], signal);
  for (int32_t i = 0; i < nchildren; i++) {
    if (pids[i] && sfrun_wait_for(pids[i], deadline_ms - sfshm_now_ms(), &wait_status))
      pids[i] = 0;
    nleft += pids[i] != 0;
  }
  return nleft;
}

/* mpirun drops a signal before it has processes to forward it to, so the signal is repeated. */
int sfrun_end_children(pid_t pids[], int32_t nchildren, int signal, int64_t timeout_ms)
{
  int64_t round_ms = signal == SIGTERM ? timeout_ms : timeout_ms / ROUNDS;
  int32_t nleft = nchildren;
  for (int64_t spent_ms = 0; nleft > 0 && spent_ms < timeout_ms; spent_ms += round_ms)
    nleft = tell_and_wait(pids, nchildren, signal, round_ms);
  if (nleft > 0 && signal != SIGTERM)
    nleft = tell_and_wait(pids, nchildren, SIGTERM, TERM_TIMEOUT_MS);
  for (int32_t i = 0; i < nchildren; i++)
    if (pids[i]) {
      kill(pids[i], SIGKILL);
      waitpid(pids[i], NULL, 0);
      pids[i] = 0;
    }
  return nleft;
}

int sfrun_exit_code(int wait_status)
{
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

const char *sfrun_describe_end(int wait_status)
{
  static char text[64];
  if (WIFSIGNALED(wait_status))
    snprintf(text, sizeof text, "signal %d (%s)", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  else
    snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(wait_status));
  return text;
}

/* Daemons for system tests: see harness.h. Runs in the process of the test. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/system/harness.h"

#define OPTIONS_MAX 16
#define REST_LOOKS 30

void sftest_find_sfd(char path[PATH_MAX])
{
  const char *build = getenv("BUILD");
  if (build != NULL) {
    snprintf(path, PATH_MAX, "%.4000s/sfd", build);
    return;
  }
  ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 8);
  ck_assert_int_gt(n, 0);
  path[n] = '\0';
  for (int up = 0; up < 4; up++) /* tests/system/folder/test_name */
    *strrchr(path, '/') = '\0';
  strcat(path, "/sfd");
}

void sftest_node_prepare(sftest_node_t *node)
{
  *node = (sftest_node_t){0};
  const char *parent = getenv("TMPDIR");
  if (parent == NULL || strlen(parent) > 40)
    parent = "/tmp";
  snprintf(node->directory, sizeof node->directory, "%.40s/sftest.XXXXXX", parent);
  ck_assert_ptr_nonnull(mkdtemp(node->directory));
  snprintf(node->socket, sizeof node->socket, "%s/sfd.sock", node->directory);
}

static void open_log(const sftest_node_t *node)
{
  int fd = open(node->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
    _exit(126);
}

static int count_fds(const sftest_node_t *node)
{
  char path[40];
  int n = -2; /* . and .. */
  snprintf(path, sizeof path, "/proc/%d/fd", (int)node->pid);
  DIR *directory = opendir(path);
  if (directory == NULL)
    return -1;
  while (readdir(directory) != NULL)
    n++;
  closedir(directory);
  return n;
}

/* The child that becomes sfd. It ends together with the test. */
static void become_sfd(const sftest_node_t *node, const char *const options[], int ready_fd)
{
  char path[PATH_MAX], ready[16], fabric_fd[32];
  const char *arguments[OPTIONS_MAX + 10];
  int n = 0;
  sftest_find_sfd(path);
  snprintf(ready, sizeof ready, "%d", ready_fd);
  const char *const fixed[] = {path,  "--socket",       node->socket,        "--ready-fd",
                               ready, "--calibrate=no", "--log-level=error", "--join-timeout=3600"};
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
    arguments[n++] = fixed[i];
  for (int i = 0; options != NULL && options[i] != NULL && i < OPTIONS_MAX; i++)
    arguments[n++] = options[i];
  snprintf(fabric_fd, sizeof fabric_fd, "--fabric-fd=%d", node->fabric_fd);
  if (node->fabric_fd != 0)
    arguments[n++] = fabric_fd;
  arguments[n] = NULL;
  fcntl(ready_fd, F_SETFD, 0);
  fcntl(node->fabric_fd, F_SETFD, 0);
  if (node->log[0] != '\0')
    open_log(node);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execv(path, (char *const *)(uintptr_t)arguments); /* execv takes them const in all but name */
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  _exit(127);
}

void sftest_node_launch(sftest_node_t *node, const char *const options[])
{
  int ends[2];
  char text[16];
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  fflush(NULL);
  node->pid = fork();
  ck_assert_int_ge(node->pid, 0);
  if (node->pid == 0)
    become_sfd(node, options, ends[1]);
  close(ends[1]);
  struct pollfd ready = {.fd = ends[0], .events = POLLIN};
  ck_assert_msg(poll(&ready, 1, SFTEST_HANG_MS) == 1, "sfd is not ready");
  ssize_t n = read(ends[0], text, sizeof text);
  ck_assert_msg(n == 8 && memcmp(text, "READY=1\n", 8) == 0, "sfd has not started");
  ck_assert_int_eq(read(ends[0], text, sizeof text), 0); /* it closes its end: from now on its descriptors count */
  close(ends[0]);
  node->fds = count_fds(node);
}

void sftest_node_start(sftest_node_t *node, const char *const options[])
{
  sftest_node_prepare(node);
  sftest_node_launch(node, options);
}

void sftest_node_kill(sftest_node_t *node)
{
  int status;
  kill(node->pid, SIGKILL);
  ck_assert_int_eq(waitpid(node->pid, &status, 0), node->pid);
  ck_assert_msg(WIFSIGNALED(status), "sfd had ended before: status %x", (unsigned)status);
  node->pid = 0;
}

void sftest_node_restart(sftest_node_t *node, const char *const options[])
{
  if (node->pid != 0)
    sftest_node_kill(node);
  sftest_node_launch(node, options);
}

void sftest_node_end(sftest_node_t *node)
{
  int status = 0;
  kill(node->pid, SIGTERM);
  pid_t ended = 0;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while ((ended = waitpid(node->pid, &status, WNOHANG)) == 0 && sftest_now_ms() < until)
    sftest_sleep_ms(2);
  if (ended == 0)
    kill(node->pid, SIGKILL);
  ck_assert_msg(ended == node->pid, "sfd does not end on SIGTERM");
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "sfd ended with status 0x%x", (unsigned)status);
  node->pid = 0;
}

/* What a daemon that was killed leaves; the next one would take it over. */
static void remove_remains(const sftest_node_t *node)
{
  char lock[sizeof node->socket + 8];
  snprintf(lock, sizeof lock, "%s.lock", node->socket);
  unlink(lock);
  unlink(node->socket);
}

void sftest_node_remove(sftest_node_t *node)
{
  if (node->pid != 0)
    sftest_node_end(node);
  else
    remove_remains(node);
  ck_assert_msg(rmdir(node->directory) == 0, "%s: %s", node->directory, strerror(errno));
}

void sftest_node_stop(sftest_node_t *node)
{
  sftest_node_remove(node);
  errno = 0;
  ck_assert_msg(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "child processes are left");
}

int sftest_node_rest(const sftest_node_t *node, int32_t npeers)
{
  int fds = -1, again;
  for (int same = 0; same < REST_LOOKS; fds = again) {
    again = count_fds(node);
    if (again == node->fds + npeers)
      return again;
    same = again == fds ? same + 1 : 0;
    sftest_sleep_ms(2);
  }
  return fds;
}

long sftest_node_resident_kib(const sftest_node_t *node)
{
  char path[40], line[128];
  long kib = -1;
  snprintf(path, sizeof path, "/proc/%d/status", (int)node->pid);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  while (kib < 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kib) != 1)
      kib = -1;
  fclose(file);
  return kib;
}

void sftest_node_settle(const sftest_node_t *node, int fds)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  int found;
  SFTEST_SLEEP_WHILE((found = count_fds(node)) > fds && sftest_now_ms() < until);
  ck_assert_msg(found <= fds, "sfd has %d descriptors; before the job it had %d", found, fds);
}

/* sfd as a service manager starts it: with the socket that it is to serve, and another one on which it tells how far it
 * is. The test takes the manager's part, so that it needs none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "proto/address.h"
#include "tests/system/work.h"

typedef struct manager {
  sftest_node_t node;
  char notify_path[96];
  int listen_fd;
  int notify_fd;
} manager_t;

static manager_t manager;

static int bind_socket(int type, const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void setup(void)
{
  sftest_node_t *node = &manager.node;
  const char *parent = getenv("TMPDIR");
  snprintf(node->directory, sizeof node->directory, "%.40s/sftest.XXXXXX", parent != NULL ? parent : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(node->directory));
  snprintf(node->socket, sizeof node->socket, "%s/s", node->directory);
  snprintf(manager.notify_path, sizeof manager.notify_path, "%s/n", node->directory);
  manager.listen_fd = bind_socket(SOCK_STREAM, node->socket);
  manager.notify_fd = bind_socket(SOCK_DGRAM, manager.notify_path);
  ck_assert_int_eq(listen(manager.listen_fd, 16), 0);
}

static void teardown(void)
{
  close(manager.listen_fd);
  close(manager.notify_fd);
  unlink(manager.node.socket);
  unlink(manager.notify_path);
  ck_assert_int_eq(rmdir(manager.node.directory), 0); /* sfd has left nothing */
}

SFTEST_FIXTURE(setup, teardown);

/* option: one more, or NULL. */
static void become_sfd(const char *option)
{
  char path[4096], pid[16];
  const char *build = getenv("BUILD");
  snprintf(path, sizeof path, "%.4000s/sfd", build != NULL ? build : "build");
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  int fd = fcntl(manager.listen_fd, F_DUPFD, 10);
  dup2(fd, 3);
  close(fd);
  setenv("LISTEN_PID", pid, 1);
  setenv("LISTEN_FDS", "1", 1);
  setenv("NOTIFY_SOCKET", manager.notify_path, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execl(path, path, "--calibrate=no", "--log-level=warn", option, (char *)NULL);
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  _exit(127);
}

static void start_sfd(const char *option)
{
  fflush(NULL);
  manager.node.pid = fork();
  ck_assert_int_ge(manager.node.pid, 0);
  if (manager.node.pid == 0)
    become_sfd(option);
}

/* The next message has that line. */
static void expect_told(const char *line)
{
  char message[512] = "\n", wanted[128];
  struct pollfd ready = {.fd = manager.notify_fd, .events = POLLIN};
  ck_assert_msg(poll(&ready, 1, SFTEST_HANG_MS) == 1, "sfd does not say %s", line);
  ssize_t length = recv(manager.notify_fd, message + 1, sizeof message - 3, 0);
  ck_assert_int_gt(length, 0);
  strcpy(message + 1 + length, "\n");
  snprintf(wanted, sizeof wanted, "\n%s\n", line);
  ck_assert_msg(strstr(message, wanted) != NULL, "sfd says %s, not %s", message, line);
}

static void expect_end(void)
{
  int status;
  ck_assert_int_eq(waitpid(manager.node.pid, &status, 0), manager.node.pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "sfd ended with status 0x%x", (unsigned)status);
}

SFTEST(serves_what_was_passed)
{
  struct ucred peer;
  socklen_t size = sizeof peer;
  struct stat file;
  int fd;
  start_sfd(NULL);
  expect_told("READY=1");
  sftest_expect_serving(&manager.node);
  ck_assert_int_eq(sfproto_connect(manager.node.socket, &fd), SF_OK);
  ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
  ck_assert_int_eq(peer.pid, manager.node.pid); /* though this process made the socket */
  close(fd);
  kill(manager.node.pid, SIGTERM);
  expect_told("STOPPING=1");
  expect_end();
  ck_assert_int_eq(stat(manager.node.socket, &file), 0);
}

SFTEST(tells_where_it_serves)
{
  char line[128];
  snprintf(line, sizeof line, "STATUS=Serving at %s", manager.node.socket);
  start_sfd(NULL);
  expect_told(line);
  kill(manager.node.pid, SIGINT);
  expect_told("STATUS=Ending");
  expect_end();
}

static void come_and_go(sftest_rank_t *self)
{
  sftest_leave(self, sftest_join(self));
}

/* Whoever comes between two daemons waits for the second one. */
SFTEST(nobody_is_lost_in_between)
{
  sftest_job_t job;
  start_sfd(NULL);
  expect_told("READY=1");
  kill(manager.node.pid, SIGKILL);
  ck_assert_int_eq(waitpid(manager.node.pid, NULL, 0), manager.node.pid);
  sftest_job_start(&job, &manager.node, 2, come_and_go, NULL);
  sftest_sleep_ms(100);
  ck_assert(!sftest_job_poll(&job));
  start_sfd(NULL);
  sftest_job_end_well(&job);
  kill(manager.node.pid, SIGTERM);
  expect_end();
}

/* Whoever waits for word there would wait for ever. */
SFTEST(word_that_nobody_would_get)
{
  int status, ends[2];
  char option[32];
  ck_assert_int_eq(pipe(ends), 0);
  for (int i = 0; i < 2; i++) {
    snprintf(option, sizeof option, "--ready-fd=%d", i == 0 ? 1000000 : ends[0]); /* not there; only to read from */
    start_sfd(option);
    ck_assert_int_eq(waitpid(manager.node.pid, &status, 0), manager.node.pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 2, "sfd ended with status 0x%x", (unsigned)status);
  }
  close(ends[0]);
  close(ends[1]);
}

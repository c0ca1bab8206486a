/* A daemon that the system denies what it needs, by a filter of system calls or a limit: it says so and ends by itself,
 * before it is ready or when the first client comes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "proto/address.h"
#include "tests/system/harness.h"

typedef struct denial {
  int calls[2]; /* system calls, unless nfds is given */
  rlim_t nfds;  /* limit of open files; 0: that of the test */
  bool serves;  /* until a client connects */
  const char *expected;
} denial_t;

static const denial_t denials[] = {
    {.calls = {SYS_accept4, SYS_accept4},
     .serves = true,
     .expected = "cannot accept clients: accept4: Operation not permitted"},
    {.calls = {SYS_epoll_pwait, SYS_epoll_ctl}, .expected = "refuses a call that it cannot do without: EPERM"},
    {.nfds = 4, .expected = "EMFILE"},
    {.nfds = 16, .expected = "open files"},
};

static void deny(const denial_t *denial)
{
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denial->calls[0], 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denial->calls[1], 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  struct rlimit limit = {denial->nfds, denial->nfds};
  if (denial->nfds != 0 && setrlimit(RLIMIT_NOFILE, &limit) != 0)
    _exit(126);
  if (denial->nfds == 0 &&
      (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0))
    _exit(126);
}

static void become_denied(const denial_t *denial, const sftest_node_t *node, int output)
{
  char path[PATH_MAX];
  sftest_find_sfd(path);
  if (dup2(output, STDERR_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
    _exit(126);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  deny(denial);
  execl(path, path, "--socket", node->socket, "--calibrate=no", "--ready-fd=1", (char *)NULL);
  _exit(127);
}

/* What it prints until it ends. */
static void read_all(int fd, const denial_t *denial, const sftest_node_t *node, char *text, size_t size)
{
  size_t length = 0;
  ssize_t n;
  int client = -1;
  while (length < size - 1 && (n = read(fd, text + length, size - 1 - length)) > 0) {
    length += (size_t)n;
    text[length] = '\0';
    if (denial->serves && client < 0 && strstr(text, "READY=1") != NULL)
      ck_assert_int_eq(sfproto_connect(node->socket, &client), SF_OK);
  }
  close(client);
}

SFTEST_FOR(denied, sizeof denials / sizeof denials[0])
{
  const denial_t *denial = &denials[_i];
  sftest_node_t node;
  char text[4096] = "";
  int ends[2], status;
  sftest_node_prepare(&node);
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  fflush(NULL);
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0)
    become_denied(denial, &node, ends[1]);
  close(ends[1]);
  read_all(ends[0], denial, &node, text, sizeof text);
  close(ends[0]);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status 0x%x: %s", (unsigned)status, text);
  ck_assert_msg(strstr(text, denial->expected) != NULL, "expected \"%s\": %s", denial->expected, text);
  sftest_node_stop(&node);
}

int main(void)
{
  return sftest_main();
}

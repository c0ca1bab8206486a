/* Hosts for system tests: see hosts.h. Runs in the process of the test. */
#include "tests/system/hosts.h"

#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 7411

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool run(const char *format, ...)
{
  char command[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  return system(command) == 0;
}

static int own_namespace(void)
{
  return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static pid_t start_holder(void)
{
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
      pause();
  }
  return pid;
}

static bool make_host(sftest_hosts_t *hosts, int32_t i)
{
  size_t length = strlen(hosts->peers);
  snprintf(hosts->peers + length, sizeof hosts->peers - length, "%s10.78.0.%d:%d", i > 0 ? "," : "", (int)i + 1, PORT);
  if (unshare(CLONE_NEWNET) != 0)
    return false;
  hosts->namespaces[i] = own_namespace();
  bool made = run("exec 2>&1 >/dev/null; ip link set lo up && ip link add eth0 type veth peer name port%d netns %d && "
                  "ip addr add 10.78.0.%d/24 dev eth0 && ip link set eth0 up",
                  (int)i, (int)hosts->holder, (int)i + 1);
  ck_assert_int_eq(setns(hosts->home, CLONE_NEWNET), 0);
  return made && run("ip link set port%d master bridge up", (int)i);
}

const char *sftest_hosts_make(sftest_hosts_t *hosts, int32_t n)
{
  *hosts = (sftest_hosts_t){.n = n};
  ck_assert_int_le(n, SFTEST_HOSTS_MAX);
  if (geteuid() != 0)
    return "network namespaces need root";
  if (!run("ip -V >/dev/null 2>&1"))
    return "no ip in PATH (iproute2)";
  if (unshare(CLONE_NEWNET) != 0 || (hosts->home = own_namespace()) < 0)
    return "network namespaces can't be made";
  if (!run("exec 2>&1 >/dev/null; ip link add bridge type bridge && ip link set bridge up"))
    return "bridges can't be made";
  hosts->holder = start_holder();
  for (int32_t i = 0; i < n; i++)
    if (!make_host(hosts, i)) {
      sftest_hosts_end(hosts);
      return "links between network namespaces can't be made";
    }
  return NULL;
}

void sftest_hosts_end(sftest_hosts_t *hosts)
{
  kill(hosts->holder, SIGKILL);
  waitpid(hosts->holder, NULL, 0);
  for (int32_t i = 0; i < hosts->n; i++)
    if (hosts->namespaces[i] > 0)
      close(hosts->namespaces[i]);
  close(hosts->home);
}

void sftest_hosts_cut(const sftest_hosts_t *hosts, int32_t host, bool cut)
{
  ck_assert_int_lt(host, hosts->n);
  ck_assert(run("ip link set port%d %s", (int)host, cut ? "down" : "up"));
}

/* It is sent to an address of the network that nobody has. */
void sftest_hosts_cut_way(const sftest_hosts_t *hosts, int32_t from, int32_t to, bool cut)
{
  ck_assert(from < hosts->n && to < hosts->n);
  ck_assert_int_eq(setns(hosts->namespaces[from], CLONE_NEWNET), 0);
  bool done = cut ? run("ip neigh replace 10.78.0.%d lladdr 02:00:00:00:00:fe dev eth0 nud permanent", (int)to + 1)
                  : run("ip neigh del 10.78.0.%d dev eth0", (int)to + 1);
  ck_assert_int_eq(setns(hosts->home, CLONE_NEWNET), 0);
  ck_assert(done);
}

bool sftest_hosts_limit(const sftest_hosts_t *hosts, int32_t host, const char *rate)
{
  ck_assert_int_lt(host, hosts->n);
  return run("tc qdisc replace dev port%d root tbf rate %s burst 64kb latency 400ms 2>/dev/null", (int)host, rate);
}

/* Processes that connect and never say Hello, more often than sfd serves connections, do not keep others out: neither
 * those of their own user, nor, where sfd is root's, those of another one. */
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "proto/address.h"
#include "tests/system/hostile.h"
#include "tests/system/work.h"

#define MAX_CLIENTS "--max-clients=256"
#define HELD 400 /* by each process: more than that */
#define SERVED 8 /* jobs meanwhile */
#define NOBODY 65534

/* ---- Users ------------------------------------------------------------------------------------------------------- */

/* The rank goes on as another user. The test's directory may be closed to that one above the socket. */
static void become_nobody(sftest_rank_t *self)
{
  char directory[128];
  snprintf(directory, sizeof directory, "%s", self->options.socket_path);
  *strrchr(directory, '/') = '\0';
  SFTEST_REQUIRE(self, chdir(directory) == 0);
  self->options.socket_path = "sfd.sock";
  SFTEST_REQUIRE(self, setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
  prctl(PR_SET_DUMPABLE, 1); /* as a process that began as this user */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

SFTEST_JOINED(work)
{
  sf_graph_t *graph = NULL;
  SFTEST_OK(self, sftest_ring_create(world, 100000, 0, &graph));
  sftest_ring_expect_working(self, world, graph, 100000);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

static void work_as_nobody(sftest_rank_t *self)
{
  become_nobody(self);
  work(self);
}

/* ---- Strangers --------------------------------------------------------------------------------------------------- */

static void hold_connections(sftest_rank_t *self)
{
  sftest_assault_t *assault = self->argument;
  int held[HELD];
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  memset(held, -1, sizeof held);
  for (int i = 0; !assault->over; i = (i + 1) % HELD) {
    if (held[i] >= 0)
      close(held[i]);
    held[i] = -1;
    if (sfproto_connect(self->options.socket_path, &held[i]) == SF_OK)
      assault->attempts++;
  }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void start_node(sftest_node_t *node)
{
  sftest_node_start(node, (const char *const[]){MAX_CLIENTS, NULL});
  ck_assert_int_eq(chmod(node->directory, 0711), 0);
}

static void expect_working(const sftest_node_t *node, int32_t size, sftest_rank_fn_t run)
{
  sftest_job_t job;
  sftest_job_start(&job, node, size, run, NULL);
  sftest_job_end_well(&job);
}

/* While strangers come, jobs of ranks that do run are served one after the other. */
static void resist(int nstrangers, sftest_rank_fn_t strangers, sftest_rank_fn_t run)
{
  sftest_node_t node;
  sftest_job_t job;
  start_node(&node);
  int fds = sftest_node_rest(&node, 0);
  sftest_assault_t *assault = sftest_shared(sizeof *assault);
  sftest_job_start(&job, &node, nstrangers, strangers, assault);
  SFTEST_SLEEP_WHILE(assault->attempts < nstrangers * HELD && !sftest_job_poll(&job));
  for (int i = 0; i < sftest_scale(SERVED); i++)
    expect_working(&node, 2, run);
  assault->over = true;
  sftest_job_end_well(&job);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}

SFTEST_BETWEEN(of_the_same_user, 1, 4)
{
  resist(_i, hold_connections, work);
}

SFTEST_JOB(of_another_user, getuid() == 0 ? 1 : 0, resist(2, ranks, work))
{
  become_nobody(self);
  hold_connections(self);
}

SFTEST_IF(of_root, getuid() == 0)
{
  resist(2, hold_connections, work_as_nobody);
}

/* Large enough graphs that the ranks try to reach each other's memory. */
SFTEST_IF(root_serves_all_users, getuid() == 0)
{
  sftest_node_t node;
  start_node(&node);
  int fds = sftest_node_rest(&node, 0);
  expect_working(&node, 4, work_as_nobody);
  expect_working(&node, 4, work);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}

int main(void)
{
  if (getuid() != 0)
    puts("part skipped: several users need root");
  return sftest_main();
}

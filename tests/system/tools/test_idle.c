/* A daemon whose clients wait or compute sleeps: it uses next to no time and little memory, and wakes at most once a
 * second. Ranks that wait for long sleep too. */
#include <time.h>

#include "tests/system/work.h"

#define RANKS 4
#define WATCH_MS 5000
#define MAX_DAEMON_SHARE 0.002 /* of a core */
#define MAX_WAITING_SHARE 0.01
#define MAX_RESIDENT_KIB 16384

typedef struct quiet {
  _Atomic int32_t nready;
  _Atomic bool over;
} quiet_t;

/* Ranks 2 and 3 wait for data of ranks 3 and 0; ranks 0 and 1 call nothing. */
SFTEST_JOINED(be_quiet)
{
  quiet_t *quiet = self->argument;
  sf_graph_t *graph = NULL;
  void *memory;
  double roots[10] = {0}, leaves[10];
  SFTEST_OK(self, sf_alloc(context, 1000000, &memory));
  SFTEST_OK(self, sftest_ring_create(world, 10, 0, &graph));
  sftest_ring_expect_working(self, world, graph, 10);
  quiet->nready++;
  while (self->rank < 2 && !quiet->over)
    sftest_sleep_ms(50);
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Seconds of processor time that the process has used, all threads together. */
static double used_s(pid_t pid)
{
  clockid_t clock;
  struct timespec used;
  ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
  ck_assert_int_eq(clock_gettime(clock, &used), 0);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* How often the process has gone to sleep. */
static long count_sleeps(pid_t pid)
{
  char path[64], line[128];
  long n = -1;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  while (n < 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) != 1)
      n = -1;
  fclose(file);
  return n;
}

static void watch(const sftest_node_t *node, pid_t waiting)
{
  double daemon_s = used_s(node->pid), waiting_s = used_s(waiting);
  long sleeps = count_sleeps(node->pid);
  int64_t begun_ms = sftest_now_ms();
  sftest_sleep_ms(WATCH_MS);
  double daemon_used_s = used_s(node->pid) - daemon_s, waiting_used_s = used_s(waiting) - waiting_s;
  sleeps = count_sleeps(node->pid) - sleeps;
  int64_t watched_ms = sftest_now_ms() - begun_ms; /* a busy machine wakes this process late */
  double daemon_share = daemon_used_s * 1000 / (double)watched_ms;
  double waiting_share = waiting_used_s * 1000 / (double)watched_ms;
  long kib = sftest_node_resident_kib(node);
  printf("idle sfd: %.4f %% of a core, woken %ld times in %.1f s, %ld KiB resident; waiting rank: %.4f %%\n",
         100 * daemon_share, sleeps, (double)watched_ms / 1000, kib, 100 * waiting_share);
  ck_assert_msg(sleeps <= watched_ms / 1000 + 1, "the idle daemon woke %ld times", sleeps);
  if (sftest_is_sanitized()) /* has needs of its own */
    return;
  ck_assert_msg(daemon_share < MAX_DAEMON_SHARE, "the idle daemon uses %.2f %% of a core", 100 * daemon_share);
  ck_assert_msg(waiting_share < MAX_WAITING_SHARE, "a waiting rank uses %.2f %% of a core", 100 * waiting_share);
  ck_assert_msg(kib < MAX_RESIDENT_KIB, "the daemon has %ld KiB", kib);
}

SFTEST(idle)
{
  sftest_node_t node;
  sftest_job_t job;
  quiet_t *quiet = sftest_shared(sizeof *quiet);
  static const char *const options[] = {"--calibrate=yes", NULL}; /* as users start it */
  setenv("XDG_CACHE_HOME", "/dev/null", 1);                       /* nothing is kept */
  sftest_node_start(&node, options);
  sftest_job_start(&job, &node, RANKS, be_quiet, quiet);
  sftest_job_await(&job, &quiet->nready, RANKS);
  sftest_sleep_ms(500);
  watch(&node, job.pids[2]);
  quiet->over = true;
  sftest_job_end_well(&job);
  sftest_node_stop(&node);
}

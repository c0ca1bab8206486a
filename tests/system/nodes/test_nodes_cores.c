/* The daemon's loop and a rank on one core: the loop moves to another core that it may use, and keeps its set of cores.
 * Where it may use no other, data move all the same. */
#include <sched.h>

#include "tests/system/cluster.h"
#include "tests/system/work.h"

#define MOVES 40
#define OPERATIONS 50 /* of a rank, some of which it takes until its daemon moves */
#define LOOKS 100     /* with as many in between: who is there each time stays there */

static int cores[2]; /* the first two that this process may use */

typedef struct plan {
  _Atomic int ready;
  _Atomic int over;      /* the test has seen what it waited for */
  _Atomic int64_t ended; /* operations of rank 0 */
} plan_t;

static cpu_set_t set_of(int core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)core, &set);
  return set;
}

static void bind_to(pid_t pid, const cpu_set_t *set)
{
  ck_assert_int_eq(sched_setaffinity(pid, sizeof *set, set), 0);
}

/* The core on which the process's first thread runs, or ran last. */
static int core_of(pid_t pid)
{
  char path[64];
  int core = -1;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file,
                          "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                          "%*d %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
                          &core),
                   1);
  fclose(file);
  return core;
}

/* Both ranks call at least a thousand operations. By its value rank 0 says which is the last but one. */
static void pass_values(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  cpu_set_t set = set_of(cores[self->rank]);
  SFTEST_REQUIRE(self, sched_setaffinity(0, sizeof set, &set) == 0);
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph = NULL;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 1, 0, &graph));
  plan->ready++;
  int32_t root[1] = {0}, leaf[1] = {0};
  for (int i = 0; root[0] == 0; i++) {
    root[0] = self->rank == 0 ? i >= 1000 && plan->over : leaf[0];
    SFTEST_OK(self, sf_bcast(graph, SF_INT32, root, leaf, SF_REPLACE));
    plan->ended += self->rank == 0;
  }
  if (self->rank == 0)
    SFTEST_OK(self, sf_bcast(graph, SF_INT32, root, leaf, SF_REPLACE));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
}

/* The loop may be about to move: then its set is another for a moment. */
static void expect_set(pid_t pid, const cpu_set_t *expected)
{
  int64_t until_ms = sftest_now_ms() + SFTEST_HANG_MS;
  cpu_set_t set;
  do
    ck_assert_int_eq(sched_getaffinity(pid, sizeof set, &set), 0);
  while (!CPU_EQUAL(&set, expected) && sftest_now_ms() < until_ms);
  ck_assert(CPU_EQUAL(&set, expected));
}

static void find_cores(void)
{
  cpu_set_t set;
  int n = 0;
  for (int core = 0; sched_getaffinity(0, sizeof set, &set) == 0 && core < CPU_SETSIZE && n < 2; core++)
    if (CPU_ISSET((size_t)core, &set))
      cores[n++] = core;
  if (n < 2) {
    printf("skipped: one core only\n");
    exit(77);
  }
}

/* Brings the process to the first core, allows it the second one, too, and waits until it runs there, several times. */
static void expect_moves(const plan_t *plan, pid_t pid, const cpu_set_t *first, const cpu_set_t *both)
{
  for (int move = 0; move < MOVES; move++) {
    bind_to(pid, first);
    sftest_sleep_ms(2);
    int64_t ended = plan->ended;
    int looks = 0;
    bind_to(pid, both);
    for (; core_of(pid) != cores[1]; sftest_sleep_ms(1)) {
      if (plan->ended - ended < OPERATIONS)
        continue;
      ended = plan->ended;
      ck_assert_msg(++looks < LOOKS, "the daemon stays on the core of its rank");
    }
    expect_set(pid, both);
  }
}

/* Rank and daemon of node 1 keep the second core busy, so that the kernel has no reason to move the first daemon. */
static void run(bool alone)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  static const int32_t places[] = {0, 1};
  plan_t *plan = sftest_shared(sizeof *plan);
  cpu_set_t first = set_of(cores[0]), second = set_of(cores[1]), both = first;
  CPU_SET((size_t)cores[1], &both);
  sftest_cluster_start(&cluster, 2);
  pid_t daemon = cluster.nodes[0].pid;
  bind_to(daemon, &first);
  bind_to(cluster.nodes[1].pid, &second);
  sftest_job_start_over(&job, cluster.nodes, places, 2, pass_values, plan);
  sftest_job_await(&job, &plan->ready, 2);
  if (alone) {
    sftest_sleep_ms(100);
    expect_set(daemon, &first);
  } else {
    expect_moves(plan, daemon, &first, &both);
  }
  plan->over = 1;
  sftest_job_end_well(&job);
  sftest_cluster_stop(&cluster);
}

SFTEST(moves_off_the_core_of_its_rank)
{
  run(false);
}

SFTEST(shares_the_only_core)
{
  run(true);
}

int main(void)
{
  find_cores();
  return sftest_main();
}

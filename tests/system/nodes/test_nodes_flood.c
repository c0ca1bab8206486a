/* Clients that have their node tell another one without end, while that does not take what it is told: what waits for
 * it stays bounded, and the jobs over both nodes go on when it does. */
#include "daemon/membership/coordinator_quota.h"
#include "tests/system/hostile.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/loop/forge.h"
#include "tests/system/work.h"

#define NODES 3
#define STALLED 1
#define N 100
#define NAMES 100 /* of which some have their coordinator at the stalled node */

static sftest_loop_cluster_t cluster;

static void setup(void)
{
  sftest_loop_cluster_start(&cluster, NODES, 0, 0);
}

static void teardown(void)
{
  sftest_loop_cluster_stop(&cluster);
}

SFTEST_FIXTURE(setup, teardown);

static uint64_t count(sftest_loop_order_t what)
{
  return sftest_loop_cluster_order(&cluster, what, 0, STALLED);
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

typedef struct shared {
  _Atomic int ready, go;
} shared_t;

SFTEST_JOINED(work_before_and_after)
{
  shared_t *shared = self->argument;
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, N, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, world, graph, N);
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->go, 1);
  sftest_ring_expect_working(self, world, graph, N);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Jobs of further ranks: those of the stalled node are refused, others wait in vain. */
static void be_refused(sftest_rank_t *self)
{
  int nrefused = 0;
  for (int i = 0; i < NAMES && nrefused < 2; i++) {
    char name[64];
    sf_context_t *context;
    sf_init_options_t options = self->options;
    snprintf(name, sizeof name, "refused-%d", i);
    options.job = name;
    options.rank = 0;
    options.size = 2;
    options.timeout_ms = 1;
    sf_status_t status = sf_init(&options, &context);
    if (status == SF_ERR_TIMEOUT)
      continue;
    SFTEST_EXPECT(self, status, SF_ERR_LIMIT);
    SFTEST_DETAIL(self, "node 1 does not take what it is told of jobs that join");
    nrefused++;
  }
  SFTEST_REQUIRE(self, nrefused == 2);
  sftest_leave(self, sftest_join(self)); /* one rank: no other node has to know */
}

SFTEST(joining_without_end)
{
  static const int32_t places[] = {0, STALLED};
  sftest_job_t job, hostile, refused;
  shared_t *shared = sftest_shared(sizeof *shared);
  sftest_assault_t *assault = sftest_shared(sizeof *assault);
  sftest_job_start_over(&job, cluster.nodes, places, 2, work_before_and_after, shared);
  sftest_await(&shared->ready, 2);
  count(SFTEST_LOOP_HOLD);
  sftest_job_start(&hostile, &cluster.nodes[0], 1, sftest_flood_joins, assault);
  uint64_t bytes = 0, last = 1;
  for (int64_t until = sftest_now_ms() + SFTEST_HANG_MS; bytes < 2 * SFD_COORDINATOR_QUOTA_OF_USER && bytes != last;) {
    ck_assert_msg(sftest_now_ms() < until, "%llu bytes are queued", (unsigned long long)bytes);
    int64_t begun = assault->attempts;
    last = bytes;
    SFTEST_SLEEP_WHILE(assault->attempts < begun + 500);
    bytes = count(SFTEST_LOOP_BYTES);
  }
  ck_assert_msg(bytes < 2 * SFD_COORDINATOR_QUOTA_OF_USER, "%llu bytes are queued after %lld attempts",
                (unsigned long long)bytes, (long long)assault->attempts);
  assault->over = true;
  sftest_job_wait(&hostile);
  printf("%llu bytes are queued after %lld attempts\n", (unsigned long long)bytes, (long long)assault->attempts);
  sftest_job_start(&refused, &cluster.nodes[0], 1, be_refused, NULL);
  sftest_job_end_well(&refused);
  count(SFTEST_LOOP_LET_GO);
  atomic_store(&shared->go, 1);
  sftest_job_end_well(&job);
  sftest_job_start_over(&job, cluster.nodes, places, 2, work_before_and_after, shared); /* all are taken again */
  sftest_job_end_well(&job);
}

/* ---- Jobs that can't start --------------------------------------------------------------------------------------- */

/* Ranks of two other nodes in turns, none of which node 0 knows: it tells each node once, and passes the start on. */
SFTEST(many_ranks_that_can_not_start)
{
  count(SFTEST_LOOP_HOLD);
  uint64_t before = count(SFTEST_LOOP_QUEUED);
  sftest_loop_cluster_order(&cluster, SFTEST_LOOP_FORGE + (sftest_loop_order_t)SFTEST_FORGE_START, 2, 0);
  for (int64_t until = sftest_now_ms() + SFTEST_HANG_MS; count(SFTEST_LOOP_QUEUED) == before; sftest_sleep_ms(1))
    ck_assert(sftest_now_ms() < until);
  ck_assert_uint_eq(count(SFTEST_LOOP_QUEUED), before + 2);
  count(SFTEST_LOOP_LET_GO);
}

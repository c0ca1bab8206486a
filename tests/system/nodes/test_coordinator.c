/* Jobs over nodes whose coordinator, the node that assembles them, dies before, while, or after they join. Links to it
 * that are cut: test_coordinator_links.c. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "daemon/net/fabric/tcp/auth.h"
#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define NODES SFTEST_NODES_MAX
#define MANY_JOBS 64
#define DEAD 2 /* node */
#define KNOWN_MS 50000

static sftest_cluster_t cluster;

SFTEST_JOINED(join_and_work)
{
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, 10, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, world, graph, 10);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Starts jobs of two ranks until so many of them have their coordinator on the node. */
static int start_jobs(sftest_job_t jobs[MANY_JOBS], const int32_t places[2], int32_t coordinator, int want)
{
  int n = 0, found = 0;
  for (; found < want && n < MANY_JOBS; n++) {
    sftest_job_start_over(&jobs[n], cluster.nodes, places, 2, join_and_work, NULL);
    found += sftest_coordinator_of(jobs[n].name, NODES) == coordinator;
  }
  ck_assert_int_eq(found, want);
  return n;
}

static void expect_jobs(sftest_job_t jobs[], int n)
{
  for (int i = 0; i < n; i++)
    sftest_job_end_well(&jobs[i]);
}

/* Who connects to the daemon that is dead is seen from now on. */
static void watch_port(void)
{
  ck_assert_int_eq(listen(cluster.reserved[DEAD], 8), 0);
  ck_assert_int_eq(fcntl(cluster.reserved[DEAD], F_SETFL, O_NONBLOCK), 0);
}

/* Only the node that takes its place may have tried to tell it that, for which nobody waits. */
static void expect_untried(void)
{
  sfd_tcp_hello_t hello;
  int fd;
  while ((fd = accept(cluster.reserved[DEAD], NULL, NULL)) >= 0) {
    ck_assert_int_eq(recv(fd, &hello, sizeof hello, MSG_WAITALL), sizeof hello);
    ck_assert_int_eq(le32toh(hello.from), DEAD + 1);
    close(fd);
  }
  ck_assert_int_eq(errno, EAGAIN);
}

/* What the other node has sent is here before its answer. */
static void hear_from(int32_t node, int32_t other)
{
  char number[16];
  snprintf(number, sizeof number, "%d", other);
  sftest_sfctl(cluster.nodes[node].socket, WORDS("jobs", "--node", number), 0);
}

/* Until all others have noticed, and have heard what the others tell of it. */
static void await_loss(int32_t lost)
{
  char wanted[96];
  snprintf(wanted, sizeof wanted, "\"node %d (tcp 127.0.0.1:%d)\",\"state\":\"closed\"", lost, cluster.ports[lost]);
  for (int32_t node = 0; node < NODES; node++)
    if (node != lost)
      sftest_sfctl_await(cluster.nodes[node].socket, WORDS("peers", "--json"), wanted);
  for (int32_t node = 0; node < NODES; node++)
    for (int32_t other = 0; other < NODES && node != lost; other++)
      if (other != node && other != lost)
        hear_from(node, other);
}

/* Nobody has talked to anybody yet, so nobody knows of the loss: who waited for the dead node would do so for an hour.
 */
SFTEST(a_job_on_one_node_needs_no_coordinator)
{
  static sftest_job_t jobs[MANY_JOBS];
  static const int32_t places[] = {1, 1};
  sftest_cluster_start(&cluster, NODES);
  cluster.connect_timeout_s = 3600;
  sftest_cluster_restart(&cluster, 1);
  sftest_cluster_kill(&cluster, DEAD);
  int n = start_jobs(jobs, places, DEAD, 2);
  expect_jobs(jobs, n);
  sftest_cluster_stop(&cluster);
}

SFTEST(another_node_takes_the_place_of_a_lost_coordinator)
{
  static sftest_job_t jobs[MANY_JOBS];
  static const int32_t places[] = {0, 1};
  sftest_cluster_start(&cluster, NODES);
  cluster.connect_timeout_s = 1;
  for (int32_t node = 0; node < NODES; node++)
    sftest_cluster_restart(&cluster, node);
  sftest_cluster_kill(&cluster, DEAD);
  /* They find out. */
  int64_t began_ms = sftest_now_ms();
  int n = start_jobs(jobs, places, DEAD, 1);
  expect_jobs(jobs, n);
  /* They know, for a minute. */
  await_loss(DEAD);
  watch_port();
  n = start_jobs(jobs, places, DEAD, 2);
  expect_jobs(jobs, n);
  if (sftest_now_ms() - began_ms < KNOWN_MS)
    expect_untried();
  /* So is the next one. */
  sftest_cluster_kill(&cluster, DEAD + 1);
  n = start_jobs(jobs, places, DEAD, 2);
  expect_jobs(jobs, n);
  sftest_cluster_stop(&cluster);
}

/* Node 0 believes that the coordinator is lost, the coordinator itself knows better: it sends those who ask it where
 * node 0 went. */
SFTEST(nodes_that_disagree_about_the_coordinator_meet)
{
  static sftest_job_t jobs[MANY_JOBS];
  static const int32_t places[] = {0, DEAD}, others[] = {0, 1};
  sftest_cluster_start_warm(&cluster, NODES);
  for (int round = 0; round < 3; round++) {
    sftest_cluster_kill(&cluster, DEAD);
    sftest_sleep_ms(20);
    sftest_cluster_restart(&cluster, DEAD);
    int n = start_jobs(jobs, places, DEAD, 2);
    expect_jobs(jobs, n);
    n = start_jobs(jobs, others, DEAD, 1);
    expect_jobs(jobs, n);
  }
  sftest_cluster_warm(&cluster);
  sftest_cluster_stop(&cluster);
}

typedef struct shared {
  _Atomic int ready;
  _Atomic int go;
} shared_t;

SFTEST_JOINED(work_without_coordinator)
{
  shared_t *shared = self->argument;
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, 10, SF_GRAPH_DEFAULT, &graph));
  atomic_fetch_add(&shared->ready, 1);
  SFTEST_SLEEP_WHILE(atomic_load(&shared->go) == 0);
  for (int i = 0; i < 20; i++)
    sftest_ring_expect_working(self, world, graph, 10);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(a_job_outlives_its_coordinator)
{
  static sftest_job_t jobs[MANY_JOBS];
  static const int32_t places[] = {0, 1};
  shared_t *shared = sftest_shared(sizeof *shared);
  int n = 0;
  sftest_cluster_start_warm(&cluster, NODES);
  do
    sftest_job_start_over(&jobs[n], cluster.nodes, places, 2, work_without_coordinator, shared);
  while (sftest_coordinator_of(jobs[n++].name, NODES) != DEAD && n < MANY_JOBS);
  SFTEST_SLEEP_WHILE(atomic_load(&shared->ready) < 2 * n);
  sftest_cluster_kill(&cluster, DEAD);
  await_loss(DEAD);
  /* A new job is assembled as ever, and the old ones end well. */
  static sftest_job_t more[MANY_JOBS];
  int nmore = start_jobs(more, places, DEAD, 1);
  expect_jobs(more, nmore);
  atomic_store(&shared->go, 1);
  expect_jobs(jobs, n);
  sftest_cluster_restart(&cluster, DEAD);
  sftest_cluster_warm(&cluster);
  sftest_cluster_stop(&cluster);
}

typedef struct again {
  char name[48];
  _Atomic int ready;
  _Atomic int go;
} again_t;

static void take_part(sftest_rank_t *self, int32_t rank, bool waits)
{
  again_t *again = self->argument;
  sf_graph_t *graph;
  self->options.job = again->name;
  self->options.rank = rank;
  self->options.size = 2;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, sf_group_world(context), graph, 10);
  SFTEST_OK(self, sf_graph_destroy(graph));
  if (waits) {
    atomic_fetch_add(&again->ready, 1);
    sftest_await(&again->go, 2 - rank);
  }
  sftest_leave(self, context);
}

static void wait_for_word(sftest_rank_t *self)
{
  take_part(self, self->rank, true);
}

static void work_in_turn(sftest_rank_t *self)
{
  take_part(self, self->rank, false);
}

/* A rank that comes where the job is over by now is not taken for one of those that run. */
SFTEST(a_name_is_used_again_where_a_job_without_its_coordinator_is_over)
{
  static const int32_t places[] = {0, 1}, others[] = {DEAD + 1, 1};
  static sftest_job_t first, second;
  again_t *again = sftest_shared(sizeof *again);
  for (int i = 0; i == 0 || sftest_coordinator_of(again->name, NODES) != DEAD; i++)
    snprintf(again->name, sizeof again->name, "again-%d", i);
  sftest_cluster_start_warm(&cluster, NODES);
  sftest_job_start_over(&first, cluster.nodes, places, 2, wait_for_word, again);
  sftest_await(&again->ready, 2);
  sftest_cluster_kill(&cluster, DEAD);
  await_loss(DEAD);
  atomic_store(&again->go, 1); /* rank 1 */
  SFTEST_SLEEP_WHILE(sftest_job_poll(&first), first.pids[1] != 0);
  hear_from(0, 1);
  hear_from(1, 0);
  sftest_job_start_over(&second, cluster.nodes, others, 2, work_in_turn, again);
  expect_jobs(&second, 1);
  atomic_store(&again->go, 2);
  expect_jobs(&first, 1);
  sftest_cluster_restart(&cluster, DEAD);
  sftest_cluster_warm(&cluster);
  sftest_cluster_stop(&cluster);
}

static void join_again_and_again(sftest_rank_t *self)
{
  for (int i = 0; i < 20; i++)
    join_and_work(self);
}

/* The same name each time, while others are still leaving. */
SFTEST_BETWEEN(ranks_join_again, 1, 4)
{
  int32_t places[8];
  sftest_cluster_start_warm(&cluster, _i);
  sftest_places_cyclic(places, 8, _i);
  sftest_run_over(cluster.nodes, places, 8, join_again_and_again, NULL);
  sftest_cluster_stop(&cluster);
}

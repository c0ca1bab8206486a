/* How soon a death is noticed on a machine that has nothing else to do: within a second every rank has its error,
 * whether it sleeps or computes, and no further call waits. In which order, and with which errors: test_kill.c,
 * test_daemon_lost.c, test_nodes_kill.c. */
#include "tests/system/cluster.h"
#include "tests/system/work.h"

#define RANKS 4
#define ROUNDS 5
#define SOON_MS 1000
#define COMPUTING_MS 500

enum { RANK_HERE = 1, RANK_THERE = 2, DAEMON, VICTIMS };

static const int32_t places[RANKS] = {0, 0, 1, 1};

typedef struct plan {
  int victim;
  _Atomic int nready;
  _Atomic int64_t death_ms; /* 0: alive */
} plan_t;

static void hear_of_death(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  double roots[10] = {0}, leaves[10];
  sf_graph_t *graph = NULL, *other = NULL;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, 0, &graph));
  sftest_ring_expect_working(self, sf_group_world(context), graph, 10);
  plan->nready++;
  while (self->rank == RANK_HERE || self->rank == RANK_THERE) { /* the others sleep */
    if (plan->death_ms != 0 && plan->victim != self->rank) {
      sftest_sleep_ms(COMPUTING_MS);
      break;
    }
    sftest_sleep_ms(1);
  }
  sf_status_t status = SF_OK;
  while (status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE), status);
  SFTEST_EXPECT(self, sftest_ring_create(sf_group_world(context), 10, 0, &other), status);
  SFTEST_EXPECT(self, sf_finalize(context), status);
  int64_t took_ms = sftest_machine_ms() - plan->death_ms;
  sftest_require(self, took_ms < sftest_limit_ms(SOON_MS), __FILE__, __LINE__, "victim %d: noticed after %lld ms",
                 plan->victim, (long long)took_ms);
}

SFTEST_FIXTURE(sftest_machine_watch, NULL);

SFTEST_BETWEEN(noticed_soon, RANK_HERE, VICTIMS)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  for (int round = 0; round < ROUNDS; round++) {
    sftest_job_t job;
    plan_t *plan = sftest_shared(sizeof *plan);
    plan->victim = _i;
    sftest_job_start_over(&job, cluster.nodes, places, RANKS, hear_of_death, plan);
    sftest_job_await(&job, &plan->nready, RANKS);
    sftest_sleep_ms(50); /* so that those who are going to sleep do */
    plan->death_ms = sftest_machine_ms();
    if (_i == DAEMON)
      sftest_cluster_restart(&cluster, round % 2);
    else
      sftest_job_signal(&job, _i, SIGKILL);
    sftest_job_wait(&job);
    if (_i == DAEMON)
      sftest_job_expect_all(&job);
    else
      sftest_job_expect_all_but(&job, _i);
    sftest_cluster_warm(&cluster);
  }
  sftest_cluster_stop(&cluster);
}

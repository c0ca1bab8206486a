/* Ranks that come when a node on which their job has ranks has been lost: they get the error that the others got, and
 * do not wait for their time-out, by which the test hangs. */
#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define NODES 3
#define COORDINATOR 1
#define LOST 0
#define LATE 2

static const int32_t places[] = {LOST, COORDINATOR, LATE};

typedef struct scene {
  char name[48];
  _Atomic int told; /* ranks that have their error */
  _Atomic int late; /* the last one may come */
} scene_t;

static void name_job(scene_t *scene)
{
  for (int i = 0; i == 0 || sftest_coordinator_of(scene->name, NODES) != COORDINATOR; i++)
    snprintf(scene->name, sizeof scene->name, "late-%d", i);
}

static void take_job(sftest_rank_t *self)
{
  const scene_t *scene = self->argument;
  self->options.job = scene->name;
}

static void be_told(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = NULL;
  take_job(self);
  if (self->rank == LATE)
    sftest_await(&scene->late, 1);
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node 0 is lost");
  scene->told++;
}

static void join(sftest_rank_t *self)
{
  take_job(self);
  sftest_leave(self, sftest_join(self));
}

/* Until the coordinator has heard of the first two ranks. */
static void await_joins(sftest_loop_cluster_t *loop)
{
  while (sftest_loop_cluster_order(loop, SFTEST_LOOP_JOBS, COORDINATOR, COORDINATOR) == 0 ||
         sftest_loop_cluster_order(loop, SFTEST_LOOP_JOBS, LOST, LOST) == 0 ||
         sftest_loop_cluster_order(loop, SFTEST_LOOP_WAITING, 0, 0) != 0)
    sftest_sleep_ms(1);
}

/* held: the coordinator's refusal does not come to the lost node, which turns to another coordinator. */
static void lose_node(sftest_loop_cluster_t *loop, scene_t *scene, sftest_job_t *job, bool held)
{
  atomic_store(&scene->told, 0);
  atomic_store(&scene->late, 0);
  sftest_job_start_over(job, loop->nodes, places, NODES, be_told, scene);
  await_joins(loop);
  if (held)
    sftest_loop_cluster_order(loop, SFTEST_LOOP_HOLD, COORDINATOR, LOST);
  sftest_loop_cluster_order(loop, SFTEST_LOOP_CUT, COORDINATOR, LOST);
  sftest_job_await(job, &scene->told, 2);
  if (held)
    sftest_loop_cluster_order(loop, SFTEST_LOOP_LET_GO, COORDINATOR, LOST);
  atomic_store(&scene->late, 1);
  sftest_job_end_well(job);
}

SFTEST_FOR(ranks_that_come_late_get_the_error, 2)
{
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  name_job(scene);
  sftest_loop_cluster_start(&loop, NODES, 0, 0);
  lose_node(&loop, scene, &job, _i == 1);
  /* The name is free again. */
  sftest_run_over(loop.nodes, places, NODES, join, scene);
  sftest_loop_cluster_stop(&loop);
}

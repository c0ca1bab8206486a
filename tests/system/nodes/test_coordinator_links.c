/* Jobs over nodes that lose the link to their coordinator, or to each other, while they start or run, on the loop
 * fabric. */
#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

typedef struct hold {
  char name[48];
  _Atomic int ready;
  _Atomic int step; /* 1: the link is cut */
  _Atomic int over;
} hold_t;

static void name_job(hold_t *hold, int32_t coordinator, int32_t nnodes)
{
  for (int i = 0; i == 0 || sftest_coordinator_of(hold->name, nnodes) != coordinator; i++)
    snprintf(hold->name, sizeof hold->name, "hold-%d", i);
}

/* Goes on for a while when the link is cut, and ends well. */
static void work_on(sftest_rank_t *self)
{
  hold_t *hold = self->argument;
  sf_graph_t *graph, *other;
  self->options.job = hold->name;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, SF_GRAPH_DEFAULT, &graph));
  atomic_fetch_add(&hold->ready, 1);
  sftest_await(&hold->step, 1);
  for (int i = 0; i < 200; i++)
    sftest_ring_expect_working(self, sf_group_world(context), graph, 10);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 7, SF_GRAPH_DEFAULT, &other));
  SFTEST_OK(self, sf_graph_destroy(other));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
}

/* The coordinator has no ranks of the job, and loses one of its nodes. */
SFTEST_FOR(a_job_outlives_links_of_its_coordinator, 2)
{
  static const int32_t places[] = {0, 2, 2};
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  hold_t *hold = sftest_shared(sizeof *hold);
  sftest_loop_cluster_start(&loop, 3, 0, 0);
  name_job(hold, 1, 3);
  sftest_job_start_over(&job, loop.nodes, places, 3, work_on, hold);
  sftest_job_await(&job, &hold->ready, 3);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 1, _i == 0 ? 2 : 0);
  while (sftest_loop_cluster_order(&loop, SFTEST_LOOP_WAITING, 0, 0) > 0) /* what they tell each other of it */
    ;
  atomic_store(&hold->step, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

static void wait_in_vain(sftest_rank_t *self)
{
  hold_t *hold = self->argument;
  sf_graph_t *graph;
  double roots[10] = {0}, leaves[10];
  sf_status_t status = SF_OK;
  self->options.job = hold->name;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, SF_GRAPH_DEFAULT, &graph));
  atomic_fetch_add(&hold->ready, 1);
  sftest_await(&hold->step, 1);
  while (status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

/* Two nodes lose each other, and what they say does not come to a third one, which hears of it from the fourth. */
SFTEST_FOR(who_hears_of_a_loss_passes_it_on, 4)
{
  static const int32_t places[] = {0, 1, 2, 3};
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  hold_t *hold = sftest_shared(sizeof *hold);
  int32_t deaf = _i, lost[2], n = 0;
  for (int32_t node = 0; node < 4 && n < 2; node++)
    if (node != deaf && (_i < 2 || node > 0))
      lost[n++] = node;
  sftest_loop_cluster_start(&loop, 4, 0, 0);
  name_job(hold, 3, 4);
  sftest_job_start_over(&job, loop.nodes, places, 4, wait_in_vain, hold);
  sftest_job_await(&job, &hold->ready, 4);
  for (int i = 0; i < 2; i++)
    sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, lost[i], deaf);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, lost[0], lost[1]);
  atomic_store(&hold->step, 1);
  sftest_job_end_well(&job);
  for (int i = 0; i < 2; i++)
    sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, lost[i], deaf);
  sftest_loop_cluster_stop(&loop);
}

static void join_late(sftest_rank_t *self)
{
  hold_t *hold = self->argument;
  self->options.job = hold->name;
  sf_context_t *context = sftest_join(self);
  atomic_fetch_add(&hold->ready, 1);
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 10, SF_GRAPH_DEFAULT, &graph));
  sftest_ring_expect_working(self, sf_group_world(context), graph, 10);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
}

/* Node 2 is the coordinator of a job that has ranks on nodes 0, which is the next coordinator, and 1. */
static hold_t *begin_to_join(sftest_loop_cluster_t *loop, sftest_job_t *job, int32_t from, int32_t to,
                             sftest_rank_fn_t run)
{
  static const int32_t places[] = {0, 1};
  hold_t *hold = sftest_shared(sizeof *hold);
  sftest_loop_cluster_start(loop, 3, 0, 0);
  name_job(hold, 2, 3);
  sftest_loop_cluster_order(loop, SFTEST_LOOP_HOLD, from, to);
  sftest_job_start_over(job, loop->nodes, places, 2, run, hold);
  return hold;
}

/* Until the coordinator, which is held, has sent the start. */
static void await_start(sftest_loop_cluster_t *loop)
{
  SFTEST_SLEEP_WHILE(sftest_loop_cluster_order(loop, SFTEST_LOOP_QUEUED, 2, 0) == 0);
}

/* The coordinator is lost when it has sent the start to the first node, where it has not arrived. */
SFTEST(the_next_coordinator_starts_a_job_that_nobody_heard_of)
{
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  begin_to_join(&loop, &job, 2, 0, join_late);
  await_start(&loop);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 2, 1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 2, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 2, 1);
  sftest_loop_cluster_stop(&loop);
}

/* The coordinator is lost when the first node has heard of the start, and not yet the second one, which turns to the
 * next coordinator: what this keeps of it is not there any more for the next job of that name. */
SFTEST(the_first_node_starts_those_that_lose_the_coordinator)
{
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  static const int32_t places[] = {0, 1};
  hold_t *hold = begin_to_join(&loop, &job, 0, 1, join_late);
  sftest_job_await(&job, &hold->ready, 1);
  uint64_t frames = sftest_loop_cluster_order(&loop, SFTEST_LOOP_FRAMES, 1, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 2, 1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 2, 1);
  while (sftest_loop_cluster_order(&loop, SFTEST_LOOP_FRAMES, 1, 0) == frames) /* then node 0 is its coordinator */
    sftest_sleep_ms(1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 0, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 2, 1);
  sftest_run_over(loop.nodes, places, 2, join_late, hold);
  sftest_loop_cluster_stop(&loop);
}

static void fail_to_start(sftest_rank_t *self)
{
  hold_t *hold = self->argument;
  sf_context_t *context;
  sf_graph_t *graph;
  self->options.job = hold->name;
  if (self->rank == 1) {
    SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_RANK_FAILED);
    SFTEST_DETAIL(self, "node 1, which has ranks of job");
    return;
  }
  context = sftest_join(self);
  atomic_fetch_add(&hold->ready, 1);
  SFTEST_EXPECT(self, sftest_ring_create(sf_group_world(context), 10, SF_GRAPH_DEFAULT, &graph), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

/* The first node has started its part, and loses the second one, to which the start has not come: both ranks are told.
 */
SFTEST(a_node_that_is_lost_before_the_start_hears_of_the_failure)
{
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  hold_t *hold = begin_to_join(&loop, &job, 0, 1, fail_to_start);
  sftest_job_await(&job, &hold->ready, 1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 0, 1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 0, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

static void fail_to_join(sftest_rank_t *self)
{
  hold_t *hold = self->argument;
  sf_context_t *context;
  self->options.job = hold->name;
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node 0 is lost");
}

/* The coordinator loses the first node, which has not heard of the start: all ranks are told. */
SFTEST(a_job_whose_first_node_is_lost_does_not_start)
{
  static sftest_loop_cluster_t loop;
  static sftest_job_t job;
  begin_to_join(&loop, &job, 2, 0, fail_to_join);
  await_start(&loop);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_CUT, 2, 0);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 2, 0);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

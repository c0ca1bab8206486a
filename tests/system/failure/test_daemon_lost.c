/* sfd dies at any step of a job: every rank gets SF_ERR_DAEMON_LOST, whether it sleeps, spins, computes or waits for an
 * answer, and can still clean up; another sfd on the same socket serves. */
#include "tests/system/buffers.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define RANKS 3
#define LARGE 200000 /* doubles */

/* Rank 0 holds back, so that the others wait in that call. */
typedef enum step {
  STEP_JOIN,
  STEP_GROUP,
  STEP_GRAPH,
  STEP_SLEEP,    /* wait in an operation for long */
  STEP_SPIN,     /* test in a loop */
  STEP_IN_PLACE, /* wait for readers */
  STEP_COMPUTE,  /* no call until later */
  STEP_WORK,     /* nobody holds back: operations, graphs and memory all the time */
  STEP_COUNT
} step_t;

typedef struct plan {
  step_t step;
  _Atomic int32_t nready;
  _Atomic bool dead;
} plan_t;

static void expect_lost(sftest_rank_t *self, sf_status_t status)
{
  SFTEST_EXPECT(self, status, SF_ERR_DAEMON_LOST);
  SFTEST_REQUIRE(self, sf_error_detail()[0] != '\0');
}

static void await_death(const plan_t *plan)
{
  SFTEST_SLEEP_WHILE(!plan->dead);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

typedef struct scene {
  sftest_rank_t *self;
  plan_t *plan;
  sf_context_t *context;
  sf_group_t *world;
  sf_graph_t *graph;
  int64_t n;
  sftest_buffer_t buffers[2];
} scene_t;

static void make_scene(scene_t *scene, int64_t n, sftest_memory_t memory)
{
  scene->n = n;
  SFTEST_OK(scene->self, sftest_ring_create(scene->world, n, 0, &scene->graph));
  sftest_ring_expect_working(scene->self, scene->world, scene->graph, n);
  for (int i = 0; i < 2; i++)
    sftest_buffer_make(scene->self, scene->context, memory, n * (int64_t)sizeof(double), 0, &scene->buffers[i]);
  scene->plan->nready++;
}

static sf_status_t bcast(const scene_t *scene)
{
  return sf_bcast(scene->graph, SF_DOUBLE, scene->buffers[0].data, scene->buffers[1].data, SF_REPLACE);
}

/* Rank 0 calls nothing before the daemon is dead for a while. */
static void hold_back(const scene_t *scene)
{
  if (scene->self->rank != 0)
    return;
  await_death(scene->plan);
  sftest_sleep_ms(200);
}

static sf_status_t wait_asleep(scene_t *scene)
{
  sf_status_t status = SF_OK;
  hold_back(scene);
  while (status == SF_OK)
    status = bcast(scene);
  return status;
}

static sf_status_t test_in_loop(scene_t *scene)
{
  sf_status_t status = SF_OK;
  hold_back(scene);
  while (status == SF_OK) {
    sf_request_t *request = NULL;
    bool done = false;
    status =
        sf_bcast_begin(scene->graph, SF_DOUBLE, scene->buffers[0].data, scene->buffers[1].data, SF_REPLACE, &request);
    while (status == SF_OK && !done)
      status = sf_test(&request, &done);
  }
  return status;
}

static sf_status_t make_group(scene_t *scene)
{
  int32_t ranks[RANKS] = {1, 0, 2};
  sf_group_t *group = NULL;
  scene->plan->nready++;
  hold_back(scene);
  return sf_group_create(scene->context, RANKS, ranks, 5, &group);
}

static sf_status_t make_graph(scene_t *scene)
{
  sf_graph_t *graph = NULL;
  scene->plan->nready++;
  hold_back(scene);
  return sftest_ring_create(scene->world, 10, 0, &graph);
}

static sf_status_t compute(scene_t *scene)
{
  sf_graph_t *graph = NULL;
  await_death(scene->plan);
  sftest_sleep_ms(500);
  expect_lost(scene->self, bcast(scene));
  SFTEST_EXPECT(scene->self, sftest_ring_create(scene->world, 10, 0, &graph), SF_ERR_DAEMON_LOST);
  return SF_ERR_DAEMON_LOST;
}

/* Whatever call it is that fails. */
static sf_status_t work(scene_t *scene)
{
  sf_status_t status = SF_OK;
  while (status == SF_OK) {
    sf_graph_t *graph = NULL;
    void *memory = NULL;
    status = bcast(scene);
    if (status == SF_OK)
      status = sftest_ring_create(scene->world, 10, 0, &graph);
    if (status == SF_OK)
      status = sf_alloc(scene->context, 10000000, &memory);
    SFTEST_OK(scene->self, sf_free(scene->context, memory));
    SFTEST_OK(scene->self, sf_graph_destroy(graph));
  }
  return status;
}

static sf_status_t run_scene(scene_t *scene)
{
  switch (scene->plan->step) {
  case STEP_GROUP:
    return make_group(scene);
  case STEP_GRAPH:
    return make_graph(scene);
  case STEP_SPIN:
    make_scene(scene, 10, SFTEST_PLAIN);
    return test_in_loop(scene);
  case STEP_IN_PLACE:
    make_scene(scene, LARGE, SFTEST_ALLOC);
    return wait_asleep(scene);
  case STEP_COMPUTE:
    make_scene(scene, 10, SFTEST_PLAIN);
    return compute(scene);
  case STEP_WORK:
    make_scene(scene, 3000, SFTEST_REGISTERED);
    return work(scene);
  default:
    make_scene(scene, 10, SFTEST_PLAIN);
    return wait_asleep(scene);
  }
}

static void lose_daemon(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  scene_t scene = {.self = self, .plan = plan};
  if (plan->step == STEP_JOIN) {
    plan->nready++;
    if (self->rank != 0)
      expect_lost(self, sf_init(&self->options, &scene.context));
    return;
  }
  scene.context = sftest_join(self);
  scene.world = sf_group_world(scene.context);
  sftest_at(self, "step %d", (int)plan->step);
  expect_lost(self, run_scene(&scene));
  sftest_at(self, "cleaning up after step %d", (int)plan->step);
  SFTEST_OK(self, sf_graph_destroy(scene.graph));
  for (int i = 0; i < 2; i++)
    sftest_buffer_free(self, &scene.buffers[i]);
  SFTEST_EXPECT(self, sf_finalize(scene.context), SF_ERR_DAEMON_LOST);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

static void lose_once(sftest_node_t *node, step_t step, bool stopped)
{
  sftest_job_t job;
  plan_t *plan = sftest_shared(sizeof *plan);
  plan->step = step;
  sftest_job_start(&job, node, RANKS, lose_daemon, plan);
  sftest_job_await(&job, &plan->nready, RANKS);
  if (step == STEP_JOIN)
    sftest_sfctl_await(node->socket, WORDS("jobs", "--json"), "\"joined\":2,\"state\":\"joining\"");
  sftest_sleep_ms(50); /* so that those who are going to sleep do */
  if (stopped) {
    kill(node->pid, SIGSTOP);
    sftest_sleep_ms(100);
  }
  plan->dead = true;
  sftest_node_kill(node);
  sftest_job_end_well(&job);
}

SFTEST_FOR(loss, STEP_COUNT)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  for (int stopped = 0; stopped < 2; stopped++) {
    lose_once(&node, (step_t)_i, stopped);
    sftest_node_restart(&node, NULL);
    sftest_expect_serving(&node);
  }
  sftest_node_stop(&node);
}

/* A daemon that is asked to end does so, whoever is connected. */
SFTEST(ordinary_end)
{
  sftest_node_t node;
  sftest_job_t job;
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_node_start(&node, NULL);
  plan->step = STEP_SLEEP;
  sftest_job_start(&job, &node, RANKS, lose_daemon, plan);
  sftest_job_await(&job, &plan->nready, RANKS);
  plan->dead = true;
  sftest_node_end(&node);
  sftest_job_end_well(&job);
  sftest_node_stop(&node);
}

static void join_in_vain(sftest_rank_t *self)
{
  sf_context_t *context;
  self->options.timeout_ms = 100;
  SFTEST_EXPECT(self, sf_init(&self->options, &context), SF_ERR_TIMEOUT);
  SFTEST_REQUIRE(self, strstr(sf_error_detail(), "sfd has not answered within") != NULL);
}

SFTEST(stopped_when_a_rank_joins)
{
  sftest_node_t node;
  sftest_job_t job;
  sftest_node_start(&node, NULL);
  kill(node.pid, SIGSTOP);
  sftest_job_start(&job, &node, 1, join_in_vain, NULL);
  sftest_job_end_well(&job);
  kill(node.pid, SIGCONT);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}

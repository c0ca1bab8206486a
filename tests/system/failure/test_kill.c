/* A rank that dies at any step of its life: its daemon tells all others of its job before it answers what it is asked
 * next, they get SF_ERR_RANK_FAILED naming it, another job notices nothing, and the daemon holds what it held before.
 */
#include <sys/syscall.h>

#include "tests/system/buffers.h"
#include "tests/system/doomed.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define RANKS 4
#define LARGE 200000 /* doubles */

typedef enum step {
  STEP_JOIN,     /* while not all ranks have joined */
  STEP_GROUP,    /* others wait in sf_group_create */
  STEP_GRAPH,    /* others wait in sf_graph_create */
  STEP_SMALL,    /* others wait for its data */
  STEP_LARGE,    /* of which it has sent the first pieces */
  STEP_IN_PLACE, /* others wait until it has read theirs */
  STEP_READ,     /* others are going to read its memory */
  STEP_TEST,     /* others test for its data */
  STEP_COMPUTE,  /* others compute, and call something later */
  STEP_PERSIST,  /* others wait for persistent requests */
  STEP_FINALIZE, /* others have finished, or are about to */
  STEP_COUNT
} step_t;

typedef enum manner { KILL, STOP_AND_KILL, EXIT, ABORT, MANNER_COUNT } manner_t;

typedef struct plan {
  step_t step;
  manner_t manner;
  int32_t victim;
  _Atomic bool victim_ready;
  _Atomic int nready; /* others */
  _Atomic bool dead;
} plan_t;

static bool is_victim(const sftest_rank_t *self)
{
  const plan_t *plan = self->argument;
  return self->rank == plan->victim;
}

/* The victim's last act. */
static void die(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  plan->victim_ready = true;
  while (plan->manner == KILL || plan->manner == STOP_AND_KILL)
    pause(); /* the test does it */
  SFTEST_SLEEP_WHILE(plan->nready < self->size - 1);
  sftest_sleep_ms(20);
  plan->dead = true;
  if (plan->manner == ABORT)
    kill(getpid(), SIGTERM);
  syscall(SYS_exit_group, 0); /* at once: _exit would first wait for the thread sanitizer */
  abort();
}

/* A rank that notices: what, and who. */
static void expect_failure(sftest_rank_t *self, sf_status_t status)
{
  plan_t *plan = self->argument;
  char name[32];
  snprintf(name, sizeof name, "rank %d ", plan->victim);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, name);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* What a rank has after joining. */
typedef struct scene {
  sftest_rank_t *self;
  plan_t *plan;
  sf_context_t *context;
  sf_group_t *world;
  sf_graph_t *graph;
  int64_t n;
} scene_t;

static void make_scene(scene_t *scene, int64_t n, uint32_t flags)
{
  scene->n = n;
  SFTEST_OK(scene->self, sftest_ring_create(scene->world, n, flags, &scene->graph));
  sftest_ring_expect_working(scene->self, scene->world, scene->graph, n);
}

/* Begins a bcast; to be ended in some way. */
static sf_status_t begin(scene_t *scene, sftest_buffer_t buffers[2], sftest_memory_t memory, sf_request_t **request)
{
  for (int i = 0; i < 2; i++)
    sftest_buffer_make(scene->self, scene->context, memory, scene->n * (int64_t)sizeof(double), 0, &buffers[i]);
  return sf_bcast_begin(scene->graph, SF_DOUBLE, buffers[0].data, buffers[1].data, SF_REPLACE, request);
}

/* Ranks whose neighbours all live would wait for nobody: they go on until their data has to come from the victim. */
static sf_status_t go_on(scene_t *scene, sftest_buffer_t buffers[2], sf_request_t **request)
{
  sf_status_t status = sf_wait(request);
  while (status == SF_OK)
    status = sf_bcast(scene->graph, SF_DOUBLE, buffers[0].data, buffers[1].data, SF_REPLACE);
  return status;
}

static void run_bcast(scene_t *scene, sftest_memory_t memory, bool victim_begins)
{
  sftest_buffer_t buffers[2];
  sf_request_t *request = NULL;
  if (is_victim(scene->self) && !victim_begins)
    die(scene->self);
  sf_status_t status = begin(scene, buffers, memory, &request);
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  if (status == SF_OK)
    status = go_on(scene, buffers, &request);
  expect_failure(scene->self, status);
  SFTEST_EXPECT(scene->self, sf_bcast(scene->graph, SF_DOUBLE, buffers[0].data, buffers[1].data, SF_REPLACE),
                SF_ERR_RANK_FAILED);
  for (int i = 0; i < 2; i++)
    sftest_buffer_free(scene->self, &buffers[i]);
}

static void run_group(scene_t *scene)
{
  int32_t ranks[RANKS] = {3, 1, 0, 2};
  sf_group_t *group = NULL;
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  expect_failure(scene->self, sf_group_create(scene->context, RANKS, ranks, 5, &group));
}

static void run_graph(scene_t *scene)
{
  sf_graph_t *graph = NULL;
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  expect_failure(scene->self, sftest_ring_create(scene->world, 10, 0, &graph));
  SFTEST_REQUIRE(scene->self, graph == NULL);
}

/* The others read in place what the victim has offered; those that come too late must not mind that it is gone. */
static void run_read(scene_t *scene)
{
  sftest_buffer_t buffers[2];
  sf_request_t *request = NULL;
  sftest_memory_t memory = scene->plan->manner % 2 == 0 ? SFTEST_REGISTERED : SFTEST_ALLOC;
  make_scene(scene, LARGE, 0);
  if (is_victim(scene->self)) {
    SFTEST_OK(scene->self, begin(scene, buffers, memory, &request));
    die(scene->self);
  }
  scene->plan->nready++;
  while (!scene->plan->dead)
    ;
  sf_status_t status = begin(scene, buffers, memory, &request); /* at once: the news may not be here yet */
  if (status == SF_OK)
    status = go_on(scene, buffers, &request);
  expect_failure(scene->self, status);
  for (int i = 0; i < 2; i++)
    sftest_buffer_free(scene->self, &buffers[i]);
}

static void run_test(scene_t *scene)
{
  sftest_buffer_t buffers[2];
  sf_request_t *request = NULL;
  sf_status_t status = SF_OK;
  make_scene(scene, 10, 0);
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  for (int i = 0; i < 2; i++)
    sftest_buffer_make(scene->self, scene->context, SFTEST_PLAIN, scene->n * (int64_t)sizeof(double), 0, &buffers[i]);
  while (status == SF_OK) {
    bool done = false;
    status = sf_bcast_begin(scene->graph, SF_DOUBLE, buffers[0].data, buffers[1].data, SF_REPLACE, &request);
    while (status == SF_OK && !done)
      status = sf_test(&request, &done);
  }
  expect_failure(scene->self, status);
  for (int i = 0; i < 2; i++)
    sftest_buffer_free(scene->self, &buffers[i]);
}

/* Nobody waits for anybody. Then every call says what has happened, without waiting. */
static void run_compute(scene_t *scene)
{
  double roots[10] = {0}, leaves[10];
  sf_group_t *group = NULL;
  sf_graph_t *graph = NULL;
  int32_t own = scene->self->rank;
  make_scene(scene, 10, 0);
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  SFTEST_SLEEP_WHILE(!scene->plan->dead);
  sftest_sleep_ms(500);
  expect_failure(scene->self, sf_bcast(scene->graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  SFTEST_EXPECT(scene->self, sf_reduce(scene->graph, SF_DOUBLE, leaves, roots, SF_SUM), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(scene->self, sftest_ring_create(scene->world, 10, 0, &graph), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 1, &own, 5, &group), SF_ERR_RANK_FAILED);
}

static void run_persistent(scene_t *scene)
{
  double roots[10] = {0}, leaves[3][10];
  sf_request_t *requests[3] = {NULL};
  sf_status_t status = SF_OK;
  make_scene(scene, 10, 0);
  for (int i = 0; i < 3; i++)
    SFTEST_OK(scene->self, sf_bcast_init(scene->graph, SF_DOUBLE, roots, leaves[i], SF_REPLACE, &requests[i]));
  if (is_victim(scene->self))
    die(scene->self);
  scene->plan->nready++;
  while (status == SF_OK) {
    status = sf_start_all(3, requests);
    if (status == SF_OK)
      status = sf_wait_all(3, requests);
  }
  expect_failure(scene->self, status);
  SFTEST_OK(scene->self, sf_wait_all(3, requests)); /* none is in flight any more */
  for (int i = 0; i < 3; i++)
    SFTEST_OK(scene->self, sf_request_free(&requests[i]));
}

/* Who has not finished yet may hear of it, who has need not. */
static void run_finalize(scene_t *scene)
{
  sftest_rank_t *self = scene->self;
  make_scene(scene, 10, 0);
  if (is_victim(self))
    die(self);
  sftest_at(self, "sf_finalize");
  if (self->rank % 2 == 0)
    scene->plan->nready++;
  SFTEST_SLEEP_WHILE(self->rank % 2 == 0 && !scene->plan->dead);
  sf_status_t status = sf_finalize(scene->context);
  SFTEST_REQUIRE(self, status == SF_OK || (status == SF_ERR_RANK_FAILED && self->rank % 2 == 0));
  scene->plan->nready += self->rank % 2 == 1;
}

/* Rank 0 never joins (or is the victim), so that the others wait. */
static void run_join(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_context_t *context = NULL;
  plan->nready++;
  if (is_victim(self))
    plan->victim_ready = true;
  if (self->rank == 0)
    return;
  expect_failure(self, sf_init(&self->options, &context));
}

static void run_step(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  if (plan->step == STEP_JOIN) {
    run_join(self);
    return;
  }
  scene_t scene = {.self = self, .plan = plan, .context = sftest_join(self)};
  scene.world = sf_group_world(scene.context);
  sftest_at(self, "step %d, manner %d, victim %d", (int)plan->step, (int)plan->manner, plan->victim);
  switch (plan->step) {
  case STEP_GROUP:
    run_group(&scene);
    break;
  case STEP_GRAPH:
    run_graph(&scene);
    break;
  case STEP_SMALL:
    make_scene(&scene, 10, 0);
    run_bcast(&scene, SFTEST_PLAIN, false);
    break;
  case STEP_LARGE:
    make_scene(&scene, LARGE, SF_GRAPH_COPY);
    run_bcast(&scene, SFTEST_PLAIN, true);
    break;
  case STEP_IN_PLACE:
    make_scene(&scene, LARGE, 0);
    run_bcast(&scene, SFTEST_ALLOC, true);
    break;
  case STEP_READ:
    run_read(&scene);
    break;
  case STEP_TEST:
    run_test(&scene);
    break;
  case STEP_COMPUTE:
    run_compute(&scene);
    break;
  case STEP_PERSIST:
    run_persistent(&scene);
    break;
  default:
    run_finalize(&scene);
    return;
  }
  sftest_at(self, "sf_finalize after the failure");
  SFTEST_EXPECT(self, sf_finalize(scene.context), SF_ERR_RANK_FAILED);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

/* Ends the victim, if it does not do so itself. */
static void end_victim(const sftest_node_t *node, sftest_job_t *job, plan_t *plan)
{
  SFTEST_SLEEP_WHILE((!plan->victim_ready || plan->nready < RANKS - 1) && !sftest_job_poll(job));
  if (plan->manner != KILL && plan->manner != STOP_AND_KILL)
    return;
  if (plan->step == STEP_JOIN)
    sftest_sfctl_await(node->socket, WORDS("jobs", "--json"), "\"joined\":3,\"state\":\"joining\"");
  sftest_sleep_ms(plan->step == STEP_JOIN ? 100 : 20); /* so that the others sleep */
  if (plan->manner == STOP_AND_KILL) {
    sftest_job_signal(job, plan->victim, SIGSTOP);
    sftest_sleep_ms(100);
  }
  plan->dead = true;
  sftest_job_signal(job, plan->victim, SIGKILL);
}

/* It died as it was to, and the others did not. */
static void expect_ends(const sftest_job_t *job, const plan_t *plan)
{
  if (plan->manner == KILL || plan->manner == STOP_AND_KILL) {
    sftest_job_expect_all_but(job, plan->victim);
    return;
  }
  for (int32_t rank = 0; rank < RANKS; rank++)
    if (rank != plan->victim || plan->manner == EXIT)
      sftest_job_expect_success(job, rank);
  if (plan->manner == ABORT)
    sftest_job_expect_signal(job, plan->victim, SIGTERM);
}

static void run_plan(const sftest_node_t *node, step_t step, manner_t manner)
{
  sftest_job_t job;
  plan_t *plan = sftest_shared(sizeof *plan);
  uint64_t seed = sftest_seed(), random = seed;
  plan->step = step;
  plan->manner = manner;
  plan->victim = (int32_t)sftest_below(&random, RANKS);
  if (step == STEP_JOIN && plan->victim == 0)
    plan->victim = 2;
  int fds = sftest_node_rest(node, 0);
  sftest_use_seed(seed);
  sftest_job_start(&job, node, RANKS, run_step, plan);
  end_victim(node, &job, plan);
  if (step != STEP_JOIN)
    sftest_expect_told(node, &job, plan->victim);
  sftest_job_wait(&job);
  expect_ends(&job, plan);
  sftest_node_settle(node, fds);
}

/* All manners at one step, while another job works. */
SFTEST_FOR(death, STEP_COUNT)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  sftest_node_start(&node, NULL);
  sftest_bystander_start(&bystander, &node);
  for (int manner = 0; manner < MANNER_COUNT; manner++)
    if (_i != STEP_JOIN || manner == KILL || manner == STOP_AND_KILL) /* the others are not waiting in sf_init */
      run_plan(&node, (step_t)_i, (manner_t)manner);
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}

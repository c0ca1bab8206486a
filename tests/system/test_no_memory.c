/* A daemon that has no memory for a job, or for what another one tells it of something new, before its own rank has
 * come to that; and a rank that has none for what others are done with already: the ranks must not wait for what is
 * lost. An allocation of the size of what would be begun fails. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/progress.h"
#include "daemon/group.h"
#include "daemon/setup.h"
#include "tests/system/loop_cluster.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define RANKS 3
#define UNITS 100
#define LIMIT_MS 20000
#define SETUP_BYTES (sizeof(sfd_setup_t) + sizeof(sfd_setup_member_t)) /* of one rank on a node */
#define GROUP_BYTES (sizeof(sfd_group_t) + RANKS * sizeof(sfd_group_member_t))

typedef enum what { PART, ARRIVAL, WANTS, PAIR, GROUP, START, WHATS } what_t;

/* Each daemon allocates once, for its own rank or when another one tells it of something. */
typedef struct plan {
  int32_t size;
  int32_t stage[RANKS]; /* when each rank comes; 3: when memory has been refused */
  int nth;              /* allocation is refused: the first one of a daemon whose rank comes in stage 3 */
  size_t bytes;
} plan_t;

static const plan_t plans[WHATS] = {
    [PART] = {RANKS, {1, 2, 3}, 3, SETUP_BYTES},    /* rank 1 tells what remains of its leaves on roots of rank 2 */
    [ARRIVAL] = {RANKS, {3, 1, 3}, 2, SETUP_BYTES}, /* rank 1 has come */
    [WANTS] = {RANKS, {1, 2, 3}, 3, SETUP_BYTES},   /* rank 1 wants roots of rank 2 */
    [PAIR] = {2, {3, 1}, 2, SETUP_BYTES},           [GROUP] = {RANKS, {3, 1, 3}, 2, GROUP_BYTES},
    [START] = {RANKS, {0}, 0, GROUP_BYTES}, /* of all ranks; nth is the test's */
};

typedef struct scene {
  what_t what;
  int nth;               /* the plan's */
  _Atomic int refused;   /* ranks that were not taken in */
  _Atomic int ready;     /* ranks */
  _Atomic int stage;     /* whose ranks may go on */
  _Atomic int daemons;   /* their process; 0: memory is there */
  _Atomic int allocated; /* so often, also where it was refused */
} scene_t;

static scene_t *scene;

/* The linker has all calls of calloc come here. */
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes)
{
  if (scene != NULL && getpid() == atomic_load(&scene->daemons) && n * bytes == plans[scene->what].bytes &&
      atomic_fetch_add(&scene->allocated, 1) + 1 == scene->nth) {
    errno = ENOMEM;
    return NULL;
  }
  return __real_calloc(n, bytes);
}

static int requests_left = -1; /* of operations, that this process allocates before one is refused */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
  if (bytes == sizeof(sf_request_t) && requests_left >= 0 && requests_left-- == 0) {
    errno = ENOMEM;
    return NULL;
  }
  return __real_malloc(bytes);
}

static sf_status_t make_together(sf_context_t *context, sf_graph_t *whole, sf_graph_t **graph_p)
{
  static const int64_t selected[] = {1, 2, 3};
  static const int32_t ranks[] = {0, 1, 2};
  sf_group_t *group;
  switch (scene->what) {
  case PART:
    return sf_graph_embed_leaves(whole, 3, selected, graph_p);
  case ARRIVAL:
    return sf_graph_create(sf_group_world(context), 0, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, graph_p);
  case GROUP:
    return sf_group_create(context, RANKS, ranks, 0, &group);
  default:
    return sftest_ring_create(sf_group_world(context), UNITS + 1, SF_GRAPH_DEFAULT, graph_p);
  }
}

static int be_told(sftest_rank_t *self)
{
  sf_graph_t *whole, *graph;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &whole));
  sftest_ring_expect_working(self, sf_group_world(context), whole, UNITS);
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->stage, plans[scene->what].stage[self->rank]);
  sftest_at(self, "together");
  SFTEST_EXPECT(self, make_together(context, whole, &graph), SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node ");
  SFTEST_OK(self, sf_graph_destroy(whole));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
  return 0;
}

START_TEST(test_told)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  const plan_t *plan = &plans[_i];
  scene = sftest_shared(sizeof *scene);
  scene->what = (what_t)_i;
  scene->nth = plan->nth;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, plan->size, be_told, scene);
  sftest_job_await(&job, &scene->ready, plan->size);
  atomic_store(&scene->daemons, loop.pid);
  for (int stage = 1; stage <= 3; stage++) {
    atomic_store(&scene->stage, stage);
    sftest_job_await(&job, &scene->allocated, stage == 1 ? plan->nth - 1 : plan->nth);
  }
  sftest_job_end_well(&job, sftest_limit_ms(LIMIT_MS));
  sftest_loop_cluster_stop(&loop);
  sftest_shared_free(scene, sizeof *scene);
}
END_TEST

static int be_started(sftest_rank_t *self)
{
  sf_context_t *context;
  sf_graph_t *graph;
  sf_status_t status = sf_init(&self->options, &context);
  if (status == SF_ERR_NOMEM) {
    atomic_fetch_add(&scene->refused, 1);
  } else {
    SFTEST_EXPECT(self, status, SF_OK);
    SFTEST_EXPECT(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph),
                  SF_ERR_RANK_FAILED);
  }
  SFTEST_DETAIL(self, "node ");
  SFTEST_DETAIL(self, "has no memory for job");
  if (status == SF_OK)
    SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
  return 0;
}

/* All have come; one daemon can't begin the job. */
START_TEST(test_started)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  scene = sftest_shared(sizeof *scene);
  scene->what = START;
  scene->nth = _i;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  atomic_store(&scene->daemons, loop.pid);
  sftest_job_start_over(&job, loop.nodes, places, RANKS, be_started, scene);
  sftest_job_end_well(&job, sftest_limit_ms(LIMIT_MS));
  ck_assert_int_eq(atomic_load(&scene->refused), 1);
  sftest_loop_cluster_stop(&loop);
  sftest_shared_free(scene, sizeof *scene);
}
END_TEST

/* All leaves are on roots of rank 1, which finds out who has them, and waits for the others at that; none waits for it.
 * Having failed it destroys the graph. */
static int lack_request(sftest_rank_t *self)
{
  static const int32_t owner = 1;
  static const int64_t first = 0;
  bool lacks = self->rank == owner;
  double roots[1] = {0}, leaves[1] = {0};
  sf_graph_t *graph;
  sf_graph_ranks_t ranks;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, !lacks, NULL, &owner, &first, 0, &graph));
  if (lacks)
    requests_left = *(const int *)self->argument;
  sf_status_t status = sf_graph_leaf_ranks(graph, &ranks);
  if (!lacks && status == SF_OK)
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_NOMEM);
  SFTEST_DETAIL(self, "request");
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_leaf_ranks)
{
  static const int32_t places[RANKS] = {0, 1, 2};
  int left = _i;
  sftest_loop_run_alone(RANKS, places, RANKS, lack_request, &left);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("daemons and ranks without memory");
  TCase *tests = tcase_create("told");
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, test_told, 0, START);
  tcase_add_loop_test(tests, test_started, 1, RANKS + 1);
  tcase_add_loop_test(tests, test_leaf_ranks, 0, 4); /* its operations: two on the way to the edges, two along these */
  suite_add_tcase(suite, tests);
  return sftest_run(suite);
}

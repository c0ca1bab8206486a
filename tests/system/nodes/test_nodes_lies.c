/* Daemons that tell others what can't be about a job that runs, or anything at random: they lose the channel to those,
 * and with it the jobs on both; whoever is told goes on with all others. */
#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/loop/forge.h"
#include "tests/system/loop/lies.h"
#include "tests/system/work.h"

#define NODES SFTEST_LIED_SIZE
#define N 100
#define SEEDS 12

static sftest_loop_cluster_t cluster;

typedef struct lied {
  sftest_lie_t lie;
  int32_t from, to; /* nodes 1 and 2 are below node 0 in the tree of the job's group */
  const char *text; /* of the failure at the node that was told */
} lied_t;

static const lied_t lies[] = {
    {SFTEST_LIE_MEET, 1, 2, "misdirected or malformed GraphMeet"},
    {SFTEST_LIE_MEET, 0, 1, "misdirected or malformed GraphMeet"},
    {SFTEST_LIE_MEET_TWICE, 1, 0, "a second, misdirected"},
    {SFTEST_LIE_MEET_NO_RANK, 1, 0, "malformed GraphMeet"},
    {SFTEST_LIE_MEET_NO_ERROR, 1, 0, "malformed GraphMeet"},
    {SFTEST_LIE_MET, 0, 1, "have not asked"},
    {SFTEST_LIE_MET, 1, 0, "have not asked"},
    {SFTEST_LIE_MET, 2, 1, "have not asked"},
    {SFTEST_LIE_CALLS, 1, 0, "node 1"},
    {SFTEST_LIE_DATA_LENGTH, 1, 0, "sends 7 bytes"},
    {SFTEST_LIE_DATA_NUMBER, 1, 0, "sends message 77"},
    {SFTEST_LIE_DATA_NOTHING, 1, 0, "without a payload"},
    {SFTEST_LIE_CREDIT, 0, 1, "has consumed message 77"},
    {SFTEST_LIE_KIND, 0, 1, "of kind 8"},
    {SFTEST_LIE_PAYLOAD, 0, 1, "with a payload"},
    {SFTEST_LIE_WANTS, 0, 1, "no memory for"},
    {SFTEST_LIE_GARBAGE, 0, 1, "no control message"},
    {SFTEST_LIE_START, 0, 1, "malformed JobStart"},
    {SFTEST_LIE_RUNS, 0, 1, "malformed JobRuns"},
    {SFTEST_LIE_EMPTY, 0, 1, "with field 0"},
    {SFTEST_LIE_ARRAY_RANK, 0, 1, "a request of rank 1"},
    {SFTEST_LIE_ARRAY_SHORT, 2, 1, "an array of 64 bytes"},
    {SFTEST_LIE_ARRAY_TWICE, 0, 2, "before the data of the last one"},
    {SFTEST_LIE_ARRAY_DATA, 1, 0, "without a request"},
    {SFTEST_LIE_ARRAY_DONE, 1, 2, "which no request expects"},
};
#define LIES ((int)(sizeof lies / sizeof lies[0]))

typedef struct scene {
  const lied_t *lied; /* NULL: anything */
  _Atomic int ready, said;
} scene_t;

static void order(sftest_lie_t lie, int32_t from, int32_t to)
{
  int number = (int)SFTEST_LOOP_FORGE + (int)SFTEST_FORGE_LIE + (int)lie;
  sftest_loop_cluster_order(&cluster, (sftest_loop_order_t)number, from, to);
}

/* Until the lie has its end, if it has one; the test kills who waits for ever. */
static void be_lied_about(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  double roots[N] = {0}, leaves[N];
  const int64_t lo[] = {0}, extent[] = {NODES * N};
  double values[NODES * N] = {0};
  sf_graph_t *graph;
  sf_array_t *array;
  sf_status_t status = SF_OK;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), N, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_array_create(sf_group_world(context), SF_DOUBLE, 1, extent, NULL, &array));
  SFTEST_OK(self, sf_array_put(array, lo, extent, values, NULL)); /* all have a window */
  scene->ready++;
  sftest_await(&scene->said, 1);
  for (; status == SF_OK; sftest_sleep_ms(1))
    status = sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE);
  if (scene->lied != NULL) {
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
    if (self->rank == scene->lied->to)
      SFTEST_DETAIL(self, scene->lied->text);
  }
  (void)sf_finalize(context);
}

static void start_job(sftest_job_t *job, scene_t *scene)
{
  static const int32_t places[] = {0, 1, 2};
  sftest_job_start_over(job, cluster.nodes, places, NODES, be_lied_about, scene);
  sftest_await(&scene->ready, NODES);
}

/* Of two ranks on those nodes. The liar is not its coordinator, which would have to tell the others if it lost one of
 * them. */
static void start_bystander(sftest_bystander_t *bystander, int32_t first, int32_t second, unsigned liars)
{
  const sftest_node_t nodes[] = {cluster.nodes[first], cluster.nodes[second]};
  sftest_bystander_start_over(bystander, nodes);
  while ((liars >> sftest_coordinator_of(bystander->job.name, cluster.n) & 1) != 0) {
    sftest_bystander_stop(bystander);
    sftest_bystander_start_over(bystander, nodes);
  }
}

static void end(sftest_bystander_t *bystander)
{
  sftest_bystander_stop(bystander);
  sftest_loop_cluster_stop(&cluster);
}

SFTEST_FOR(what_can_not_be, LIES)
{
  sftest_job_t job;
  sftest_bystander_t bystander;
  scene_t *scene = sftest_shared(sizeof *scene);
  const lied_t *lied = scene->lied = &lies[_i];
  sftest_loop_cluster_start(&cluster, NODES + 1, 0, 0);
  start_job(&job, scene);
  start_bystander(&bystander, lied->to, NODES, 1u << lied->from);
  order(lied->lie, lied->from, lied->to);
  scene->said = 1;
  sftest_job_end_well(&job);
  end(&bystander);
}

/* Whatever becomes of that job; the others don't notice, and the nodes serve. */
SFTEST(anything)
{
  sftest_bystander_t bystander;
  int n = sftest_rounds(SEEDS);
  uint64_t random = sftest_seed();
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_use_seed(random);
  sftest_loop_cluster_start(&cluster, NODES + 1, 0, 0);
  start_bystander(&bystander, 1, NODES, 1u << 0 | 1u << 2);
  for (int i = 0; i < n; i++) {
    sftest_job_t job;
    scene->ready = scene->said = 0;
    start_job(&job, scene);
    order(SFTEST_LIE_RANDOM + (sftest_lie_t)(sftest_hash2(random, (uint64_t)i) >> 40), i % 2 == 0 ? 0 : 2, 1);
    scene->said = 1;
    sftest_sleep_ms(20);
    for (int32_t r = 0; r < NODES; r++)
      sftest_job_signal(&job, r, SIGKILL);
    sftest_job_wait(&job);
  }
  end(&bystander);
}

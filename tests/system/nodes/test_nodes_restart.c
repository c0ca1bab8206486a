/* Jobs that are started again under the same name while nodes have yet to hear how the one before ended. */
#include "tests/system/loop/cluster.h"

#define NODES 3
#define COORDINATOR 2 /* node */
#define PARTS 4

/* What a rank tells the test. */
typedef struct told {
  _Atomic int joined;
  _Atomic int status; /* the first error, or SF_OK; 1: none yet */
} told_t;

/* One rank of one of the jobs of that name. */
typedef struct part {
  sftest_job_t process;
  const char *name; /* of the job */
  int32_t rank;
  int32_t size;
  int64_t timeout_ms;
  told_t *told; /* shared */
} part_t;

typedef struct scene {
  sftest_loop_cluster_t cluster;
  char name[48];
  int nparts;
  part_t parts[PARTS];
  told_t *told; /* of each */
} scene_t;

static sf_status_t work(sf_context_t *context)
{
  int32_t right = (sf_rank(context) + 1) % sf_size(context);
  int64_t number = 0, root = sf_rank(context), leaf = -1;
  sf_graph_t *graph;
  sf_status_t status = sf_graph_create(sf_group_world(context), 1, 1, NULL, &right, &number, SF_GRAPH_DEFAULT, &graph);
  if (status == SF_OK)
    status = sf_bcast(graph, SF_INT64, &root, &leaf, SF_REPLACE);
  return status != SF_OK ? status : leaf == right ? sf_graph_destroy(graph) : SF_ERR_INTERNAL;
}

static void take_part(sftest_rank_t *self)
{
  part_t *part = self->argument;
  sf_context_t *context;
  self->options.job = part->name;
  self->options.rank = part->rank;
  self->options.size = part->size;
  if (part->timeout_ms != 0)
    self->options.timeout_ms = part->timeout_ms;
  sf_status_t status = sf_init(&self->options, &context);
  atomic_store(&part->told->joined, status == SF_OK);
  if (status == SF_OK) {
    status = work(context);
    sf_finalize(context);
  }
  if (status != SF_OK)
    snprintf(self->note, SFTEST_NOTE_BYTES, "%s", sf_error_detail());
  atomic_store(&part->told->status, status);
}

/* What was on its way has come, but for what is held up. */
static void settle(scene_t *scene)
{
  for (int quiet = 0; quiet < 3;) /* times, between which daemons look at what has come */
    quiet = sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_PENDING, 0, 0) == 0 ? quiet + 1 : 0;
}

/* Starts a rank at the node of its number. timeout_ms 0: as ever. */
static part_t *start(scene_t *scene, int32_t rank, int32_t size, int64_t timeout_ms)
{
  ck_assert_int_lt(scene->nparts, PARTS);
  part_t *part = &scene->parts[scene->nparts++];
  part->name = scene->name;
  part->rank = rank;
  part->size = size;
  part->timeout_ms = timeout_ms;
  part->told = &scene->told[part - scene->parts];
  atomic_store(&part->told->status, 1);
  sftest_job_start_over(&part->process, scene->cluster.nodes, &rank, 1, take_part, part);
  return part;
}

/* The same, and waits until the coordinator has been told. */
static part_t *come(scene_t *scene, int32_t rank, int32_t size)
{
  int64_t limit = sftest_now_ms() + SFTEST_HANG_MS;
  uint64_t frames = sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_FRAMES, rank, COORDINATOR);
  part_t *part = start(scene, rank, size, 0);
  while (sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_FRAMES, rank, COORDINATOR) == frames)
    ck_assert_int_lt(sftest_now_ms(), limit);
  settle(scene);
  return part;
}

/* Kills it, and waits until its node knows. */
static void die(scene_t *scene, part_t *part)
{
  int64_t limit = sftest_now_ms() + SFTEST_HANG_MS;
  sftest_job_signal(&part->process, 0, SIGKILL);
  sftest_job_wait(&part->process);
  sftest_job_expect_signal(&part->process, 0, SIGKILL);
  while (sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_JOBS, part->rank, 0) > 0)
    ck_assert_int_lt(sftest_now_ms(), limit);
  settle(scene);
}

static void expect(part_t *part, bool joined, sf_status_t status)
{
  char note[SFTEST_NOTE_BYTES];
  int64_t limit = sftest_now_ms() + SFTEST_HANG_MS;
  while (atomic_load(&part->told->status) == 1)
    ck_assert_int_lt(sftest_now_ms(), limit);
  memcpy(note, part->process.notes[0], sizeof note);
  sftest_job_end_well(&part->process);
  ck_assert_msg(atomic_load(&part->told->status) == (int)status && atomic_load(&part->told->joined) == joined,
                "rank %d of %d: %s", part->rank, part->size, note);
}

static void hold(scene_t *scene, int32_t from, int32_t to)
{
  sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_HOLD, from, to);
}

static void let_go(scene_t *scene, int32_t from, int32_t to)
{
  sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_LET_GO, from, to);
  settle(scene);
}

/* As daemons choose it: docs/peer-protocol.md. */
static int32_t coordinator_of(const char *name)
{
  uint32_t hash = 2166136261u ^ (uint32_t)getuid();
  for (const char *p = name; *p != '\0'; p++)
    hash = (hash ^ (unsigned char)*p) * 16777619u;
  return (int32_t)(hash % NODES);
}

static scene_t *begin(void)
{
  static scene_t the_scene;
  scene_t *scene = &the_scene;
  scene->told = sftest_shared(PARTS * sizeof scene->told[0]);
  sftest_loop_cluster_start(&scene->cluster, NODES, 0, 0);
  for (int i = 0; i == 0 || coordinator_of(scene->name) != COORDINATOR; i++)
    snprintf(scene->name, sizeof scene->name, "again-%d", i);
  return scene;
}

static void finish(scene_t *scene)
{
  sftest_loop_cluster_stop(&scene->cluster);
}

/* The ranks of the job that is there now meet, whatever was said of the one before. */
static void end(scene_t *scene, part_t *first)
{
  part_t *second = come(scene, 1, 2);
  expect(first, true, SF_OK);
  expect(second, true, SF_OK);
  finish(scene);
}

SFTEST(home_hears_late_that_a_rank_died)
{
  scene_t *scene = begin();
  part_t *rank0 = come(scene, 0, 3), *rank1 = come(scene, 1, 3);
  hold(scene, 1, COORDINATOR);
  die(scene, rank1);
  die(scene, rank0);
  rank0 = come(scene, 0, 2);
  let_go(scene, 1, COORDINATOR);
  end(scene, rank0);
}

SFTEST(node_hears_late_that_the_coordinator_refused)
{
  scene_t *scene = begin();
  part_t *rank0 = come(scene, 0, 3), *rank1 = come(scene, 1, 3);
  hold(scene, COORDINATOR, 0);
  die(scene, rank1);
  die(scene, rank0);
  rank0 = come(scene, 0, 2);
  let_go(scene, COORDINATOR, 0);
  end(scene, rank0);
}

/* A rank of the job before runs, and is told that it was joined by one that had died. The first node tells the other
 * one of the start. */
SFTEST(node_hears_late_that_the_job_started)
{
  scene_t *scene = begin();
  hold(scene, 0, 1);
  part_t *rank1 = come(scene, 1, 2), *rank0 = come(scene, 0, 2);
  sftest_await(&rank0->told->joined, 1);
  die(scene, rank1);
  rank1 = come(scene, 1, 2);
  let_go(scene, 0, 1);
  expect(rank0, true, SF_ERR_RANK_FAILED);
  rank0 = come(scene, 0, 2);
  expect(rank0, true, SF_OK);
  expect(rank1, true, SF_OK);
  finish(scene);
}

/* The ranks of a node have given up before the coordinator hears that they came. */
SFTEST(home_hears_late_that_ranks_came)
{
  scene_t *scene = begin();
  hold(scene, 0, COORDINATOR);
  part_t *rank0 = start(scene, 0, 3, 1);
  expect(rank0, false, SF_ERR_TIMEOUT);
  rank0 = start(scene, 0, 2, 0);
  SFTEST_SLEEP_WHILE(sftest_loop_cluster_order(&scene->cluster, SFTEST_LOOP_JOBS, 0, 0) == 0);
  let_go(scene, 0, COORDINATOR);
  end(scene, rank0);
}

/* Graphs that fail while their ranks meet for the first call that needs the multi-graph, on three nodes: whichever node
 * fails it, whichever way between two nodes is held up meanwhile, whoever comes late, calls something else, or leaves;
 * and graphs that all ranks of a node have destroyed. All ranks, on all nodes, come to the same end: none is left in
 * what the others have given up. */
#include "tests/system/loop/cluster.h"
#include "tests/system/loop/forge.h"
#include "tests/system/work.h"

#define NODES 3
#define RANKS 4
#define UNITS 8
#define PAUSE_MS 10 /* in which what is to come does so, as a rule; the end is the same if not */

typedef enum late {
  IN_TIME,
  LATE,      /* one rank comes when the graph has failed */
  ELSEWHERE, /* or calls something else then */
  LEAVES,    /* or leaves: that alone is why the graph fails */
  LATES
} late_t;

typedef struct scene {
  late_t late;
  int32_t late_rank;
  _Atomic int ready;
  _Atomic int step; /* 1: the others call, 2: the late one does */
  _Atomic int over;
} scene_t;

static sf_status_t call(sf_graph_t *graph, bool other)
{
  double roots[UNITS] = {0}, leaves[UNITS] = {0};
  return other ? sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE)
               : sf_fetch_op(graph, SF_DOUBLE, roots, leaves, leaves, SF_SUM);
}

/* Until it fails: if nobody is late, nor held up, it may do so at first after the meeting. */
static sf_status_t use(sf_graph_t *graph, bool other)
{
  sf_status_t status = SF_OK;
  while (status == SF_OK)
    status = call(graph, other);
  return status;
}

static void meet(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_graph_t *graph, *other;
  sf_context_t *context = sftest_join(self);
  bool late = scene->late != IN_TIME && self->rank == scene->late_rank;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &other));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, &graph));
  atomic_fetch_add(&scene->ready, 1);
  sftest_await(&scene->step, late ? 2 : 1);
  if (late && scene->late == LEAVES) {
    sftest_leave(self, context);
    return;
  }
  sftest_at(self, "%s", late ? "late" : "in time");
  SFTEST_EXPECT(self, use(graph, late && scene->late == ELSEWHERE), SF_ERR_MISMATCH);
  if (scene->late != ELSEWHERE) /* which may have been found before */
    SFTEST_DETAIL(self, scene->late == LEAVES ? "left" : "so says the test");
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_at(self, "another graph");
  if (scene->late != LEAVES)
    SFTEST_OK(self, call(other, false));
  SFTEST_OK(self, sf_graph_destroy(other));
  atomic_fetch_add(&scene->over, 1);
  sftest_await(&scene->over, RANKS - (scene->late == LEAVES));
  sftest_leave(self, context);
}

/* The ways between two nodes; -1: none is held. */
typedef struct way {
  int32_t from, to;
} way_t;

static const way_t ways[] = {{-1, -1}, {0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
#define NWAYS ((int)(sizeof ways / sizeof ways[0]))

static void order(sftest_loop_cluster_t *loop, sftest_loop_order_t what, way_t way)
{
  if (way.from >= 0)
    sftest_loop_cluster_order(loop, what, way.from, way.to);
}

/* Two nodes have what they say held up, so that each may have decided before it hears of the other. */
static void play(sftest_loop_cluster_t *loop, scene_t *scene, int32_t failing, way_t held)
{
  static const int32_t places[RANKS] = {0, 1, 2, 1};
  sftest_job_t job;
  atomic_store(&scene->ready, 0);
  atomic_store(&scene->step, 0);
  atomic_store(&scene->over, 0);
  sftest_job_start_over(&job, loop->nodes, places, RANKS, meet, scene);
  sftest_job_await(&job, &scene->ready, RANKS);
  order(loop, SFTEST_LOOP_HOLD, held);
  atomic_store(&scene->step, 1);
  sftest_sleep_ms(PAUSE_MS);
  if (scene->late != LEAVES)
    sftest_loop_cluster_order(loop, SFTEST_LOOP_FORGE + (sftest_loop_order_t)SFTEST_FORGE_FAILURE, failing, 0);
  sftest_sleep_ms(PAUSE_MS);
  atomic_store(&scene->step, 2);
  sftest_sleep_ms(PAUSE_MS);
  order(loop, SFTEST_LOOP_LET_GO, held);
  sftest_job_end_well(&job);
}

SFTEST_FOR(test_failing, LATES *RANKS)
{
  static sftest_loop_cluster_t loop;
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->late = (late_t)(_i / RANKS);
  scene->late_rank = _i % RANKS;
  sftest_loop_cluster_start(&loop, NODES, 0, 0);
  for (int way = 0; way < NWAYS && (scene->late != IN_TIME || scene->late_rank == 0); way++)
    for (int32_t failing = 0; failing < (scene->late == LEAVES ? 1 : NODES); failing++)
      if (sftest_is_chosen(way * NODES + failing))
        play(&loop, scene, failing, ways[way]);
  sftest_loop_cluster_stop(&loop);
}

/* ---- A graph that is gone on a node ------------------------------------------------------------------------------ */

#define LONG_MS 300 /* in which daemons look whether those who are missing can come: it starts with 100 */

typedef struct going {
  int32_t node;       /* whose ranks destroy the graph */
  int32_t busy;       /* rank that comes when the others have given up; -1: none */
  _Atomic int ready;  /* ranks that have it */
  _Atomic int calls;  /* 1: the others may call */
  _Atomic int goes;   /* 1: these may destroy it */
  _Atomic int nended; /* ranks that have destroyed it: these, and then all others */
} going_t;

/* On all nodes the ranks then go on with another graph. */
SFTEST_JOINED(lose_graph)
{
  going_t *going = self->argument;
  sf_graph_t *graph, *other;
  bool goes = self->places[self->rank] == going->node;
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, SF_GRAPH_DEFAULT, &other));
  atomic_fetch_add(&going->ready, 1);
  sftest_await(goes ? &going->goes : &going->calls, 1);
  if (self->rank == going->busy)
    sftest_await(&going->nended, self->size - 1);
  sftest_at(self, goes ? "destroys" : "calls");
  if (!goes) {
    SFTEST_EXPECT(self, call(graph, false), SF_ERR_MISMATCH);
    SFTEST_DETAIL(self, " destroyed ");
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  atomic_fetch_add(&going->nended, 1);
  sftest_at(self, "another graph");
  SFTEST_OK(self, call(other, false));
  SFTEST_OK(self, sf_graph_destroy(other));
}

/* ngoing ranks destroy it before the others come (0 ms), or so long after they have begun to do so. */
static void lose(going_t *going, int32_t nnodes, const int32_t places[], int32_t size, int ngoing, int pause_ms)
{
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  sftest_loop_cluster_start(&loop, nnodes, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, size, lose_graph, going);
  sftest_job_await(&job, &going->ready, size);
  if (pause_ms == 0) {
    atomic_store(&going->goes, 1);
    sftest_job_await(&job, &going->nended, ngoing);
  }
  atomic_store(&going->calls, 1);
  sftest_sleep_ms(pause_ms);
  atomic_store(&going->goes, 1);
  sftest_job_end_well(&job);
  sftest_loop_cluster_stop(&loop);
}

static const int pauses_ms[] = {0, PAUSE_MS, LONG_MS};
#define NPAUSES 3

SFTEST_FOR(test_gone, NPAUSES *NODES)
{
  static const int32_t places[RANKS] = {0, 1, 2, 1};
  going_t *going = sftest_shared(sizeof *going);
  going->node = _i % NODES;
  going->busy = -1;
  lose(going, NODES, places, RANKS, going->node == 1 ? 2 : 1, pauses_ms[_i / NODES]);
}

/* The last node of ten is a child of the second one in the tree, of which nobody has come: that passes on who waits. */
SFTEST_FOR(test_gone_below, NPAUSES)
{
  static const int32_t places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  going_t *going = sftest_shared(sizeof *going);
  going->node = 9;
  going->busy = 1;
  lose(going, 10, places, 10, 1, pauses_ms[_i]);
}

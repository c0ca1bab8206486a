/* Daemons of several nodes in one process, over the loop fabric: what gathers while a send is held up, and streams that
 * are slow, broken into pieces, or cut. */
#include <math.h>
#include <sys/wait.h>

#include "client/core/context.h"
#include "client/engine/trunk.h"
#include "client/graph/graph.h"
#include "shm/base/error.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"
#include "tools/sfctl/connection.h"

#define GRAPHS 8
#define VALUES 500
#define QUESTIONS 3000   /* more than the ring has room for */
#define TOOLS 500        /* at most */
#define TOOLS_ASKING 32  /* the daemon asks another node for so many at a time */
#define TOOLS_REFUSED 20 /* then */
#define TOOL_MS 10

/* What test and ranks tell each other. */
typedef struct shared {
  _Atomic int ready;
  _Atomic int go;
  _Atomic int32_t rounds;
} shared_t;

/* Roots on rank 0, a leaf on rank 1 for each. */
static sf_status_t make_graph(sf_context_t *context, int64_t n, sf_graph_t **graph_p)
{
  bool leaves = sf_rank(context) == 1;
  int32_t *ranks = calloc((size_t)n, sizeof *ranks);
  int64_t *roots = calloc((size_t)n, sizeof *roots);
  for (int64_t i = 0; i < n; i++)
    roots[i] = i;
  sf_status_t status = sf_graph_create(sf_group_world(context), leaves ? 0 : n, leaves ? n : 0, NULL, ranks, roots,
                                       SF_GRAPH_DEFAULT, graph_p);
  free(ranks);
  free(roots);
  return status;
}

/* Daemons and a rank on each of them. */
typedef struct play {
  sftest_loop_cluster_t cluster;
  sftest_job_t job;
  shared_t *shared; /* the job's argument */
} play_t;

/* Goes on when all ranks are ready. What node 0 then sends to the last node is held. */
static void begin_play(play_t *play, int32_t nnodes, sftest_rank_fn_t run)
{
  static const int32_t places[] = {0, 1, 2};
  play->shared = sftest_shared(sizeof *play->shared);
  sftest_loop_cluster_start(&play->cluster, nnodes, 0, 0);
  sftest_job_start_over(&play->job, play->cluster.nodes, places, nnodes, run, play->shared);
  sftest_job_await(&play->job, &play->shared->ready, nnodes);
  sftest_loop_cluster_order(&play->cluster, SFTEST_LOOP_HOLD, 0, nnodes - 1);
}

static void end_play(play_t *play)
{
  sftest_job_end_well(&play->job);
  sftest_loop_cluster_stop(&play->cluster);
}

/* ---- Gathering --------------------------------------------------------------------------------------------------- */

SFTEST_JOINED(start_eight)
{
  shared_t *shared = self->argument;
  static double root[GRAPHS][VALUES], leaf[GRAPHS][VALUES];
  sf_graph_t *graphs[GRAPHS];
  sf_request_t *requests[GRAPHS];
  for (int g = 0; g < GRAPHS; g++) {
    SFTEST_OK(self, make_graph(context, VALUES, &graphs[g]));
    SFTEST_OK(self, sf_bcast_init(graphs[g], SF_DOUBLE, root[g], leaf[g], SF_REPLACE, &requests[g]));
  }
  for (int round = 0; round < 2; round++) { /* the first one makes the exchanges */
    for (int g = 0; g < GRAPHS; g++)
      for (int i = 0; i < VALUES; i++)
        root[g][i] = 1e6 * round + 1e3 * g + i;
    if (round == 1) {
      atomic_fetch_add(&shared->ready, 1);
      sftest_await(&shared->go, 1);
    }
    SFTEST_OK(self, sf_start_all(GRAPHS, requests));
    SFTEST_OK(self, sf_wait_all(GRAPHS, requests));
    if (round == 1) { /* the test counts what has been sent so far */
      atomic_fetch_add(&shared->ready, 1);
      sftest_await(&shared->go, 2);
    }
    for (int g = 0; g < GRAPHS && self->rank == 1; g++)
      for (int i = 0; i < VALUES; i++)
        SFTEST_REQUIRE(self, leaf[g][i] == 1e6 * round + 1e3 * g + i);
  }
  for (int g = 0; g < GRAPHS; g++) {
    SFTEST_OK(self, sf_request_free(&requests[g]));
    SFTEST_OK(self, sf_graph_destroy(graphs[g]));
  }
}

/* Those of the graphs; others, which daemons send now and then, may have frames of their own. */
SFTEST(messages_gather_while_a_send_is_held)
{
  play_t play;
  begin_play(&play, 2, start_eight);
  uint64_t frames = sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_FRAMES, 0, 1);
  uint64_t messages = sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_MESSAGES, 0, 1);
  atomic_store(&play.shared->go, 1);
  int64_t limit = sftest_now_ms() + SFTEST_HANG_MS;
  while (sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_BYTES, 0, 1) < GRAPHS * VALUES * sizeof(double))
    ck_assert_msg(sftest_now_ms() < limit, "the messages of %d graphs do not gather", GRAPHS);
  sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_LET_GO, 0, 1);
  sftest_job_await(&play.job, &play.shared->ready, 4);
  frames = sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_FRAMES, 0, 1) - frames;
  messages = sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_MESSAGES, 0, 1) - messages;
  ck_assert_msg(frames <= 2 + messages - GRAPHS, "%d frames, %d messages", (int)frames, (int)messages);
  atomic_store(&play.shared->go, 2);
  end_play(&play);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

/* Rank 0 asks what the other node called, again and again, as none does that waits for a message; rank 1 sees the last
 * question. */
SFTEST_JOINED(ask_without_end)
{
  shared_t *shared = self->argument;
  sf_graph_t *graph;
  SFTEST_OK(self, make_graph(context, VALUES, &graph));
  const sfc_trunk_t *trunk = graph->lanes[0].trunk;
  SFTEST_REQUIRE(self, trunk != NULL);
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->go, 1);
  if (self->rank == 0) {
    for (uint64_t i = 1; i <= QUESTIONS; i++)
      sfc_submit_ring_write_trunk(&context->submit_ring, SFSHM_SUBMIT_AWAIT, graph->number, trunk->as_root.number, 0, i,
                                  0, false);
    const sfshm_ring_t *ring = context->submit_ring.region.base;
    SFTEST_SLEEP_WHILE(atomic_load(&ring->head) < QUESTIONS);
  }
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->go, 2);
  SFTEST_SLEEP_WHILE(self->rank == 1 && atomic_load(&trunk->as_leaf.flow->awaited) < QUESTIONS);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* The channel is that of all jobs, and ends when too much waits for it. */
SFTEST(questions_do_not_gather)
{
  play_t play;
  begin_play(&play, 2, ask_without_end);
  atomic_store(&play.shared->go, 1);
  sftest_job_await(&play.job, &play.shared->ready, 4);
  uint64_t queued = sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_QUEUED, 0, 1);
  ck_assert_msg(queued < QUESTIONS / 100, "%llu messages wait", (unsigned long long)queued);
  sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_LET_GO, 0, 1);
  atomic_store(&play.shared->go, 2);
  end_play(&play);
}

static sf_status_t take_none(void *context, sfproto_incoming_t *incoming)
{
  (void)context;
  (void)incoming;
  return SF_OK;
}

/* A tool asks node 0 for the status of node 1. */
static sf_status_t ask_status(const sftest_loop_cluster_t *cluster, int64_t timeout_ms)
{
  sfctl_connection_t connection;
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = SFPROTO__QUERY__WHAT__STATUS;
  ck_assert_int_eq(sfctl_connect(cluster->nodes[0].socket, SFTEST_HANG_MS, &connection), SF_OK);
  connection.target = (sfctl_target_t){.named = true, .node = 1};
  connection.timeout_ms = timeout_ms;
  sf_status_t status = sfctl_query(&connection, &query, take_none, NULL);
  sfctl_disconnect(&connection);
  return status;
}

/* What tools have asked that have given up does not fill the channel; who waits asks when a question is answered. */
SFTEST(questions_of_tools_do_not_gather)
{
  sftest_loop_cluster_t cluster;
  int status;
  sftest_loop_cluster_start(&cluster, 2, 0, 0);
  ck_assert_int_eq(ask_status(&cluster, SFTEST_HANG_MS), SF_OK);
  sftest_loop_cluster_order(&cluster, SFTEST_LOOP_HOLD, 0, 1);
  for (int i = 0, refused = 0; refused < TOOLS_REFUSED; i++) {
    ck_assert_msg(i < TOOLS, "%d tools have asked: %s", i, sfshm_error_detail());
    ck_assert_int_eq(ask_status(&cluster, TOOL_MS), SF_ERR_TIMEOUT); /* maybe before its question has been passed on */
    refused += strstr(sfshm_error_detail(), "it has 32 other questions to answer") != NULL;
  }
  uint64_t queued = sftest_loop_cluster_order(&cluster, SFTEST_LOOP_QUEUED, 0, 1);
  ck_assert_msg(queued < 2 * TOOLS_ASKING, "%llu messages wait", (unsigned long long)queued);
  pid_t waiting = fork();
  ck_assert_int_ge(waiting, 0);
  if (waiting == 0)
    _exit(ask_status(&cluster, SFTEST_HANG_MS) == SF_OK ? 0 : 1);
  sftest_sleep_ms(50);
  sftest_loop_cluster_order(&cluster, SFTEST_LOOP_LET_GO, 0, 1);
  ck_assert_int_eq(waitpid(waiting, &status, 0), waiting);
  ck_assert_int_eq(status, 0);
  sftest_loop_cluster_stop(&cluster);
}

/* ---- Daemons that had no core ------------------------------------------------------------------------------------ */

/* Rank 1 takes part in a group, and leaves. */
static void take_part(sftest_rank_t *self)
{
  static const int32_t ranks[] = {2, 1, 0};
  shared_t *shared = self->argument;
  sf_group_t *group;
  sf_context_t *context = sftest_join(self);
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->go, 1);
  SFTEST_OK(self, sf_group_create(context, 3, ranks, 0, &group));
  SFTEST_OK(self, sf_group_destroy(group));
  sftest_leave(self, context);
  atomic_fetch_add(&shared->ready, 1);
}

/* The process that will do it. */
static pid_t continue_later(pid_t pid, int64_t ms)
{
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child > 0)
    return child;
  sftest_sleep_ms(ms);
  kill(pid, SIGCONT);
  _exit(0);
}

/* Node 2 hears that rank 1 has left, but not yet of the group in which it took part: that comes while the daemon does
 * not run for longer than it would wait for it. */
SFTEST(news_that_came_during_a_pause)
{
  play_t play;
  begin_play(&play, 3, take_part);
  atomic_store(&play.shared->go, 1);
  sftest_job_await(&play.job, &play.shared->ready, 5);
  kill(play.cluster.pid, SIGSTOP);
  pid_t waker = continue_later(play.cluster.pid, 1200);
  sftest_loop_cluster_order(&play.cluster, SFTEST_LOOP_LET_GO, 0, 2);
  ck_assert_int_eq(waitpid(waker, NULL, 0), waker);
  end_play(&play);
}

/* ---- Slow and broken streams ------------------------------------------------------------------------------------- */

SFTEST_JOINED(exchange_much)
{
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, 20000, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < 10; i++)
    sftest_ring_expect_working(self, world, graph, 20000);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST_FOR(slow_streams_in_pieces, 3)
{
  static const int32_t places[] = {0, 1, 2, 3, 3, 0};
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, 4, (unsigned)_i * 20, sftest_seed() | 1);
  sftest_run_over(cluster.nodes, places, 6, exchange_much, NULL);
  sftest_loop_cluster_stop(&cluster);
}

/* Exchanges until something is lost, of which every rank hears. */
static void exchange_until_lost(sftest_rank_t *self)
{
  shared_t *shared = self->argument;
  double root[VALUES] = {0}, leaf[VALUES];
  sf_graph_t *graph;
  sf_status_t status;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), VALUES, SF_GRAPH_DEFAULT, &graph));
  do {
    status = sf_bcast(graph, SF_DOUBLE, root, leaf, SF_REPLACE);
    if (self->rank == 0 && status == SF_OK)
      atomic_fetch_add(&shared->rounds, 1);
  } while (status == SF_OK);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "node");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

SFTEST(cut_links)
{
  static const int32_t places[] = {0, 1, 2, 1};
  int rounds = sftest_rounds(12);
  uint64_t random = sftest_seed();
  for (int round = 0; round < rounds; round++) {
    sftest_loop_cluster_t cluster;
    sftest_job_t job;
    shared_t *shared = sftest_shared(sizeof *shared);
    sftest_loop_cluster_start(&cluster, 3, 1, 0);
    sftest_job_start_over(&job, cluster.nodes, places, 4, exchange_until_lost, shared);
    SFTEST_SLEEP_WHILE(atomic_load(&shared->rounds) < 3);
    sftest_sleep_ms(sftest_below(&random, 20));
    sftest_loop_cluster_order(&cluster, SFTEST_LOOP_CUT, 1, 2);
    sftest_job_end_well(&job);
    sftest_loop_cluster_stop(&cluster);
  }
}

/* More than daemons can tell each other where they are. */
static void be_too_many(sftest_rank_t *self)
{
  sf_context_t *context;
  sf_init_options_t options = self->options;
  options.size = 1 << 20;
  SFTEST_EXPECT(self, sf_init(&options, &context), SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "has 1048576 ranks");
  SFTEST_DETAIL(self, "3 nodes");
  sftest_leave(self, sftest_join(self));
}

SFTEST(too_many_ranks)
{
  static const int32_t places[] = {0, 1};
  sftest_loop_run_alone(3, places, 2, be_too_many, NULL);
}

/* Copies by the daemon's workers: operations of which the owner makes no call between begin and end, compared with the
 * values computed edge by edge; ranks that are killed, and graphs that fail, while their memory is being copied to. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/context.h"
#include "client/graph.h"
#include "client/plan.h"
#include "tests/system/buffers.h"
#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

static const char *const two_workers[] = {"--offload-workers=2", NULL};
/* Who lies has several workers write to one place. That is only its own memory, but a race to the thread sanitizer. */
#ifdef __SANITIZE_THREAD__
static const char *const lied_to[] = {"--offload-workers=1", NULL};
#else
static const char *const lied_to[] = {"--offload-workers=2", NULL};
#endif
static const char *const no_workers[] = {"--offload-workers=0", NULL};

/* ---- Graphs of two ranks ----------------------------------------------------------------------------------------- */

typedef enum form { DENSE, SCATTERED, SHARED, FORM_COUNT } form_t;

/* Leaf i of a rank is number leaf[i] and hangs on root[i] of the other one. No root has leaves on both. */
typedef struct edges {
  int64_t n;
  int64_t *leaf;
  int64_t *root;
  int32_t *rank;
} edges_t;

static void shuffle(int64_t *array, int64_t n, uint64_t *random)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t k = sftest_below(random, i + 1), kept = array[i];
    array[i] = array[k];
    array[k] = kept;
  }
}

static edges_t make_edges(form_t form, int64_t n, int32_t rank, uint64_t seed)
{
  edges_t edges = {n, malloc((size_t)n * sizeof(int64_t)), malloc((size_t)n * sizeof(int64_t)),
                   malloc((size_t)n * sizeof(int32_t))};
  uint64_t random = sftest_hash2(seed, (uint64_t)rank);
  for (int64_t i = 0; i < n; i++) {
    edges.leaf[i] = edges.root[i] = i;
    edges.rank[i] = 1 - rank;
    if (form == SHARED && i % 3 == 0)
      edges.root[i] = sftest_below(&random, n);
  }
  if (form != DENSE) {
    shuffle(edges.leaf, n, &random);
    shuffle(edges.root, n, &random);
  }
  return edges;
}

static void free_edges(const edges_t *edges)
{
  free(edges->leaf);
  free(edges->root);
  free(edges->rank);
}

static int64_t value(uint64_t seed, int32_t rank, int64_t vertex)
{
  return (int64_t)(sftest_hash2(seed ^ (uint64_t)rank, (uint64_t)vertex) >> 40);
}

/* What the array that receives must hold on this rank. */
static void model(form_t form, int64_t n, bool bcast, int32_t rank, uint64_t seed, int64_t *expected)
{
  int32_t leaf_rank = bcast ? rank : 1 - rank;
  edges_t edges = make_edges(form, n, leaf_rank, seed);
  for (int64_t i = 0; i < n; i++)
    expected[i] = value(seed + 1, rank, i);
  for (int64_t i = 0; i < n; i++)
    if (bcast)
      expected[edges.leaf[i]] += value(seed, 1 - rank, edges.root[i]);
    else
      expected[edges.root[i]] += value(seed, 1 - rank, edges.leaf[i]);
  free_edges(&edges);
}

/* ---- Without a call between begin and end ------------------------------------------------------------------------ */

typedef struct scene {
  uint64_t seed;
  form_t form;
  bool bcast;
  int64_t n;
  bool both;  /* neither rank makes a call; else the other one sleeps in sf_wait */
  bool again; /* the graph is one that is made again, and the first one is gone */
  _Atomic bool waited;
  _Atomic int32_t narrived;
} scene_t;

/* Looks at memory only: until everything has arrived in both ranks, and for some time more, in which the worker tells
 * them. */
static void wait_for_values(sftest_rank_t *self, const int64_t *data, const int64_t *expected, int64_t n)
{
  scene_t *scene = self->argument;
  int64_t until = sftest_now_ms() + sftest_limit_ms(20000);
  for (int64_t i = 0; i < n; i++)
    while (__atomic_load_n(&data[i], __ATOMIC_RELAXED) != expected[i]) {
      SFTEST_REQUIRE(self, sftest_now_ms() < until);
      sftest_sleep_ms(1);
    }
  scene->narrived++;
  while (scene->narrived < 2) {
    SFTEST_REQUIRE(self, sftest_now_ms() < until);
    sftest_sleep_ms(1);
  }
  sftest_sleep_ms(100);
}

static void expect_done_at_once(sftest_rank_t *self, sf_request_t **request)
{
  bool done = false;
  SFTEST_OK(self, sf_test(request, &done));
  SFTEST_REQUIRE(self, done);
}

/* The operations of the first graph must not be taken for those of the second. */
static void make_again(sftest_rank_t *self, const edges_t *edges, sf_graph_t **graph)
{
  sf_group_t *group = (*graph)->group;
  sf_graph_t *first = *graph;
  SFTEST_OK(self, sf_graph_create(group, edges->n, edges->n, edges->leaf, edges->rank, edges->root, 0, graph));
  SFTEST_REQUIRE(self, (*graph)->plan != NULL && sfc_plan_number((*graph)->plan) == first->number);
  SFTEST_OK(self, sf_graph_destroy(first));
}

static int without_calls(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  edges_t edges = make_edges(scene->form, scene->n, self->rank, scene->seed);
  int64_t *source, *target, *expected = malloc((size_t)scene->n * sizeof *expected);
  size_t bytes = (size_t)scene->n * sizeof(int64_t);
  sf_graph_t *graph;
  sf_request_t *request;
  SFTEST_OK(self, sf_alloc(context, bytes, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, bytes, (void **)&target));
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), scene->n, scene->n, edges.leaf, edges.rank, edges.root, 0,
                                  &graph));
  if (scene->again)
    make_again(self, &edges, &graph);
  model(scene->form, scene->n, scene->bcast, self->rank, scene->seed, expected);
  for (int64_t i = 0; i < scene->n; i++) {
    source[i] = value(scene->seed, self->rank, i);
    target[i] = value(scene->seed + 1, self->rank, i);
  }
  SFTEST_OK(self, scene->bcast ? sf_bcast_begin(graph, SF_INT64, source, target, SF_SUM, &request)
                               : sf_reduce_begin(graph, SF_INT64, source, target, SF_SUM, &request));
  sftest_at(self, "computing");
  if (scene->both) {
    wait_for_values(self, target, expected, scene->n);
    expect_done_at_once(self, &request);
  } else if (self->rank == 0) {
    int64_t until = sftest_now_ms() + sftest_limit_ms(20000);
    while (!scene->waited && sftest_now_ms() < until)
      sftest_sleep_ms(1);
    SFTEST_REQUIRE(self, scene->waited);
    expect_done_at_once(self, &request);
  } else {
    SFTEST_OK(self, sf_wait(&request)); /* its source has been read, by nobody in rank 0 */
    scene->waited = true;
  }
  SFTEST_REQUIRE(self, memcmp(target, expected, bytes) == 0);
  SFTEST_OK(self, sf_graph_destroy(graph));
  free_edges(&edges);
  free(expected);
  sftest_leave(self, context);
  return 0;
}

static void run_without_calls(const sftest_node_t *node, form_t form, bool bcast, bool both, bool again, int64_t n)
{
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->seed = sftest_seed();
  scene->form = form;
  scene->bcast = bcast;
  scene->both = both;
  scene->again = again;
  scene->n = n;
  sftest_use_seed(scene->seed);
  sftest_run_job(node, 2, without_calls, scene);
  sftest_shared_free(scene, sizeof *scene);
}

START_TEST(owner_makes_no_call)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  for (int form = 0; form < FORM_COUNT; form++)
    for (int way = 0; way < 4; way++)
      run_without_calls(&node, (form_t)form, way % 2 == 0, way < 2, (form + way) % 2 == 1,
                        form == DENSE ? 8192 : 300000);
  sftest_node_stop(&node);
}
END_TEST

/* The same over two nodes: a bcast packs in begin, and a worker unpacks what the other node sends. */
START_TEST(owner_makes_no_call_over_nodes)
{
  sftest_cluster_t cluster;
  int32_t places[] = {0, 1};
  setenv("SFD_OFFLOAD_WORKERS", "1", 1);
  sftest_cluster_start(&cluster, 2);
  sftest_cluster_warm(&cluster);
  for (int form = 0; form < FORM_COUNT; form++) {
    scene_t *scene = sftest_shared(sizeof *scene);
    *scene = (scene_t){
        .seed = sftest_seed(), .form = (form_t)form, .bcast = true, .n = 100000, .both = true, .again = form != DENSE};
    sftest_use_seed(scene->seed);
    sftest_cluster_run(&cluster, places, 2, without_calls, scene);
    sftest_shared_free(scene, sizeof *scene);
  }
  sftest_cluster_stop(&cluster);
}
END_TEST

/* ---- Parts of graphs --------------------------------------------------------------------------------------------- */

/* A part has other edges than its parent, whose lists the daemon keeps: no worker goes along them for it. */
static int use_part(sftest_rank_t *self)
{
  enum { N = 300000 };
  scene_t *scene = self->argument;
  sf_context_t *context = sftest_join(self);
  edges_t edges = make_edges(SCATTERED, N, self->rank, scene->seed);
  int64_t *source, *target, *chosen = malloc(N * sizeof *chosen), nchosen = 0;
  sf_graph_t *whole, *part;
  sf_request_t *request;
  SFTEST_OK(self, sf_alloc(context, N * sizeof *source, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, N * sizeof *target, (void **)&target));
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), N, N, edges.leaf, edges.rank, edges.root, 0, &whole));
  for (int64_t leaf = 0; leaf < N; leaf++) {
    source[leaf] = value(scene->seed, self->rank, leaf);
    target[leaf] = -1;
    if (leaf % 4 != 0)
      chosen[nchosen++] = leaf;
  }
  SFTEST_OK(self, sf_graph_embed_leaves(whole, nchosen, chosen, &part));
  SFTEST_OK(self, sf_bcast_begin(part, SF_INT64, source, target, SF_REPLACE, &request));
  sftest_sleep_ms(50); /* for workers */
  SFTEST_OK(self, sf_wait(&request));
  for (int64_t i = 0; i < N; i++)
    SFTEST_REQUIRE(self, target[edges.leaf[i]] ==
                             (edges.leaf[i] % 4 == 0 ? -1 : value(scene->seed, 1 - self->rank, edges.root[i])));
  SFTEST_OK(self, sf_graph_destroy(whole));
  SFTEST_OK(self, sf_graph_destroy(part));
  free_edges(&edges);
  free(chosen);
  sftest_leave(self, context);
  return 0;
}

START_TEST(parts_have_their_own_edges)
{
  sftest_node_t node;
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->seed = sftest_seed();
  sftest_use_seed(scene->seed);
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 2, use_part, scene);
  sftest_node_stop(&node);
  sftest_shared_free(scene, sizeof *scene);
}
END_TEST

/* ---- Many at a time ---------------------------------------------------------------------------------------------- */

enum { OPERATIONS = 24, ROUNDS = 6, UNITS = 20000 };

/* More than there are slots in a lane, ended in any order, with pieces shared by owners and workers. */
static int many(sftest_rank_t *self)
{
  uint64_t own = sftest_hash2(*(uint64_t *)self->argument, (uint64_t)self->rank);
  sf_context_t *context = sftest_join(self);
  int32_t next = (self->rank + 1) % self->size;
  int64_t *source[OPERATIONS], *target[OPERATIONS];
  sf_request_t *requests[OPERATIONS];
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, 0, &graph));
  for (int i = 0; i < OPERATIONS; i++) {
    SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(int64_t), (void **)&source[i]));
    SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(int64_t), (void **)&target[i]));
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < OPERATIONS; i++) {
      for (int64_t k = 0; k < UNITS; k++)
        source[i][k] = value((uint64_t)(round * OPERATIONS + i), self->rank, k);
      SFTEST_OK(self, sf_bcast_begin(graph, SF_INT64, source[i], target[i], SF_REPLACE, &requests[i]));
    }
    if (sftest_below(&own, 2) == 0)
      sftest_sleep_ms(sftest_below(&own, 4));
    for (int left = OPERATIONS, i; left > 0;) {
      i = (int)sftest_below(&own, OPERATIONS);
      if (requests[i] == NULL)
        continue;
      SFTEST_OK(self, sf_wait(&requests[i]));
      left--;
      for (int64_t k = 0; k < UNITS; k++)
        SFTEST_REQUIRE(self, target[i][k] == value((uint64_t)(round * OPERATIONS + i), next, k));
    }
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

START_TEST(many_in_flight)
{
  sftest_node_t node;
  uint64_t seed = sftest_seed();
  sftest_use_seed(seed);
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 3, many, &seed);
  sftest_node_stop(&node);
}
END_TEST

/* ---- What sfctl shows -------------------------------------------------------------------------------------------- */

typedef struct meeting {
  _Atomic int32_t ndone;
  _Atomic bool over;
} meeting_t;

static int exchange_and_stay(sftest_rank_t *self)
{
  meeting_t *meeting = self->argument;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *graph;
  char *source, *target;
  sf_request_t *request;
  bool done = false;
  SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(double), (void **)&source));
  SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(double), (void **)&target));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, 0, &graph));
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target, SF_REPLACE, &request));
  sftest_sleep_ms(100);
  while (!done) {
    SFTEST_OK(self, sf_test(&request, &done));
    sftest_sleep_ms(1);
  }
  meeting->ndone++;
  while (!meeting->over)
    sftest_sleep_ms(1);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

/* Starts the exchange and looks at it when it is done. */
static void look(const sftest_node_t *node, sftest_job_t *job, meeting_t *meeting)
{
  sftest_job_start(job, node, 2, exchange_and_stay, meeting);
  int64_t until = sftest_now_ms() + sftest_limit_ms(20000);
  while (meeting->ndone < 2 && sftest_now_ms() < until)
    sftest_sleep_ms(5);
  sftest_sfctl(node->socket, WORDS("ranks", "--json"), 0);
}

static void finish(sftest_job_t *job, meeting_t *meeting)
{
  meeting->over = true;
  sftest_job_wait(job, sftest_limit_ms(20000));
  sftest_job_expect_all(job);
  sftest_shared_free(meeting, sizeof *meeting);
}

START_TEST(bytes_are_counted)
{
  sftest_node_t node;
  sftest_job_t job;
  meeting_t *meeting = sftest_shared(sizeof *meeting);
  sftest_node_start(&node, two_workers);
  look(&node, &job, meeting);
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":0,", "offloaded_bytes"), UNITS * sizeof(double));
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":1,", "offloaded_bytes"), UNITS * sizeof(double));
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":0,", "ring_depth"), 0);
  sftest_sfctl(node.socket, WORDS("ranks"), 0);
  sftest_expect_in(sftest_sfctl_out, "OFFLOADED");
  sftest_expect_in(sftest_sfctl_out, "156.2 KiB");
  finish(&job, meeting);
  sftest_node_stop(&node);
}
END_TEST

START_TEST(off_is_off)
{
  sftest_node_t node;
  sftest_job_t job;
  meeting_t *meeting = sftest_shared(sizeof *meeting);
  sftest_node_start(&node, no_workers);
  look(&node, &job, meeting);
  sftest_expect_in(sftest_sfctl_out, "\"offloaded_bytes\":null");
  finish(&job, meeting);
  sftest_node_stop(&node);
}
END_TEST

/* ---- Death and failure in the middle ----------------------------------------------------------------------------- */

#define HUGE_UNITS ((int64_t)2 << 20) /* of 8 bytes: several milliseconds of copying */

typedef struct plan {
  int32_t victim;
  _Atomic int32_t nbegun;
} plan_t;

/* The operations have ended, whatever became of them: nobody writes there any more. */
static void expect_own(sftest_rank_t *self, void *memory, size_t bytes)
{
  memset(memory, 0x55, bytes);
  sftest_sleep_ms(20);
  SFTEST_REQUIRE(self, *(char *)memory == 0x55 && memcmp(memory, (char *)memory + 1, bytes - 1) == 0);
}

static int until_death(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_context_t *context = sftest_join(self);
  double *source, *target;
  sf_graph_t *graph;
  sf_request_t *requests[2];
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * sizeof *source, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * 2 * sizeof *target, (void **)&target));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), HUGE_UNITS, 0, &graph));
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target + i * HUGE_UNITS, SF_REPLACE, &requests[i]));
  plan->nbegun++;
  if (self->rank == plan->victim)
    while (true)
      pause();
  sf_status_t status = sf_wait_all(2, requests);
  if (status == SF_OK) /* all had been copied */
    status = sf_bcast(graph, SF_DOUBLE, source, target, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  expect_own(self, target, (size_t)HUGE_UNITS * 2 * sizeof *target);
  return 0;
}

static void kill_one(const sftest_node_t *node, int32_t victim, int64_t delay_ms)
{
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_job_t job;
  plan->victim = victim;
  sftest_job_start(&job, node, 2, until_death, plan);
  int64_t until = sftest_now_ms() + sftest_limit_ms(20000);
  while (plan->nbegun < 2 && sftest_now_ms() < until)
    ;
  sftest_sleep_ms(delay_ms);
  sftest_job_signal(&job, victim, SIGKILL);
  sftest_job_wait(&job, sftest_limit_ms(20000));
  sftest_job_expect_success(&job, 1 - victim);
  sftest_shared_free(plan, sizeof *plan);
}

START_TEST(killed_while_copied)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  int fds = sftest_node_rest(&node);
  sftest_expect_serving(&node);
  for (int i = 0; i < sftest_scale(6); i++)
    kill_one(&node, i % 2, i / 2 * 3);
  sftest_expect_serving(&node);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}
END_TEST

/* Rank 1 calls something else while the first operation's data are on their way. */
static int until_mismatch(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  double *source, *target;
  sf_graph_t *graph;
  sf_request_t *first, *second;
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * sizeof *source, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * 2 * sizeof *target, (void **)&target));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), HUGE_UNITS, 0, &graph));
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target, SF_REPLACE, &first));
  sf_status_t status =
      sf_bcast_begin(graph, self->rank == 0 ? SF_DOUBLE : SF_INT32, source, target + HUGE_UNITS, SF_SUM, &second);
  if (status == SF_OK)
    status = sf_wait(&second);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  status = sf_wait(&first);
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_MISMATCH);
  expect_own(self, target, (size_t)HUGE_UNITS * 2 * sizeof *target);
  sf_status_t left = sf_finalize(context);
  SFTEST_REQUIRE(self, left == SF_OK);
  return 0;
}

START_TEST(failed_while_copied)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 2, until_mismatch, NULL);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}
END_TEST

/* ---- Garbage ----------------------------------------------------------------------------------------------------- */

enum { LIES = 4000 };

typedef struct stage {
  uint64_t seed;
  _Atomic uint64_t said[2]; /* lies, by each rank: they keep step, so that they are matched */
} stage_t;

/* Most of them could be true. */
static sfshm_ring_entry_t make_lie(sftest_rank_t *self, const sf_graph_t *graph, uint64_t sequence, uint64_t *shared,
                                   uint64_t *own)
{
  sfshm_unit_t unit = {(sfshm_base_t)sftest_below(shared, 14), 1 + sftest_below(shared, 5)};
  uint64_t desc = sfshm_desc_signature((sfshm_call_t)sftest_below(shared, 4), unit,
                                       (sfshm_op_t)(sftest_below(shared, 2) * sftest_below(shared, 13)));
  sfshm_ring_entry_t lie = {
      .kind =
          (self->rank == 0) == (sequence % 2 == 0) ? SFSHM_SUBMIT_SOURCE : SFSHM_SUBMIT_TARGET + (sequence % 5 == 0),
      .graph = graph->number,
      .message = sequence,
      .desc = desc | (sequence & SFSHM_DESC_SEQUENCE_MASK),
      .a = (uint32_t)(1 - self->rank),
      .b = (uint32_t)sftest_below(own, SFSHM_CLAIMS),
      .size = 1 + (uint64_t)sftest_below(own, 3),
      .more = {1, (uint64_t)sftest_below(own, 1 << 17)},
  };
  uint64_t *words = (uint64_t *)(void *)&lie;
  if (sftest_below(own, 4) == 0) /* any field but the kind may be anything */
    words[1 + sftest_below(own, 7)] = sftest_random(own) >> sftest_below(own, 64);
  return lie;
}

/* Offers work that is not there, in memory that is not there, and writes into the claims meanwhile. */
static int lie(sftest_rank_t *self)
{
  stage_t *stage = self->argument;
  uint64_t shared = stage->seed, own = sftest_hash2(shared, (uint64_t)self->rank);
  sf_context_t *context = sftest_join(self);
  void *memory;
  sf_graph_t *graph;
  SFTEST_OK(self, sf_alloc(context, 4 << 20, &memory));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, 0, &graph));
  for (uint64_t sequence = 1; sequence <= (uint64_t)sftest_scale(LIES); sequence++) {
    sfshm_ring_entry_t entry = make_lie(self, graph, sequence, &shared, &own);
    for (uint32_t i = 0; i < SFSHM_CLAIMS; i += 1 + (uint32_t)sftest_below(&own, 8)) {
      uint32_t taken = sftest_below(&own, 4) == 0 ? (uint32_t)sftest_below(&own, 1 << 16) : 0;
      sfc_claims_at(&context->claims, i)->word = sfshm_claim_word(1 + (uint32_t)sftest_below(&own, 3), taken, taken);
    }
    sfc_submit_entry(&context->submitter, &entry, false);
    stage->said[self->rank] = sequence;
    while (stage->said[1 - self->rank] + SFSHM_LANE_SLOTS / 2 < sequence)
      sched_yield();
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

START_TEST(lies_do_no_harm)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  stage_t *stage = sftest_shared(sizeof *stage);
  stage->seed = sftest_seed();
  sftest_use_seed(stage->seed);
  sftest_node_start(&node, lied_to);
  sftest_bystander_start(&bystander, &node);
  sftest_run_job(&node, 2, lie, stage);
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
  sftest_shared_free(stage, sizeof *stage);
}
END_TEST

static Suite *offload_suite(void)
{
  Suite *suite = suite_create("offload");
  TCase *cases = tcase_create("offload");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, owner_makes_no_call);
  tcase_add_test(cases, owner_makes_no_call_over_nodes);
  tcase_add_test(cases, parts_have_their_own_edges);
  tcase_add_test(cases, many_in_flight);
  tcase_add_test(cases, bytes_are_counted);
  tcase_add_test(cases, off_is_off);
  tcase_add_test(cases, killed_while_copied);
  tcase_add_test(cases, failed_while_copied);
  tcase_add_test(cases, lies_do_no_harm);
  suite_add_tcase(suite, cases);
  return suite;
}

int main(void)
{
  return sftest_run(offload_suite());
}

/* Copies by the daemon's workers: operations of which the owner makes no call between begin and end, of parts of
 * graphs, and many at a time, compared with the values computed edge by edge. */
#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/system/work.h"

static const char *const two_workers[] = {"--offload-workers=2", NULL};

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

/* Looks at memory only: until everything has arrived in both ranks. */
static void wait_for_values(sftest_rank_t *self, const int64_t *data, const int64_t *expected, int64_t n)
{
  scene_t *scene = self->argument;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
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
}

/* Looks at memory only, too: until the workers have said of all offers of this rank that they are done with them, which
 * they do after the values have arrived. */
static void wait_for_workers(sftest_rank_t *self, sf_context_t *context)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  for (uint32_t i = 0; i < SFSHM_CLAIMS; i++) {
    uint64_t word;
    while ((word = atomic_load(&sfc_claim_pool_at(&context->claims, i)->word), sfshm_claim_ticket(word) != 0) &&
           (sfshm_claim_taken(word) == 0 || sfshm_claim_finished(word) < sfshm_claim_taken(word))) {
      SFTEST_REQUIRE(self, sftest_now_ms() < until);
      sftest_sleep_ms(1);
    }
  }
}

static void expect_done_at_once(sftest_rank_t *self, sf_request_t **request)
{
  bool done = false;
  SFTEST_OK(self, sf_test(request, &done));
  SFTEST_REQUIRE(self, done);
}

/* The other rank has got all that it needs; a worker may tell this rank a little later. */
static void expect_done_soon(sftest_rank_t *self, sf_request_t **request)
{
  bool done = false;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (SFTEST_OK(self, sf_test(request, &done)), !done) {
    SFTEST_REQUIRE(self, sftest_now_ms() < until);
    sftest_sleep_ms(1);
  }
}

/* The operations of the first graph must not be taken for those of the second. */
static void make_again(sftest_rank_t *self, const edges_t *edges, sf_graph_t **graph)
{
  sf_group_t *group = (*graph)->group;
  sf_graph_t *first = *graph;
  SFTEST_OK(self, sf_graph_create(group, edges->n, edges->n, edges->leaf, edges->rank, edges->root, 0, graph));
  SFTEST_REQUIRE(self, (*graph)->shares_plan && (*graph)->plan.readback == first->plan.readback);
  SFTEST_OK(self, sf_graph_destroy(first));
}

SFTEST_JOINED(without_calls)
{
  scene_t *scene = self->argument;
  edges_t edges = make_edges(scene->form, scene->n, self->rank, scene->seed);
  int64_t *source, *target, *expected = malloc((size_t)scene->n * sizeof *expected);
  size_t bytes = (size_t)scene->n * sizeof(int64_t);
  sf_graph_t *graph;
  sf_request_t *request;
  SFTEST_OK(self, sf_alloc(context, bytes, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, bytes, (void **)&target));
  SFTEST_OK(self, sf_graph_create(world, scene->n, scene->n, edges.leaf, edges.rank, edges.root, 0, &graph));
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
    wait_for_workers(self, context);
    expect_done_at_once(self, &request);
  } else if (self->rank == 0) {
    int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
    SFTEST_SLEEP_WHILE(!scene->waited && sftest_now_ms() < until);
    SFTEST_REQUIRE(self, scene->waited);
    expect_done_soon(self, &request);
  } else {
    SFTEST_OK(self, sf_wait(&request)); /* its source has been read, by nobody in rank 0 */
    scene->waited = true;
  }
  SFTEST_REQUIRE(self, memcmp(target, expected, bytes) == 0);
  SFTEST_OK(self, sf_graph_destroy(graph));
  free_edges(&edges);
  free(expected);
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
}

SFTEST(owner_makes_no_call)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  for (int form = 0; form < FORM_COUNT; form++)
    for (int way = 0; way < 4; way++)
      run_without_calls(&node, (form_t)form, way % 2 == 0, way < 2, (form + way) % 2 == 1,
                        form == DENSE ? (int64_t)(SFSHM_OFFLOAD_MIN_BYTES / sizeof(int64_t)) : 300000);
  sftest_node_stop(&node);
}

/* ---- Embedded graphs ------------------------------------------------------------------------------------------- */

/* An embedded graph has other edges than its parent, whose lists the daemon keeps: workers go along its own. */
SFTEST_JOINED(use_part)
{
  enum { N = 300000 };
  scene_t *scene = self->argument;
  edges_t edges = make_edges(SCATTERED, N, self->rank, scene->seed);
  int64_t *source, *target, *chosen = malloc(N * sizeof *chosen), nchosen = 0;
  sf_graph_t *whole, *part;
  sf_request_t *request;
  SFTEST_OK(self, sf_alloc(context, N * sizeof *source, (void **)&source));
  SFTEST_OK(self, sf_alloc(context, N * sizeof *target, (void **)&target));
  SFTEST_OK(self, sf_graph_create(world, N, N, edges.leaf, edges.rank, edges.root, 0, &whole));
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
}

SFTEST(parts_have_their_own_edges)
{
  sftest_node_t node;
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->seed = sftest_seed();
  sftest_use_seed(scene->seed);
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 2, use_part, scene);
  sftest_node_stop(&node);
}

/* ---- Many at a time ---------------------------------------------------------------------------------------------- */

enum { OPERATIONS = 24, ROUNDS = 6, UNITS = 20000 };

/* More than there are slots in a lane, ended in any order, with pieces shared by owners and workers. */
SFTEST_JOINED(many)
{
  uint64_t own = sftest_hash2(*(uint64_t *)self->argument, (uint64_t)self->rank);
  int32_t next = (self->rank + 1) % self->size;
  int64_t *source[OPERATIONS], *target[OPERATIONS];
  sf_request_t *requests[OPERATIONS];
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, UNITS, 0, &graph));
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
}

/* Workers do not copy for operations with several fields, whose results are the same. */
SFTEST_JOINED(fields)
{
  int32_t next = (self->rank + 1) % self->size, previous = (self->rank + self->size - 1) % self->size;
  int64_t *memory;
  sf_graph_t *graph;
  sf_field_t list[2];
  SFTEST_OK(self, sftest_ring_create(world, UNITS, 0, &graph));
  SFTEST_OK(self, sf_alloc(context, 4 * UNITS * sizeof(int64_t), (void **)&memory));
  for (int round = 0; round < 2 * ROUNDS; round++) {
    bool bcast = round % 2 == 0;
    for (int64_t i = 0; i < 2; i++) {
      list[i] = (sf_field_t){SF_INT64, memory + 2 * i * UNITS, memory + (2 * i + 1) * UNITS, SF_REPLACE};
      for (int64_t k = 0; k < UNITS; k++)
        ((int64_t *)(bcast ? list[i].rootdata : list[i].leafdata))[k] = value((uint64_t)(2 * round + i), self->rank, k);
    }
    SFTEST_OK(self, (bcast ? sf_bcast_v : sf_reduce_v)(graph, 2, list));
    for (int64_t i = 0; i < 2; i++)
      for (int64_t k = 0; k < UNITS; k++)
        SFTEST_REQUIRE(self, ((int64_t *)(bcast ? list[i].leafdata : list[i].rootdata))[k] ==
                                 value((uint64_t)(2 * round + i), bcast ? next : previous, k));
  }
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(several_fields)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 3, fields, NULL);
  sftest_node_stop(&node);
}

SFTEST(many_in_flight)
{
  sftest_node_t node;
  uint64_t seed = sftest_seed();
  sftest_use_seed(seed);
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 3, many, &seed);
  sftest_node_stop(&node);
}

/* Exchanges beside those that test_blocks chooses at random: neighbour lists and their errors, wrong arguments, ranks
 * that wait elsewhere after begin, and how exchanges fail: other calls, and a rank that dies. */
#include "client/graph/graph.h"
#include "tests/system/cluster.h"
#include "tests/system/work.h"

#define RANKS 4
#define NEIGHBOURS_MAX 12

typedef struct scene {
  size_t bytes;
  int ahead;       /* operations */
  bool unreadable; /* no rank can read the memory of others */
  _Atomic int ended;
} scene_t;

static char *filled(size_t bytes, int value)
{
  char *data = malloc(bytes + 1);
  memset(data, value, bytes);
  return data;
}

static void expect_bytes(sftest_rank_t *self, const char *data, size_t bytes, int value)
{
  for (size_t i = 0; i < bytes; i++)
    if (data[i] != (char)value)
      sftest_require(self, false, __FILE__, __LINE__, "byte %zu is %d, expected %d", i, data[i], (char)value);
}

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */

typedef struct lists {
  int32_t nsources, ndests;
  int32_t sources[NEIGHBOURS_MAX], dests[NEIGHBOURS_MAX];
} lists_t;

/* Rank s sends so many blocks to rank d: to itself too, and to nobody from the last rank. */
static int count_of(int32_t s, int32_t d)
{
  return s == RANKS - 1 || d == RANKS - 1 ? 0 : (s * 2 + d) % 4;
}

/* The lists of a rank, those to send to backwards, so that places differ. */
static lists_t choose_lists(int32_t rank)
{
  lists_t lists = {0, 0, {0}, {0}};
  for (int k = 0; k < 4; k++)
    for (int32_t r = 0; r < RANKS; r++) {
      if (k < count_of(r, rank))
        lists.sources[lists.nsources++] = r;
      if (k < count_of(rank, RANKS - 1 - r))
        lists.dests[lists.ndests++] = RANKS - 1 - r;
    }
  return lists;
}

/* How many times the rank is in the list before place i. */
static int occurrence(const int32_t list[], int32_t i)
{
  int n = 0;
  for (int32_t k = 0; k < i; k++)
    n += list[k] == list[i];
  return n;
}

/* ---- Ahead of the reader ----------------------------------------------------------------------------------------- */

/* Rank 0 begins operations, and waits for rank 1 elsewhere, which ends them meanwhile. */
SFTEST_JOINED(run_ahead)
{
  scene_t *scene = self->argument;
  sf_graph_t *graph;
  sf_request_t *requests[16];
  char *from[16], *to[16];
  sf_block_t root[16], leaf[16];
  SFTEST_OK(self, sftest_ring_create(world, 1, SF_GRAPH_DEFAULT, &graph));
  for (int32_t i = 0; scene->unreadable && i < graph->nlanes; i++)
    graph->lanes[i].peer_can_read = false;
  for (int i = 0; i < scene->ahead; i++) { /* large and small ones in turn */
    size_t bytes = i % 3 == 2 ? 40 : scene->bytes;
    from[i] = filled(bytes, self->rank + 2 * i);
    to[i] = filled(bytes, -1);
    root[i] = (sf_block_t){from[i], bytes};
    leaf[i] = (sf_block_t){to[i], bytes};
    sftest_at(self, "begin %d", i);
    SFTEST_OK(self, sf_exchange_begin(graph, &root[i], &leaf[i], NULL, &requests[i]));
  }
  if (self->rank == 0)
    sftest_await(&scene->ended, scene->ahead);
  for (int i = 0; i < scene->ahead; i++) {
    sftest_at(self, "end %d", i);
    if (self->rank == 1) { /* what it sends may be read later: it does not wait for that */
      for (bool arrived = false; !arrived; arrived = to[i][leaf[i].bytes - 1] == (char)(2 * i)) {
        bool done;
        SFTEST_OK(self, sf_test(&requests[scene->ahead - 1], &done));
      }
      atomic_fetch_add(&scene->ended, 1);
    }
  }
  for (int i = 0; i < scene->ahead; i++) {
    SFTEST_OK(self, sf_wait(&requests[i]));
    expect_bytes(self, to[i], leaf[i].bytes, 1 - self->rank + 2 * i);
    free(from[i]);
    free(to[i]);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */

/* Rank 1 dies; the others wait in all ways. */
static void run_death(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  sf_graph_t *graph;
  sf_request_t *request;
  size_t bytes;
  char *data = filled(3 << 20, self->rank), *room = filled(3 << 20, 0);
  sf_block_t root = {data, 3 << 20}, leaf = {room, 3 << 20};
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 1, SF_GRAPH_DEFAULT, &graph));
  SFTEST_OK(self, sf_exchange(graph, &root, &leaf, NULL));
  if (self->rank == 1) {
    sftest_await(&scene->ended, self->size - 1);
    raise(SIGKILL);
  }
  SFTEST_OK(self, sf_exchange_begin(graph, &root, self->rank == 0 ? NULL : &leaf, NULL, &request));
  atomic_fetch_add(&scene->ended, 1);
  if (self->rank == 0)
    SFTEST_EXPECT(self, sf_exchange_probe(request, &bytes), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(self, sf_wait(&request), SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "rank 1");
  (void)sf_graph_destroy(graph);
  (void)sf_finalize(context);
  free(data);
  free(room);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

SFTEST_JOINED_JOB(test_neighbours, 1, sftest_run_alone(RANKS, ranks, NULL))
{
  sf_graph_t *graph;
  sf_block_t root[NEIGHBOURS_MAX], leaf[NEIGHBOURS_MAX];
  int32_t values[NEIGHBOURS_MAX], found[NEIGHBOURS_MAX];
  size_t bytes[NEIGHBOURS_MAX];
  lists_t lists = choose_lists(self->rank);
  SFTEST_OK(self, sf_exchange_graph_create(world, lists.nsources, lists.sources, lists.ndests, lists.dests,
                                           SF_GRAPH_DEFAULT, &graph));
  for (int32_t j = 0; j < lists.ndests; j++) {
    values[j] = self->rank * 1000 + lists.dests[j] * 100 + occurrence(lists.dests, j);
    root[j] = (sf_block_t){&values[j], sizeof values[j]};
  }
  for (int32_t i = 0; i < lists.nsources; i++)
    leaf[i] = (sf_block_t){&found[i], sizeof found[i]};
  SFTEST_OK(self, sf_exchange(graph, root, leaf, bytes));
  for (int32_t i = 0; i < lists.nsources; i++) {
    SFTEST_REQUIRE(self, bytes[i] == sizeof found[i]);
    SFTEST_REQUIRE(self, found[i] == lists.sources[i] * 1000 + self->rank * 100 + occurrence(lists.sources, i));
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST_JOINED_JOB(test_wrong_lists, 1, sftest_run_alone(RANKS, ranks, NULL))
{
  sf_graph_t *graph;
  const int32_t others[] = {(self->rank + 1) % RANKS, (self->rank + 1) % RANKS}, strange[] = {0, RANKS};
  lists_t lists = choose_lists(self->rank);
  if (self->rank == 1) /* expects one block fewer from rank 0, which has rank 1 once among its dests */
    lists.sources[0] = lists.sources[1] = 1;
  SFTEST_EXPECT(self,
                sf_exchange_graph_create(world, lists.nsources, lists.sources, lists.ndests, lists.dests,
                                         SF_GRAPH_DEFAULT, &graph),
                SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "rank 1 has rank 0 0 times among its sources, which has rank 1 1 times among its dests");
  SFTEST_EXPECT(self, sf_exchange_graph_create(world, 0, NULL, self->rank == 2 ? 2 : 0, others, 0, &graph),
                SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "rank 3 has rank 2 0 times among its sources, which has rank 3 2 times among its dests");
  SFTEST_EXPECT(self, sf_exchange_graph_create(world, self->rank == 3 ? 2 : 0, strange, 0, NULL, 0, &graph),
                SF_ERR_RANGE);
  SFTEST_DETAIL(self, "sources[1] is rank 4 of a group of 4");
  SFTEST_EXPECT(self, sf_exchange_graph_create(world, 0, NULL, self->rank == 0 ? 2 : 0, strange, 0, &graph),
                SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_exchange_graph_create(world, 0, NULL, self->rank == 0 ? 1 : 0, NULL, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange_graph_create(world, -1, NULL, 0, NULL, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange_graph_create(NULL, 0, NULL, 0, NULL, 0, &graph), SF_ERR_ARG);
  SFTEST_OK(self, sf_exchange_graph_create(world, 0, NULL, 0, NULL, 0, &graph));
  SFTEST_OK(self, sf_exchange(graph, NULL, NULL, NULL));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST_JOINED_JOB(test_arguments, 1, sftest_run_alone(3, ranks, NULL))
{
  sf_graph_t *graph;
  sf_request_t *request = NULL, *bcast;
  char data[8] = "", room[8];
  size_t bytes;
  int64_t number = 0;
  sf_block_t root = {data, sizeof data}, leaf = {room, sizeof room}, nothing = {NULL, 3};
  sf_block_t huge = {data, ((size_t)1 << 40) + 1};
  SFTEST_OK(self, sftest_ring_create(world, 1, SF_GRAPH_DEFAULT, &graph));
  SFTEST_EXPECT(self, sf_exchange(NULL, &root, &leaf, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange(graph, NULL, &leaf, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange(graph, &root, NULL, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange(graph, &nothing, &leaf, NULL), SF_ERR_ARG);
  SFTEST_DETAIL(self, "root 0: data is NULL, but there are 3 bytes");
  SFTEST_EXPECT(self, sf_exchange(graph, &huge, &leaf, NULL), SF_ERR_LIMIT);
  SFTEST_EXPECT(self, sf_exchange_begin(graph, &root, &leaf, NULL, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange_probe(NULL, &bytes), SF_ERR_ARG);
  SFTEST_OK(self, sf_bcast_init(graph, SF_INT64, &number, &number, SF_REPLACE, &bcast));
  SFTEST_EXPECT(self, sf_exchange_probe(bcast, &bytes), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_exchange_receive(bcast, &leaf), SF_ERR_ARG);
  SFTEST_OK(self, sf_request_free(&bcast));
  SFTEST_OK(self, sf_exchange_init(graph, &root, NULL, NULL, &request));
  SFTEST_EXPECT(self, sf_exchange_probe(request, &bytes), SF_ERR_STATE);
  for (int i = 0; i < 3; i++) { /* without memory every time */
    root.bytes = (size_t)(self->rank + i);
    SFTEST_OK(self, sf_start(request));
    SFTEST_EXPECT(self, sf_exchange_probe(request, NULL), SF_ERR_ARG);
    SFTEST_OK(self, sf_exchange_probe(request, &bytes));
    SFTEST_REQUIRE(self, bytes == (size_t)((self->rank + 1) % self->size + i));
    SFTEST_EXPECT(self, sf_wait(&request), SF_ERR_STATE);
    SFTEST_OK(self, sf_exchange_receive(request, &leaf));
    SFTEST_OK(self, sf_wait(&request));
  }
  SFTEST_OK(self, sf_request_free(&request));
  leaf.data = NULL; /* no room, whatever the size says */
  root.bytes = 5;
  SFTEST_EXPECT(self, sf_exchange(graph, &root, &leaf, &bytes), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "leaf 0: 5 bytes arrived, but there is room for 0");
  SFTEST_REQUIRE(self, bytes == 5);
  sftest_ring_expect_working(self, world, graph, 1);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Leaf 2 is the only one: of the others a probe says nothing, whether the call named an array for sizes or not. */
SFTEST_JOINED_JOB(test_probe_of_gaps, 1, sftest_run_alone(2, ranks, NULL))
{
  static const int64_t leaf_at = 2, first = 0;
  const int32_t other = 1 - self->rank;
  char data[8] = "", room[8];
  const sf_block_t root = {data, (size_t)self->rank + 3}, leaf[3] = {{NULL, 0}, {NULL, 0}, {room, sizeof room}};
  sf_graph_t *graph;
  SFTEST_OK(self, sf_graph_create(world, 1, 1, &leaf_at, &other, &first, SF_GRAPH_DEFAULT, &graph));
  for (int named = 0; named < 2; named++) {
    size_t bytes[3] = {111, 222, 333}, named_bytes[3] = {4, 5, 6};
    sf_request_t *request;
    SFTEST_OK(self, sf_exchange_begin(graph, &root, NULL, named ? named_bytes : NULL, &request));
    SFTEST_OK(self, sf_exchange_probe(request, bytes));
    SFTEST_REQUIRE(self, bytes[0] == 111 && bytes[1] == 222 && bytes[2] == (size_t)other + 3);
    SFTEST_REQUIRE(self, named_bytes[0] == 4 && named_bytes[1] == 5 && named_bytes[2] == (named ? bytes[2] : 6));
    SFTEST_OK(self, sf_exchange_receive(request, leaf));
    SFTEST_OK(self, sf_wait(&request));
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* By all ways: in slots, in cells and beyond them, in place; more than the peer may be sent eagerly otherwise. */
SFTEST_FOR(test_ahead, 8)
{
  static const size_t sizes[] = {8, 5000, 200000, 3000000};
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->bytes = sizes[_i / 2];
  scene->unreadable = _i % 2 != 0;
  scene->ahead = 12;
  sftest_run_alone(2, run_ahead, scene);
}

SFTEST_JOINED_JOB(test_mismatch, 1, sftest_run_alone(2, ranks, NULL))
{
  sf_graph_t *graph;
  int64_t number = 0, copy;
  sf_block_t root = {&number, sizeof number}, leaf = {&copy, sizeof copy};
  SFTEST_OK(self, sftest_ring_create(world, 1, SF_GRAPH_DEFAULT, &graph));
  if (self->rank == 1)
    SFTEST_EXPECT(self, sf_bcast(graph, SF_INT64, &number, &copy, SF_REPLACE), SF_ERR_MISMATCH);
  else
    SFTEST_EXPECT(self, sf_exchange(graph, &root, &leaf, NULL), SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "exchange");
  SFTEST_DETAIL(self, "bcast(int64, replace)");
  SFTEST_EXPECT(self, sf_exchange(graph, &root, &leaf, NULL), SF_ERR_MISMATCH);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(test_death)
{
  sftest_node_t node;
  sftest_job_t job;
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_node_start(&node, NULL);
  sftest_job_start(&job, &node, 3, run_death, scene);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, 1);
  sftest_node_stop(&node);
}

/* Messages of exchanges of blocks between nodes: how many there are and how long, and what memory they take. */
#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/system/cluster.h"
#include "tests/system/model/algebra.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

/* ---- What travels ------------------------------------------------------------------------------------------------ */

/* Each rank has one block that all others get; the block of rank 0 has other lengths. */
typedef struct counted {
  int calls;
  size_t first_bytes; /* of rank 0, in all calls but the first and the last */
} counted_t;

SFTEST_JOINED(send_to_all)
{
  const counted_t *counted = self->argument;
  sftest_forest_t forest;
  sf_graph_t *graph;
  sftest_forest_init(&forest, self->size);
  for (int32_t r = 0; r < self->size; r++) {
    forest.nroots[r] = 1;
    for (int32_t s = 0; s < self->size; s++)
      sftest_forest_add(&forest, r, s, s, 0);
  }
  sftest_forest_create(self, &forest, world, &graph);
  char *root = calloc(1, counted->first_bytes + 8), *leaves = calloc((size_t)self->size, counted->first_bytes + 8);
  sf_block_t *rooms = calloc((size_t)self->size, sizeof *rooms);
  size_t *bytes = calloc((size_t)self->size, sizeof *bytes);
  memset(root, self->rank + 1, counted->first_bytes + 8);
  for (int32_t r = 0; r < self->size; r++)
    rooms[r] = (sf_block_t){leaves + (size_t)r * (counted->first_bytes + 8), counted->first_bytes + 8};
  for (int call = 0; call < counted->calls; call++) {
    size_t first = call > 0 && call < counted->calls - 1 ? counted->first_bytes : 8;
    sf_block_t block = {root, self->rank == 0 ? first : 8};
    sftest_at(self, "call %d", call);
    SFTEST_OK(self, sf_exchange(graph, &block, rooms, bytes));
    for (int32_t r = 0; r < self->size; r++) {
      SFTEST_REQUIRE(self, bytes[r] == (r == 0 ? first : 8));
      SFTEST_REQUIRE(self, bytes[r] == 0 || ((char *)rooms[r].data)[bytes[r] - 1] == r + 1);
    }
  }
  free(root);
  free(leaves);
  free(rooms);
  free(bytes);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_forest_free(&forest);
}

/* Bytes of a message of n blocks. */
static uint64_t message_bytes(uint64_t n, uint64_t bytes)
{
  return n * (16 + (bytes + n - 1) / n);
}

static void expect_traffic(int32_t per_node, size_t first_bytes)
{
  int32_t places[SFTEST_GROUP_MAX], n = sftest_case_cluster.nnodes;
  counted_t counted = {10, first_bytes};
  uint64_t pairs = (uint64_t)(n * (n - 1)), ranks = (uint64_t)per_node;
  uint64_t others = message_bytes(ranks, ranks * 8), first = message_bytes(ranks, ranks * 8 - 8 + first_bytes);
  sftest_places_block(places, per_node * n, n);
  sftest_traffic_t before = sftest_cluster_traffic(&sftest_case_cluster);
  sftest_cluster_run(&sftest_case_cluster, places, per_node * n, send_to_all, &counted);
  sftest_traffic_t after = sftest_cluster_traffic(&sftest_case_cluster);
  ck_assert_uint_eq(after.messages - before.messages, 10 * pairs);
  ck_assert_uint_eq(after.bytes - before.bytes, 10 * pairs * others + 8 * (uint64_t)(n - 1) * (first - others));
}

SFTEST_FIXTURE(sftest_two_nodes, sftest_stop_nodes);

/* One message between two nodes in each direction, whatever the sizes, and what is in it only once. */
SFTEST(counts)
{
  static const size_t sizes[] = {0, 8, 1000, 100000, (size_t)5 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    expect_traffic(sftest_case_cluster.nnodes == 2 ? 4 : 2, sizes[i]);
}

/* ---- Sides that differ ------------------------------------------------------------------------------------------- */

#define MANY 20000
#define LONG ((size_t)5 << 20)

/* Rank 0 has one block, for rank 1, that is short and then long; rank 1 has many short ones for rank 0. Slots for as
 * many long ones would take more memory than there is. */
static void send_unevenly(sftest_rank_t *self)
{
  sf_graph_t *graph;
  sf_context_t *context = sftest_join(self);
  int32_t n = self->rank == 0 ? MANY : 1, *ranks = calloc(MANY, sizeof *ranks);
  int64_t *roots = calloc(MANY, sizeof *roots);
  sf_block_t *root = calloc(MANY, sizeof *root), *leaf = calloc(MANY, sizeof *leaf);
  char *out = calloc(1, LONG), *in = malloc(LONG);
  size_t *bytes = calloc(MANY, sizeof *bytes);
  for (int32_t i = 0; i < MANY; i++) {
    ranks[i] = 1 - self->rank;
    roots[i] = i;
    root[i] = (sf_block_t){out + i, 8};
    leaf[i] = (sf_block_t){in + i * 8, 8};
  }
  memset(out, self->rank + 1, LONG);
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), self->rank == 0 ? 1 : MANY, n, NULL, ranks, roots,
                                  SF_GRAPH_DEFAULT, &graph));
  for (int call = 0; call < 6; call++) {
    size_t first = call % 3 == 1 ? LONG : 8, expected = self->rank == 0 ? 8 : first;
    root[0].bytes = self->rank == 0 ? first : 8;
    leaf[0].bytes = expected;
    memset(in, 0, LONG);
    sftest_at(self, "call %d", call);
    SFTEST_OK(self, sf_exchange(graph, root, leaf, bytes));
    for (int32_t i = 0; i < n; i++)
      SFTEST_REQUIRE(self, bytes[i] == expected && in[(size_t)i * 8 + expected - 1] == 2 - self->rank);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  free(ranks);
  free(roots);
  free(root);
  free(leaf);
  free(out);
  free(in);
  free(bytes);
}

SFTEST(uneven_sides)
{
  static const int32_t places[] = {0, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 2, send_unevenly, NULL);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* What no client of ours asks for: an exchange of a side that is not there, or of one side for short blocks. */
typedef struct request {
  uint32_t side;
  uint64_t class_bytes;
  _Atomic int answered;
} request_t;

static void ask_wrongly(sftest_rank_t *self)
{
  request_t *request = self->argument;
  sf_graph_t *graph;
  sfproto_incoming_t incoming;
  Sfproto__ExchangeGet get = SFPROTO__EXCHANGE_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sf_context_t *context = sftest_join(self);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), 1, SF_GRAPH_DEFAULT, &graph));
  if (self->rank == 0) {
    get.graph = graph->number;
    get.class_bytes = request->class_bytes;
    get.has_side = true;
    get.side = request->side;
    message.body_case = SFPROTO__MESSAGE__BODY_EXCHANGE_GET;
    message.exchange_get = &get;
    SFTEST_EXPECT(self,
                  sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_EXCHANGE, &incoming),
                  SF_ERR_PROTO);
    request->answered = 1;
  }
  sftest_await(&request->answered, 1);
  (void)sf_finalize(context); /* the daemon has lost rank 0 */
}

SFTEST_FOR(wrong_requests, 3)
{
  static const int32_t places[] = {0, 1};
  static const request_t wrong[] = {{.side = 2, .class_bytes = UINT64_C(1) << 30},
                                    {.side = UINT32_MAX, .class_bytes = UINT64_C(1) << 30},
                                    {.class_bytes = 8}};
  request_t *request = sftest_shared(sizeof *request);
  *request = wrong[_i];
  sftest_cluster_run(&sftest_case_cluster, places, 2, ask_wrongly, request);
}

SFTEST_FIXTURE(sftest_three_nodes, sftest_stop_nodes);
SFTEST_AGAIN(counts, 1);

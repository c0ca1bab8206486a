/* Graphs that ranks make again, naming an earlier one: when the daemon skips round 1, and when it asks for edges. */
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 4

/* What a rank says besides the ordinary. */
typedef struct again {
  uint64_t graph;
  int32_t nroot_ranks;
  bool numbered; /* also the number of edges that were asked for */
  bool block;
  int32_t nlanes;
  int32_t ranks[3];
} again_t;

static void send_again(sftest_client_t *client, const again_t *again)
{
  Sfproto__LaneEnd lanes[3], *pointers[3];
  Sfproto__EdgeBlock block = SFPROTO__EDGE_BLOCK__INIT, *blocks[] = {&block};
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  for (int32_t i = 0; i < again->nlanes; i++) {
    lanes[i] = (Sfproto__LaneEnd)SFPROTO__LANE_END__INIT;
    lanes[i].rank = again->ranks[i];
    lanes[i].slots = 128 * ((uint64_t)again->ranks[i] + 1);
    lanes[i].control = lanes[i].slots + 64;
    lanes[i].can_read = again->ranks[i] % 2 == 0;
    pointers[i] = &lanes[i];
  }
  create.group = clients[0].job_id;
  create.nroots = 10;
  create.nleaves = 1000;
  create.has_again = create.has_nroot_ranks = true;
  create.again = again->graph;
  create.nroot_ranks = again->nroot_ranks;
  create.has_number = again->numbered;
  create.lanes = pointers;
  create.n_lanes = (size_t)again->nlanes;
  create.blocks = blocks;
  create.n_blocks = again->block;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GRAPH_CREATE, &create, NULL, 0);
}

/* The neighbours in the ring of four, ascending. */
static again_t ring_again(int32_t rank, uint64_t graph)
{
  int32_t a = (rank + 1) % SIZE, b = (rank + SIZE - 1) % SIZE;
  return (again_t){.graph = graph, .nroot_ranks = 1, .nlanes = 2, .ranks = {a < b ? a : b, a < b ? b : a}};
}

/* Without edges between ranks. */
static void send_edges(sftest_client_t *client, const uint64_t *number)
{
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  create.group = clients[0].job_id;
  create.nroots = 10;
  create.has_number = number != NULL;
  create.number = number != NULL ? *number : 0;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GRAPH_CREATE, &create, NULL, 0);
}

/* GraphReply that asks for the edges; their number. */
static uint64_t expect_asked(sftest_client_t *client)
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &incoming);
  ck_assert(incoming.message->graph_reply->has_edges_of);
  ck_assert_uint_eq(incoming.message->graph_reply->n_lanes, 0);
  uint64_t number = incoming.message->graph_reply->edges_of;
  sfproto_incoming_free(&incoming);
  return number;
}

static void expect_empty_graph(void)
{
  sftest_peers_t peers;
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert_int_eq(peers.n, 0);
  }
  for (int r = 0; r < SIZE; r++)
    sftest_send_lanes(&clients[r], peers.graph, NULL, 0, NULL);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_ready(&clients[r], peers.graph, r, NULL, 0, NULL);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(all_name_the_same)
{
  uint64_t first = sftest_ring(clients, SIZE);
  for (int round = 1; round <= 3; round++) {
    for (int32_t r = 0; r < SIZE; r++) {
      again_t again = ring_again(r, first);
      sftest_expect_nothing(&clients[0]);
      send_again(&clients[r], &again);
    }
    for (int32_t r = 0; r < SIZE; r++) {
      again_t again = ring_again(r, first);
      sftest_expect_ready(&clients[r], first + (uint64_t)round, r, again.ranks, 2, NULL);
    }
    ck_assert_int_eq(daemon_.server->statistics.ngraphs, 1 + round);
  }
}

/* One of them, first or last, says what its edges are: the others are asked, and so is who comes later. */
SFTEST_FOR(one_has_edges, SIZE)
{
  uint64_t first = sftest_ring(clients, SIZE), number;
  int32_t odd = _i;
  for (int32_t r = 0; r < SIZE; r++) {
    again_t again = ring_again(r, first);
    if (r == odd)
      send_edges(&clients[r], NULL);
    else
      send_again(&clients[r], &again);
  }
  for (int32_t r = 0; r < SIZE; r++) {
    if (r == odd)
      continue;
    number = expect_asked(&clients[r]);
    send_edges(&clients[r], &number);
  }
  expect_empty_graph();
  sftest_ring(clients, SIZE); /* numbers of creations go on as if nothing had been asked */
}

static void expect_all_asked(const again_t again[])
{
  for (int32_t r = 0; r < SIZE; r++)
    send_again(&clients[r], &again[r]);
  for (int32_t r = 0; r < SIZE; r++) {
    uint64_t number = expect_asked(&clients[r]);
    send_edges(&clients[r], &number);
  }
  expect_empty_graph();
}

SFTEST(different_graphs)
{
  uint64_t first = sftest_ring(clients, SIZE), second = sftest_ring(clients, SIZE);
  again_t again[SIZE];
  for (int32_t r = 0; r < SIZE; r++)
    again[r] = ring_again(r, r == 3 ? second : first);
  expect_all_asked(again);
}

SFTEST(lanes_that_do_not_agree)
{
  uint64_t first = sftest_ring(clients, SIZE);
  again_t again[SIZE];
  for (int32_t r = 0; r < SIZE; r++)
    again[r] = ring_again(r, first);
  again[1].nlanes = 1;
  expect_all_asked(again);
}

/* Rank 1 leaves instead of saying what its edges are. */
SFTEST(goodbye_when_asked)
{
  uint64_t first = sftest_ring(clients, SIZE);
  again_t again[SIZE];
  for (int32_t r = 0; r < SIZE; r++) {
    again[r] = ring_again(r, r == 3 ? first + 100 : first);
    send_again(&clients[r], &again[r]);
  }
  for (int32_t r = 0; r < SIZE; r++) {
    uint64_t number = expect_asked(&clients[r]);
    if (r != 1)
      send_edges(&clients[r], &number);
  }
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  for (int32_t r = 0; r < SIZE; r++)
    if (r != 1)
      sftest_expect_error(&clients[r], SF_ERR_STATE, "rank 1");
}

/* One rank has found an error instead: the others are asked, say what they have, and all hear of it. */
SFTEST(one_has_an_error)
{
  uint64_t first = sftest_ring(clients, SIZE), number;
  Sfproto__SetupError error = sftest_setup_error(SF_ERR_RANGE, 2, -1, "selected index 7");
  for (int32_t r = 0; r < SIZE; r++) {
    again_t again = ring_again(r, first);
    sftest_edges_t wrong = {.group = clients[0].job_id, .error = &error};
    if (r == 2)
      sftest_send_edges(&clients[r], &wrong);
    else
      send_again(&clients[r], &again);
  }
  for (int32_t r = 0; r < SIZE; r++) {
    if (r == 2)
      continue;
    number = expect_asked(&clients[r]);
    send_edges(&clients[r], &number);
  }
  for (int32_t r = 0; r < SIZE; r++)
    sftest_expect_error(&clients[r], SF_ERR_RANGE, "selected index 7");
  sftest_ring(clients, SIZE);
}

/* A rank leaves, or dies, while the others have named the earlier graph. */
SFTEST_FOR(one_leaves_or_dies, 2)
{
  uint64_t first = sftest_ring(clients, SIZE);
  for (int32_t r = 0; r < SIZE - 1; r++) {
    again_t again = ring_again(r, first);
    send_again(&clients[r], &again);
  }
  if (_i == 0) {
    sftest_send_goodbye(&clients[SIZE - 1]);
    sftest_expect_done(&clients[SIZE - 1]);
  } else {
    sftest_drop(&clients[SIZE - 1]);
  }
  for (int32_t r = 0; r < SIZE - 1; r++)
    sftest_expect_error(&clients[r], _i == 0 ? SF_ERR_STATE : SF_ERR_RANK_FAILED, "rank 3");
}

/* ---- What a client may not say ---- */

SFTEST_FOR(violations, 7)
{
  static const struct {
    again_t again;
    const char *text;
  } cases[] = {
      {{.graph = 0}, "and edges"},
      {{.graph = 7, .block = true}, "and edges"},
      {{.graph = 7, .numbered = true}, "and edges"},
      {{.graph = 7, .nroot_ranks = -1}, "on -1 ranks"},
      {{.graph = 7, .nroot_ranks = SIZE}, "on 4 ranks"},
      {{.graph = 7, .nlanes = 1, .ranks = {0}}, "lane to rank 0"},
      {{.graph = 7, .nlanes = 2, .ranks = {2, 1}}, "after that to rank 2"},
  };
  send_again(&clients[0], &cases[_i].again);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, cases[_i].text);
  sftest_expect_closed(&clients[0]);
}

SFTEST(edges_that_were_not_asked_for)
{
  uint64_t number = 0;
  send_edges(&clients[1], NULL);
  send_edges(&clients[0], &number);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "were not asked for");
  sftest_expect_closed(&clients[0]);
}

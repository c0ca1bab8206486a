/* Trunks whose graph fails: that streams which wait for them are let go, whatever comes first. And when credit is
 * returned. */
#include "daemon/base/id_map.h"
#include "daemon/data/submit_rings.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs/graph.h"
#include "daemon/life.h"
#include "daemon/net/network_internal.h"
#include "tests/unit/channel_fixture.h"

#define GRAPH 7
#define LARGEST (UINT64_C(1) << 40) /* unit; no exchange has room for slots of that size */

/* A job of one rank, which is on this node, and a graph with one side that sends one value. */
static sfd_server_t server;
static sfd_job_t *job;
static sfd_group_t *group;
static sfd_graph_t *graph;
static sfd_trunks_t *trunks;
static sfd_rank_t rank;
static int32_t nodes[] = {0};
static sfshm_trunk_board_t *board;

static void *zeroed(size_t bytes)
{
  void *memory = calloc(1, bytes);
  ck_assert_ptr_nonnull(memory);
  return memory;
}

static void make_trunks(void)
{
  trunks = zeroed(sizeof *trunks + sizeof trunks->sides[0]);
  sfshm_trunk_map_t *map = zeroed(sizeof *map + sizeof map->sides[0]);
  trunks->plan = zeroed(sizeof *trunks->plan);
  trunks->plan->map.base = map;
  trunks->graph = graph;
  trunks->server = &server;
  trunks->nsides = map->nsides = 1;
  map->sides[0] = (sfshm_trunk_side_t){.node = 1, .nmembers = 1, .send_values = 1, .send_units = 1};
  trunks->sides[0].told = map->sides[0];
  ck_assert_int_eq(sfd_trunk_regions_take_board(job, sfshm_trunk_board_bytes(1), &trunks->board), SF_OK);
  board = trunks->board.base;
  trunks->sides[0].flow = &board->flows[0];
}

static void setup(void)
{
  server = (sfd_server_t){.life = &sfd_life, .max_held_fds = INT32_MAX};
  job = zeroed(sizeof *job + sizeof(sfd_rank_t *));
  group = zeroed(sizeof *group);
  graph = zeroed(sizeof *graph);
  *job = (sfd_job_t){.server = &server, .state = SFD_JOB_RUNNING, .world = group};
  *group = (sfd_group_t){.job = job, .size = 1, .nnodes = 1, .nodes = nodes};
  *graph = (sfd_graph_t){.id = GRAPH, .group = group, .state = SFD_GRAPH_READY};
  rank = (sfd_rank_t){.job = job};
  ck_assert(sfd_id_map_insert(&job->graphs_by_id, graph));
  make_trunks();
  graph->trunks = trunks;
}

static void teardown(void)
{
  sfd_id_map_remove(&job->graphs_by_id, graph);
  sfd_trunk_regions_give(&trunks->board);
  sfd_trunk_regions_release(job->trunk_regions);
  ck_assert_int_eq(server.nheld_fds, 0);
  free(trunks->plan->map.base);
  free(trunks->plan);
  free(trunks);
  free(graph->detail);
  free(graph);
  free(group);
  free(job);
}

SFTEST_FIXTURE(setup, teardown);

static void expect_released(void)
{
  ck_assert_uint_eq(atomic_load(&board->released), 1);
  ck_assert_uint_ge(atomic_load(&board->flows[0].granted), SFSHM_TRUNK_FAR);
  ck_assert_uint_ge(atomic_load(&board->flows[0].arrived), SFSHM_TRUNK_FAR);
}

/* Boards of others stay as they are. */
SFTEST(streams_that_begin_after_the_failure)
{
  sfd_trunks_let_go(trunks);
  ck_assert_uint_eq(atomic_load(&board->released), 0);
  atomic_store(&board->on_streams, 1);
  sfd_trunks_let_go(trunks);
  expect_released();
}

SFTEST(message_that_is_leaving)
{
  atomic_store(&board->on_streams, 1);
  trunks->sides[0].sent = 1;
  sfd_trunks_let_go(trunks);
  sfd_trunks_let_go(trunks);
  ck_assert_uint_eq(atomic_load(&board->released), 0);
  trunks->sides[0].done = 1;
  sfd_trunks_departed(trunks);
  expect_released();
}

SFTEST(message_for_which_there_is_no_memory)
{
  const sfshm_ring_entry_t send = {.kind = SFSHM_SUBMIT_SEND, .graph = GRAPH, .message = 1, .size = LARGEST};
  atomic_store(&board->on_streams, 1);
  sfd_trunks_submit(&rank, &send);
  ck_assert_int_eq(graph->state, SFD_GRAPH_FAILED);
  expect_released();
}

/* Part 1 of message 1 waits for part 0; then something that is no other part of the message. */
SFTEST_FOR(part_that_does_not_fit, 7)
{
  enum { VALUES = 100000, PARTS = SFSHM_TRUNK_PARTS };
  static const sfshm_ring_entry_t wrong[] = {
      {.b = PARTS << 8 | 1, .size = 8, .desc = 5},  /* again */
      {.b = 0, .size = 8, .desc = 5},               /* the whole */
      {.b = PARTS << 8 | 2, .size = 16, .desc = 5}, /* of other units */
      {.b = PARTS << 8 | 2, .size = 8, .desc = 6},
      {.b = PARTS << 8 | PARTS, .size = 8, .desc = 5},
      {.b = 3 << 8 | 2, .size = 8, .desc = 5}, /* of fewer parts */
      {.b = 2, .size = 8, .desc = 5},
  };
  sfshm_ring_entry_t entry = {.kind = SFSHM_SUBMIT_SEND, .graph = GRAPH, .message = 1, .b = PARTS << 8 | 1};
  entry.size = 8;
  entry.desc = 5;
  trunks->sides[0].told.send_values = VALUES;
  ck_assert_uint_eq(sfshm_trunk_parts(VALUES, entry.size), PARTS);
  sfd_trunks_submit(&rank, &entry);
  ck_assert_int_eq(graph->state, SFD_GRAPH_READY);
  entry.b = wrong[_i].b;
  entry.size = wrong[_i].size;
  entry.desc = wrong[_i].desc;
  sfd_trunks_submit(&rank, &entry);
  ck_assert_int_eq(graph->state, SFD_GRAPH_FAILED);
}

/* A slot's class is not below that of the message's unit. */
static const uint32_t wrong_classes[] = {1, 3, 41, 63, 64, UINT16_MAX};

SFTEST_FOR(message_in_a_slot_that_cannot_be, 6)
{
  const sfshm_ring_entry_t send = {.kind = SFSHM_SUBMIT_SEND,
                                   .graph = GRAPH,
                                   .message = 1,
                                   .size = 9,
                                   .b = sfshm_trunk_class_word(wrong_classes[_i])};
  sfd_trunks_submit(&rank, &send);
  ck_assert_int_eq(graph->state, SFD_GRAPH_FAILED);
  ck_assert_int_eq(graph->failure, SF_ERR_PROTO);
  ck_assert_ptr_null(trunks->exchanges);
}

/* ---- Credit ------------------------------------------------------------------------------------------------------ */

static void consume(uint64_t message)
{
  const sfshm_ring_entry_t credit = {.kind = SFSHM_SUBMIT_CREDIT, .graph = GRAPH, .message = message};
  sfd_trunks_submit(&rank, &credit);
}

static void expect_credit(sftest_cluster_t *cluster, size_t narrivals, uint64_t number)
{
  const sftest_node_t *other = &cluster->nodes[1];
  sftest_cluster_run(cluster);
  sfd_channels_flush(cluster->nodes[0].channels);
  sftest_cluster_run(cluster);
  ck_assert_uint_eq(other->narrivals, narrivals);
  ck_assert_uint_eq(atomic_load(&board->flows[0].returned), number);
  if (narrivals > 0) {
    ck_assert_uint_eq(other->arrivals[narrivals - 1].head.kind, SFD_PEER_CREDIT);
    ck_assert_uint_eq(other->arrivals[narrivals - 1].head.number, number);
  }
}

/* Where messages go both ways, pairs wait as long as the other node has slots; then all credit is returned. Elsewhere
 * each pair is, and one message's if the other node has used up its slots. */
SFTEST(credit_that_waits)
{
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, 2);
  sfd_network_t network = {.server = &server, .channels = cluster.nodes[0].channels};
  server.network = &network;
  sfd_trunk_side_t *side = &trunks->sides[0];
  side->slots = SFSHM_TRUNK_SLOTS;
  side->answered = true;
  side->arrived = 3;
  consume(1);
  consume(3);
  sfd_trunk_side_return_due(trunks, side);
  expect_credit(&cluster, 0, 0);
  side->arrived = 4;
  sfd_trunk_side_return_due(trunks, side);
  expect_credit(&cluster, 1, 3);
  ck_assert(!side->answered);
  side->arrived = 6;
  consume(4);
  expect_credit(&cluster, 1, 3);
  consume(5);
  expect_credit(&cluster, 2, 5);
  consume(6);
  expect_credit(&cluster, 2, 5);
  side->arrived = 13;
  sfd_trunk_side_return_due(trunks, side);
  expect_credit(&cluster, 3, 6);
  sfd_trunk_side_return_due(trunks, side); /* nothing was consumed since */
  expect_credit(&cluster, 3, 6);
  server.network = NULL;
  sftest_cluster_stop(&cluster);
}

/* Graphs that are ready after round 1: when they are, when they are not, and what goes wrong. */
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 4

/* Edges from each rank to both of its neighbours in a ring, and lanes to these. */
static sftest_edges_t both_ways(int32_t rank)
{
  int32_t a = (rank + 1) % SIZE, b = (rank + SIZE - 1) % SIZE;
  return (sftest_edges_t){.group = clients[0].job_id,
                          .nblocks = 2,
                          .ranks = {a < b ? a : b, a < b ? b : a},
                          .at_once = true,
                          .root_max = 9};
}

static void send_from(int32_t first)
{
  for (int32_t r = first; r < SIZE; r++) {
    sftest_edges_t edges = both_ways(r);
    sftest_send_edges(&clients[r], &edges);
  }
}

/* All hear that the graph is ready, and where both neighbours' slots for them are. */
static uint64_t expect_ready(void)
{
  sftest_peers_t peers = {.graph = 0};
  for (int32_t r = 0; r < SIZE; r++) {
    sftest_edges_t edges = both_ways(r);
    sftest_expect_peers(&clients[r], &peers);
    ck_assert(peers.ready);
    ck_assert_int_eq(peers.n, 2);
    ck_assert_int_eq(peers.nlanes, 2);
    for (int i = 0; i < 2; i++) {
      ck_assert_int_eq(peers.ranks[i], edges.ranks[i]);
      ck_assert_int_eq(peers.lane_ranks[i], edges.ranks[i]);
      ck_assert_uint_eq(peers.slots[i], 128 * ((uint64_t)r + 1));
    }
  }
  return peers.graph;
}

/* Round 1 is over, but not all; round 2 then goes its ordinary way. */
static void expect_two_rounds(void)
{
  sftest_peers_t peers = {.graph = 0};
  for (int32_t r = 0; r < SIZE; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert(!peers.ready);
    ck_assert_int_eq(peers.nlanes, 0);
  }
  for (int32_t r = 0; r < SIZE; r++)
    sftest_send_lanes(&clients[r], peers.graph, both_ways(r).ranks, 2, NULL);
  for (int32_t r = 0; r < SIZE; r++)
    sftest_expect_ready(&clients[r], peers.graph, r, both_ways(r).ranks, 2, NULL);
}

static void expect_error_on_all(sf_status_t status, const char *text)
{
  for (int r = 0; r < SIZE; r++)
    sftest_expect_error(&clients[r], status, text);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

/* ---- Ready ------------------------------------------------------------------------------------------------------- */

SFTEST(edges_lead_both_ways)
{
  send_from(1);
  sftest_expect_nothing(&clients[1]);
  sftest_edges_t edges = both_ways(0);
  sftest_send_edges(&clients[0], &edges);
  uint64_t graph = expect_ready();
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 1);
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_no_alert(&clients[r]);
    sftest_send_graph_destroy(&clients[r], graph);
    sftest_expect_done(&clients[r]);
  }
  for (int r = 0; r < SIZE; r++)
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST(no_edges_between_ranks)
{
  sftest_peers_t peers;
  for (int r = 0; r < SIZE; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = clients[0].job_id, .at_once = true});
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert(peers.ready && peers.n == 0 && peers.nlanes == 0);
  }
}

/* A rank that finds the others' lists bad fails the graph: it is ready. */
SFTEST(fails_like_any_other)
{
  send_from(0);
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  fail.graph = expect_ready();
  fail.has_status = true;
  fail.status = SF_ERR_RANGE;
  fail.detail = (char *)(uintptr_t) "root index 99";
  sftest_send_body(&clients[2], SFPROTO__MESSAGE__BODY_GRAPH_FAIL, &fail, NULL, 0);
  sftest_expect_done(&clients[2]);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__GRAPH_FAILED, "root index 99");
  sftest_ring(clients, SIZE);
}

/* Nobody waits for it: a rank may leave at once. */
SFTEST(goodbye_when_ready)
{
  send_from(0);
  uint64_t graph = expect_ready();
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  for (int r = 0; r < SIZE; r++)
    if (r != 1) {
      sftest_expect_no_alert(&clients[r]);
      sftest_send_graph_destroy(&clients[r], graph);
      sftest_expect_done(&clients[r]);
    }
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST(commit_is_out_of_turn)
{
  send_from(0);
  uint64_t graph = expect_ready();
  sftest_send_lanes(&clients[3], graph, both_ways(3).ranks, 2, NULL);
  sftest_expect_error(&clients[3], SF_ERR_PROTO, "does not wait for it");
  sftest_expect_closed(&clients[3]);
}

/* ---- Not ready --------------------------------------------------------------------------------------------------- */

SFTEST(one_does_not_ask)
{
  sftest_edges_t edges = both_ways(0);
  edges.at_once = false;
  send_from(1);
  sftest_send_edges(&clients[0], &edges);
  expect_two_rounds();
}

/* -1: it is not said; else there are 10 roots, and the list does not show that one is not there. */
SFTEST_FOR(highest_root_is_in_doubt, 3)
{
  static const int64_t root_max[] = {-1, 10, INT64_MAX};
  sftest_edges_t edges = both_ways(0);
  edges.root_max = root_max[_i];
  send_from(1);
  sftest_send_edges(&clients[0], &edges);
  expect_two_rounds();
}

SFTEST(edges_lead_one_way)
{
  sftest_edges_t edges = both_ways(0); /* to 1, but not to 3, which has edges to 0 */
  edges.nblocks = 1;
  send_from(1);
  sftest_send_edges(&clients[0], &edges);
  expect_two_rounds();
}

SFTEST(flags_that_differ)
{
  sftest_edges_t edges = both_ways(2);
  edges.flags = 1;
  send_from(3);
  sftest_send_edges(&clients[2], &edges);
  for (int r = 0; r < 2; r++) {
    edges = both_ways(r);
    edges.flags = 1;
    sftest_send_edges(&clients[r], &edges);
  }
  expect_error_on_all(SF_ERR_MISMATCH, "0x1 on group rank 0, 0x0 on group rank 3");
  send_from(0);
  expect_ready();
}

SFTEST(error_of_one)
{
  Sfproto__SetupError error = sftest_setup_error(SF_ERR_RANGE, 1, 17, "leaf 17");
  sftest_edges_t edges = both_ways(0);
  sftest_send_edges(&clients[0], &edges);
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = clients[0].job_id, .error = &error});
  send_from(2);
  expect_error_on_all(SF_ERR_RANGE, "leaf 17");
  send_from(0);
  expect_ready();
}

SFTEST(one_dies_before_the_last_comes)
{
  send_from(1);
  sftest_drop(&clients[3]);
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 3");
  sftest_expect_error(&clients[2], SF_ERR_RANK_FAILED, "rank 3");
  sftest_edges_t edges = both_ways(0);
  sftest_send_edges(&clients[0], &edges);
  sftest_expect_error(&clients[0], SF_ERR_RANK_FAILED, "rank 3");
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST(one_dies_when_it_is_ready)
{
  send_from(0);
  sftest_daemon_settle(&daemon_);
  sftest_drop(&clients[3]);
  sftest_peers_t peers;
  for (int r = 0; r < SIZE - 1; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert(peers.ready);
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__JOB_FAILED, "rank 3");
  }
}

/* ---- What a client may not say ----------------------------------------------------------------------------------- */

SFTEST_FOR(malformed, 5)
{
  Sfproto__SetupError error = sftest_setup_error(SF_ERR_RANGE, 1, 17, "leaf 17");
  const struct {
    sftest_edges_t edges;
    const char *text;
  } cases[] = {
      {{.nblocks = 2, .ranks = {0, 2}, .more_lanes = -1}, "lanes to other ranks than its blocks"},
      {{.nblocks = 1, .ranks = {0, 2}, .more_lanes = 1}, "lanes to other ranks than its blocks"},
      {{.ranks = {0}, .more_lanes = 1}, "lanes to other ranks than its blocks"},
      {{.error = &error}, "lanes at the wrong time"},
      {{.nblocks = 2, .ranks = {2, 0}}, "block for rank 0 after that for rank 2"},
  };
  sftest_edges_t edges = cases[_i].edges;
  edges.group = clients[0].job_id;
  edges.at_once = true;
  edges.root_max = 9;
  sftest_send_edges(&clients[1], &edges);
  sftest_expect_error(&clients[1], SF_ERR_PROTO, cases[_i].text);
  sftest_expect_closed(&clients[1]);
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__JOB_FAILED, cases[_i].text);
}

/* ---- Many -------------------------------------------------------------------------------------------------------- */

/* Ends of lanes come with the last of several messages. */
SFTEST(more_peers_than_in_a_message)
{
  enum { N = SFTEST_MAX_RANKS };
  static sftest_client_t many[N];
  sftest_peers_t peers;
  sftest_join_all(&daemon_, many, "many", N);
  for (int32_t r = 0; r < N; r++) {
    sftest_edges_t edges = {.group = many[0].job_id, .at_once = true, .root_max = 9};
    for (int32_t other = 0; other < N; other++)
      if (other != r)
        edges.ranks[edges.nblocks++] = other;
    sftest_send_edges(&many[r], &edges);
  }
  for (int32_t r = 0; r < N; r++) {
    sftest_expect_peers(&many[r], &peers);
    ck_assert(peers.ready && peers.nmessages == 3 && peers.n == N - 1 && peers.nlanes == N - 1);
    for (int32_t i = 0; i < N - 1; i++) {
      ck_assert_int_eq(peers.lane_ranks[i], i < r ? i : i + 1);
      ck_assert_uint_eq(peers.slots[i], 128 * ((uint64_t)r + 1));
    }
  }
  sftest_drop_all(many, N);
}

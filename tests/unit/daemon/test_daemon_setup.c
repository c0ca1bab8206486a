/* Graph set-up: both rounds, and what goes wrong in them. Edge lists that are malformed: test_daemon_edges.c. */
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 4

static uint64_t world(void)
{
  return clients[0].job_id;
}

/* Round 1 without edges for all but the first n ranks. */
static void send_empty_from(int n)
{
  for (int r = n; r < SIZE; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = world()});
}

/* Takes empty GraphReply of all; the graph. */
static uint64_t expect_empty_peers(void)
{
  sftest_peers_t peers;
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert_int_eq(peers.n, 0);
  }
  return peers.graph;
}

static void expect_error_on_all(sf_status_t status, const char *text)
{
  for (int r = 0; r < SIZE; r++)
    sftest_expect_error(&clients[r], status, text);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(blocks_are_turned_around)
{
  sftest_peers_t peers;
  sftest_send_edges(&clients[3], &(sftest_edges_t){.group = world(), .nblocks = 2, .ranks = {0, 1}});
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = world(), .nblocks = 1, .ranks = {0}});
  sftest_send_edges(&clients[2], &(sftest_edges_t){.group = world()});
  sftest_expect_nothing(&clients[1]);
  sftest_send_edges(&clients[0], &(sftest_edges_t){.group = world(), .nblocks = 1, .ranks = {3}});
  sftest_expect_peers(&clients[0], &peers);
  ck_assert_int_eq(peers.n, 2);
  ck_assert_int_eq(peers.ranks[0], 1);
  ck_assert_uint_eq(peers.offsets[0], 128);
  ck_assert_int_eq(peers.ranks[1], 3);
  ck_assert_uint_eq(peers.offsets[1], 128);
  sftest_expect_peers(&clients[1], &peers);
  ck_assert_int_eq(peers.n, 1);
  ck_assert_int_eq(peers.ranks[0], 3);
  ck_assert_uint_eq(peers.offsets[0], 256);
  sftest_expect_peers(&clients[2], &peers);
  ck_assert_int_eq(peers.n, 0);
  sftest_expect_peers(&clients[3], &peers);
  ck_assert_int_eq(peers.n, 1);
  ck_assert_int_eq(peers.ranks[0], 0);
}

SFTEST(ring)
{
  uint64_t first = sftest_ring(clients, SIZE), second = sftest_ring(clients, SIZE);
  ck_assert_uint_gt(second, first);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 2);
}

SFTEST(graph_without_edges_between_ranks)
{
  send_empty_from(0);
  uint64_t graph = expect_empty_peers();
  for (int r = 0; r < SIZE; r++)
    sftest_send_lanes(&clients[r], graph, NULL, 0, NULL);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_ready(&clients[r], graph, r, NULL, 0, NULL);
}

SFTEST(graph_on_a_subgroup_translates_ranks)
{
  static const int32_t ranks[] = {3, 1}, zero[] = {0}, one[] = {1};
  sftest_peers_t peers;
  sftest_send_group_create(&clients[1], ranks, 2, 0);
  sftest_send_group_create(&clients[3], ranks, 2, 0);
  uint64_t group = sftest_expect_group(&clients[1]);
  sftest_expect_group(&clients[3]);
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = group, .nblocks = 1, .ranks = {0}});
  sftest_send_edges(&clients[3], &(sftest_edges_t){.group = group});
  sftest_expect_peers(&clients[3], &peers);
  ck_assert_int_eq(peers.n, 1);
  ck_assert_int_eq(peers.ranks[0], 1);
  sftest_expect_peers(&clients[1], &peers);
  ck_assert_int_eq(peers.n, 0);
  sftest_send_lanes(&clients[3], peers.graph, one, 1, NULL);
  sftest_send_lanes(&clients[1], peers.graph, zero, 1, NULL);
  sftest_expect_ready(&clients[3], peers.graph, 0, one, 1, ranks);
  sftest_expect_ready(&clients[1], peers.graph, 1, zero, 1, ranks);
}

SFTEST(several_at_a_time_are_matched_by_order)
{
  sftest_peers_t peers;
  uint64_t graphs[3];
  for (int r = SIZE - 1; r >= 0; r--)
    for (int i = 0; i < 3; i++)
      sftest_send_edges(&clients[r], &(sftest_edges_t){.group = world(), .flags = (uint32_t)i});
  for (int r = 0; r < SIZE; r++)
    for (int i = 0; i < 3; i++) {
      clients[r].last_request += i == 0 ? (uint64_t)-2 : 1;
      sftest_expect_peers(&clients[r], &peers);
      if (r == 0)
        graphs[i] = peers.graph;
      ck_assert_uint_eq(peers.graph, graphs[i]);
    }
  ck_assert_uint_lt(graphs[0], graphs[1]);
  ck_assert_uint_lt(graphs[1], graphs[2]);
}

SFTEST(lowest_error_of_round_1_wins)
{
  Sfproto__SetupError late = sftest_setup_error(SF_ERR_ARG, 3, 0, "third");
  Sfproto__SetupError early = sftest_setup_error(SF_ERR_RANGE, 1, 17, "first\tone");
  sftest_send_edges(&clients[3], &(sftest_edges_t){.group = world(), .error = &late});
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = world(), .error = &early});
  sftest_send_edges(&clients[0], &(sftest_edges_t){.group = world(), .nblocks = 1, .ranks = {2}});
  sftest_send_edges(&clients[2], &(sftest_edges_t){.group = world(), .flags = 1});
  expect_error_on_all(SF_ERR_RANGE, "first?one");
  sftest_ring(clients, SIZE); /* the ranks go on */
}

SFTEST(flags_that_differ)
{
  for (int r = 0; r < SIZE; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = world(), .flags = r == 2 ? 5 : 4});
  expect_error_on_all(SF_ERR_MISMATCH, "0x4 on group rank 0, 0x5 on group rank 2");
}

SFTEST(lowest_error_of_round_2_wins)
{
  send_empty_from(0);
  uint64_t graph = expect_empty_peers();
  Sfproto__SetupError of_3 = sftest_setup_error(SF_ERR_RANGE, 2, 9, "leaf 9");
  Sfproto__SetupError of_0 = sftest_setup_error(SF_ERR_RANGE, 2, 10, "leaf 10");
  sftest_send_lanes(&clients[0], graph, NULL, 0, &of_0);
  sftest_send_lanes(&clients[1], graph, NULL, 0, NULL);
  sftest_send_lanes(&clients[3], graph, NULL, 0, &of_3);
  sftest_expect_nothing(&clients[0]);
  sftest_send_lanes(&clients[2], graph, NULL, 0, NULL);
  expect_error_on_all(SF_ERR_RANGE, "leaf 9");
  sftest_ring(clients, SIZE);
}

SFTEST(lanes_must_agree)
{
  static const int32_t two[] = {2};
  send_empty_from(0);
  uint64_t graph = expect_empty_peers();
  sftest_send_lanes(&clients[1], graph, two, 1, NULL);
  for (int r = 0; r < SIZE; r++)
    if (r != 1)
      sftest_send_lanes(&clients[r], graph, NULL, 0, NULL);
  expect_error_on_all(SF_ERR_PROTO, "group rank 1 has a lane to rank 2, which has none");
}

/* ---- What a client may not say ---- */

/* The sender is disconnected and its job fails; no other job notices. */
static void expect_violation(sftest_client_t *client, const char *text)
{
  sftest_expect_error(client, SF_ERR_PROTO, text);
  sftest_expect_closed(client);
  for (int r = 0; r < SIZE; r++)
    if (&clients[r] != client)
      sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__JOB_FAILED, text);
}

SFTEST_FOR(malformed_errors, 2)
{
  Sfproto__SetupError error = _i == 0 ? sftest_setup_error(SF_OK, 0, 0, "") : sftest_setup_error(-1, SIZE, 0, "");
  sftest_send_edges(&clients[0], &(sftest_edges_t){.group = world(), .error = &error});
  expect_violation(&clients[0], "malformed error");
}

SFTEST_FOR(malformed_lanes, 3)
{
  static const struct {
    int32_t ranks[2];
    const char *text;
  } cases[] = {
      {{0, 2}, "lane to rank 0 of a group of 4"}, {{SIZE, 0}, "lane to rank 4"}, {{2, 1}, "after that to rank 2"}};
  send_empty_from(0);
  uint64_t graph = expect_empty_peers();
  sftest_send_lanes(&clients[0], graph, cases[_i].ranks, 2, NULL);
  expect_violation(&clients[0], cases[_i].text);
}

SFTEST_FOR(commit_out_of_turn, 3)
{
  if (_i == 0) {
    sftest_send_lanes(&clients[1], 12345, NULL, 0, NULL); /* no such graph */
  } else if (_i == 1) {
    sftest_send_edges(&clients[1], &(sftest_edges_t){.group = world()});
    sftest_send_lanes(&clients[1], world() + 1, NULL, 0, NULL); /* still in round 1 */
  } else {
    send_empty_from(0);
    uint64_t graph = expect_empty_peers();
    sftest_send_lanes(&clients[1], graph, NULL, 0, NULL);
    sftest_send_lanes(&clients[1], graph, NULL, 0, NULL); /* twice */
  }
  sftest_expect_error(&clients[1], SF_ERR_PROTO, "does not wait for it");
  sftest_expect_closed(&clients[1]);
}

SFTEST(unknown_group)
{
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = 999999});
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "no group 999999");
  sftest_ring(clients, SIZE);
}

/* ---- Leaving ---- */

SFTEST(goodbye_before_round_1)
{
  send_empty_from(2);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  sftest_expect_error(&clients[2], SF_ERR_STATE, "rank 0 (pid");
  sftest_expect_error(&clients[3], SF_ERR_STATE, "has left");
  sftest_send_edges(&clients[1], &(sftest_edges_t){.group = world()});
  sftest_expect_error(&clients[1], SF_ERR_STATE, "has left");
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

SFTEST(goodbye_before_round_2)
{
  send_empty_from(0);
  uint64_t graph = expect_empty_peers();
  sftest_send_lanes(&clients[1], graph, NULL, 0, NULL);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  sftest_expect_error(&clients[1], SF_ERR_STATE, "has left");
  sftest_send_lanes(&clients[2], graph, NULL, 0, NULL);
  sftest_expect_error(&clients[2], SF_ERR_STATE, "rank 0 (pid");
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 1);
  sftest_send_goodbye(&clients[3]);
  sftest_expect_done(&clients[3]);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

/* ---- Many ---- */

SFTEST(many_neighbours_come_in_portions)
{
  enum { N = 70 };
  static sftest_client_t many[N];
  sftest_peers_t peers;
  sftest_join_all(&daemon_, many, "many", N);
  for (int r = 0; r < N; r++) {
    sftest_edges_t edges = {.group = many[0].job_id};
    for (int i = 0; i < N; i++)
      if (i != r)
        edges.ranks[edges.nblocks++] = i;
    sftest_send_edges(&many[r], &edges);
  }
  for (int r = 0; r < N; r++) {
    sftest_expect_peers(&many[r], &peers);
    ck_assert_int_eq(peers.n, N - 1);
    ck_assert_int_eq(peers.nmessages, 3);
  }
  int32_t others[N];
  for (int round = 0; round < 2; round++)
    for (int r = 0; r < N; r++) {
      int32_t n = 0;
      for (int i = 0; i < N; i++)
        if (i != r)
          others[n++] = i;
      if (round == 0)
        sftest_send_lanes(&many[r], peers.graph, others, n, NULL);
      else
        sftest_expect_ready(&many[r], peers.graph, r, others, n, NULL);
    }
  sftest_drop_all(many, N);
}

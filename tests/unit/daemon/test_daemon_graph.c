/* The life of graphs that are set up: failing, destroying, retiring. */
#include "daemon/base/node_board.h"
#include "daemon/client_requests.h"
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 3

static void destroy(int r, uint64_t graph)
{
  sftest_send_graph_destroy(&clients[r], graph);
  sftest_expect_done(&clients[r]);
}

static void send_fail(int r, uint64_t graph, const char *detail)
{
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  fail.graph = graph;
  fail.detail = (char *)(uintptr_t)detail;
  sftest_send_body(&clients[r], SFPROTO__MESSAGE__BODY_GRAPH_FAIL, &fail, NULL, 0);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST(retired_when_all_have_destroyed_it)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  destroy(2, graph);
  destroy(0, graph);
  sftest_expect_no_alert(&clients[0]);
  destroy(1, graph);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  ck_assert_int_eq(daemon_.server->statistics.ngraphs, 0);
}

/* Holds that a graph is retired, as of graphs over nodes, in rank 0's session, where no time lets go of it. */
static void hold_one(sfd_session_t *session)
{
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = SFPROTO__ALERT__KIND__GRAPH_RETIRED;
  alert.has_graph = true;
  sfd_session_hold_alert(session, &alert);
  uv_timer_stop(&session->retry);
}

static sfd_session_t *hold_alerts(void)
{
  sfd_session_t *session = TAILQ_FIRST(&daemon_.server->jobs->list)->ranks[0]->session;
  for (int i = 0; i < 3; i++)
    hold_one(session);
  ck_assert_int_eq(session->nheld, 3);
  return session;
}

static int count_retired(void)
{
  sfproto_incoming_t incoming;
  int n = 0;
  ck_assert_int_eq(sfproto_conn_read(clients[0].alerts), SF_OK);
  while (sfproto_conn_next(clients[0].alerts, &incoming)) {
    ck_assert_int_eq(incoming.message->alert->kind, SFPROTO__ALERT__KIND__GRAPH_RETIRED);
    sfproto_incoming_free(&incoming);
    n++;
  }
  return n;
}

SFTEST(retired_is_held_until_something_is_to_be_told)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  const sfd_session_t *session = hold_alerts();
  sftest_expect_no_alert(&clients[0]);
  int held = session->nheld;
  send_fail(1, graph, "something");
  sftest_expect_done(&clients[1]);
  for (int i = 0; i < held; i++)
    sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_FAILED, "something");
}

/* In the same turn of the loop, before what was queued has gone. */
SFTEST(retired_holds_nothing_up)
{
  sfd_session_t *session = TAILQ_FIRST(&daemon_.server->jobs->list)->ranks[0]->session;
  Sfproto__Alert alert = SFPROTO__ALERT__INIT;
  alert.kind = SFPROTO__ALERT__KIND__GRAPH_FAILED;
  alert.detail = "something";
  sfd_session_send_alert(session, &alert);
  hold_one(session);
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_FAILED, "something");
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
}

SFTEST(retired_is_told_when_the_rank_needs_memory)
{
  Sfproto__SegmentAdd add = SFPROTO__SEGMENT_ADD__INIT;
  int fd = sftest_region(SFSHM_REGION_INBOX, 4096);
  const sfd_session_t *session = hold_alerts();
  Sfproto__Message message = sftest_message(&clients[0]);
  int held = session->nheld;
  add.segment = 1;
  add.length = 4096;
  add.inbox = true;
  message.body_case = SFPROTO__MESSAGE__BODY_SEGMENT_ADD;
  message.segment_add = &add;
  sftest_send(&clients[0], &message, &fd, 1);
  sftest_expect_done(&clients[0]);
  close(fd);
  ck_assert_int_eq(count_retired(), held);
}

SFTEST(many_retired_are_told_at_once)
{
  sfd_session_t *session = hold_alerts();
  int held = 3;
  for (; session->nheld > 0; held++) {
    sftest_expect_no_alert(&clients[0]);
    hold_one(session);
  }
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(held, 16);
  ck_assert_int_eq(count_retired(), held);
}

SFTEST(destroyed_twice_or_unknown)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  destroy(1, graph);
  sftest_send_graph_destroy(&clients[1], graph);
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "no graph");
  sftest_send_graph_destroy(&clients[1], graph + 1);
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "no graph");
}

/* Being woken takes longer than a request does; ranks that share the daemon's core are not to be held up. */
SFTEST(with_a_core_to_spare_more_requests_are_looked_for)
{
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfproto_incoming_t incoming = {.message = &message};
  sfd_session_t *session = TAILQ_FIRST(&daemon_.server->jobs->list)->ranks[0]->session;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_DESTROY;
  message.graph_destroy = &destroy;
  for (int32_t spare = 0; spare < 2; spare++) {
    daemon_.server->board->own_cores = SIZE + spare;
    daemon_.server->idle.expected_until_ns = 0;
    sfd_client_requests_handle(session, &incoming);
    ck_assert((daemon_.server->idle.expected_until_ns != 0) == (spare > 0));
  }
}

SFTEST(destroyed_in_set_up)
{
  sftest_peers_t peers;
  for (int r = 0; r < SIZE; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = clients[0].job_id});
  for (int r = 0; r < SIZE; r++)
    sftest_expect_peers(&clients[r], &peers);
  sftest_send_graph_destroy(&clients[1], peers.graph);
  sftest_expect_error(&clients[1], SF_ERR_STATE, "is being set up");
}

SFTEST(who_leaves_destroys)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  destroy(0, graph);
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  destroy(2, graph);
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  sftest_expect_alert(&clients[2], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  sftest_expect_no_alert(&clients[1]);
}

SFTEST(last_one_leaves)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  destroy(0, graph);
  for (int r = 1; r < SIZE; r++) {
    sftest_send_goodbye(&clients[r]);
    sftest_expect_done(&clients[r]);
  }
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
}

SFTEST(only_the_first_failure_counts)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  send_fail(1, graph, "bcast against\nreduce");
  sftest_expect_done(&clients[1]);
  send_fail(2, graph, "something else");
  sftest_expect_done(&clients[2]);
  for (int r = 0; r < SIZE; r++) {
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__GRAPH_FAILED, "bcast against?reduce");
    sftest_expect_no_alert(&clients[r]);
  }
  for (int r = 0; r < SIZE; r++)
    destroy(r, graph);
  for (int r = 0; r < SIZE; r++)
    sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  send_fail(0, graph, "too late");
  sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "no graph");
}

SFTEST(very_long_text_is_cut)
{
  static char text[100000];
  memset(text, 'x', sizeof text - 1);
  uint64_t graph = sftest_ring(clients, SIZE);
  send_fail(1, graph, text);
  sftest_expect_done(&clients[1]);
  text[SFD_TEXT_SIZE - 1] = '\0';
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_FAILED, text);
}

SFTEST(graph_outlives_its_group)
{
  static const int32_t ranks[] = {0, 1};
  sftest_peers_t peers;
  for (int r = 0; r < 2; r++)
    sftest_send_group_create(&clients[r], ranks, 2, 0);
  uint64_t group = sftest_expect_group(&clients[0]);
  sftest_expect_group(&clients[1]);
  for (int r = 0; r < 2; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = group});
  for (int r = 0; r < 2; r++) {
    sftest_expect_peers(&clients[r], &peers);
    Sfproto__GroupDestroy away = SFPROTO__GROUP_DESTROY__INIT;
    away.group = group;
    sftest_send_body(&clients[r], SFPROTO__MESSAGE__BODY_GROUP_DESTROY, &away, NULL, 0);
    sftest_expect_done(&clients[r]);
  }
  for (int r = 0; r < 2; r++)
    sftest_send_lanes(&clients[r], peers.graph, NULL, 0, NULL);
  for (int r = 0; r < 2; r++)
    sftest_expect_ready(&clients[r], peers.graph, r, NULL, 0, NULL);
  for (int r = 0; r < 2; r++)
    destroy(r, peers.graph);
  sftest_expect_alert(&clients[0], SFPROTO__ALERT__KIND__GRAPH_RETIRED, NULL);
  sftest_expect_no_alert(&clients[2]);
}

SFTEST(group_destroyed_by_one_fails_what_needs_it)
{
  static const int32_t ranks[] = {0, 1};
  for (int r = 0; r < 2; r++)
    sftest_send_group_create(&clients[r], ranks, 2, 0);
  uint64_t group = sftest_expect_group(&clients[0]);
  sftest_expect_group(&clients[1]);
  sftest_send_edges(&clients[0], &(sftest_edges_t){.group = group});
  Sfproto__GroupDestroy away = SFPROTO__GROUP_DESTROY__INIT;
  away.group = group;
  sftest_send_body(&clients[1], SFPROTO__MESSAGE__BODY_GROUP_DESTROY, &away, NULL, 0);
  sftest_expect_done(&clients[1]);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "rank 1 (pid");
  sftest_send_edges(&clients[0], &(sftest_edges_t){.group = group});
  sftest_expect_error(&clients[0], SF_ERR_STATE, "has destroyed the group");
}

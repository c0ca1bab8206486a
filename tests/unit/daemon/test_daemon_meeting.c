/* Meetings of a graph's ranks as the daemon holds them, with ranks that say what they like: whatever that is, the
 * daemon stays, nobody else's job notices, and those who wait get an answer. */
#include "daemon/jobs/graph.h"
#include "shm/lane/message.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 3
#define LONG_TEXT ((size_t)900 << 10)

typedef struct meet {
  uint64_t graph;
  uint64_t call;
  Sfproto__SetupError *error; /* NULL: none */
} meet_t;

static void send_meet(int r, const meet_t *meet)
{
  Sfproto__GraphMeet body = SFPROTO__GRAPH_MEET__INIT;
  Sfproto__Message message = sftest_message(&clients[r]);
  body.graph = meet->graph;
  body.call = meet->call;
  body.error = meet->error;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_MEET;
  message.graph_meet = &body;
  sftest_send(&clients[r], &message, NULL, 0);
}

static void send_fail(int r, uint64_t graph, const char *detail)
{
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  Sfproto__Message message = sftest_message(&clients[r]);
  fail.graph = graph;
  fail.detail = (char *)(uintptr_t)detail;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_FAIL;
  message.graph_fail = &fail;
  sftest_send(&clients[r], &message, NULL, 0);
}

/* All have come. text: of the error with which one has, NULL: none has. */
static void expect_met(int r, const char *text)
{
  sfproto_incoming_t incoming;
  sftest_expect(&clients[r], SFPROTO__MESSAGE__BODY_GRAPH_MET, &incoming);
  const Sfproto__SetupError *error = incoming.message->graph_met->error;
  ck_assert_int_eq(error != NULL, text != NULL);
  if (text != NULL)
    ck_assert_str_eq(error->detail, text);
  sfproto_incoming_free(&incoming);
}

static void expect_all_met(const char *text)
{
  for (int r = 0; r < SIZE; r++)
    expect_met(r, text);
}

static void expect_mismatch(uint64_t graph, const char *text)
{
  for (int r = 0; r < SIZE; r++)
    sftest_expect_error(&clients[r], SF_ERR_MISMATCH, text);
  ck_assert_int_eq(sfd_graph_find(TAILQ_FIRST(&daemon_.server->jobs->list), graph)->state, SFD_GRAPH_FAILED);
}

/* Another meeting of the graph ends well. */
static void expect_meeting(uint64_t graph)
{
  for (int r = 0; r < SIZE; r++)
    send_meet(r, &(meet_t){.graph = graph});
  expect_all_met(NULL);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

/* ---- Which graph ------------------------------------------------------------------------------------------------- */

SFTEST(no_such_graph)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  const uint64_t numbers[] = {0, graph + 1, UINT64_MAX, clients[0].job_id, UINT64_C(1) << 63};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    send_meet(0, &(meet_t){.graph = numbers[i]});
    sftest_expect_error(&clients[0], SF_ERR_NOT_FOUND, "has no graph");
  }
  expect_meeting(graph);
}

SFTEST(graph_of_others)
{
  sftest_peers_t peers;
  uint64_t group = 0;
  for (int r = 0; r < 2; r++)
    sftest_send_group_create(&clients[r], (int32_t[]){0, 1}, 2, 0);
  for (int r = 0; r < 2; r++)
    group = sftest_expect_group(&clients[r]);
  for (int r = 0; r < 2; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = group});
  for (int r = 0; r < 2; r++)
    sftest_expect_peers(&clients[r], &peers);
  send_meet(2, &(meet_t){.graph = peers.graph});
  sftest_expect_error(&clients[2], SF_ERR_NOT_FOUND, "rank 2 has no graph");
  send_meet(0, &(meet_t){.graph = peers.graph}); /* before it has told its lanes */
  sftest_expect_error(&clients[0], SF_ERR_STATE, "is being set up");
}

SFTEST(graph_that_is_destroyed)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  sftest_send_graph_destroy(&clients[1], graph);
  sftest_expect_done(&clients[1]);
  send_meet(1, &(meet_t){.graph = graph});
  sftest_expect_error(&clients[1], SF_ERR_NOT_FOUND, "rank 1 has no graph");
  send_meet(0, &(meet_t){.graph = graph, .call = sfshm_desc_of_make(SFSHM_MAKE_MULTI, 1)});
  sftest_expect_error(&clients[0], SF_ERR_MISMATCH, "has destroyed the graph");
  send_meet(2, &(meet_t){.graph = graph, .call = sfshm_desc_of_make(SFSHM_MAKE_MULTI, 1)});
  sftest_expect_error(&clients[2], SF_ERR_MISMATCH, "has destroyed the graph");
}

/* ---- In which order ---------------------------------------------------------------------------------------------- */

SFTEST(in_the_middle_of_it)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  send_meet(0, &(meet_t){.graph = graph});
  sftest_expect_nothing(&clients[0]);
  uint64_t waiting = clients[0].last_request;
  send_meet(0, &(meet_t){.graph = graph, .call = 1});
  sftest_expect_error(&clients[0], SF_ERR_STATE, "waits for the others of graph");
  sftest_send_graph_destroy(&clients[0], graph);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "waits for the others of graph");
  sftest_send_goodbye(&clients[0]);
  sftest_expect_error(&clients[0], SF_ERR_STATE, "");
  send_meet(1, &(meet_t){.graph = graph});
  send_meet(2, &(meet_t){.graph = graph});
  clients[0].last_request = waiting;
  expect_all_met(NULL);
  expect_meeting(graph);
}

SFTEST_FOR(death_in_the_middle_of_it, 3)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  send_meet(0, &(meet_t){.graph = graph});
  send_meet(1, &(meet_t){.graph = graph});
  sftest_expect_nothing(&clients[0]);
  sftest_drop(&clients[_i]);
  for (int r = 0; r < 2; r++)
    if (r != _i)
      sftest_expect_error(&clients[r], SF_ERR_RANK_FAILED, "died");
}

/* ---- For what ---------------------------------------------------------------------------------------------------- */

static const uint64_t odd_calls[] = {0, 3, UINT64_MAX, UINT64_C(1) << 63};

SFTEST_FOR(call_that_there_is_not, sizeof odd_calls / sizeof odd_calls[0])
{
  uint64_t graph = sftest_ring(clients, SIZE);
  for (int r = 0; r < SIZE; r++)
    send_meet(r, &(meet_t){.graph = graph, .call = odd_calls[_i]});
  expect_all_met(NULL);
  for (int r = 0; r < SIZE; r++)
    send_meet(r, &(meet_t){.graph = graph, .call = r == 1 ? odd_calls[_i] : sfshm_desc_of_make(SFSHM_MAKE_MULTI, 7)});
  expect_mismatch(graph, "rank 0 called what makes the multi-graph as operation 7, rank 1 called");
}

SFTEST(different_positions)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  for (int r = 0; r < SIZE; r++)
    send_meet(r, &(meet_t){.graph = graph, .call = sfshm_desc_of_make(SFSHM_MAKE_STREAMS, r == 2 ? 8 : 7)});
  expect_mismatch(graph, "as operation 7, rank 2 called what makes the graph ready for streams as operation 8");
}

/* ---- With which error -------------------------------------------------------------------------------------------- */

SFTEST(lowest_error_is_that_of_all)
{
  uint64_t graph = sftest_ring(clients, SIZE);
  Sfproto__SetupError errors[SIZE] = {sftest_setup_error(0, 0, 0, ""), sftest_setup_error(SF_ERR_ARG, 1, 5, "of 1"),
                                      sftest_setup_error(SF_ERR_RANGE, 2, -7, "of 2")};
  for (int r = SIZE - 1; r >= 0; r--)
    send_meet(r, &(meet_t){.graph = graph, .error = r > 0 ? &errors[r] : NULL});
  expect_all_met("of 1");
  expect_meeting(graph);
}

SFTEST(long_text)
{
  static char text[LONG_TEXT], cut[SFD_TEXT_SIZE];
  uint64_t graph = sftest_ring(clients, SIZE);
  memset(text, '\n', sizeof text - 1);
  memset(cut, '?', sizeof cut - 1);
  Sfproto__SetupError error = sftest_setup_error(SF_ERR_ARG, 2, -1, text);
  for (int r = 0; r < SIZE; r++)
    send_meet(r, &(meet_t){.graph = graph, .error = r == 2 ? &error : NULL});
  expect_all_met(cut);
  expect_meeting(graph);
}

SFTEST(long_text_of_a_failure)
{
  static char text[LONG_TEXT], cut[SFD_TEXT_SIZE];
  uint64_t graph = sftest_ring(clients, SIZE);
  memset(text, 'x', sizeof text - 1);
  memset(cut, 'x', sizeof cut - 1);
  send_meet(0, &(meet_t){.graph = graph});
  send_meet(1, &(meet_t){.graph = graph});
  send_fail(2, graph, text);
  sftest_expect_done(&clients[2]);
  send_meet(2, &(meet_t){.graph = graph});
  expect_mismatch(graph, cut);
}

/* The rank's own, and no other's; and an error. */
SFTEST_FOR(malformed_error, 6)
{
  static const int32_t statuses[] = {SF_OK, 1, INT32_MAX, SF_ERR_ARG, SF_ERR_ARG, SF_ERR_ARG};
  static const int32_t ranks[] = {1, 1, 1, 0, SIZE, INT32_MIN};
  uint64_t graph = sftest_ring(clients, SIZE);
  Sfproto__SetupError error = sftest_setup_error(SF_OK, ranks[_i], -1, "error");
  error.status = statuses[_i];
  send_meet(0, &(meet_t){.graph = graph});
  send_meet(1, &(meet_t){.graph = graph, .error = &error});
  sftest_expect_error(&clients[1], SF_ERR_PROTO, "malformed error");
  sftest_expect_closed(&clients[1]);
  sftest_expect_error(&clients[0], SF_ERR_RANK_FAILED, "malformed error");
}

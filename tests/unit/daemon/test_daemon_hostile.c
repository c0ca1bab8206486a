/* Clients that send garbage, break the rules, or do not read: only their own job suffers. Descriptors that harm:
 * test_daemon_lingering.c. */
#include <sys/socket.h>

#include "daemon/clients/accept.h"
#include "daemon/jobs/job.h"
#include "tests/unit/daemon_graphs.h"

typedef struct header {
  uint32_t magic;
  uint16_t version;
  uint16_t nfds;
  uint32_t length;
  uint32_t reserved;
} header_t;

SFTEST_CASE(sftest_daemon_beside_job(tests));

SFTEST(garbage_from_a_stranger)
{
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_send_bytes(&client, "GET / HTTP/1.1\r\n\r\n", 18);
  sftest_expect_error(&client, SF_ERR_PROTO, "");
  sftest_expect_closed(&client);
  sftest_drop(&client);
  ck_assert_uint_eq(daemon_.server->statistics.refused, 1);
}

SFTEST(other_version)
{
  sftest_client_t client;
  header_t header = {.magic = SFPROTO_MAGIC, .version = SFPROTO_VERSION + 1, .length = 100};
  sftest_connect(&daemon_, &client);
  sftest_send_bytes(&client, &header, sizeof header);
  sftest_expect_error(&client, SF_ERR_VERSION, "2");
  sftest_expect_closed(&client);
  sftest_drop(&client);
}

SFTEST(garbage_from_a_member)
{
  sftest_client_t clients[2];
  header_t header = {.magic = SFPROTO_MAGIC, .version = SFPROTO_VERSION, .length = 4};
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_send_bytes(&clients[0], &header, sizeof header);
  sftest_send_bytes(&clients[0], "\xff\xff\xff\xff", 4);
  sftest_expect_error(&clients[0], SF_ERR_PROTO, "");
  sftest_expect_closed(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "was disconnected: ");
  sftest_drop_all(clients, 2);
}

SFTEST(half_a_frame_and_death)
{
  sftest_client_t clients[2];
  header_t header = {.magic = SFPROTO_MAGIC, .version = SFPROTO_VERSION, .length = 1000};
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_send_bytes(&clients[0], &header, sizeof header);
  sftest_drop(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "died without sf_finalize");
  sftest_drop(&clients[1]);
}

/* ---- Messages out of place ---- */

static void expect_out_of_place(sftest_client_t *client, const char *text)
{
  sftest_expect_error(client, SF_ERR_PROTO, text);
  sftest_expect_closed(client);
}

SFTEST(something_else_before_hello)
{
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_send_goodbye(&client);
  expect_out_of_place(&client, "Goodbye before Hello");
  sftest_drop(&client);
}

SFTEST(something_before_welcome)
{
  sftest_client_t clients[2];
  sftest_join(&daemon_, &clients[0], "job", 0, 3);
  sftest_join(&daemon_, &clients[1], "job", 1, 3);
  sftest_send_goodbye(&clients[0]);
  expect_out_of_place(&clients[0], "Goodbye before Welcome");
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "was disconnected: Goodbye before Welcome");
  sftest_drop_all(clients, 2);
}

SFTEST(hello_twice)
{
  sftest_client_t client;
  Sfproto__Hello hello;
  sftest_join_all(&daemon_, &client, "job", 1);
  sfproto_conn_destroy(client.alerts);
  sftest_hello_init(&hello, "job", 0, 1);
  sftest_send_hello(&client, &hello);
  expect_out_of_place(&client, "Hello from a client");
  sftest_drop(&client);
  sftest_tool(&daemon_, &client);
  sftest_send_hello(&client, &hello);
  expect_out_of_place(&client, "Hello from a tool");
  sftest_drop(&client);
}

SFTEST(something_after_goodbye)
{
  sftest_client_t client;
  sftest_join_all(&daemon_, &client, "job", 1);
  sftest_send_goodbye(&client);
  sftest_expect_done(&client);
  sftest_send_goodbye(&client);
  expect_out_of_place(&client, "Goodbye after Goodbye");
  sftest_drop(&client);
  ck_assert_uint_eq(daemon_.server->statistics.jobs_failed, 0);
}

SFTEST(roles_are_kept_apart)
{
  sftest_client_t client;
  sftest_tool(&daemon_, &client);
  sftest_send_group_create(&client, (int32_t[]){0}, 1, 0);
  expect_out_of_place(&client, "GroupCreate from a tool");
  sftest_drop(&client);
  sftest_join_all(&daemon_, &client, "job", 1);
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = SFPROTO__QUERY__WHAT__STATUS;
  sftest_send_body(&client, SFPROTO__MESSAGE__BODY_QUERY, &query, NULL, 0);
  expect_out_of_place(&client, "Query from a client");
  sftest_drop(&client);
}

SFTEST_FOR(answers_and_empty_messages_are_no_requests, 2)
{
  sftest_client_t client;
  Sfproto__Done done = SFPROTO__DONE__INIT;
  sftest_join_all(&daemon_, &client, "job", 1);
  Sfproto__Message message = sftest_message(&client);
  if (_i == 1) {
    message.body_case = SFPROTO__MESSAGE__BODY_DONE;
    message.done = &done;
  }
  sftest_send(&client, &message, NULL, 0);
  expect_out_of_place(&client, "no request");
  sftest_drop(&client);
}

SFTEST(descriptors_that_nobody_wants)
{
  sftest_client_t client;
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  int fds[SFPROTO_MAX_FDS];
  sftest_join_all(&daemon_, &client, "job", 1);
  for (int i = 0; i < SFPROTO_MAX_FDS; i++)
    fds[i] = 0;
  sftest_send_body(&client, SFPROTO__MESSAGE__BODY_GOODBYE, &goodbye, fds, SFPROTO_MAX_FDS);
  expect_out_of_place(&client, "Goodbye with 64 descriptors");
  sftest_drop(&client);
}

/* ---- Those who do not read ---- */

SFTEST(answers_that_are_not_read)
{
  sftest_client_t clients[2];
  sftest_join_all(&daemon_, clients, "job", 2);
  for (int i = 0; i < 400000 && daemon_.server->statistics.jobs_failed == 0; i++)
    sftest_send_graph_destroy(&clients[0], UINT64_MAX);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "does not read its answers");
  sftest_drop_all(clients, 2);
}

SFTEST(alerts_that_are_not_read)
{
  static char detail[500];
  sftest_client_t client;
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  sftest_peers_t peers;
  memset(detail, 'x', sizeof detail - 1);
  sftest_join_all(&daemon_, &client, "job", 1);
  for (int i = 0; i < 10000 && daemon_.server->statistics.jobs_failed == 0; i++) {
    sftest_send_edges(&client, &(sftest_edges_t){.group = client.job_id});
    sftest_expect_peers(&client, &peers);
    sftest_send_lanes(&client, peers.graph, NULL, 0, NULL);
    sftest_expect_ready(&client, peers.graph, 0, NULL, 0, NULL);
    fail.graph = peers.graph;
    fail.detail = detail;
    sftest_send_body(&client, SFPROTO__MESSAGE__BODY_GRAPH_FAIL, &fail, NULL, 0);
    sfproto_incoming_t incoming;
    sftest_receive(&client, &incoming);
    sfproto_incoming_free(&incoming);
  }
  sftest_expect_closed(&client);
  ck_assert_uint_eq(daemon_.server->statistics.jobs_failed, 1);
  sftest_drop(&client);
}

SFTEST(no_hello_at_all)
{
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_daemon_settle(&daemon_);
  sfd_session_t *session = TAILQ_LAST(&daemon_.server->clients->sessions, sfd_session_list);
  uv_timer_set_repeat(&session->timer, 1); /* its time passes faster */
  uv_timer_again(&session->timer);
  sftest_expect_error(&client, SF_ERR_TIMEOUT, "no Hello");
  sftest_drop(&client);
}

/* It can be read when the daemon has closed its end, also behind input that nobody took. */
SFTEST(last_word_that_is_read_late)
{
  sftest_client_t client;
  sftest_connect(&daemon_, &client);
  sftest_send_bytes(&client, "garbage garbage garbage", 23);
  sftest_daemon_settle(&daemon_);
  ck_assert_int_eq(daemon_.server->clients->nsessions, 2);
  sftest_expect_error(&client, SF_ERR_PROTO, "");
  sftest_expect_closed(&client);
  sftest_drop(&client);
}

/* Behind answers that fill the socket it is given up after a second. */
SFTEST(last_word_that_is_not_read)
{
  sftest_client_t client;
  sftest_join_all(&daemon_, &client, "job", 1);
  sfd_session_t *session = TAILQ_LAST(&daemon_.server->clients->sessions, sfd_session_list);
  for (int i = 0; i < 100000 && sfproto_conn_queued_bytes(session->conn) == 0; i++) {
    sftest_send_graph_destroy(&client, UINT64_MAX);
    uv_run(&daemon_.loop, UV_RUN_NOWAIT);
  }
  ck_assert_uint_gt(sfproto_conn_queued_bytes(session->conn), 0);
  sftest_send_bytes(&client, "garbage garbage garbage", 23);
  sftest_daemon_settle(&daemon_);
  ck_assert(daemon_.server->clients->nsessions == 2 || session->state == SFD_SESSION_ENDING);
  while (daemon_.server->clients->nsessions > 2) {
    usleep(20000);
    sftest_daemon_settle(&daemon_);
  }
  sftest_drop(&client);
}

/* ---- Shortage of descriptors ---- */

/* A daemon that lacks descriptors looks first at what it receives, and receives the same. */
SFTEST(looking_first)
{
  sftest_client_t clients[2];
  daemon_.server->max_fds = 500;
  ck_assert(sfd_clients_lack_fds(daemon_.server));
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_ring(clients, 2);
  sftest_drop_all(clients, 2);
}

/* Introspection: what tools are told. */
#include "daemon/clients/accept.h"
#include "daemon/jobs/job.h"
#include "shm/observe/counters.h"
#include "tests/unit/daemon_graphs.h"

static sftest_client_t tool;

static void setup(void)
{
  sftest_daemon_start(&daemon_);
  sftest_tool(&daemon_, &tool);
}

static void teardown(void)
{
  sftest_drop(&tool);
  sftest_daemon_expect_idle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

SFTEST_FIXTURE(setup, teardown);

static void queue_query(Sfproto__Query__What what)
{
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = what;
  Sfproto__Message message = sftest_message(&tool);
  message.body_case = SFPROTO__MESSAGE__BODY_QUERY;
  message.query = &query;
  ck_assert_int_eq(sfproto_conn_queue(tool.conn, &message, NULL, 0), SF_OK);
}

static void ask(Sfproto__Query__What what)
{
  queue_query(what);
  ck_assert_int_eq(sfproto_conn_flush(tool.conn), SF_OK);
}

static void expect_end(int32_t count)
{
  sfproto_incoming_t incoming;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_QUERY_END, &incoming);
  ck_assert_int_eq(incoming.message->query_end->count, count);
  sfproto_incoming_free(&incoming);
}

SFTEST(status)
{
  sftest_client_t clients[2];
  sfproto_incoming_t incoming;
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_ring(clients, 2);
  ask(SFPROTO__QUERY__WHAT__STATUS);
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_STATUS_INFO, &incoming);
  const Sfproto__StatusInfo *info = incoming.message->status_info;
  ck_assert_str_eq(info->software, SFD_SOFTWARE);
  ck_assert_str_eq(info->socket, daemon_.path);
  ck_assert_uint_eq(info->protocol, SFPROTO_VERSION);
  ck_assert_int_eq(info->pid, getpid());
  ck_assert_uint_eq(info->uid, getuid());
  ck_assert_int_ge(info->cores, 1);
  ck_assert_int_eq(info->jobs, 1);
  ck_assert_int_eq(info->ranks, 2);
  ck_assert_int_eq(info->graphs, 1);
  ck_assert_uint_eq(info->jobs_total, 1);
  ck_assert_uint_eq(info->jobs_failed, 0);
  sfproto_incoming_free(&incoming);
  expect_end(1);
  sftest_drop_all(clients, 2);
}

static void expect_job(const char *name, const char *state, int32_t size, int32_t joined, const char *detail)
{
  sfproto_incoming_t incoming;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_JOB_INFO, &incoming);
  const Sfproto__JobInfo *info = incoming.message->job_info;
  ck_assert_str_eq(info->name, name);
  ck_assert_str_eq(info->state, state);
  ck_assert_int_eq(info->size, size);
  ck_assert_int_eq(info->joined, joined);
  ck_assert_uint_eq(info->uid, getuid());
  ck_assert_int_eq(info->groups, strcmp(state, "joining") == 0 ? 0 : 1);
  ck_assert(detail == NULL ? info->detail == NULL : strstr(info->detail, detail) != NULL);
  sfproto_incoming_free(&incoming);
}

SFTEST(jobs)
{
  sftest_client_t joining, running[2], failed[2];
  sftest_join(&daemon_, &joining, "a", 2, 5);
  sftest_join_all(&daemon_, running, "b", 2);
  sftest_join_all(&daemon_, failed, "c", 2);
  sftest_drop(&failed[0]);
  sftest_daemon_settle(&daemon_);
  ask(SFPROTO__QUERY__WHAT__JOBS);
  expect_job("a", "joining", 5, 1, NULL);
  expect_job("b", "running", 2, 2, NULL);
  expect_job("c", "failed", 2, 2, "rank 0 (pid");
  expect_end(3);
  sftest_drop(&joining);
  sftest_drop_all(running, 2);
  sftest_drop(&failed[1]);
}

static void expect_rank(int32_t rank, const char *state, size_t nregions)
{
  sfproto_incoming_t incoming;
  sfshm_region_t counters;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_RANK_INFO, &incoming);
  const Sfproto__RankInfo *info = incoming.message->rank_info;
  ck_assert_int_eq(info->rank, rank);
  ck_assert_str_eq(info->state, state);
  ck_assert_str_eq(info->job, "job");
  ck_assert_str_eq(info->program, "test");
  ck_assert_int_eq(info->pid, getpid());
  ck_assert_uint_eq(info->n_regions, nregions);
  if (nregions > 0) {
    ck_assert_str_eq(info->regions[0]->kind, "inbox");
    ck_assert_str_eq(info->regions[0]->method, "slots");
    ck_assert_uint_eq(info->regions[0]->length, SFTEST_INBOX_BYTES);
  }
  if (nregions > 1) {
    ck_assert_str_eq(info->regions[1]->kind, "registered");
    ck_assert_str_eq(info->regions[1]->method, "vm-read");
    ck_assert_uint_eq(info->regions[1]->region, 9);
  }
  ck_assert_int_eq(incoming.nfds, 1);
  ck_assert_int_eq(sfshm_region_map(incoming.fds[0], SFSHM_REGION_COUNTERS, 16 << 20, SFSHM_READ_ONLY, &counters),
                   SF_OK);
  sfshm_region_destroy(&counters);
  sfproto_incoming_free(&incoming);
}

SFTEST(ranks)
{
  sftest_client_t clients[4];
  Sfproto__RegionAdd add = SFPROTO__REGION_ADD__INIT;
  sftest_join_all(&daemon_, clients, "job", 4);
  add.region = 9;
  add.length = 100;
  add.method = SFPROTO__REGION_ADD__METHOD__VM_READ;
  sftest_send_body(&clients[0], SFPROTO__MESSAGE__BODY_REGION_ADD, &add, NULL, 0);
  sftest_expect_done(&clients[0]);
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  sftest_drop(&clients[2]);
  sftest_daemon_settle(&daemon_);
  ask(SFPROTO__QUERY__WHAT__RANKS);
  expect_rank(0, "running", 2);
  expect_rank(1, "left", 1);
  expect_rank(2, "failed", 0);
  expect_rank(3, "running", 1);
  expect_end(4);
  sftest_drop_all(clients, 4);
}

SFTEST(ranks_of_a_job_that_joins)
{
  sftest_client_t client;
  sftest_join(&daemon_, &client, "job", 7, 9);
  ask(SFPROTO__QUERY__WHAT__RANKS);
  expect_rank(7, "joining", 1);
  expect_end(1);
  sftest_drop(&client);
}

static void expect_graph(uint64_t graph, const char *state, const char *detail)
{
  sfproto_incoming_t incoming;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_GRAPH_INFO, &incoming);
  const Sfproto__GraphInfo *info = incoming.message->graph_info;
  ck_assert_uint_eq(info->graph, graph);
  ck_assert_str_eq(info->state, state);
  ck_assert_str_eq(info->job, "job");
  ck_assert_int_eq(info->size, 3);
  ck_assert_int_eq(info->nroots, 30);
  ck_assert_int_eq(info->nleaves, 3000);
  ck_assert_int_eq(info->pairs, 3);
  ck_assert_uint_eq(info->n_job_ranks, 3);
  ck_assert_int_eq(info->job_ranks[2], 2);
  ck_assert(detail == NULL ? info->detail == NULL : strcmp(info->detail, detail) == 0);
  sfproto_incoming_free(&incoming);
}

SFTEST(graphs)
{
  sftest_client_t clients[3];
  char detail[] = "why";
  Sfproto__GraphFail fail = SFPROTO__GRAPH_FAIL__INIT;
  sftest_join_all(&daemon_, clients, "job", 3);
  uint64_t ready = sftest_ring(clients, 3), failed = sftest_ring(clients, 3), retiring = sftest_ring(clients, 3);
  fail.graph = failed;
  fail.detail = detail;
  sftest_send_body(&clients[1], SFPROTO__MESSAGE__BODY_GRAPH_FAIL, &fail, NULL, 0);
  sftest_expect_done(&clients[1]);
  sftest_send_graph_destroy(&clients[2], retiring);
  sftest_expect_done(&clients[2]);
  for (int r = 0; r < 3; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = clients[0].job_id, .nblocks = 1, .ranks = {(r + 1) % 3}});
  sftest_daemon_settle(&daemon_);
  ask(SFPROTO__QUERY__WHAT__GRAPHS);
  expect_graph(ready, "ready", NULL);
  expect_graph(failed, "failed", "why");
  expect_graph(retiring, "retiring", NULL);
  expect_graph(retiring + 1, "setup", NULL);
  expect_end(4);
  sftest_drop_all(clients, 3);
}

SFTEST(long_answers_come_completely)
{
  enum { N = 300 };
  static sftest_client_t many[N];
  sftest_join_all(&daemon_, many, "job", N);
  ask(SFPROTO__QUERY__WHAT__RANKS);
  sftest_daemon_settle(&daemon_);
  for (int r = 0; r < N; r++)
    expect_rank(r, "running", 1);
  expect_end(N);
  sftest_drop_all(many, N);
}

SFTEST(one_query_at_a_time)
{
  sfproto_incoming_t incoming;
  queue_query(SFPROTO__QUERY__WHAT__STATUS);
  ask(SFPROTO__QUERY__WHAT__JOBS);
  sftest_expect_error(&tool, SF_ERR_STATE, "not answered yet");
  tool.last_request--;
  sftest_expect(&tool, SFPROTO__MESSAGE__BODY_STATUS_INFO, &incoming);
  sfproto_incoming_free(&incoming);
  expect_end(1);
}

SFTEST(others_see_only_their_own)
{
  sftest_client_t client;
  sfd_session_t *session = TAILQ_FIRST(&daemon_.server->clients->sessions);
  sftest_join_all(&daemon_, &client, "job", 1);
  session->uid = getuid() + 1; /* as if the tool were somebody else's */
  ask(SFPROTO__QUERY__WHAT__JOBS);
  expect_end(0);
  ask(SFPROTO__QUERY__WHAT__RANKS);
  expect_end(0);
  ask(SFPROTO__QUERY__WHAT__GRAPHS);
  expect_end(0);
  sftest_drop(&client);
}

/* What sfctl makes of a daemon's answers. The daemon is the other end of a socket pair, which has answered before it
 * was asked. */
#include "tools/sfctl/collect.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "shm/lane/message.h"
#include "shm/region/region.h"
#include "tests/unit/runner.h"

static sfctl_connection_t connection;
static sfproto_conn_t *daemon_;
static uint64_t request; /* that is being answered */
static sfreport_list_t list;

static void setup(void)
{
  int ends[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  connection = (sfctl_connection_t){.path = "/the/socket", .timeout_ms = 100, .deadline_ms = INT64_MAX / 2};
  ck_assert_int_eq(sfproto_conn_create(ends[0], &connection.conn), SF_OK);
  ck_assert_int_eq(sfproto_conn_create(ends[1], &daemon_), SF_OK);
  request = 1;
}

static void teardown(void)
{
  sfreport_list_clear(&list);
  sfctl_disconnect(&connection);
  sfproto_conn_destroy(daemon_);
}

/* ---- Answers ---- */

static char *word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

static void say(Sfproto__Message__BodyCase body, void *info, const int fds[], int nfds)
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = request;
  message.body_case = body;
  message.status_info = info; /* members of one union */
  ck_assert_int_eq(sfproto_conn_send(daemon_, &message, fds, nfds), SF_OK);
}

static void say_job(uint64_t job_id, const char *name)
{
  Sfproto__JobInfo info = SFPROTO__JOB_INFO__INIT;
  info.job_id = job_id;
  info.name = word(name);
  info.state = word("running");
  say(SFPROTO__MESSAGE__BODY_JOB_INFO, &info, NULL, 0);
}

static void say_graph(uint64_t job_id, uint64_t graph)
{
  Sfproto__GraphInfo info = SFPROTO__GRAPH_INFO__INIT;
  info.job_id = job_id;
  info.graph = graph;
  info.job = word("job");
  info.state = word("ready");
  say(SFPROTO__MESSAGE__BODY_GRAPH_INFO, &info, NULL, 0);
}

static void say_rank_with(uint64_t job_id, int32_t rank, const int fds[], int nfds)
{
  Sfproto__RankInfo info = SFPROTO__RANK_INFO__INIT;
  info.job_id = job_id;
  info.rank = rank;
  info.job = word("job");
  info.state = word("running");
  info.program = word("program");
  say(SFPROTO__MESSAGE__BODY_RANK_INFO, &info, fds, nfds);
}

/* A rank that has begun so many bcasts on one graph, or two. */
static void say_rank(uint64_t job_id, int32_t rank, uint64_t graph, uint64_t bcasts, uint64_t other_graph)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_create("counters", SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t),
                                       SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  sfshm_counters_t *counters = region.base;
  counters->sleeps = 3;
  counters->graphs[7].graph = graph;
  counters->graphs_used = 10;
  counters->graphs[7].begun[SFSHM_BCAST] = bcasts;
  counters->graphs[7].rest[0].kind = SFSHM_PEER_RANK;
  counters->graphs[7].rest[0].bytes_slots = 100;
  counters->graphs[9].graph = other_graph;
  counters->graphs[9].begun[SFSHM_BCAST] = bcasts;
  say_rank_with(job_id, rank, &region.fd, 1);
  sfshm_region_destroy(&region);
}

static void say_end(int32_t count)
{
  Sfproto__QueryEnd end = SFPROTO__QUERY_END__INIT;
  end.count = count;
  say(SFPROTO__MESSAGE__BODY_QUERY_END, &end, NULL, 0);
  request++;
}

/* ---- Expectations ---- */

static void collect(Sfproto__Query__What what, const char *job, size_t count)
{
  sf_status_t status = sfctl_collect(&connection, what, job, &list);
  ck_assert_msg(status == SF_OK, "status %d: %s", status, sfshm_error_detail());
  ck_assert_uint_eq(list.count, count);
}

static void expect_error(Sfproto__Query__What what, const char *job, sf_status_t expected, const char *text)
{
  ck_assert_int_eq(sfctl_collect(&connection, what, job, &list), expected);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
}

static void expect_graph(size_t i, uint64_t graph, int32_t ncounted, uint64_t bcasts, uint64_t bytes_slots)
{
  const sfreport_item_t *item = &list.items[i];
  ck_assert_uint_eq(item->message->graph_info->graph, graph);
  ck_assert_int_eq(item->ncounted, ncounted);
  ck_assert_uint_eq(item->counts.bcasts, bcasts);
  ck_assert_uint_eq(item->counts.bytes_slots, bytes_slots);
}

/* The requests that the daemon has got. */
static void expect_asked(const Sfproto__Query__What whats[], size_t n)
{
  for (size_t i = 0; i < n; i++) {
    sfproto_incoming_t incoming;
    ck_assert_int_eq(sfproto_conn_receive(daemon_, 0, &incoming), SF_OK);
    ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_QUERY);
    ck_assert_uint_eq(incoming.message->request, i + 1);
    ck_assert_int_eq(incoming.message->query->what, whats[i]);
    sfproto_incoming_free(&incoming);
  }
}

/* ---- Tests ---- */

START_TEST(all_jobs)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__JOBS};
  say_job(1, "a");
  say_job(2, "b");
  say_end(2);
  collect(SFPROTO__QUERY__WHAT__JOBS, NULL, 2);
  ck_assert_str_eq(list.items[1].message->job_info->name, "b");
  expect_asked(asked, 1);
}
END_TEST

/* Twice the same: sfctl asks for the jobs to find the one that is meant, and then for what it shows. */
static void say_jobs_twice(void)
{
  for (int i = 0; i < 2; i++) {
    say_job(1, "a");
    say_job(2, "7");
    say_job(3, "a");
    say_job(7, "b");
    say_end(4);
  }
}

START_TEST(jobs_by_name)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "a", 2);
  ck_assert_uint_eq(list.items[0].message->job_info->job_id, 1);
  ck_assert_uint_eq(list.items[1].message->job_info->job_id, 3);
}
END_TEST

START_TEST(jobs_by_number)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "3", 1);
  ck_assert_uint_eq(list.items[0].message->job_info->job_id, 3);
}
END_TEST

START_TEST(names_go_before_numbers)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "7", 1);
  ck_assert_uint_eq(list.items[0].message->job_info->job_id, 2);
}
END_TEST

START_TEST(unknown_jobs)
{
  say_job(1, "solver");
  say_end(1);
  expect_error(SFPROTO__QUERY__WHAT__RANKS, "sovler", SF_ERR_NOT_FOUND,
               "no job \"sovler\" (did you mean solver?) is known to the sfd at /the/socket");
}
END_TEST

START_TEST(ranks)
{
  int ends[2];
  say_rank(1, 0, 5, 10, 0);
  say_rank_with(1, 1, NULL, 0);
  ck_assert_int_eq(pipe(ends), 0);
  say_rank_with(1, 2, ends, 1); /* nothing that could be counters */
  close(ends[0]);
  close(ends[1]);
  say_end(3);
  collect(SFPROTO__QUERY__WHAT__RANKS, NULL, 3);
  ck_assert_int_eq(list.items[0].ncounted, 1);
  ck_assert_uint_eq(list.items[0].counts.bcasts, 10);
  ck_assert_uint_eq(list.items[0].sleeps, 3);
  ck_assert_int_eq(list.items[1].ncounted, 0);
  ck_assert_int_eq(list.items[2].ncounted, 0);
}
END_TEST

START_TEST(ranks_of_a_job)
{
  say_job(1, "a");
  say_job(2, "b");
  say_end(2);
  say_rank(1, 0, 5, 1, 0);
  say_rank(2, 0, 6, 2, 0);
  say_end(2);
  collect(SFPROTO__QUERY__WHAT__RANKS, "b", 1);
  ck_assert_uint_eq(list.items[0].counts.bcasts, 2);
}
END_TEST

START_TEST(graphs)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__GRAPHS, SFPROTO__QUERY__WHAT__RANKS};
  say_graph(1, 10); /* not in the order of their numbers */
  say_graph(1, 12);
  say_graph(2, 5);
  say_graph(2, 11);
  say_end(4);
  say_rank(1, 0, 10, 3, 12);
  say_rank(1, 1, 10, 4, 99); /* of 99 the daemon did not tell yet */
  say_rank(2, 0, 5, 6, 0);
  say_rank_with(2, 1, NULL, 0);
  say_end(4);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 4);
  expect_graph(0, 10, 2, 4, 200);
  expect_graph(1, 12, 1, 3, 0);
  expect_graph(2, 5, 1, 6, 100);
  expect_graph(3, 11, 0, 0, 0);
  expect_asked(asked, 2);
}
END_TEST

/* A rank that claims to count for the graphs of another job, or for one graph often, harms its own job at most. */
START_TEST(false_counters)
{
  say_graph(1, 10);
  say_graph(2, 20);
  say_end(2);
  say_rank(1, 0, 10, 3, 0);
  say_rank(2, 0, 10, 1000000, 20);
  say_rank(2, 1, 20, UINT64_MAX, 20);
  say_end(3);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 2);
  expect_graph(0, 10, 1, 3, 100);
  ck_assert_uint_eq(list.items[1].counts.bcasts, UINT64_MAX);
}
END_TEST

START_TEST(no_graphs_no_question_for_ranks)
{
  say_end(0);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 0);
}
END_TEST

START_TEST(many_graphs_and_ranks)
{
  enum { N = 100 }; /* what a socket holds */
  for (uint64_t i = 0; i < N; i++)
    say_graph(1, 1000 + i * 7919 % N);
  say_end(N);
  for (int32_t r = 0; r < 20; r++)
    say_rank(1, r, 1000 + (uint64_t)r, 1, 1099);
  say_end(20);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, N);
  for (size_t i = 0; i < N; i++) {
    uint64_t graph = list.items[i].message->graph_info->graph;
    ck_assert_int_eq(list.items[i].ncounted, graph == 1099 ? 20 : graph < 1020);
  }
}
END_TEST

/* ---- Over nodes ---- */

START_TEST(peers)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__PEERS};
  Sfproto__PeerInfo info = SFPROTO__PEER_INFO__INIT;
  info.description = word("node 2 (loop)");
  info.state = word("open");
  info.node = 2;
  say(SFPROTO__MESSAGE__BODY_PEER_INFO, &info, NULL, 0);
  say_end(1);
  collect(SFPROTO__QUERY__WHAT__PEERS, NULL, 1);
  ck_assert_int_eq(list.items[0].message->peer_info->node, 2);
  expect_asked(asked, 1);
}
END_TEST

static void say_plan(void)
{
  Sfproto__PlanInfo info = SFPROTO__PLAN_INFO__INIT;
  info.graph = 17;
  info.job = word("job");
  info.state = word("ready");
  say(SFPROTO__MESSAGE__BODY_PLAN_INFO, &info, NULL, 0);
}

START_TEST(plan)
{
  sfproto_incoming_t incoming;
  say_plan();
  say_plan();
  say_end(2);
  ck_assert_int_eq(sfctl_collect_plan(&connection, 17, &list), SF_OK);
  ck_assert_uint_eq(list.count, 2);
  ck_assert_int_eq(sfproto_conn_receive(daemon_, 0, &incoming), SF_OK);
  ck_assert_int_eq(incoming.message->query->what, SFPROTO__QUERY__WHAT__PLAN);
  ck_assert_uint_eq(incoming.message->query->graph, 17);
  sfproto_incoming_free(&incoming);
}
END_TEST

/* The daemon knew it when it was asked, and not any more when it was to answer. */
START_TEST(plan_of_a_graph_that_goes)
{
  say_end(0);
  ck_assert_int_eq(sfctl_collect_plan(&connection, 17, &list), SF_ERR_NOT_FOUND);
  ck_assert_str_eq(sfshm_error_detail(), "graph 17 has just been destroyed");
}
END_TEST

START_TEST(plan_cut_off)
{
  say_plan();
  say_end(2);
  ck_assert_int_eq(sfctl_collect_plan(&connection, 17, &list), SF_ERR_PROTO);
  ck_assert_uint_eq(list.count, 0);
}
END_TEST

/* ---- Daemons that answer badly ---- */

START_TEST(an_error)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_LIMIT;
  error.detail = word("too many questions");
  say_job(1, "a");
  say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_LIMIT, "sfd answers: too many questions");
}
END_TEST

START_TEST(an_error_that_is_none)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_OK;
  error.detail = word("");
  say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "malformed message");
}
END_TEST

START_TEST(wrong_count)
{
  say_job(1, "a");
  say_end(2);
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "1 messages, and says that they are 2");
}
END_TEST

START_TEST(wrong_kind)
{
  say_graph(1, 1);
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "answers with message 44, expected 42");
}
END_TEST

START_TEST(wrong_request)
{
  request = 8;
  say_job(1, "a");
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_PROTO, "answers request 8, expected 1");
}
END_TEST

START_TEST(silence)
{
  connection.deadline_ms = 0;
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_TIMEOUT,
               "the sfd at /the/socket has not answered within 0.1 s (--timeout)");
}
END_TEST

START_TEST(an_end_in_between)
{
  say_job(1, "a");
  sfproto_conn_destroy(daemon_);
  daemon_ = NULL;
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_DAEMON_LOST, "the sfd at /the/socket has ended");
}
END_TEST

START_TEST(a_refusal_before_the_question)
{
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_LIMIT;
  error.detail = word("too many clients");
  request = 0;
  say(SFPROTO__MESSAGE__BODY_ERROR, &error, NULL, 0);
  sfproto_conn_destroy(daemon_);
  daemon_ = NULL;
  expect_error(SFPROTO__QUERY__WHAT__JOBS, NULL, SF_ERR_LIMIT, "too many clients");
}
END_TEST

static TCase *bad_answers(void)
{
  TCase *tc = tcase_create("bad answers");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, an_error);
  tcase_add_test(tc, an_error_that_is_none);
  tcase_add_test(tc, wrong_count);
  tcase_add_test(tc, wrong_kind);
  tcase_add_test(tc, wrong_request);
  tcase_add_test(tc, silence);
  tcase_add_test(tc, an_end_in_between);
  tcase_add_test(tc, a_refusal_before_the_question);
  return tc;
}

static Suite *suite(void)
{
  Suite *s = suite_create("sfctl: collecting");
  TCase *tc = tcase_create("answers");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, all_jobs);
  tcase_add_test(tc, jobs_by_name);
  tcase_add_test(tc, jobs_by_number);
  tcase_add_test(tc, names_go_before_numbers);
  tcase_add_test(tc, unknown_jobs);
  tcase_add_test(tc, ranks);
  tcase_add_test(tc, ranks_of_a_job);
  tcase_add_test(tc, graphs);
  tcase_add_test(tc, false_counters);
  tcase_add_test(tc, no_graphs_no_question_for_ranks);
  tcase_add_test(tc, many_graphs_and_ranks);
  tcase_add_test(tc, peers);
  tcase_add_test(tc, plan);
  tcase_add_test(tc, plan_of_a_graph_that_goes);
  tcase_add_test(tc, plan_cut_off);
  suite_add_tcase(s, tc);
  suite_add_tcase(s, bad_answers());
  return s;
}

int main(void)
{
  return sftest_run(suite());
}

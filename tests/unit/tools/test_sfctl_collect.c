/* What sfctl makes of a daemon's answers. Answers that are wrong: test_sfctl_bad_answers.c. */
#include "tools/sfctl/collect.h"

#include "shm/base/error.h"
#include "shm/lane/message.h"
#include "shm/region/region.h"
#include "tests/unit/tools/sfctl_daemon.h"

/* ---- Answers ---- */

static void say_rank_with(uint64_t job_id, int32_t rank, const int fds[], int nfds)
{
  Sfproto__RankInfo info = SFPROTO__RANK_INFO__INIT;
  info.job_id = job_id;
  info.rank = rank;
  info.job = sftest_word("job");
  info.state = sftest_word("running");
  info.program = sftest_word("program");
  sftest_say(SFPROTO__MESSAGE__BODY_RANK_INFO, &info, fds, nfds);
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

/* ---- Expectations ---- */

static void collect(Sfproto__Query__What what, const char *job, size_t count)
{
  sf_status_t status = sfctl_collect(&sftest_connection, what, job, &sftest_answers);
  ck_assert_msg(status == SF_OK, "status %d: %s", status, sfshm_error_detail());
  ck_assert_uint_eq(sftest_answers.count, count);
}

static void expect_graph(size_t i, uint64_t graph, int32_t ncounted, uint64_t bcasts, uint64_t bytes_slots)
{
  const sfreport_item_t *item = &sftest_answers.items[i];
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
    ck_assert_int_eq(sfproto_conn_receive(sftest_daemon, 0, &incoming), SF_OK);
    ck_assert_int_eq(incoming.message->body_case, SFPROTO__MESSAGE__BODY_QUERY);
    ck_assert_uint_eq(incoming.message->request, i + 1);
    ck_assert_int_eq(incoming.message->query->what, whats[i]);
    sfproto_incoming_free(&incoming);
  }
}

SFTEST_FIXTURE(sftest_sfctl_setup, sftest_sfctl_teardown);

/* ---- Tests ---- */

SFTEST(all_jobs)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__JOBS};
  sftest_say_job(1, "a");
  sftest_say_job(2, "b");
  sftest_say_end(2);
  collect(SFPROTO__QUERY__WHAT__JOBS, NULL, 2);
  ck_assert_str_eq(sftest_answers.items[1].message->job_info->name, "b");
  expect_asked(asked, 1);
}

/* Twice the same: sfctl asks for the jobs to find the one that is meant, and then for what it shows. */
static void say_jobs_twice(void)
{
  for (int i = 0; i < 2; i++) {
    sftest_say_job(1, "a");
    sftest_say_job(2, "7");
    sftest_say_job(3, "a");
    sftest_say_job(7, "b");
    sftest_say_end(4);
  }
}

SFTEST(jobs_by_name)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "a", 2);
  ck_assert_uint_eq(sftest_answers.items[0].message->job_info->job_id, 1);
  ck_assert_uint_eq(sftest_answers.items[1].message->job_info->job_id, 3);
}

SFTEST(jobs_by_number)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "3", 1);
  ck_assert_uint_eq(sftest_answers.items[0].message->job_info->job_id, 3);
}

SFTEST(names_go_before_numbers)
{
  say_jobs_twice();
  collect(SFPROTO__QUERY__WHAT__JOBS, "7", 1);
  ck_assert_uint_eq(sftest_answers.items[0].message->job_info->job_id, 2);
}

SFTEST(unknown_jobs)
{
  sftest_say_job(1, "solver");
  sftest_say_end(1);
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__RANKS, "sovler", SF_ERR_NOT_FOUND,
                              "no job \"sovler\" (did you mean solver?) is known to the sfd at /the/socket");
}

SFTEST(ambiguous_beginnings)
{
  static const char text[] = "\"sam\" begins the names of several jobs, same and samba: give more of it";
  for (int i = 0; i < 3; i++) {
    sftest_say_job(1, "same");
    sftest_say_job(2, "samba");
    sftest_say_end(2);
  }
  sftest_expect_collect_error(SFPROTO__QUERY__WHAT__JOBS, "sam", SF_ERR_ARG, text);
  collect(SFPROTO__QUERY__WHAT__JOBS, "samb", 1);
}

SFTEST(ranks)
{
  int ends[2];
  say_rank(1, 0, 5, 10, 0);
  say_rank_with(1, 1, NULL, 0);
  ck_assert_int_eq(pipe(ends), 0);
  say_rank_with(1, 2, ends, 1); /* nothing that could be counters */
  close(ends[0]);
  close(ends[1]);
  sftest_say_end(3);
  collect(SFPROTO__QUERY__WHAT__RANKS, NULL, 3);
  ck_assert_int_eq(sftest_answers.items[0].ncounted, 1);
  ck_assert_uint_eq(sftest_answers.items[0].counts.bcasts, 10);
  ck_assert_uint_eq(sftest_answers.items[0].sleeps, 3);
  ck_assert_int_eq(sftest_answers.items[1].ncounted, 0);
  ck_assert_int_eq(sftest_answers.items[2].ncounted, 0);
}

SFTEST(ranks_of_a_job)
{
  sftest_say_job(1, "a");
  sftest_say_job(2, "b");
  sftest_say_end(2);
  say_rank(1, 0, 5, 1, 0);
  say_rank(2, 0, 6, 2, 0);
  sftest_say_end(2);
  collect(SFPROTO__QUERY__WHAT__RANKS, "b", 1);
  ck_assert_uint_eq(sftest_answers.items[0].counts.bcasts, 2);
}

SFTEST(graphs)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__GRAPHS, SFPROTO__QUERY__WHAT__RANKS};
  sftest_say_graph(1, 10); /* not in the order of their numbers */
  sftest_say_graph(1, 12);
  sftest_say_graph(2, 5);
  sftest_say_graph(2, 11);
  sftest_say_end(4);
  say_rank(1, 0, 10, 3, 12);
  say_rank(1, 1, 10, 4, 99); /* of 99 the daemon did not tell yet */
  say_rank(2, 0, 5, 6, 0);
  say_rank_with(2, 1, NULL, 0);
  sftest_say_end(4);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 4);
  expect_graph(0, 10, 2, 4, 200);
  expect_graph(1, 12, 1, 3, 0);
  expect_graph(2, 5, 1, 6, 100);
  expect_graph(3, 11, 0, 0, 0);
  expect_asked(asked, 2);
}

/* A rank that claims to count for the graphs of another job, or for one graph often, harms its own job at most. */
SFTEST(false_counters)
{
  sftest_say_graph(1, 10);
  sftest_say_graph(2, 20);
  sftest_say_end(2);
  say_rank(1, 0, 10, 3, 0);
  say_rank(2, 0, 10, 1000000, 20);
  say_rank(2, 1, 20, UINT64_MAX, 20);
  sftest_say_end(3);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 2);
  expect_graph(0, 10, 1, 3, 100);
  ck_assert_uint_eq(sftest_answers.items[1].counts.bcasts, UINT64_MAX);
}

SFTEST(no_graphs_no_question_for_ranks)
{
  sftest_say_end(0);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, 0);
}

SFTEST(many_graphs_and_ranks)
{
  enum { N = 100 }; /* what a socket holds */
  for (uint64_t i = 0; i < N; i++)
    sftest_say_graph(1, 1000 + i * 7919 % N);
  sftest_say_end(N);
  for (int32_t r = 0; r < 20; r++)
    say_rank(1, r, 1000 + (uint64_t)r, 1, 1099);
  sftest_say_end(20);
  collect(SFPROTO__QUERY__WHAT__GRAPHS, NULL, N);
  for (size_t i = 0; i < N; i++) {
    uint64_t graph = sftest_answers.items[i].message->graph_info->graph;
    ck_assert_int_eq(sftest_answers.items[i].ncounted, graph == 1099 ? 20 : graph < 1020);
  }
}

/* ---- Over nodes ---- */

SFTEST(peers)
{
  static const Sfproto__Query__What asked[] = {SFPROTO__QUERY__WHAT__PEERS};
  Sfproto__PeerInfo info = SFPROTO__PEER_INFO__INIT;
  info.description = sftest_word("node 2 (loop)");
  info.state = sftest_word("open");
  info.node = 2;
  sftest_say(SFPROTO__MESSAGE__BODY_PEER_INFO, &info, NULL, 0);
  sftest_say_end(1);
  collect(SFPROTO__QUERY__WHAT__PEERS, NULL, 1);
  ck_assert_int_eq(sftest_answers.items[0].message->peer_info->node, 2);
  expect_asked(asked, 1);
}

static void say_plan(void)
{
  Sfproto__PlanInfo info = SFPROTO__PLAN_INFO__INIT;
  info.graph = 17;
  info.job = sftest_word("job");
  info.state = sftest_word("ready");
  sftest_say(SFPROTO__MESSAGE__BODY_PLAN_INFO, &info, NULL, 0);
}

SFTEST(plan)
{
  sfproto_incoming_t incoming;
  say_plan();
  say_plan();
  sftest_say_end(2);
  ck_assert_int_eq(sfctl_collect_plan(&sftest_connection, 17, &sftest_answers), SF_OK);
  ck_assert_uint_eq(sftest_answers.count, 2);
  ck_assert_int_eq(sfproto_conn_receive(sftest_daemon, 0, &incoming), SF_OK);
  ck_assert_int_eq(incoming.message->query->what, SFPROTO__QUERY__WHAT__PLAN);
  ck_assert_uint_eq(incoming.message->query->graph, 17);
  sfproto_incoming_free(&incoming);
}

/* The daemon knew it when it was asked, and not any more when it was to answer. */
SFTEST(plan_of_a_graph_that_goes)
{
  sftest_say_end(0);
  ck_assert_int_eq(sfctl_collect_plan(&sftest_connection, 17, &sftest_answers), SF_ERR_NOT_FOUND);
  ck_assert_str_eq(sfshm_error_detail(), "graph 17 has just been destroyed");
}

SFTEST(plan_cut_off)
{
  say_plan();
  sftest_say_end(2);
  ck_assert_int_eq(sfctl_collect_plan(&sftest_connection, 17, &sftest_answers), SF_ERR_PROTO);
  ck_assert_uint_eq(sftest_answers.count, 0);
}

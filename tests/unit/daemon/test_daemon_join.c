/* Joining: the daemon's answers to Hello. Those that it refuses by what they say: test_daemon_join_refused.c. */
#include "daemon/membership/join.h"
#include "daemon/net/channel.h"
#include "shm/region/board.h"
#include "tests/unit/daemon_graphs.h"

SFTEST_CASE(sftest_daemon_for_case(tests));

SFTEST(ranks_join_in_any_order)
{
  static const int32_t order[] = {2, 0, 3, 1};
  sftest_client_t clients[4];
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < i; k++)
      sftest_expect_nothing(&clients[order[k]]);
    sftest_join(&daemon_, &clients[order[i]], "job", order[i], 4);
  }
  for (int r = 0; r < 4; r++)
    sftest_expect_welcome(&clients[r], 4);
  ck_assert_uint_eq(clients[0].job_id, clients[3].job_id);
  ck_assert_uint_ne(clients[0].job_id, 0);
  sftest_drop_all(clients, 4);
}

SFTEST(jobs_with_different_names_are_different)
{
  sftest_client_t a, b;
  sftest_join(&daemon_, &a, "a", 0, 1);
  sftest_join(&daemon_, &b, "b", 0, 1);
  sftest_expect_welcome(&a, 1);
  sftest_expect_welcome(&b, 1);
  ck_assert_uint_ne(a.job_id, b.job_id);
  sftest_drop(&a);
  sftest_drop(&b);
}

SFTEST(a_name_can_be_used_again_with_a_new_id)
{
  sftest_client_t client;
  sftest_join(&daemon_, &client, "job", 0, 1);
  sftest_expect_welcome(&client, 1);
  uint64_t first = client.job_id;
  sftest_drop(&client);
  sftest_daemon_expect_idle(&daemon_);
  sftest_join(&daemon_, &client, "job", 0, 1);
  sftest_expect_welcome(&client, 1);
  ck_assert_uint_gt(client.job_id, first);
  sftest_drop(&client);
}

SFTEST(board_counts_participants)
{
  sftest_client_t clients[2];
  sftest_join(&daemon_, &clients[0], "job", 0, 2);
  sftest_join(&daemon_, &clients[1], "job", 1, 2);
  sfproto_incoming_t incoming;
  sftest_expect(&clients[0], SFPROTO__MESSAGE__BODY_WELCOME, &incoming);
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_map(incoming.fds[0], SFSHM_REGION_BOARD, 1 << 20, SFSHM_READ_ONLY, &region), SF_OK);
  sfproto_incoming_free(&incoming);
  const sfshm_board_t *board = region.base;
  ck_assert_uint_eq(atomic_load(&board->participants), 2);
  ck_assert_uint_ge(atomic_load(&board->cores), 1);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  ck_assert_uint_eq(atomic_load(&board->participants), 1);
  sftest_drop_all(clients, 2);
  sftest_daemon_settle(&daemon_);
  ck_assert_uint_eq(atomic_load(&board->participants), 0);
  ck_assert_uint_ge(atomic_load(&board->cores), 1);
  sfshm_region_destroy(&region);
}

SFTEST(timeout_names_the_missing_ranks)
{
  sftest_client_t clients[2];
  sftest_join(&daemon_, &clients[0], "job", 1, 8);
  sftest_daemon_settle(&daemon_);
  daemon_.options.join_timeout_ms = 30; /* from the second one on, or it might come too late */
  sftest_join(&daemon_, &clients[1], "job", 5, 8);
  for (int i = 0; i < 2; i++) {
    sftest_expect_error(&clients[i], SF_ERR_TIMEOUT, "ranks 0, 2-4, 6-7");
    sftest_expect_closed(&clients[i]);
  }
  ck_assert_int_eq(daemon_.server->statistics.njobs, 0);
  sftest_drop_all(clients, 2);
}

static void join_as(sftest_client_t *client, uid_t uid, int32_t rank)
{
  Sfproto__Hello hello;
  ck_assert_int_eq(seteuid(uid), 0);
  sftest_connect(&daemon_, client);
  ck_assert_int_eq(seteuid(0), 0);
  sftest_hello_init(&hello, "job", rank, 2);
  sftest_send_hello(client, &hello);
  sftest_daemon_settle(&daemon_);
}

/* Each user's job lacks the rank that the other user's job has. */
SFTEST_IF(timeout_tells_of_another_users_ranks, getuid() == 0)
{
  sftest_client_t clients[2];
  for (int r = 0; r < 2; r++) {
    join_as(&clients[r], (uid_t)(1000 + r), r);
    daemon_.options.join_timeout_ms = 30;
  }
  sftest_expect_error(&clients[1], SF_ERR_TIMEOUT, "rank 0; another user has a job of that name here");
  sftest_drop(&clients[0]);
  sftest_drop(&clients[1]);
}

SFTEST(earliest_timeout_counts)
{
  sftest_client_t clients[2];
  Sfproto__Hello hello;
  sftest_join(&daemon_, &clients[0], "job", 0, 3);
  sftest_connect(&daemon_, &clients[1]);
  sftest_hello_init(&hello, "job", 1, 3);
  hello.has_timeout_ms = true;
  hello.timeout_ms = 20;
  sftest_send_hello(&clients[1], &hello);
  sftest_expect_error(&clients[0], SF_ERR_TIMEOUT, "rank 2");
  sftest_expect_error(&clients[1], SF_ERR_TIMEOUT, "rank 2");
  sftest_drop_all(clients, 2);
}

SFTEST(forgotten_job_makes_room_at_once)
{
  sftest_client_t late, next;
  daemon_.options.join_timeout_ms = 10;
  sftest_join(&daemon_, &late, "job", 0, 2);
  sftest_expect_error(&late, SF_ERR_TIMEOUT, "rank 1");
  sftest_join(&daemon_, &next, "job", 0, 1);
  sftest_expect_welcome(&next, 1);
  sftest_drop(&late);
  sftest_drop(&next);
}

SFTEST(failed_job_takes_nobody_in_until_it_is_over)
{
  sftest_client_t clients[2], late;
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_drop(&clients[0]);
  sftest_expect_alert(&clients[1], SFPROTO__ALERT__KIND__JOB_FAILED, "rank 0 (pid");
  sftest_join(&daemon_, &late, "job", 0, 2);
  sftest_expect_error(&late, SF_ERR_STATE, "has failed");
  sftest_drop(&late);
  sftest_drop(&clients[1]);
  sftest_daemon_settle(&daemon_);
  sftest_join(&daemon_, &late, "job", 0, 1);
  sftest_expect_welcome(&late, 1);
  sftest_drop(&late);
}

SFTEST(who_has_left_may_join_the_next_job_of_the_name)
{
  sftest_client_t clients[2], again[2];
  sftest_join_all(&daemon_, clients, "job", 2);
  sftest_send_goodbye(&clients[0]);
  sftest_expect_done(&clients[0]);
  sftest_join(&daemon_, &again[0], "job", 0, 2); /* its connection is still there */
  sftest_expect_nothing(&again[0]);
  sftest_drop(&clients[0]);
  sftest_expect_no_alert(&clients[1]);
  sftest_send_goodbye(&clients[1]);
  sftest_expect_done(&clients[1]);
  sftest_join(&daemon_, &again[1], "job", 1, 2);
  for (int r = 0; r < 2; r++)
    sftest_expect_welcome(&again[r], 2);
  sftest_drop(&clients[1]);
  sftest_ring(again, 2);
  sftest_drop_all(again, 2);
}

SFTEST(death_while_others_wait)
{
  sftest_client_t clients[2];
  sftest_join(&daemon_, &clients[0], "job", 0, 3);
  sftest_join(&daemon_, &clients[1], "job", 2, 3);
  sftest_daemon_settle(&daemon_);
  sftest_drop(&clients[0]);
  sftest_expect_error(&clients[1], SF_ERR_RANK_FAILED, "rank 0 (pid");
  sftest_expect_closed(&clients[1]);
  sftest_drop(&clients[1]);
}

SFTEST(other_user_is_refused)
{
  sftest_client_t client;
  daemon_.server->uid = getuid() + 1; /* as if the daemon were somebody else's */
  sftest_join(&daemon_, &client, "job", 0, 1);
  sftest_expect_error(&client, SF_ERR_PERM, "serves uid");
  sftest_drop(&client);
  sftest_daemon_settle(&daemon_);
}

/* That message holds the node of each rank, whichever it is, beside the longest name and what is said of thousands of
 * nodes. */
SFTEST_FOR(places_of_the_largest_job_fit_into_a_message, 6)
{
  static const int32_t nodes[] = {2, 128, 129, 16384, 16385, 1 << 20};
  static char name[256];
  int32_t nnodes = nodes[_i], most = sfd_join_most_ranks(nnodes), *places = malloc((size_t)most * sizeof *places);
  size_t nhosts = nnodes < 4096 ? (size_t)nnodes : 4096;
  static int32_t hosts[4096];
  static uint64_t incarnations[4096];
  Sfpeer__JobStart start = SFPEER__JOB_START__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  ck_assert_ptr_nonnull(places);
  ck_assert_int_ge(most, 1 << 18);
  for (int32_t r = 0; r < most; r++)
    places[r] = nnodes - 1;
  for (size_t i = 0; i < nhosts; i++) {
    hosts[i] = nnodes - (int32_t)(nhosts - i);
    incarnations[i] = UINT32_MAX;
  }
  memset(name, 'x', sizeof name - 1);
  start.uid = UINT32_MAX;
  start.name = name;
  start.job = UINT64_MAX;
  start.coordinator = nnodes - 1;
  start.nodes = hosts;
  start.incarnations = incarnations;
  start.n_nodes = start.n_incarnations = nhosts;
  start.rank_nodes = places;
  start.n_rank_nodes = (size_t)most;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_START;
  message.job_start = &start;
  ck_assert_uint_le(sfpeer__message__get_packed_size(&message), SFD_CHANNEL_CONTROL_MAX);
  free(places);
}

/* Of a job whose other ranks are on a node with a high number: the answer to Hello would be too long. */
SFTEST(welcome_that_does_not_fit)
{
  enum { SIZE = 1 << 20 };
  sftest_client_t client;
  daemon_.options.max_ranks = SIZE;
  sftest_join(&daemon_, &client, "job", 0, SIZE);
  sftest_expect_nothing(&client);
  int32_t *places = calloc(SIZE, sizeof *places);
  ck_assert_ptr_nonnull(places);
  /* The daemon is held up for longer than it keeps ended connections: the error arrives all the same. */
  usleep(1100000);
  ck_assert_int_eq(sfd_join_start(TAILQ_FIRST(&daemon_.server->jobs->list), 1, places), SF_OK);
  sftest_expect_error(&client, SF_ERR_LIMIT, "has 1048576 ranks, 1 of them on node 0");
  sftest_drop(&client);
}

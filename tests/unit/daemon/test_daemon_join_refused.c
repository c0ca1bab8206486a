/* Hello that the daemon refuses: by rank, size, name, key, time-out and descriptors. Others go on joining. */
#include <sys/socket.h>

#include "shm/observe/counters.h"
#include "tests/unit/daemon_fixture.h"

/* Sends a Hello to a job of size 2 that waits for its rank 1, and expects a refusal that leaves the job alone. */
static void expect_refused(const Sfproto__Hello *hello, sf_status_t status, const char *text)
{
  sftest_client_t first, refused, second;
  sftest_join(&daemon_, &first, "job", 0, 2);
  sftest_connect(&daemon_, &refused);
  sftest_send_hello(&refused, hello);
  sftest_expect_error(&refused, status, text);
  sftest_expect_closed(&refused);
  sftest_drop(&refused);
  sftest_expect_nothing(&first);
  ck_assert_uint_eq(daemon_.server->statistics.refused, 1);
  sftest_join(&daemon_, &second, "job", 1, 2);
  sftest_expect_welcome(&first, 2);
  sftest_expect_welcome(&second, 2);
  sftest_drop(&first);
  sftest_drop(&second);
}

SFTEST_CASE(sftest_daemon_for_case(tests));

SFTEST(duplicate_rank_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", 0, 2);
  expect_refused(&hello, SF_ERR_EXISTS, "has a rank 0 already");
}

SFTEST(other_size_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", 1, 3);
  expect_refused(&hello, SF_ERR_ARG, "has 3 ranks, those before it said 2");
}

SFTEST(other_key_is_refused)
{
  Sfproto__Hello hello;
  char key[] = "wrong";
  sftest_hello_init(&hello, "job", 1, 2);
  hello.key = key;
  expect_refused(&hello, SF_ERR_PERM, "another key");
}

SFTEST(rank_out_of_range_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", 2, 2);
  expect_refused(&hello, SF_ERR_ARG, "rank 2");
}

SFTEST(negative_rank_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", -1, 2);
  expect_refused(&hello, SF_ERR_ARG, "rank -1");
}

SFTEST(missing_size_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", 1, 2);
  hello.has_size = false;
  expect_refused(&hello, SF_ERR_ARG, "without rank or size");
}

SFTEST(too_large_job_is_refused)
{
  Sfproto__Hello hello;
  daemon_.options.max_ranks = 4;
  sftest_hello_init(&hello, "large", 1, 5);
  expect_refused(&hello, SF_ERR_LIMIT, "max-ranks");
}

SFTEST_FOR(bad_names_are_refused, 3)
{
  static const char *const names[] = {"", "a\nb", "\xc3\xa4"};
  Sfproto__Hello hello;
  sftest_hello_init(&hello, names[_i], 1, 2);
  expect_refused(&hello, SF_ERR_ARG, "printable ASCII");
}

SFTEST(long_names_are_refused)
{
  char name[300];
  memset(name, 'x', sizeof name);
  name[256] = '\0';
  Sfproto__Hello hello;
  sftest_hello_init(&hello, name, 1, 2);
  expect_refused(&hello, SF_ERR_ARG, "1 to 255");
}

SFTEST(negative_timeout_is_refused)
{
  Sfproto__Hello hello;
  sftest_hello_init(&hello, "job", 1, 2);
  hello.has_timeout_ms = true;
  hello.timeout_ms = -5;
  expect_refused(&hello, SF_ERR_ARG, "-5");
}

/* A Hello for a new job with these descriptors. */
static void expect_fds_refused(const int fds[], int nfds, sf_status_t status, const char *text)
{
  sftest_client_t client;
  Sfproto__Hello hello;
  sftest_connect(&daemon_, &client);
  sftest_hello_init(&hello, "job", 0, 2);
  sftest_send_body(&client, SFPROTO__MESSAGE__BODY_HELLO, &hello, fds, nfds);
  sftest_expect_error(&client, status, text);
  sftest_expect_closed(&client);
  ck_assert_int_eq(daemon_.server->statistics.njobs, 0);
  sftest_drop(&client);
}

SFTEST(descriptors_are_checked)
{
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  int inbox = sftest_region(SFSHM_REGION_INBOX, 4096);
  int counters = sftest_region(SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t));
  int small = sftest_region(SFSHM_REGION_COUNTERS, 4096);
  expect_fds_refused((int[]){pair[0], inbox}, 2, SF_ERR_PROTO, "2 descriptors");
  expect_fds_refused((int[]){inbox, inbox, counters}, 3, SF_ERR_ARG, "socket");
  expect_fds_refused((int[]){pair[0], pair[1], counters}, 3, SF_ERR_PROTO, "inbox region");
  expect_fds_refused((int[]){pair[0], inbox, inbox}, 3, SF_ERR_PROTO, "counters region");
  expect_fds_refused((int[]){pair[0], inbox, small}, 3, SF_ERR_ARG, "counters region of 4096 bytes");
  close(pair[0]);
  close(pair[1]);
  close(inbox);
  close(counters);
  close(small);
}

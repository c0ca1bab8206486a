/* Receiving over control connections that block or not: waiting, time-outs, signals, and the end of the other side. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/time.h>

#include "shm/base/error.h"
#include "tests/unit/conn_pair.h"
#include "tests/unit/frames.h"

SFTEST_FIXTURE(sftest_pair_setup, sftest_pair_teardown);

/* No SIGPIPE either, which would end the test. */
SFTEST(other_end_gone)
{
  ck_assert_int_eq(sftest_pair_send(sftest_right, 3, 10), SF_OK);
  sfproto_conn_destroy(sftest_right);
  sftest_right = NULL;
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 10, NULL, 0), SF_OK);
  ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(sftest_pair_send(sftest_left, 2, 10), SF_ERR_DAEMON_LOST);
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_OK);
  sftest_expect_message(&incoming, 3, 10, 0, 0);
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_ERR_DAEMON_LOST);
}

/* The other end closes without having read what it was sent, which the kernel reports as a reset. */
SFTEST(other_end_gone_unread)
{
  ck_assert_int_eq(sftest_pair_send(sftest_left, 1, 10), SF_OK);
  ck_assert_int_eq(sftest_pair_send(sftest_right, 3, 10), SF_OK);
  sfproto_conn_destroy(sftest_right);
  sftest_right = NULL;
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_OK);
  sftest_expect_message(&incoming, 3, 10, 0, 0);
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_ERR_DAEMON_LOST);
}

SFTEST(nothing_comes)
{
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, 0, &incoming), SF_ERR_TIMEOUT);
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, 20, &incoming), SF_ERR_TIMEOUT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "within 20 ms"));
  ck_assert_int_eq(sftest_pair_send(sftest_right, 1, 5), SF_OK);
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, 0, &incoming), SF_OK);
  sftest_expect_message(&incoming, 1, 5, 0, 0);
}

/* Bytes that make no message do not prolong the wait. */
SFTEST(only_a_part_comes)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  ck_assert(sftest_send(sfproto_conn_fd(sftest_right), frame.bytes, 10, -1, 0));
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, 20, &incoming), SF_ERR_TIMEOUT);
  ck_assert(sftest_send(sfproto_conn_fd(sftest_right), frame.bytes + 10, frame.length - 10, -1, 0));
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, INT64_MAX, &incoming), SF_OK);
  ck_assert_uint_eq(incoming.message->request, 1);
  sfproto_incoming_free(&incoming);
}

static void on_alarm(int number)
{
  (void)number;
}

/* Each message comes back as it was sent. */
static void *echo(void *unused)
{
  (void)unused;
  sfproto_incoming_t incoming;
  while (sfproto_conn_receive(sftest_right, -1, &incoming) == SF_OK) {
    ck_assert_int_eq(sfproto_conn_send(sftest_right, incoming.message, incoming.fds, incoming.nfds), SF_OK);
    sfproto_incoming_free(&incoming);
  }
  return NULL;
}

/* Messages larger than the socket, on blocking sockets, with signals that interrupt whatever waits. */
SFTEST(there_and_back)
{
  struct sigaction action = {.sa_handler = on_alarm};
  ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
  struct itimerval often = {{.tv_usec = 500}, {.tv_usec = 500}};
  struct itimerval never = {{0}, {0}};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, echo, NULL), 0);
  ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
  for (uint64_t i = 0; i < 50; i++) {
    size_t length = i % 2 == 0 ? 1000000 : 10;
    ck_assert_int_eq(sftest_pair_send(sftest_left, i, length), SF_OK);
    sfproto_incoming_t incoming;
    ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_OK);
    sftest_expect_message(&incoming, i, length, 0, 0);
  }
  ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
  shutdown(sfproto_conn_fd(sftest_left), SHUT_WR);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

SFTEST(non_blocking_sockets)
{
  ck_assert_int_eq(fcntl(sfproto_conn_fd(sftest_left), F_SETFL, O_NONBLOCK), 0);
  ck_assert_int_eq(fcntl(sfproto_conn_fd(sftest_right), F_SETFL, O_NONBLOCK), 0);
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, echo, NULL), 0);
  ck_assert_int_eq(sftest_pair_send(sftest_left, 1, 1000000), SF_OK);
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_left, -1, &incoming), SF_OK);
  sftest_expect_message(&incoming, 1, 1000000, 0, 0);
  shutdown(sfproto_conn_fd(sftest_left), SHUT_WR);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

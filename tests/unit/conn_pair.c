/* Pairs of control connections for tests: see conn_pair.h. */
#include "tests/unit/conn_pair.h"

#include <fcntl.h>

#include "tests/unit/frames.h"

int sftest_pair_fds_before;
sfproto_conn_t *sftest_left;
sfproto_conn_t *sftest_right;

void sftest_pair_setup(void)
{
  sftest_pair_fds_before = sftest_count_fds();
  int ends[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ck_assert_int_eq(sfproto_conn_create(ends[0], &sftest_left), SF_OK);
  ck_assert_int_eq(sfproto_conn_create(ends[1], &sftest_right), SF_OK);
}

void sftest_pair_teardown(void)
{
  sfproto_conn_destroy(sftest_left);
  sfproto_conn_destroy(sftest_right);
  ck_assert_int_eq(sftest_count_fds(), sftest_pair_fds_before);
}

static char sftest_filler[SFPROTO_MAX_LENGTH + 1];

void sftest_message_make(Sfproto__Message *message, Sfproto__Error *error, uint64_t request, size_t length)
{
  memset(sftest_filler, 'x', sizeof sftest_filler - 1);
  sfproto__error__init(error);
  error->detail = sftest_filler + sizeof sftest_filler - 1 - length;
  sfproto__message__init(message);
  message->request = request;
  message->body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message->error = error;
}

sf_status_t sftest_pair_queue(sfproto_conn_t *conn, uint64_t request, size_t length, const int fds[], int nfds)
{
  Sfproto__Message message;
  Sfproto__Error error;
  sftest_message_make(&message, &error, request, length);
  return sfproto_conn_queue(conn, &message, fds, nfds);
}

sf_status_t sftest_pair_send(sfproto_conn_t *conn, uint64_t request, size_t length)
{
  Sfproto__Message message;
  Sfproto__Error error;
  sftest_message_make(&message, &error, request, length);
  return sfproto_conn_send(conn, &message, NULL, 0);
}

void sftest_expect_message(sfproto_incoming_t *incoming, uint64_t request, size_t length, int tag, int nfds)
{
  ck_assert_uint_eq(incoming->message->request, request);
  ck_assert_int_eq(incoming->message->body_case, SFPROTO__MESSAGE__BODY_ERROR);
  ck_assert_uint_eq(strlen(incoming->message->error->detail), length);
  ck_assert_int_eq(incoming->nfds, nfds);
  for (int i = 0; i < nfds; i++) {
    ck_assert_int_eq(sftest_tag_of(incoming->fds[i]), tag + i);
    ck_assert_int_eq(fcntl(incoming->fds[i], F_GETFD), FD_CLOEXEC);
  }
  sfproto_incoming_free(incoming);
}

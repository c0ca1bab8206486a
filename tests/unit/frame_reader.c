/* A control connection that a test feeds: see frame_reader.h. */
#include "tests/unit/frame_reader.h"

#include <fcntl.h>

int sftest_reader_fds_before;
int sftest_reader_fds_open; /* when nothing has been received */
int sftest_writer;          /* the other end of conn's socket */
int sftest_tagged;
sfproto_conn_t *sftest_reader;

void sftest_reader_setup(void)
{
  sftest_reader_fds_before = sftest_count_fds();
  int ends[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  sftest_writer = ends[0];
  ck_assert_int_eq(sfproto_conn_create(ends[1], &sftest_reader), SF_OK);
  sftest_tagged = sftest_tagged_fd(77);
  ck_assert_int_ge(sftest_tagged, 0);
  sftest_reader_fds_open = sftest_count_fds();
}

void sftest_reader_teardown(void)
{
  close(sftest_writer);
  close(sftest_tagged);
  sfproto_conn_destroy(sftest_reader);
  ck_assert_int_eq(sftest_count_fds(), sftest_reader_fds_before);
}

void sftest_send_part(const sftest_frame_t *frame, size_t from, size_t to, int nfds)
{
  ck_assert(sftest_send(sftest_writer, frame->bytes + from, to - from, sftest_tagged, nfds));
}

void sftest_send_frame(sftest_frame_t frame, int nfds)
{
  sftest_send_part(&frame, 0, frame.length, nfds);
}

void sftest_expect_next(uint64_t request, int nfds)
{
  sfproto_incoming_t incoming;
  ck_assert(sfproto_conn_next(sftest_reader, &incoming));
  ck_assert_uint_eq(incoming.message->request, request);
  ck_assert_int_eq(incoming.nfds, nfds);
  for (int i = 0; i < nfds; i++) {
    ck_assert_int_eq(sftest_tag_of(incoming.fds[i]), 77);
    ck_assert_int_eq(fcntl(incoming.fds[i], F_GETFD), FD_CLOEXEC);
  }
  sfproto_incoming_free(&incoming);
}

void sftest_expect_none(void)
{
  sfproto_incoming_t incoming;
  ck_assert(!sfproto_conn_next(sftest_reader, &incoming));
}

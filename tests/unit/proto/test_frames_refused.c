/* Frames that a control connection refuses: each with its error, and the descriptors that came with them are closed. */
#include <sys/resource.h>

#include "shm/base/error.h"
#include "tests/unit/frame_reader.h"

/* What was refused is closed at once, not only with the connection. */
static void expect_nothing_left(void)
{
  sftest_expect_none();
  ck_assert_int_eq(sftest_count_fds(), sftest_reader_fds_open);
}

/* The error, its text, and that both stay. */
static void expect_refusal(sf_status_t status, const char *text)
{
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
  sfshm_error(SF_ERR_ARG, "something else");
  sftest_send_frame(sftest_frame(99, 0), 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
}

static void expect_refusal_of(sftest_frame_t frame, sf_status_t status, const char *text)
{
  sftest_send_frame(frame, 0);
  expect_refusal(status, text);
  expect_nothing_left();
}

SFTEST_FIXTURE(sftest_reader_setup, sftest_reader_teardown);

SFTEST(bad_magic)
{
  sftest_send_frame(sftest_frame(1, 0), 0);
  sftest_frame_t frame = {.length = 5, .bytes = "GET /"};
  sftest_send_frame(frame, 0);
  expect_refusal(SF_ERR_PROTO, "at byte 20 of the connection: magic 0x20544547, expected 0x43464453");
  sftest_expect_next(1, 0);
  expect_nothing_left();
}

SFTEST(bad_reserved)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[13] = 1;
  expect_refusal_of(frame, SF_ERR_PROTO, "at byte 0 of the connection: reserved field 0x00000100, expected 0");
}

SFTEST(too_long)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[8] = 1;
  frame.bytes[10] = 0x10;
  frame.length = SFPROTO_HEADER_BYTES;
  expect_refusal_of(frame, SF_ERR_PROTO, "message of 1048577 bytes, at most 1048576");
}

SFTEST(too_many_fds_in_header)
{
  sftest_send_frame(sftest_frame(1, 65), 65);
  expect_refusal(SF_ERR_PROTO, "65 descriptors, at most 64");
  expect_nothing_left();
}

SFTEST(not_a_message)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[SFPROTO_HEADER_BYTES] = 0xff;
  expect_refusal_of(frame, SF_ERR_PROTO, "are not a message");
}

SFTEST(empty_message)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[8] = 0;
  frame.length = SFPROTO_HEADER_BYTES;
  expect_refusal_of(frame, SF_ERR_PROTO, "its 0 bytes are not a message");
}

/* Whatever else its header says, and without waiting for its body. */
SFTEST(other_version)
{
  sftest_frame_t frame = sftest_frame(1, 3);
  memset(frame.bytes + 4, 0xff, 12);
  frame.bytes[4] = 7;
  frame.bytes[5] = 0;
  sftest_send_part(&frame, 0, SFPROTO_HEADER_BYTES, 3);
  expect_refusal(SF_ERR_VERSION, "speaks version 7 of the control protocol, this end version 1");
  expect_nothing_left();
}

SFTEST(fewer_fds)
{
  sftest_send_frame(sftest_frame(1, 3), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 3");
  expect_nothing_left();
}

SFTEST(no_fds)
{
  sftest_send_frame(sftest_frame(1, 1), 0);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  expect_nothing_left();
}

/* As many as announced, but not with the first byte. */
SFTEST_FOR(late_fds, 15)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  size_t cut = 1 + (size_t)_i;
  sftest_send_part(&frame, 0, cut, 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, cut, frame.length, 2);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 2");
  expect_nothing_left();
}

SFTEST(more_fds)
{
  sftest_send_frame(sftest_frame(1, 1), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 1");
  expect_nothing_left();
}

SFTEST(as_many_fds_as_the_kernel_lets_through)
{
  sftest_send_frame(sftest_frame(1, 64), SFTEST_MAX_SENT_FDS);
  expect_refusal(SF_ERR_PROTO, "253 descriptors came, its header says 64");
  expect_nothing_left();
}

SFTEST(unannounced_fds)
{
  sftest_send_frame(sftest_frame(1, 0), 1);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came with bytes 0 to 19 of the connection");
  expect_nothing_left();
}

/* Anywhere but with the first byte, with and without descriptors that are in order. */
SFTEST_FOR(fds_in_the_middle, 38)
{
  int nfds = _i % 2;
  size_t cut = 1 + (size_t)_i / 2;
  sftest_frame_t frame = sftest_frame(1, nfds);
  sftest_send_part(&frame, 0, cut, nfds);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, cut, cut + 1, 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came with bytes");
  expect_nothing_left();
}

/* The descriptors of a frame do not serve the next one. */
SFTEST(fds_of_another_frame)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  sftest_send_part(&frame, 0, 10, 1);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, 10, frame.length, 0);
  sftest_send_frame(sftest_frame(2, 1), 0);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came with bytes 0 to 9");
  expect_nothing_left();
}

SFTEST(two_frames_share_fds)
{
  sftest_frame_t frames = sftest_frame(1, 1);
  sftest_frame_append(&frames, sftest_frame(2, 1));
  sftest_send_frame(frames, 1);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  sftest_expect_next(1, 1);
  expect_nothing_left();
}

SFTEST(what_was_complete_can_be_taken)
{
  sftest_send_frame(sftest_frame(1, 2), 2);
  sftest_send_frame(sftest_frame(2, 0), 1);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came");
  sftest_expect_next(1, 2);
  expect_nothing_left();
}

SFTEST_FOR(out_of_descriptors, 8)
{
  sftest_send_frame(sftest_frame(1, 0), 0);
  sftest_send_frame(sftest_frame(2, 8), 8);
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  int lowest = dup(sftest_writer);
  close(lowest);
  struct rlimit limit = {.rlim_cur = (rlim_t)(lowest + _i), .rlim_max = before.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  sf_status_t status = sfproto_conn_read(sftest_reader);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
  ck_assert_int_eq(status, SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "ulimit -n"));
  sftest_expect_next(1, 0);
  expect_nothing_left();
}

SFTEST(answer_after_refusal)
{
  sftest_frame_t frame = {.length = 4, .bytes = "junk"};
  expect_refusal_of(frame, SF_ERR_PROTO, "magic");
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_PROTO;
  error.detail = (char *)(uintptr_t) "junk";
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message.error = &error;
  ck_assert_int_eq(sfproto_conn_send(sftest_reader, &message, NULL, 0), SF_OK);
  sftest_frame_t answer;
  ck_assert_int_gt(recv(sftest_writer, answer.bytes, sizeof answer.bytes, 0), (int)SFPROTO_HEADER_BYTES);
}

SFTEST_FOR(end_of_stream_within_a_frame, 19)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  sftest_send_part(&frame, 0, 1 + (size_t)_i, 2);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  shutdown(sftest_writer, SHUT_WR);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_ERR_DAEMON_LOST);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "in the middle of the frame at byte 0"));
  expect_nothing_left();
}
